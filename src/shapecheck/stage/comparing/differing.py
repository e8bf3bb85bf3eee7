"""How far what two models gave differs, in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from shapecheck.facts import Compared, ComparedStage, Gave, Ran, Tensor
from shapecheck.stage.comparing.keeping import kept
from shapecheck.stage.comparing.matching import Renames, pairs

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


def compared(a: Collected, b: Collected, rules: Mapping[str, str], rtol: float, atol: float) -> Compared:
    """Compare all stages that both have, where `rules` give paths of `a` other names. Raises RenameError."""
    found = pairs(a.ran, b.ran, Renames(rules))
    values = _Values(a.file, b.file, rtol, atol)
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

    def __init__(self, a: str, b: str, rtol: float, atol: float) -> None:
        self._a, self._b, self._rtol, self._atol = a, b, rtol, atol
        self._known: dict[tuple[str, str], Difference] = {}

    def stage(self, a: Ran, b: Ran, parent: int | None) -> ComparedStage:
        """One run in both."""
        shapes = [(t.dtype, t.shape) for t in a.outputs] == [(t.dtype, t.shape) for t in b.outputs]
        given = self._agree(a.inputs, b.inputs)
        own = _same(a.parameters, b.parameters)
        sides = Gave(a.path, _shown(a.outputs), a.source), Gave(b.path, _shown(b.outputs), b.source)
        if [t.shape for t in a.outputs] != [t.shape for t in b.outputs]:
            return ComparedStage(
                b.path, b.call, b.type, parent, *sides, shapes=False, close=False, inputs=given, parameters=own
            )
        found = [self._difference(x, y) for x, y in zip(a.outputs, b.outputs, strict=True)]
        odd = sum(each.odd for each in found)
        return ComparedStage(
            b.path,
            b.call,
            b.type,
            parent,
            *sides,
            shapes=shapes,
            close=all(each.close for each in found),
            absolute=max(each.absolute for each in found),
            relative=max(each.relative for each in found),
            nans=min(sum(t.nans for t in a.outputs), sum(t.nans for t in b.outputs)) if not odd else 0,
            odd=odd,
            inputs=given,
            parameters=own,
        )

    def _agree(self, a: Sequence[Tensor], b: Sequence[Tensor]) -> bool | None:
        """Whether what was given agrees. One may take the same array twice, or an integer array, a key say, besides."""
        if len(a) != len(b):
            inexact = ([t for t in side if jnp.issubdtype(jnp.dtype(t.dtype), jnp.inexact)] for side in (a, b))
            a, b = (list({tensor.digest: tensor for tensor in side}.values()) for side in inexact)
        if len(a) != len(b):
            return None
        same = [(t.dtype, t.shape) for t in a] == [(t.dtype, t.shape) for t in b]
        return same and all(self._difference(x, y).close for x, y in zip(a, b, strict=True))

    def _difference(self, a: Tensor, b: Tensor) -> Difference:
        key = a.digest, b.digest
        if a.digest == b.digest:
            return _NONE
        if key not in self._known:
            self._known[key] = difference(kept(self._a, a), kept(self._b, b), self._rtol, self._atol)
        return self._known[key]


def difference(a: Array, b: Array, rtol: float, atol: float) -> Difference:
    """How far two arrays of one shape differ, in pieces.

    Within the tolerance is, as numpy.allclose has it, |a - b| <= atol + rtol * |b|; NaN equals NaN. Integers and truth
    values have to be the same. The relative difference is that where b is not zero.
    """
    exact = not (jnp.issubdtype(a.dtype, jnp.inexact) or jnp.issubdtype(b.dtype, jnp.inexact))
    absolute, relative, close, odd = 0.0, 0.0, True, 0
    for start in range(0, a.size, _CHUNK):
        one, other = (side.reshape(-1)[start : start + _CHUNK] for side in (a, b))
        x, y = _wide(one), _wide(other)
        unlike = np.isnan(x) != np.isnan(y)
        differs = (one != other) & ~(np.isnan(x) & np.isnan(y))
        if not differs.any():
            continue
        odd += int(unlike.sum())
        with np.errstate(all="ignore"):
            apart, size = np.abs(x - y)[differs & ~unlike], np.abs(y)[differs & ~unlike]
            close &= not (exact or unlike.any() or np.isinf(apart).any() or (apart > atol + rtol * size).any())
            ratio = (apart / size)[(size > 0) & np.isfinite(size)]
        absolute = float(max(absolute, apart.max(initial=0.0)))
        relative = float(max(relative, ratio.max(initial=0.0)))
    return Difference(absolute, relative, bool(close), odd)


def _wide(values: Array) -> Array:
    """As numbers in which differences are not lost."""
    return values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)


def _same(a: Sequence[Tensor], b: Sequence[Tensor]) -> bool | None:
    """Whether parameters are the same, by whatever names; None where there are none, or they are cut otherwise."""
    if not a or sorted((t.dtype, t.shape) for t in a) != sorted((t.dtype, t.shape) for t in b):
        return None
    return sorted(t.digest for t in a) == sorted(t.digest for t in b)


def _shown(tensors: Sequence[Tensor]) -> str:
    texts = [f"{_dtype(t.dtype)}[{','.join(map(str, t.shape))}]" for t in tensors]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _dtype(name: str) -> str:
    kind = name.rstrip("0123456789")
    return f"{_SHORT[kind]}{name[len(kind) :]}" if kind in _SHORT and kind != name else name
