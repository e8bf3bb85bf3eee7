"""Arguments of what is itself an argument: `cfg.depth` is the `depth` of `cfg`, which is made with it."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Union

from shapecheck.evaluate.framework_protocol import module_name
from shapecheck.evaluate.inputs.project.entries import nearest
from shapecheck.evaluate.inputs.project.user_examples import ExampleError
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall

_NOT_MADE = ("builtins", "inspect", "typing", "jax", "jaxlib", "numpy", "collections", "jaxtyping")


def heads(given: Mapping[str, object]) -> dict[str, object]:
    """The names of a function's own parameters among those given."""
    return {name.partition(".")[0]: value for name, value in given.items()}


def split_nested(given: Mapping[str, object]) -> tuple[dict[str, object], dict[str, dict[str, object]]]:
    """What is given whole, and what is given of others. Raises ExampleError for a name that is given in both ways."""
    whole = {name: value for name, value in given.items() if "." not in name}
    inner: dict[str, dict[str, object]] = {}
    for name, value in given.items():
        head, dot, rest = name.partition(".")
        if dot:
            inner.setdefault(head, {})[rest] = value
    for name in whole.keys() & inner.keys():
        raise ExampleError(f"{name} is given whole, and {name}.{next(iter(inner[name]))} too: leave one of them out")
    return whole, inner


def default_with(default: object, given: Mapping[str, object]) -> object:
    """A default that is a dataclass or named tuple, with other values of these fields; None if it is neither."""
    if isinstance(default, type):
        return None
    if dataclasses.is_dataclass(default):
        names, replace = [field.name for field in dataclasses.fields(default) if field.init], dataclasses.replace
    elif isinstance(default, tuple) and hasattr(default, "_replace"):
        kind: Any = type(default)
        names, replace = list(kind._fields), kind._replace
    else:
        return None
    values, inner = split_nested(given)
    for name in heads(given):
        if name not in names:
            raise ExampleError(f"{type(default).__qualname__} has no parameter {name!r}{nearest(name, names)}")
    for name, rest in inner.items():
        values[name] = default_with(getattr(default, name), rest)
        if values[name] is None:
            raise cannot(name, rest)
    return LazyCall(replace, [default], values)


def classes_in(annotation: object) -> Sequence[type]:
    """The classes that an annotation admits and that have parameters of their own."""
    if typing.get_origin(annotation) in (Union, types.UnionType, typing.Annotated):
        return [cls for part in typing.get_args(annotation) for cls in classes_in(part)]
    if isinstance(annotation, type) and module_name(annotation).partition(".")[0] not in _NOT_MADE:
        return [annotation]
    return []


def cannot(name: str, given: Mapping[str, object]) -> ExampleError:
    """The error for a parameter of which nothing tells what it is."""
    return ExampleError(
        f"{name}.{next(iter(given))} cannot be given: nothing says of which class `{name}` is. "
        "Annotate it with its class, or name a function that makes the model"
    )
