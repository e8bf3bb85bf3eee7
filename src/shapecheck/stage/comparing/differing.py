"""How far what two models gave differs, in numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from shapecheck.facts import Compared, ComparedStage, Gave, Ran, Tensor, Tolerance
from shapecheck.stage.comparing import parameters
from shapecheck.stage.comparing.keeping import kept
from shapecheck.stage.comparing.layouts import Layout, layouts, sample
from shapecheck.stage.comparing.matching import Renames, pairs
from shapecheck.stage.observe.values import dtype_name

Array = np.ndarray[Any, Any]

_CHUNK = 1 << 20  # numbers that are in memory at once
_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}


@dataclass(frozen=True)
class Collected:
    """The runs of one model, and the file that their arrays are in."""

    ran: Sequence[Ran]
    file: str


@dataclass(frozen=True)
class Difference:
    """The greatest differences of two arrays, whether all are within the tolerance, and where only one is NaN."""

    absolute: float = 0.0
    relative: float = 0.0
    close: bool = True
    odd: int = 0


_NONE = Difference()


@dataclass(frozen=True)
class _Pair:
    """Two arrays that are compared: in the `layout` in which they are alike, if it is not the one that they have."""

    difference: Difference
    layout: Layout | None = None


def compared(a: Collected, b: Collected, rules: Mapping[str, str], tolerance: Tolerance) -> Compared:
    """Compare all stages that both have, where `rules` give paths of `a` other names. Raises RenameError."""
    found = pairs(a.ran, b.ran, Renames(rules))
    values = _Values(a.file, b.file, tolerance)
    values.learn([(a.ran[one], b.ran[other]) for one, other in found])
    numbers: dict[int, int] = {}  # the place of a run of `a` -> that of its comparison
    stages: list[ComparedStage] = []
    for one, other in found:
        above = a.ran[one].parent
        while above is not None and above not in numbers:
            above = a.ran[above].parent
        numbers[one] = len(stages)
        stages.append(values.stage(a.ran[one], b.ran[other], numbers[above] if above is not None else None))
    matched = {one for one, _ in found}, {other for _, other in found}
    only = [
        tuple(dict.fromkeys(ran.path for place, ran in enumerate(side.ran) if place not in known))
        for side, known in zip((a, b), matched, strict=True)
    ]
    return Compared(tuple(stages), only[0], only[1])


class _Values:
    """Compares the arrays of two files. What was compared once is known."""

    def __init__(self, a: str, b: str, tolerance: Tolerance) -> None:
        self._a, self._b, self._tolerance = a, b, tolerance
        self._known: dict[tuple[str, str], _Pair | None] = {}
        self._orders: set[tuple[int, ...]] = set()  # of axes, in which one of the models has what the other has

    def learn(self, found: Sequence[tuple[Ran, Ran]]) -> None:
        """Learn from arrays of different shapes in which orders the two have their axes.

        It holds for those, too, that have equal sizes by chance, which tell nothing of it by themselves.
        """
        for a, b in found:
            for x, y in [*zip(a.outputs, b.outputs, strict=False), *zip(a.inputs, b.inputs, strict=False)]:
                if x.shape != y.shape and (pair := self._pair(x, y)) is not None and pair.layout is not None:
                    self._orders.add(pair.layout.order)

    def stage(self, a: Ran, b: Ran, parent: int | None) -> ComparedStage:
        """One run in both."""
        shapes = [(t.dtype, t.shape) for t in a.outputs] == [(t.dtype, t.shape) for t in b.outputs]
        own, rearranged = parameters.same(a.parameters, b.parameters)
        known = ComparedStage(
            b.path,
            b.call,
            b.type,
            parent,
            Gave(a.path, _shown(a.outputs), a.source),
            Gave(b.path, _shown(b.outputs), b.source),
            shapes=shapes,
            close=False,
            inputs=self._agree(a.inputs, b.inputs),
            parameters=own,
            rearranged=rearranged,
            untransposed=bool(own) and not rearranged and parameters.are_untransposed(a, b),
        )
        found = [self._laid(x, y) for x, y in zip(a.outputs, b.outputs, strict=False)]
        sure = [pair for pair in found if pair is not None]
        if len(sure) != len(a.outputs) or len(sure) != len(b.outputs):
            return known
        odd = sum(each.difference.odd for each in sure)
        laid = [each.layout for each in sure if each.layout is not None]
        return replace(
            known,
            close=all(each.difference.close for each in sure),
            absolute=max(each.difference.absolute for each in sure),
            relative=max(each.difference.relative for each in sure),
            nans=min(sum(t.nans for t in a.outputs), sum(t.nans for t in b.outputs)) if not odd else 0,
            odd=odd,
            layout=", ".join(dict.fromkeys(map(str, laid))),
            # What a whole model takes as the other does, it has to give as the other does.
            apart=any(self._is_apart(x, y) for x, y in zip(a.outputs, b.outputs, strict=True))
            or (bool(laid) and not (a.path and b.path) and _shapes(a.inputs) == _shapes(b.inputs)),
        )

    def _is_apart(self, a: Tensor, b: Tensor) -> bool:
        """Whether two arrays of one shape are equal in a layout only for which nothing else speaks."""
        pair = self._pair(a, b)
        return a.shape == b.shape and pair is not None and pair.layout is not None and not self._is_known(pair.layout)

    def _is_known(self, layout: Layout) -> bool:
        return layout.order in self._orders

    def _agree(self, a: Sequence[Tensor], b: Sequence[Tensor]) -> bool | None:
        """Whether what was given agrees. One may take the same array twice, or an integer array, a key say, besides."""
        if len(a) != len(b):
            inexact = ([t for t in side if jnp.issubdtype(jnp.dtype(t.dtype), jnp.inexact)] for side in (a, b))
            a, b = (list({tensor.digest: tensor for tensor in side}.values()) for side in inexact)
        if len(a) != len(b):
            return None
        if all(self._alike(x, y) for x, y in zip(a, b, strict=True)):
            return True
        # In another order, or cut and transposed: what that means, only their code tells.
        rest = list(b)
        for x in a:
            other = next((y for y in rest if self._alike(x, y) or self._has_same_numbers(x, y)), None)
            if other is None:
                return False
            rest.remove(other)
        return None

    def _alike(self, a: Tensor, b: Tensor) -> bool:
        """Whether two arrays agree in some layout. One that is the same for all examples may be there for each."""
        if a.dtype != b.dtype:
            return False
        if math.prod(a.shape) != math.prod(b.shape):
            return self._is_repeated(a, b)
        pair = self._pair(a, b)
        return pair is not None and pair.difference.close and not self._is_apart(a, b)

    def _is_repeated(self, a: Tensor, b: Tensor) -> bool:
        try:
            shape = np.broadcast_shapes(a.shape, b.shape)
        except ValueError:
            return False
        if math.prod(shape) > max(math.prod(a.shape), math.prod(b.shape)):
            return False
        one, other = (np.broadcast_to(kept(*each), shape) for each in ((self._a, a), (self._b, b)))
        return difference(one, other, self._tolerance).close

    def _has_same_numbers(self, a: Tensor, b: Tensor) -> bool:
        if a.dtype != b.dtype or a.shape == b.shape or math.prod(a.shape) != math.prod(b.shape):
            return False
        one, other = (np.sort(np.asarray(kept(*each)), axis=None) for each in ((self._a, a), (self._b, b)))
        return difference(one, other, self._tolerance).close

    def _laid(self, a: Tensor, b: Tensor) -> _Pair | None:
        """How two arrays differ; if they are in no way alike, in the layout that others have, or the only one."""
        pair = self._pair(a, b)
        if pair is not None or a.dtype != b.dtype:
            return pair
        possible = list(layouts(a.shape, b.shape))
        likely = [each for each in possible if each.order and self._is_known(each)] or possible
        if len(likely) != 1:
            return None
        return _Pair(difference(likely[0].of(kept(self._a, a)), kept(self._b, b), self._tolerance), likely[0])

    def _pair(self, a: Tensor, b: Tensor) -> _Pair | None:
        """How two arrays differ, or in which layout they do not; None if their shapes allow no comparison."""
        key = a.digest, b.digest
        if a.digest == b.digest:
            return _Pair(_NONE)
        if key not in self._known:
            self._known[key] = self._found(a, b)
        return self._known[key]

    def _found(self, a: Tensor, b: Tensor) -> _Pair | None:
        x, y = kept(self._a, a), kept(self._b, b)
        plain = _Pair(difference(x, y, self._tolerance)) if a.shape == b.shape else None
        if a.dtype != b.dtype or (plain is not None and plain.difference.close):
            return plain
        few = sample(y)
        for layout in layouts(a.shape, b.shape):
            laid = layout.of(x)
            if difference(sample(laid), few, self._tolerance).close:
                found = difference(laid, y, self._tolerance)
                if found.close:
                    return _Pair(found, layout)
        return plain


def difference(a: Array, b: Array, tolerance: Tolerance) -> Difference:
    """How far two arrays of one shape differ, in pieces.

    Within the tolerance is, as numpy.allclose has it, |a - b| <= atol + rtol * |b|; NaN equals NaN. Integers and truth
    values have to be the same. The relative difference is that where b is not zero.
    """
    exact = not (jnp.issubdtype(a.dtype, jnp.inexact) or jnp.issubdtype(b.dtype, jnp.inexact))
    dtype = max(dtype_name(a), dtype_name(b), key=tolerance.relative)
    rtol, atol = tolerance.relative(dtype), tolerance.absolute(dtype, _size(a, b))
    absolute, relative, close, odd = 0.0, 0.0, True, 0
    for x, y, differs, unlike in _pieces(a, b):
        odd += int(unlike.sum())
        with np.errstate(all="ignore"):
            apart, size = np.abs(x - y)[differs & ~unlike], np.abs(y)[differs & ~unlike]
            close &= not (exact or unlike.any() or np.isinf(apart).any() or (apart > atol + rtol * size).any())
            ratio = (apart / size)[(size > 0) & np.isfinite(size)]
        absolute = float(max(absolute, apart.max(initial=0.0)))
        relative = float(max(relative, ratio.max(initial=0.0)))
    return Difference(absolute, relative, bool(close), odd)


def _size(a: Array, b: Array) -> float:
    """The root mean square of `b` where `a` differs: what stands for nothing, such as -1e9, is the same in both."""
    total, count = 0.0, 0
    for _, y, differs, _ in _pieces(a, b):
        size = np.abs(y[differs])
        size = size[np.isfinite(size)]
        with np.errstate(over="ignore"):
            total, count = total + float((size**2).sum()), count + size.size
    return math.sqrt(total / count) if count else 0.0


def _pieces(a: Array, b: Array) -> Iterator[tuple[Array, Array, Array, Array]]:
    """What differs, piece by piece: both as wide numbers, where they differ, and where only one is NaN."""
    flat = a.reshape(-1), b.reshape(-1)
    for start in range(0, a.size, _CHUNK):
        one, other = (side[start : start + _CHUNK] for side in flat)
        x, y = _wide(one), _wide(other)
        unlike = np.isnan(x) != np.isnan(y)
        differs = (one != other) & ~(np.isnan(x) & np.isnan(y))
        if differs.any():
            yield x, y, differs, unlike


def _wide(values: Array) -> Array:
    """As numbers in which differences are not lost."""
    return values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)


def _shapes(tensors: Sequence[Tensor]) -> list[tuple[int, ...]]:
    return [tensor.shape for tensor in tensors]


def _shown(tensors: Sequence[Tensor]) -> str:
    texts = [f"{_dtype(t.dtype)}[{','.join(map(str, t.shape))}]" for t in tensors]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _dtype(name: str) -> str:
    kind = name.rstrip("0123456789")
    return f"{_SHORT[kind]}{name[len(kind) :]}" if kind in _SHORT and kind != name else name
