"""Which integers a name in a claim may mean at a point of the user's code."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shapecheck.evaluate.probes.attribute_access import class_names, own_names, read_attribute
from shapecheck.evaluate.probes.constructor_arguments import ConstructionRecord
from shapecheck.evaluate.probes.describe_value import is_array, is_size
from shapecheck.evaluate.probes.imported_constants import imported_constants
from shapecheck.model import NamedSize

_HEAD = re.compile(r"[^\W\d]\w*")
_COUNTERS = 2  # a local number up to this may count or switch something
_STEP = re.compile(r"\.([^\W\d]\w*)|\[(-?\d+)\]")
_CONFIGS = frozenset(
    [
        "args",
        "cfg",
        "conf",
        "config",
        "configuration",
        "hparams",
        "hps",
        "hp",
        "hyperparameters",
        "opts",
        "options",
        "params",
        "settings",
        "spec",
    ]
)


def visible(
    names: Sequence[str],
    variables: Mapping[str, object],
    module: Mapping[str, object],
    constructions: ConstructionRecord | None = None,
    parameters: Sequence[str] = (),
) -> tuple[NamedSize, ...]:
    """The sizes that `names` have here: locals and closure, `self` and its configs, local configs, the module.

    The nearest binding wins, but for local numbers so small that they may be counters or switches. A name that means
    nothing here may be a field of the one record among the `parameters` that has it, or a variable of the constructor
    of `self`. What `self` has under the name of a local variable comes too, behind it: callers know only that.
    """
    result: list[NamedSize] = []
    holders = list(_holders(variables.get("self"), variables))
    for name in names:
        found = list(_sizes(name, _own(name, variables)))
        if not any(map(_is_surely_size, found)):
            found += _sizes(name, _attribute_values(name, holders))
            if _head(name) not in variables:
                found += _sizes(name, _own(name, module))
        elif name not in parameters:
            found += _sizes(name, _attribute_values(name, list(_holders(variables.get("self"), {}))))
        if not found:
            found = list(_sizes(name, _of_records(name, variables, parameters)))
        if not found:
            found = list(_sizes(name, _own(name, imported_constants(module))))
        if not found and constructions is not None and "self" in variables:
            owner = variables["self"]
            for space in constructions.variables(owner):
                inside = f"in {type(owner).__name__}.__init__"
                held = _attribute_values(name, list(_holders(space.get("self"), space)))
                candidates = itertools.chain(_own(name, space), held)
                found += [replace(n, source=f"{n.source} {inside}") for n in _sizes(name, candidates)]
        result += dict.fromkeys(found)
    return tuple(result)


# A number that no axis has. Symbols may begin with a sign, too: `-floordiv(-n, 2)` is n/2, rounded up.
_NO_SIZE = re.compile(r"0|-\d+")


def sizes_among(variables: Mapping[str, object]) -> dict[str, object]:
    """Those variables that a claim may mean: integers, and configs that may hold some."""
    return {
        name: value for name, value in variables.items() if is_size(value) or (_is_config(name) and not is_array(value))
    }


def _sizes(name: str, candidates: Iterable[tuple[str, object]]) -> Iterator[NamedSize]:
    found = (NamedSize(name, str(value), source) for source, value in candidates if is_size(value))
    return (named for named in found if not _NO_SIZE.fullmatch(named.size))


def _is_surely_size(named: NamedSize) -> bool:
    """Whether a local number can hardly be anything but a size."""
    return not named.size.isdigit() or int(named.size) > _COUNTERS


def _head(name: str) -> str:
    """The variable in `n`, `x.shape[0]`, `self.n`; of `len(x)` that is x."""
    found = _HEAD.match(name.removeprefix("len("))
    return found.group() if found is not None else ""


def _own(name: str, space: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """What the variables of one space say: `n`, `x.shape[0]`, `len(x)`."""
    if name.startswith("len("):
        yield from _lengths(_own(name[4:-1], space))
    elif (head := _head(name)) in space:
        yield from _follow(name, space[head], name[len(head) :])


def _attribute_values(name: str, holders: Sequence[tuple[str, object]]) -> Iterator[tuple[str, object]]:
    """What the holders, `self` and configs, have under this name."""
    if name.startswith("len("):
        yield from _lengths(_attribute_values(name[4:-1], holders))
    if not name.isidentifier():
        return
    for source, holder in holders:
        value = _attribute(holder, name)
        if value is not None:
            yield f"{source}.{name}", value


def _of_records(name: str, variables: Mapping[str, object], parameters: Sequence[str]) -> Iterator[tuple[str, object]]:
    """What the one record among the parameters has under this name: of two nobody can say which is meant."""
    if not name.isidentifier():
        return
    holders = ((key, variables[key]) for key in parameters if key in variables and key != "self")
    # A model's sizes mean nothing outside of it, unless a name is made for just that: `code_dim`, and not `dim`.
    found = [(k, v) for k, v in holders if _is_record(v) and ("_" in name.strip("_") or not callable(v))]
    sizes = [(f"{key}.{name}", value) for key, record in found if is_size(value := _attribute(record, name))]
    if len(sizes) == 1:
        yield from sizes


def _is_record(value: object) -> bool:
    """Whether a value only holds others, by name."""
    named = isinstance(value, tuple) and hasattr(type(value), "_fields")
    return (named or dataclasses.is_dataclass(value)) and not isinstance(value, type)


def _holders(owner: object, variables: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    if owner is not None:
        yield "self", owner
        for key, value in _attributes(owner):
            if _is_config(key):
                yield f"self.{key}", value
    for key, value in variables.items():
        if _is_config(key):
            yield key, value


def _is_config(name: str) -> bool:
    return name.lstrip("_") in _CONFIGS or name.lstrip("_").endswith("config")


def _attributes(owner: object) -> list[tuple[str, object]]:
    return list(own_names(owner).items())


def _attribute(holder: object, name: str) -> object:
    """Plain attributes and class constants only: no property of the user's runs."""
    if isinstance(holder, Mapping):
        return holder.get(name)
    members = own_names(holder)
    if name in members:
        return members[name]
    for cls in type(holder).__mro__:
        fields = getattr(cls, "_fields", ())
        if isinstance(fields, tuple) and name in fields:  # before the class itself, which has a descriptor of that name
            return read_attribute(holder, name, None)
        if name in class_names(cls):
            return class_names(cls)[name]
    return None


def _follow(source: str, value: object, rest: str) -> Iterator[tuple[str, object]]:
    """Walk `.attribute` and `[index]` steps; array data is never indexed."""
    position = 0
    while position < len(rest):
        step = _STEP.match(rest, position)
        if step is None:
            return
        position = step.end()
        if step.group(1) is not None:
            if is_array(value) and step.group(1) not in ("shape", "ndim", "size"):
                return
            value = _shape_or_attribute(value, step.group(1))
        elif isinstance(value, (tuple, list)) and -len(value) <= int(step.group(2)) < len(value):
            value = value[int(step.group(2))]
        else:
            return
    yield source, value


def _shape_or_attribute(value: object, name: str) -> object:
    if is_array(value):
        return getattr(value, name)
    return computed_attribute(value, name)


def computed_attribute(holder: object, name: str) -> object:
    """An attribute that a claim names as one: of a property its value, as jaxtyping has it of `{self.width}`."""
    found = _attribute(holder, name)
    if not isinstance(found, (property, functools.cached_property)):
        return found
    return read_attribute(holder, name, None)


def _lengths(candidates: Iterable[tuple[str, object]]) -> Iterator[tuple[str, object]]:
    return ((f"len({source})", _length(value)) for source, value in candidates if hasattr(type(value), "__len__"))


def _length(value: Any) -> object:
    if is_array(value):
        return value.shape[0] if value.shape else None
    try:
        return len(value)
    except Exception:  # the user's own way to count may raise anything
        return None
