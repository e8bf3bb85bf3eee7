"""The arguments that nothing describes, as the function's own body takes them.

Their numbers of axes are the code's, and the sizes are nobody's: so their axes have names that no claim uses, unless
the body itself names them (`b, t = x.shape`). What fails for such sizes proves nothing, and they may be tied freely.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from shapecheck.evaluate.inputs.facts.body_facts import BodyFacts, facts_of
from shapecheck.evaluate.inputs.facts.handed_parts import parts_of
from shapecheck.evaluate.inputs.facts.name_hints import array_dtype, is_key
from shapecheck.evaluate.inputs.facts.parameter_facts import Axis, BodyFact
from shapecheck.evaluate.inputs.facts.runtime_annotations import (
    MISSING,
    annotation_of,
    array_type,
    holds_plain_array,
    signature_of,
)
from shapecheck.model import DocstringHint
from shapecheck.shapes import AnyDim, is_variadic, parse_spec
from shapecheck.worker.messages.plans import ParameterSpec

_MOST_AXES = 6
_NO_NAME = re.compile(r"\W+")


@dataclass(frozen=True)
class BodyShape:
    """How the body takes one parameter: a spec, a jaxtyping dtype name or "".

    It is `exact` if the body admits no other number of axes; else it has these at least, or none at all if it may be a
    `scalar`, and `last` is what the last one is called, if the body says that. All axes are `named` if they have names
    that somebody wrote. `elsewhere` tells that other functions say it of what goes by the same name, `inferred` that it
    follows from claims about what is computed of it; then `otherwise` is how the body alone has it.
    """

    spec: str
    dtype: str
    exact: bool
    named: bool = False
    last: str = ""
    scalar: bool = False
    elsewhere: bool = False
    inferred: bool = False
    otherwise: BodyShape | None = None


_NO_HINTS: Mapping[str, DocstringHint] = types.MappingProxyType({})
NO_SHAPES: Mapping[str, BodyShape] = types.MappingProxyType({})


def body_shapes(
    function: Callable[..., object],
    described: Mapping[str, ParameterSpec],
    hints: Mapping[str, DocstringHint] = _NO_HINTS,
) -> dict[str, BodyShape]:
    """The shapes of the parameters that no annotation, comment or docstring describes, as far as the body tells.

    What a docstring hints at, how many axes they have, counts where the body admits it.
    """
    annotations, open_ones = _annotations(function), open_parameters(function, described)
    if not open_ones:
        return {}
    facts = facts_of(function)
    open_ones += [
        text for name in open_ones for part in parts_of(function, name) if (text := str(part)) not in described
    ]
    ranks = {name: each.axes for name, each in hints.items() if each.axes is not None}
    said = {
        name: replace(fact, ranks=(ranks[name],), is_array=True)
        for name, fact in facts.parameters.items()
        if name in ranks and not fact.ranks and ranks[name] >= fact.least
    }
    facts = replace(facts, parameters={**facts.parameters, **said})
    written = {name: each.spec for name, each in described.items()}
    written.update((name, found.shape) for name, each in annotations.items() if (found := array_type(each)))
    numbers = [name for name in open_ones if {float, int} & set(typing.get_args(annotations.get(name)))]
    return _ParameterShapes(facts, written, open_ones, numbers).all()


def open_parameters(function: Callable[..., object], described: Mapping[str, ParameterSpec]) -> list[str]:
    """The parameters that may be arrays, and of which no annotation, comment or docstring says a shape."""
    annotations = _annotations(function)
    return [name for name, each in annotations.items() if name not in described and _is_open(name, each, annotations)]


def body_dtypes(function: Callable[..., object], described: Mapping[str, ParameterSpec]) -> dict[str, ParameterSpec]:
    """The descriptions, with the kind of number that the body asks for where they leave it open."""
    if all(each.dtype for each in described.values()):
        return dict(described)
    facts = facts_of(function).parameters
    return {
        name: replace(each, dtype=each.dtype or asked_dtype(name, facts.get(name, BodyFact())))
        for name, each in described.items()
    }


def asked_dtype(name: str, fact: BodyFact) -> str:
    """The kind of number that a body asks of what is an array: an integer of what indexes another, if no mask does."""
    return fact.dtype or ("Int" if fact.indexes and array_dtype(name) != "bool" else "")


def compared_texts(function: Callable[..., object], parameter: str) -> tuple[str, ...]:
    """The texts that the body compares a parameter with."""
    fact = facts_of(function).parameters.get(parameter)
    return fact.texts if fact is not None else ()


def unpacked_parts(function: Callable[..., object], parameter: str) -> int:
    """The number of variables that the body unpacks a parameter into; 0 if it does not."""
    fact = facts_of(function).parameters.get(parameter)
    return fact.parts if fact is not None else 0


INSIDE: Final = "given"
"""What the axes of an array are called that nobody describes and that an instance is made with, by their numbers."""


def is_inside(name: str) -> bool:
    """Whether a name is that of such an axis."""
    return name.startswith(INSIDE) and name.removeprefix(INSIDE).isdigit()


def axis_names(parameter: str, axes: int) -> str:
    """The names of the axes of an array that nobody describes, as a spec."""
    return " ".join(axis_name(parameter, number) for number in range(axes))


def axis_of(parameter: str) -> re.Pattern[str]:
    """The names of the axes of an array that nobody describes, in a text."""
    return re.compile(rf"\b{re.escape(axis_name(parameter, 0)[:-1])}\d\b")


def axis_name(parameter: str, number: int) -> str:
    """The name of an axis of an array that nobody describes; of `batch["x"]` that is `batch_x0`.

    None that begins with an underscore: of `_x0`, as jaxtyping has it, no two need be equal, and nothing can be tied.
    """
    name = _NO_NAME.sub("_", parameter).rstrip("_") if _NO_NAME.search(parameter) else parameter
    stem = name.lstrip("_")
    return f"{stem or 'axis'}{'_' * (len(name) - len(stem))}{number}"


def with_named_axes(spec: str, parameter: str) -> str:
    """A spec whose axes of any size have names of their own, so that they can follow others: of `3 _b` `3 x1`."""
    dims = parse_spec(spec).dims
    if not any(isinstance(dim, AnyDim) for dim in dims):
        return spec
    return " ".join(axis_name(parameter, i) if isinstance(dim, AnyDim) else str(dim) for i, dim in enumerate(dims))


class _ParameterShapes:
    """The specs of parameters whose axes are named by sets of equal ones."""

    def __init__(
        self, facts: BodyFacts, written: Mapping[str, str], open_ones: Collection[str], numbers: Collection[str]
    ) -> None:
        self._facts, self._written, self._numbers = facts, written, numbers  # the latter may be no arrays
        self._open = [name for name in open_ones if name in facts.parameters]
        self._equal = {name: group for group in facts.equal_shapes for name in group}
        self._names: dict[Axis, str] = {}
        self._said: set[Axis] = set()

    def all(self) -> dict[str, BodyShape]:
        found: dict[str, BodyShape] = {}
        self._name_axes()
        for name in self._open:
            shape = self._like_another(name) or self._own(name)
            if shape is not None:
                found[name] = shape
        return found

    def _like_another(self, name: str) -> BodyShape | None:
        """The shape of a written parameter that this one is said to equal."""
        dtype = self._facts.parameters[name].dtype
        for other in sorted(self._equal.get(name, ())):
            if other in self._written:
                return BodyShape(self._written[other], dtype, exact=True, named=True)
        return None

    def _own(self, name: str) -> BodyShape | None:
        fact = self._facts.parameters[name]
        rank = self._rank(name)
        if rank is not None:
            spec = " ".join(self._axis(name, number) for number in range(rank))
            named = all((name, number) in self._said for number in range(rank))
            return BodyShape(spec, asked_dtype(name, fact), exact=True, named=named)
        if (fact.is_array or fact.dtype) and (name not in self._numbers or fact.least):
            spec = " ".join(self._axis(name, number) for number in range(max(fact.least, 1)))
            last = self._names.get((name, -1), "")
            return BodyShape(spec, asked_dtype(name, fact), exact=False, last=last, scalar=not fact.least)
        return None

    def _rank(self, name: str) -> int | None:
        group = sorted(self._equal.get(name, {name}))
        for each in (name, *group):
            found = _first_rank(self._facts.parameters.get(each, BodyFact()))
            if found is not None:
                return found
        return None

    def _axis(self, name: str, number: int) -> str:
        return self._names.get((name, number), axis_name(name, number))

    def _name_axes(self) -> None:
        """One name for each set of equal axes: what is written of one of them, else what the body calls one."""
        sets = [{self._from_front(axis) for axis in axes} for axes in self._facts.equal_axes]
        for group in dict.fromkeys(self._facts.equal_shapes):
            ranks = [rank for each in sorted(group) if (rank := self._rank(each)) is not None]
            sets += [{(each, number) for each in group} for number in range(ranks[0] if ranks else 0)]
        facts = self._facts.parameters
        called = {
            self._from_front((name, each)): text for name, fact in facts.items() for each, text in fact.names.items()
        }
        lettered = {(name, each): text for name, fact in facts.items() for each, text in fact.letters.items()}
        sets += [{axis} for axis in (*lettered, *called)]
        for axes in _merge(sets):
            names = [self._written_axis(axis) for axis in sorted(axes)]
            names += [called.get(axis, "") for axis in sorted(axes)]
            letters = [lettered.get(axis, "") for axis in sorted(axes)]
            first, number = min(axes)
            self._names.update(dict.fromkeys(axes, next(filter(None, names + letters), axis_name(first, number))))
            self._said |= axes if any(names) else set()

    def _from_front(self, axis: Axis) -> Axis:
        """The axis by its number from the front, where it is known how many there are."""
        name, number = axis
        if number >= 0:
            return axis
        written = parse_spec(self._written[name]).rank() if name in self._written else None
        rank = self._rank(name) if written is None else written
        return (name, rank + number) if rank is not None and rank + number >= 0 else axis

    def _written_axis(self, axis: Axis) -> str:
        name, number = axis
        dims = parse_spec(self._written[name]).dims if name in self._written else ()
        if not 0 <= number < len(dims) or any(map(is_variadic, dims)):
            return ""
        return str(dims[number])


def _first_rank(fact: BodyFact) -> int | None:
    admitted = [rank for rank in fact.ranks if rank >= fact.least]
    return admitted[0] if admitted and admitted[0] <= _MOST_AXES else None


def _merge(sets: list[set[Axis]]) -> list[set[Axis]]:
    """Sets that share an axis are one."""
    merged: list[set[Axis]] = []
    for axes in sets:
        touching = [each for each in merged if each & axes]
        merged = [each for each in merged if not each & axes]
        merged.append(axes.union(*touching))
    return merged


def _annotations(function: Callable[..., object]) -> dict[str, object]:
    try:
        parameters = signature_of(function).parameters
    except (TypeError, ValueError):
        return {}
    return {
        name: annotation_of(function, name, each.annotation)
        for name, each in parameters.items()
        if each.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        and (each.default is MISSING or each.default is None)  # an array compares by its elements
    }


def _is_open(name: str, annotation: object, beside: Collection[str]) -> bool:
    """Whether a parameter may be an array of which its annotation says no shape."""
    if is_key(name, beside):
        return False
    if annotation in (MISSING, Any, None) or holds_plain_array(annotation):
        return True
    found = array_type(annotation)
    return found is not None and found.shape.strip() == "..."
