"""Examples that users write: their arguments, and what is wrong with them in words."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.runtime_annotations import ArrayType, annotation_of, array_type, signature_of
from shapecheck.evaluate.inputs.project.entries import nearest
from shapecheck.evaluate.inputs.trials.failure_reasons import describe_error
from shapecheck.evaluate.limits import TimeLimitError
from shapecheck.evaluate.own_errors import is_own
from shapecheck.shapes import DTYPES, SpecError, comment_dtype, parse_comment_dims, parse_spec, print_spec

_KEY = "Key"  # to jaxtyping


class ExampleError(Exception):
    """An example of the user's is wrong by itself; the text says what to change."""


class ShapeText:
    """An argument given as text: dtype and dims."""

    def __init__(self, dtype: str, spec: str, text: str = "") -> None:
        """Raises ExampleError for a size below zero, which fits nothing."""
        negative = next((dim for dim in spec.split() if dim.startswith("-")), None)
        if negative is not None:
            raise ExampleError(f"{spec!r} is not a shape of an array: no axis has the size {negative}")
        self.dtype, self.spec, self.text = dtype, spec, text or f"{dtype}[{spec}]"


def read_argument(value: Any) -> Any:
    """`"i32[batch seq]"` becomes a shape, also inside of tuples and tables; other values pass as they are.

    `"key[]"` is a random key.
    """
    if type(value) in (tuple, list):
        return type(value)(read_argument(v) for v in value)
    if type(value) is dict:
        return {k: read_argument(v) for k, v in value.items()}
    if not isinstance(value, str) or "[" not in value:
        return value
    head, _, rest = value.partition("[")
    dtype = _KEY if head.strip() == "key" else comment_dtype(head.strip()) if head.strip() else ""
    inside = rest.rstrip()[:-1]
    form = 'write it as "f32[batch seq 48]"'
    if dtype is None or not rest.rstrip().endswith("]"):
        raise ExampleError(f"{value!r} is not a shape: {form}")
    try:
        spec = parse_comment_dims(inside) if "," in inside else parse_spec(inside)
    except SpecError as error:
        raise ExampleError(f"{value!r} is not a shape ({error}): {form}") from None
    if spec is None:
        raise ExampleError(f"{value!r} is not a shape: {form}")
    return ShapeText(dtype, print_spec(spec), value.strip())


def shapes_in(value: object) -> list[ShapeText]:
    """The shapes inside of an argument that `read_argument` gave."""
    return [leaf for leaf in jax.tree_util.tree_leaves(value) if isinstance(leaf, ShapeText)]


def check_names(function: Callable[..., object], kwargs: Mapping[str, object]) -> None:
    """Raises ExampleError for a keyword that `function` does not take."""
    parameters = signature_of(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    for name in kwargs:
        if name not in parameters:
            called = getattr(function, "__qualname__", type(function).__name__)
            raise ExampleError(f"{called} has no parameter {name!r}{nearest(name, list(parameters))}")


def check_annotations(function: Callable[..., object], given: Mapping[str, object]) -> None:
    """Raises ExampleError for a shape of another rank or dtype than its parameter's annotation says."""
    for name, value in given.items():
        if not isinstance(value, ShapeText):
            continue
        raw = signature_of(function).parameters[name].annotation
        annotation = annotation_of(function, name, raw)
        members = typing.get_args(annotation) or (annotation,)
        types = [each for each in map(array_type, members) if each is not None]
        others = [each for each in members if each is not type(None) and array_type(each) is None]
        reasons = [] if others else [_contradiction(value, each) for each in types]
        if reasons and all(reasons):
            called = getattr(function, "__qualname__", type(function).__name__)
            text = " | ".join(f'{each.dtype}[Array, "{each.shape}"]' for each in types)
            annotated = f"{name}: {text}, as {called} annotates it"
            raise ExampleError(f"the argument {name} = {value.text} does not fit {annotated}: {reasons[0]}")


def _contradiction(given: ShapeText, annotated: ArrayType) -> str:
    """In what a shape and an annotation differ; "" if they may go together."""
    try:
        rank, claimed = parse_spec(given.spec).rank(), parse_spec(annotated.shape).rank()
    except SpecError:
        return ""
    if rank is not None and claimed is not None and rank != claimed:
        return f"it has {rank} {'axis' if rank == 1 else 'axes'}, and not {claimed}"
    own, accepted = DTYPES.get(given.dtype), DTYPES.get(annotated.dtype)
    if own is not None and accepted is not None and not own & accepted:
        return f"its dtype is no {annotated.dtype}"
    return ""


def check_fit(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object], *, whole: bool = True
) -> None:
    """Raises ExampleError for arguments that `function` does not take, or, if they are the `whole`, that it lacks."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built in, and silent about its parameters
        return
    check_names(function, kwargs)
    try:
        (signature.bind if whole else signature.bind_partial)(*args, **kwargs)
    except TypeError as error:
        called = getattr(function, "__qualname__", type(function).__name__)
        raise ExampleError(f"the arguments do not fit {called}{signature}: {error}") from None


def fit_arguments(
    function: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    borrowed: Mapping[str, object],
) -> tuple[list[object], dict[str, object]]:
    """The arguments of another callable as those of `function` that `args` and `kwargs` leave out.

    They go by name, and then by order; random keys and switches by name only, since not all take one. Raises
    ExampleError if there are too many.
    """
    if not borrowed:
        return [], {}
    try:
        signature = inspect.signature(function)
        taken = signature.bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):  # built in, and silent about its parameters; or reported as what does not fit
        return list(borrowed.values()), {}
    free = {name: p for name, p in signature.parameters.items() if name not in taken}
    named = {n: v for n, v in borrowed.items() if n in free and free[n].kind in (_BY_NAME, _BY_EITHER)}
    left = [v for name, v in borrowed.items() if name not in named and not (name_hints.is_key(name) or is_switch(v))]
    positional: list[object] = []
    for name, parameter in free.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional, left = [*positional, *left], []
        elif left and name not in named and not name_hints.is_key(name) and parameter.kind is not parameter.VAR_KEYWORD:
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(left.pop(0))
            else:
                named[name] = left.pop(0)
    if left:
        called = getattr(function, "__qualname__", type(function).__name__)
        raise ExampleError(f"{called}{signature} does not take all {len(borrowed)} inputs ({', '.join(borrowed)})")
    return positional, named


def is_switch(value: object) -> bool:
    """Whether it is no data, but says how to compute: `train=False`, `mode="same"`."""
    return value is None or isinstance(value, (bool, str))


_BY_NAME, _BY_EITHER = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


def public_names(cls: type) -> list[str]:
    """What a class offers, for the nearest name to a wrong one."""
    return [n for n in dir(cls) if not n.startswith("_")]


def placeholders(function: Callable[[], object]) -> list[tuple[int, str, str]]:
    """Which arguments of an example are jaxtyping types: their place, spec and dtype."""
    found: list[tuple[int, str, str]] = []

    def look() -> None:
        result = function()
        if not isinstance(result, tuple) or not result or not callable(result[0]):
            raise ExampleError(f"{function.__name__} must return (callable, *args), not {type(result).__name__}")
        check_fit(result[0], result[1:], {})
        for index, argument in enumerate(result[1:]):
            array = array_type(argument)
            if array is not None:
                try:
                    parse_spec(array.shape)
                except SpecError as error:
                    raise ExampleError(f"argument {index + 1}, {array.shape!r}, is not a shape: {error}") from None
                found.append((index, *array))

    try:
        if inspect.signature(function).parameters:
            raise ExampleError(f"{function.__name__} must take no arguments")
        jax.eval_shape(look)
    except ExampleError:
        raise
    except TimeLimitError:
        raise
    except BaseException as error:  # the user's code may raise anything
        if is_own(error):
            raise
        raise ExampleError(f"{function.__name__} raised {describe_error(error)}") from None
    return found
