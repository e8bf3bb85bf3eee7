"""Values under `vmap`: as one example has them, and with the mapped axes in front."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from shapecheck.model import ArrayValue, TreeValue, Value, arrays_in

Axes = tuple[str, ...]


def mapped_axes(value: ArrayValue) -> Iterator[Axes]:
    """What mapped axes an array can have, never none: of hidden ones it may have any, around those that it shows."""
    for count in range(len(value.hidden) + 1):
        for some in itertools.combinations(value.hidden, count):
            if some or value.mapped:
                yield (*some, *value.mapped)


def is_mapped(value: Value) -> bool:
    """Whether `vmap` has surely taken axes away from an array in it."""
    if isinstance(value, TreeValue):
        return any(map(is_mapped, value.children))
    return isinstance(value, ArrayValue) and bool(value.mapped)


def in_front(value: Value) -> Iterator[Value]:
    """A value as it can be outside of `vmap`, with mapped axes in front."""
    seen = {axes for array in arrays_in(value) for axes in mapped_axes(array)}
    for axes in sorted(seen):
        yield _with(value, axes)


def alone(value: Value) -> Value:
    """A value as one example has it."""
    return _with(value, ())


def _with(value: Value, axes: Axes) -> Value:
    if isinstance(value, TreeValue):
        return replace(value, children=tuple(_with(child, axes) for child in value.children))
    if isinstance(value, ArrayValue):
        return ArrayValue(value.dtype, (*axes, *value.shape))
    return value
