"""One array written in two ways: its axes in another order, or cut otherwise, or with axes of one entry besides.

Frameworks differ so where models do not: images are NHWC in one and CHW, an example at a time, in another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shapecheck.evaluate.stages.value_taps import HostArray

_MOST_AXES = 6  # longer than one, that are put in all orders
_SAMPLE = 512


@dataclass(frozen=True)
class ArrayLayout:
    """How an array has to be laid out to have the `shape` of another: its longer axes in this `order`, then cut anew.

    The order counts all axes of the array, also those of one entry; it is empty where the axes keep theirs.
    """

    order: tuple[int, ...]
    shape: tuple[int, ...]

    def of(self, array: HostArray) -> HostArray:
        """The array in this layout."""
        longer = [axis for axis, size in enumerate(array.shape) if size != 1]
        inner = array.reshape([array.shape[axis] for axis in longer])
        order = [longer.index(axis) for axis in self.order] or list(range(len(longer)))
        return inner.transpose(order).reshape(self.shape)

    def __str__(self) -> str:
        return f"transposed ({', '.join(map(str, self.order))})" if self.order else "reshaped"


def layouts(a: Sequence[int], b: Sequence[int]) -> Iterator[ArrayLayout]:
    """All ways in which an array of the shape `a` may become one of the shape `b`; the simplest first."""
    if math.prod(a) != math.prod(b):
        return
    if tuple(a) != tuple(b):
        yield ArrayLayout((), tuple(b))
    longer = [axis for axis, size in enumerate(a) if size != 1]
    sizes = [size for size in b if size != 1]
    if len(longer) > _MOST_AXES or sorted(a[axis] for axis in longer) != sorted(sizes):
        return
    for order in itertools.permutations(longer):
        if list(order) != longer and [a[axis] for axis in order] == sizes:
            yield ArrayLayout(order, tuple(b))


def sample(array: HostArray) -> HostArray:
    """Some of its numbers, at places that depend on its size alone."""
    places = np.random.default_rng(array.size).integers(0, array.size, _SAMPLE) if array.size else np.zeros(0, int)
    found: HostArray = array[np.unravel_index(places, array.shape)] if array.shape else array.reshape(1)
    return found
