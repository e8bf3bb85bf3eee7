"""Functions that were seen at work, to be evaluated again alone: same callable, same statics, but free sizes.

A test shows one size. Here the arrays that its call gave to a function are made anew: those that an annotation,
comment or docstring describes by its names, others by a name for each axis; all else stays as it was.
"""

from __future__ import annotations

import functools
import inspect
import math
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import jax

from shapecheck.evaluate.inputs.facts.body_shapes import axis_name
from shapecheck.evaluate.inputs.facts.runtime_annotations import ArrayType, annotation_of, array_type
from shapecheck.evaluate.inputs.facts.signature_facts import code_integers, field_sizes
from shapecheck.evaluate.inputs.synthesis.freed_records import FreedRecord, freed_record
from shapecheck.evaluate.inputs.trials import abstract_call
from shapecheck.evaluate.inputs.trials.size_assignment import SizeAssignment
from shapecheck.evaluate.inputs.trials.ties import ArgumentSpec, CallSignature
from shapecheck.evaluate.inputs.trials.trial import Apart, BoundCall, CallSpec, Trial
from shapecheck.evaluate.own_errors import is_own
from shapecheck.evaluate.probes.attribute_access import unwrap
from shapecheck.evaluate.probes.describe_value import is_array, is_size
from shapecheck.model import Assumption
from shapecheck.shapes import (
    AnyDims,
    Bindings,
    FixedDim,
    NamedDim,
    Spec,
    SpecError,
    dtype_matches,
    is_variadic,
    match,
    parse_spec,
)
from shapecheck.worker.messages.plans import ParameterSpec

_ATTEMPTS = 40
_SECONDS = 3.0


@dataclass(frozen=True)
class RecordedCall:
    """One call of a function: its arguments by parameter, tracers as abstract arrays; sizes known of its `self`."""

    function: Callable[..., object]
    arguments: Mapping[str, Any]
    known: Mapping[str, int]

    def own_sizes(self) -> frozenset[int]:
        """The sizes of the arrays that `self` holds."""
        try:
            leaves = jax.tree_util.tree_leaves(self.arguments.get("self"))
        except Exception as error:  # the user's own flattening, of what has changed since it was called
            if is_own(error):
                raise
            return frozenset()
        return frozenset(d for leaf in leaves if is_array(leaf) for d in leaf.shape if isinstance(d, int))


def capture(function: object, frame: FrameType, known: Mapping[str, int]) -> RecordedCall | None:
    """The call that `frame` is the beginning of; None if it cannot be made again."""
    inner = _plain(function)
    if getattr(inner, "__code__", None) is not frame.f_code:
        return None
    values = {name: frame.f_locals[name] for name in _parameters(frame.f_code) if name in frame.f_locals}
    try:
        arguments = jax.tree_util.tree_map(_abstract, values)
        jax.tree_util.tree_leaves(arguments)  # which may be refused of arrays without values
    except RecursionError:  # a list that holds itself: what stands for variables may be flattened last, by us
        return None
    except Exception as error:  # the user's own flattening
        if is_own(error):
            raise
        return None
    return RecordedCall(inner, arguments, known)


def coincides(seen: RecordedCall, described: Mapping[str, ParameterSpec]) -> bool:
    """Whether two names that its annotations or comments tell apart had one size, so that it shows too little."""
    sizes = _sizes(seen, _matching_specs(seen, described))
    free = [size for name, size in sizes.items() if name not in seen.known and size not in (0, 1)]
    return len(set(free)) < len(free)


def is_denied(seen: RecordedCall, described: Mapping[str, ParameterSpec]) -> bool:
    """Whether some argument is not as its annotation or comment says: by shape, or by an annotation's dtype."""
    matched = _matching_specs(seen, described, prose=True)
    for name, parameter in inspect.signature(seen.function).parameters.items():
        value = seen.arguments.get(name)
        if not isinstance(value, jax.ShapeDtypeStruct):
            continue
        types = _array_types(seen.function, name, parameter.annotation)
        if name not in matched and (types or (name in described and not described[name].vague)):
            return True
        if types and not any(dtype_matches(each.dtype, value.dtype.name) for each in types):
            return True
    return False


def lacks_axes(seen: RecordedCall) -> bool:
    """Whether what its annotations leave open, as `*batch` does, had no axes at all, so that it shows too little."""
    matched = _matching_specs(seen, {})
    variadic = [text for text in matched.values() if any(map(is_variadic, parse_spec(text).dims))]
    arrays = {name: seen.arguments[name] for name in matched}
    return bool(variadic) and _rank(matched, arrays) == 0


def is_symbolic(seen: RecordedCall) -> bool:
    """Whether some argument has a symbolic size: it is of no use for another evaluation."""
    leaves = jax.tree_util.tree_leaves(dict(seen.arguments))
    return any(not isinstance(d, int) for leaf in leaves if is_array(leaf) for d in leaf.shape)


def replay_spec(
    seen: RecordedCall,
    described: Mapping[str, ParameterSpec],
    pinned: Mapping[str, int],
    claims: tuple[frozenset[str], ...] = (),
    *,
    rank: int | None = None,
    prose: bool = False,
) -> CallSpec | None:
    """How to call it again with free sizes; None if no argument is an array.

    Variadic dims have as many axes as they had, or `rank`. With `prose`, docstrings count as comments do.
    """
    matched = _matching_specs(seen, described, prose=prose)
    arrays = {name: v for name, v in seen.arguments.items() if isinstance(v, jax.ShapeDtypeStruct) and v.shape}
    if not arrays:
        return None
    specs = {name: matched.get(name) or _own_names(name, value) for name, value in arrays.items()}
    records = _freed_records(seen, specs)
    integers = {n: int(v) for n, v in seen.arguments.items() if is_size(v) and isinstance(v, int)}
    fields = field_sizes(seen.arguments.get("self"))
    sizes = {
        **dict(size for record in records.values() for size in record.sizes.items()),
        **_sizes(seen, specs),
    }
    # An axis of one, or of none, is likely to be so on purpose: for broadcasting, or because there is nothing.
    kept = {name: size for name, size in sizes.items() if size in (0, 1)}
    known = {**kept, **seen.known, **integers, **pinned}
    inside = [text for record in records.values() for text in record.specs.values()]
    texts = [*specs.values(), *inside]
    stays = _fixed_sizes(seen, {*specs, *records})
    lasting = [Assumption("follows", name, "", "given") for name in sorted(specs.keys() - matched.keys())]
    lasting += [
        Assumption("follows", name, str(size), "given")
        for name, size in sizes.items()
        if size in stays and name not in known
    ]

    written = code_integers(seen.function)
    # An instance, or a function that is passed, keeps the sizes that it was made for.
    keeping = sizes.items() if "self" in seen.arguments or _takes_functions(seen) else ()
    before = {name: size for name, size in keeping if name not in known and size not in written}
    lasting += [Assumption("size", name, str(size), "given") for name, size in kept.items() if name not in seen.known]

    def prepare(trial: Trial) -> BoundCall:
        assignment = SizeAssignment(
            trial.mode,
            known,
            texts,
            trial.substitution,
            trial.variant,
            trial.rank,
            multiples=trial.multiples,
            limits=trial.limits,
        )
        given = dict(seen.arguments)
        for name, text in specs.items():
            shape = assignment.array(text, "Float", name).shape
            given[name] = jax.ShapeDtypeStruct(shape, arrays[name].dtype)
        for name, record in records.items():
            given[name] = record.with_arrays(lambda text, field: assignment.array(text, "Float", field))
        args, kwargs = _call(seen.function, given)
        chosen = assignment.chosen_sizes()
        return BoundCall(
            call=functools.partial(abstract_call.run_abstractly, seen.function, *args, **kwargs),
            chosen=chosen,
            integers={**fields, **known},
            own=frozenset(stays | seen.own_sizes()),
            shared=tuple((name, str(fields[name])) for name, _ in chosen if name in fields),
            apart=Apart(before=before),
        )

    return CallSpec(
        prepare=prepare,
        signature=CallSignature(
            (
                *(ArgumentSpec(name, text) for name, text in specs.items()),
                *(ArgumentSpec("", text, inside=True) for text in inside),
            ),
            claims,
            seen.function,
        ),
        certain=not _takes_functions(seen),  # which give back the sizes that their own caller has in mind
        ranks=(_rank(specs, arrays) if rank is None else rank,),
        lasting=tuple(lasting),
        attempts=_ATTEMPTS,
        seconds=_SECONDS,
    )


def _freed_records(seen: RecordedCall, specs: Mapping[str, str]) -> dict[str, FreedRecord]:
    """The records among the arguments whose arrays can be free, too: their names mean what they mean beside them."""
    sizes = _sizes(seen, specs)
    found: dict[str, FreedRecord] = {}
    for name, value in seen.arguments.items():
        record = freed_record(value) if name != "self" and name not in specs else None
        if record is not None and all(sizes.get(each, size) == size for each, size in record.sizes.items()):
            found[name] = record
            sizes.update(record.sizes)
    return found


def _matching_specs(
    seen: RecordedCall, described: Mapping[str, ParameterSpec], *, prose: bool = False
) -> dict[str, str]:
    """Parameter -> the spec that describes it, if the array that was seen is as it says; that of docstrings, too."""
    matched: dict[str, str] = {}
    memo = Bindings()
    parameters = inspect.signature(seen.function).parameters
    for name, parameter in parameters.items():
        value = seen.arguments.get(name)
        if not isinstance(value, jax.ShapeDtypeStruct):
            continue
        texts = [each.shape for each in _array_types(seen.function, name, parameter.annotation)]
        texts = [each for each in texts if _spec(each).dims != (AnyDims(),)]  # `...` says nothing
        if not texts and name in described and not described[name].vague and (prose or not described[name].prose):
            texts = [described[name].spec, *(described[name].others if prose else ())]
        shape = tuple((d,) for d in value.shape if isinstance(d, int))
        sizes = {known: (size,) for known, size in seen.known.items()}
        for text in texts if len(shape) == len(value.shape) else ():
            result = match(_spec(text), shape, memo, env=sizes, count=1)
            if result.ok:
                matched[name], memo = text, result.bindings
                break
    return matched


def _array_types(function: Callable[..., object], name: str, raw: object) -> list[ArrayType]:
    """The types of arrays that an annotation names, alone or as members of a union."""
    annotation = annotation_of(function, name, raw)
    return [*filter(None, map(array_type, (annotation, *typing.get_args(annotation))))]


def _spec(text: str) -> Spec:
    try:
        return parse_spec(text)
    except SpecError:  # jaxtyping takes more than can be evaluated
        return Spec((FixedDim(-1),))


def _sizes(seen: RecordedCall, specs: Mapping[str, str]) -> dict[str, int]:
    """The size that each name of a plain axis was seen with."""
    found: dict[str, int] = {}
    for name, text in specs.items():
        shape, dims = seen.arguments[name].shape, parse_spec(text).dims
        behind = next((i for i, dim in enumerate(dims) if is_variadic(dim)), len(dims))
        ahead = len(dims) - behind - 1  # axes behind the variadic one are counted from the end
        pairs = [*zip(dims[:behind], shape, strict=False)]
        pairs += [*zip(dims[len(dims) - ahead :], shape[len(shape) - ahead :], strict=False)] if ahead > 0 else []
        for dim, size in pairs:
            if isinstance(dim, NamedDim) and isinstance(size, int):
                found.setdefault(dim.name, size)
    return found


def _fixed_sizes(seen: RecordedCall, specs: Collection[str]) -> set[int]:
    """The sizes of what stays as it was, beside the instance: other arguments, and what the function reaches."""
    rest = [v for n, v in seen.arguments.items() if n not in specs and n != "self"]
    leaves = jax.tree_util.tree_leaves([*rest, *_closure_values(seen.function)])
    sizes = {d for leaf in leaves if is_array(leaf) for d in leaf.shape if isinstance(d, int)}
    integers = {leaf for leaf in leaves if isinstance(leaf, int) and not isinstance(leaf, bool)}
    listed = [each for each in rest if isinstance(each, (list, tuple))]
    inside = {leaf for leaf in jax.tree_util.tree_leaves(listed) if type(leaf) is int}
    # As many rows as there are items, or as the largest of them has a place: the nodes that edges speak of.
    sizes |= integers | {len(each) for each in listed} | {max(inside, default=0) + 1} | _totals_of(seen)
    return sizes - {0, 1}


def _totals_of(seen: RecordedCall) -> set[int]:
    """What the lists of integers come to that the instance holds: it cuts its arguments into parts of these sizes."""
    held = getattr(seen.arguments.get("self"), "__dict__", {}).values()
    lists = [each for each in held if isinstance(each, (list, tuple)) and len(each) > 1]
    return {total(each) for each in lists if all(type(item) is int for item in each) for total in (sum, math.prod)}


def _takes_functions(seen: RecordedCall) -> bool:
    """Whether some argument is a function of the user's."""
    leaves = jax.tree_util.tree_leaves([v for n, v in seen.arguments.items() if n != "self"])
    functions = (each for each in leaves if inspect.isroutine(each) or isinstance(each, functools.partial))
    return any(not str(getattr(each, "__module__", "")).startswith("jax") for each in functions)


def _closure_values(function: Callable[..., object]) -> list[object]:
    """The arrays and numbers that a function closes over, or finds among the variables of its module."""
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    names = code.co_names if code is not None else ()
    found = [function.__globals__[name] for name in names if name in getattr(function, "__globals__", {})]
    for cell in cells:
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            continue
    return [each for each in found if is_array(each) or type(each) is int]


def _own_names(name: str, value: jax.ShapeDtypeStruct) -> str:
    """A name for each axis. An axis of one, or of none, is likely to be so on purpose."""
    return " ".join(str(d) if d in (0, 1) else axis_name(f"{name}_", i) for i, d in enumerate(value.shape))


def _rank(specs: Mapping[str, str], arrays: Mapping[str, jax.ShapeDtypeStruct]) -> int:
    """How many axes the variadic dims had."""
    for name, text in specs.items():
        dims = parse_spec(text).dims
        if any(map(is_variadic, dims)):
            return max(0, len(arrays[name].shape) - sum(not is_variadic(d) for d in dims))
    return 1


def _call(function: Callable[..., object], given: Mapping[str, Any]) -> tuple[list[object], dict[str, object]]:
    args: list[object] = []
    kwargs: dict[str, object] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in given:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += given[name]
        elif parameter.kind is parameter.VAR_KEYWORD:
            kwargs.update(given[name])
        elif parameter.kind is parameter.KEYWORD_ONLY:
            kwargs[name] = given[name]
        else:
            args.append(given[name])
    return args, kwargs


def _abstract(leaf: object) -> object:
    if isinstance(leaf, jax.core.Tracer):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
    return leaf


def _parameters(code: CodeType) -> Sequence[str]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


def _plain(function: Any) -> Any:
    """The function inside of descriptors and decorators."""
    for name in ("__func__", "fget", "func", "method"):
        function = getattr(function, name, function) if not inspect.isfunction(function) else function
    return unwrap(function)
