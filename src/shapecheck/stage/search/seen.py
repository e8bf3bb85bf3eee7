"""Functions that were seen at work, to be evaluated again alone: same callable, same statics, but free sizes.

A test shows one size. Here the arrays that its call gave to a function are made anew: those that an annotation,
comment or docstring describes by its names, others by a name for each axis; all else stays as it was.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import jax

from shapecheck.shapes import Bindings, FixedDim, Spec, SpecError, is_variadic, match, parse_spec
from shapecheck.stage.observe.values import is_array, is_size
from shapecheck.stage.protocol import Described
from shapecheck.stage.search import abstract
from shapecheck.stage.search.annotations import annotation_of, array_type
from shapecheck.stage.search.sizes import Assignment
from shapecheck.stage.search.trials import Prepared, Recipe, Trial

_ATTEMPTS = 16
_SECONDS = 2.0


@dataclass(frozen=True)
class Seen:
    """One call of a function: its arguments by parameter, tracers as abstract arrays; sizes known of its `self`."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    known: Mapping[str, int]

    def own_sizes(self) -> frozenset[str]:
        """The sizes of the arrays that `self` holds, as text."""
        leaves = jax.tree_util.tree_leaves(self.arguments.get("self"))
        return frozenset(str(d) for leaf in leaves if is_array(leaf) for d in leaf.shape)


def capture(function: Any, frame: FrameType, known: Mapping[str, int]) -> Seen | None:
    """The call that `frame` is the beginning of; None if it cannot be made again."""
    inner = _plain(function)
    if getattr(inner, "__code__", None) is not frame.f_code:
        return None
    values = {name: frame.f_locals[name] for name in _parameters(frame.f_code) if name in frame.f_locals}
    try:
        arguments = jax.tree_util.tree_map(_abstract, values)
    except Exception:  # the user's own flattening
        return None
    return Seen(inner, arguments, known)


def recipe(seen: Seen, described: Mapping[str, Described], pinned: Mapping[str, int]) -> Recipe | None:
    """How to call it again with free sizes; None if no argument is an array."""
    told = _described(seen, described)
    arrays = {name: v for name, v in seen.arguments.items() if isinstance(v, jax.ShapeDtypeStruct) and v.shape}
    if not arrays:
        return None
    specs = {name: told.get(name) or _own_names(name, value) for name, value in arrays.items()}
    integers = {n: int(v) for n, v in seen.arguments.items() if is_size(v) and isinstance(v, int)}
    known = {**seen.known, **integers, **pinned}
    texts = list(specs.values())
    proves = set(specs) == set(told) and not _may_follow(seen, specs, known)

    def prepare(trial: Trial) -> Prepared:
        assignment = Assignment(trial.mode, known, texts, trial.substitution, trial.variant, trial.rank)
        given = dict(seen.arguments)
        for name, text in specs.items():
            shape = assignment.array(text, "Float", name).shape
            given[name] = jax.ShapeDtypeStruct(shape, arrays[name].dtype)
        args, kwargs = _call(seen.function, given)
        sizes = tuple(dict.fromkeys(v for v in known.values() if v > 2))
        return Prepared(functools.partial(abstract.run, seen.function, *args, **kwargs), assignment.chosen(), sizes)

    return Recipe(prepare, ranks=(_rank(specs, arrays),), proves=proves, attempts=_ATTEMPTS, seconds=_SECONDS)


def _described(seen: Seen, described: Mapping[str, Described]) -> dict[str, str]:
    """Parameter -> the spec that describes it, if the array that was seen is as it says."""
    told: dict[str, str] = {}
    memo = Bindings()
    parameters = inspect.signature(seen.function).parameters
    for name, parameter in parameters.items():
        value = seen.arguments.get(name)
        if not isinstance(value, jax.ShapeDtypeStruct):
            continue
        annotation = annotation_of(seen.function, name, parameter.annotation)
        types = map(array_type, (annotation, *typing.get_args(annotation)))
        texts = [each.shape for each in types if each is not None]
        if not texts and name in described and not described[name].vague:
            texts = [described[name].spec]
        shape = tuple((d,) for d in value.shape if isinstance(d, int))
        sizes = {known: (size,) for known, size in seen.known.items()}
        for text in texts if len(shape) == len(value.shape) else ():
            result = match(_spec(text), shape, memo, env=sizes, count=1)
            if result.ok:
                told[name], memo = text, result.bindings
                break
    return told


def _spec(text: str) -> Spec:
    try:
        return parse_spec(text)
    except SpecError:  # jaxtyping takes more than can be evaluated
        return Spec((FixedDim(-1),))


def _may_follow(seen: Seen, specs: Mapping[str, str], known: Mapping[str, int]) -> bool:
    """Whether something that stays as it was has a size of what becomes free: it may have to follow it."""
    free = set()
    for name, text in specs.items():
        shape = seen.arguments[name].shape
        names = [str(dim) for dim in parse_spec(text).dims]
        if len(names) == len(shape):
            free |= {size for dim, size in zip(names, shape, strict=True) if not dim.isdigit() and dim not in known}
        else:
            free |= set(shape)
    rest = {n: v for n, v in seen.arguments.items() if n not in specs and n != "self"}
    leaves = jax.tree_util.tree_leaves(rest)
    sizes = {d for leaf in leaves if is_array(leaf) for d in leaf.shape}
    sizes |= {leaf for leaf in leaves if isinstance(leaf, int) and not isinstance(leaf, bool)}
    return bool((free - {0, 1}) & sizes)


def _own_names(name: str, value: jax.ShapeDtypeStruct) -> str:
    """A name for each axis. An axis of one, or of none, is likely to be so on purpose."""
    return " ".join(str(d) if d in (0, 1) else f"{name}_{i}" for i, d in enumerate(value.shape))


def _rank(specs: Mapping[str, str], arrays: Mapping[str, jax.ShapeDtypeStruct]) -> int:
    """How many axes the variadic dims had."""
    for name, text in specs.items():
        dims = parse_spec(text).dims
        if any(map(is_variadic, dims)):
            return max(0, len(arrays[name].shape) - sum(not is_variadic(d) for d in dims))
    return 1


def _call(function: Any, given: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
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


def _abstract(leaf: Any) -> Any:
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
    try:
        return inspect.unwrap(function)
    except ValueError:
        return function
