"""The arrays of two models, which are in two files: which are alike, in whatever layout their frameworks have.

Frameworks differ so where models do not: images are NHWC in one and CHW, an example at a time, in another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shapecheck.evaluate.compare.array_difference import Difference, difference, is_exact
from shapecheck.evaluate.compare.array_store import load_array
from shapecheck.evaluate.stages.value_taps import HostArray
from shapecheck.model import StageRun, Tensor, Tolerance

_NONE = Difference()


@dataclass(frozen=True)
class Pair:
    """Two arrays that are compared: in the `layout` in which they are alike, if it is not the one that they have."""

    difference: Difference
    layout: ArrayLayout | None = None


class ArrayComparison:
    """Compares the arrays of two files. What was compared once is known."""

    def __init__(self, a: str, b: str, tolerance: Tolerance) -> None:
        self._a, self._b, self._tolerance = a, b, tolerance
        self._known: dict[tuple[str, str], Pair | None] = {}
        self._orders: set[tuple[int, ...]] = set()  # of axes, in which one of the models has what the other has

    def learn(self, found: Sequence[tuple[StageRun, StageRun]]) -> None:
        """Learn from arrays of different shapes in which orders the two have their axes.

        It holds for those, too, that have equal sizes by chance, which tell nothing of it by themselves.
        """
        for a, b in found:
            for x, y in [*zip(a.outputs, b.outputs, strict=False), *zip(a.inputs, b.inputs, strict=False)]:
                if x.shape != y.shape and (pair := self._pair(x, y)) is not None and pair.layout is not None:
                    self._orders.add(pair.layout.order)

    def is_apart(self, a: Tensor, b: Tensor) -> bool:
        """Whether two arrays of one shape are equal in a layout only for which nothing else speaks."""
        pair = self._pair(a, b)
        return a.shape == b.shape and pair is not None and pair.layout is not None and not self._is_known(pair.layout)

    def alike(self, a: Tensor, b: Tensor) -> bool:
        """Whether two arrays agree in some layout. One that is the same for all examples may be there for each."""
        if not can_be_the_same(a, b):
            return False
        if math.prod(a.shape) != math.prod(b.shape):
            return a.dtype == b.dtype and self._is_repeated(a, b)
        pair = self._pair(a, b)
        if pair is None or not pair.difference.close or self.is_apart(a, b):
            return False
        return a.dtype == b.dtype or not pair.difference.unlike

    def have_same_numbers(self, a: Sequence[Tensor], b: Sequence[Tensor]) -> bool:
        """Whether some arrays have the same numbers together as others, in whatever order and however cut."""
        sides = [sorted((t.dtype, math.prod(t.shape)) for t in side) for side in (a, b)]
        if {dtype for dtype, _ in sides[0]} != {dtype for dtype, _ in sides[1]}:
            return False
        if sum(size for _, size in sides[0]) != sum(size for _, size in sides[1]):
            return False
        one, other = (
            np.sort(np.concatenate([np.ravel(load_array(file, tensor)) for tensor in side]))
            for file, side in ((self._a, a), (self._b, b))
        )
        return difference(one, other, self._tolerance).close

    def compare_layouts(self, a: Tensor, b: Tensor) -> Pair | None:
        """How two arrays differ; if they are in no way alike, in the layout that others have, or the only one."""
        pair = self._pair(a, b)
        if pair is not None or not can_be_the_same(a, b):
            return pair
        possible = list(layouts(a.shape, b.shape))
        likely = [each for each in possible if each.order and self._is_known(each)] or possible
        if len(likely) != 1 and not _have_the_same_axes(a, b):
            return None
        x, y = self._arrays(a, b)
        return Pair(difference(likely[0].of(x), y, self._tolerance), likely[0])

    def _is_known(self, layout: ArrayLayout) -> bool:
        return layout.order in self._orders

    def _is_repeated(self, a: Tensor, b: Tensor) -> bool:
        try:
            shape = np.broadcast_shapes(a.shape, b.shape)
        except ValueError:
            return False
        if math.prod(shape) > max(math.prod(a.shape), math.prod(b.shape)):
            return False
        one, other = (np.broadcast_to(array, shape) for array in self._arrays(a, b))
        return difference(one, other, self._tolerance).close

    def _pair(self, a: Tensor, b: Tensor) -> Pair | None:
        """How two arrays differ, or in which layout they do not; None if their shapes allow no comparison."""
        key = a.digest, b.digest
        if a.digest == b.digest:
            return Pair(_NONE)
        if key not in self._known:
            self._known[key] = self._compare(a, b)
        return self._known[key]

    def _compare(self, a: Tensor, b: Tensor) -> Pair | None:
        x, y = self._arrays(a, b)
        plain = Pair(difference(x, y, self._tolerance)) if a.shape == b.shape else None
        if not can_be_the_same(a, b) or (plain is not None and plain.difference.close):
            return plain
        few = sample(y)
        for layout in layouts(a.shape, b.shape):
            laid = layout.of(x)
            if difference(sample(laid), few, self._tolerance).close:
                found = difference(laid, y, self._tolerance)
                if found.close:
                    return Pair(found, layout)
        return plain

    def _arrays(self, a: Tensor, b: Tensor) -> tuple[HostArray, HostArray]:
        return load_array(self._a, a), load_array(self._b, b)


def _have_the_same_axes(a: Tensor, b: Tensor) -> bool:
    """Whether only axes of one entry are in one and not in the other."""
    one, other = ([size for size in tensor.shape if size != 1] for tensor in (a, b))
    return one == other


def can_be_the_same(a: Tensor, b: Tensor) -> bool:
    """Whether two dtypes can say the same: a mask is of truth values, of integers, or of zeros and ones.

    Of two widths of floats, one is less exact.
    """
    return a.dtype == b.dtype or is_exact(a.dtype) or is_exact(b.dtype)


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
