"""How far two arrays of numbers differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.probes.describe_value import dtype_name
from shapecheck.evaluate.stages.value_taps import HostArray
from shapecheck.model import Tolerance

_CHUNK = 1 << 20  # numbers that are in memory at once


@dataclass(frozen=True)
class Difference:
    """The greatest differences of two arrays, and whether all are within the tolerance.

    In so many places one only is NaN (`odd`), and in so many the two are not the same (`unlike`).
    """

    absolute: float = 0.0
    relative: float = 0.0
    close: bool = True
    odd: int = 0
    unlike: int = 0


def difference(a: HostArray, b: HostArray, tolerance: Tolerance) -> Difference:
    """How far two arrays of one shape differ, in pieces.

    Within the tolerance is, as numpy.allclose has it, |a - b| <= atol + rtol * |b|; NaN equals NaN. Integers and truth
    values have to be the same. The relative difference is that where b is not zero.
    """
    exact = is_exact(a.dtype) and is_exact(b.dtype)
    dtype = max(dtype_name(a), dtype_name(b), key=tolerance.relative)
    rtol, atol = tolerance.relative(dtype), tolerance.absolute(dtype, _size(a, b))
    absolute, relative, close, odd, others = 0.0, 0.0, True, 0, 0
    for x, y, differs, unlike in _pieces(a, b):
        odd += int(unlike.sum())
        others += int(differs.sum())
        with np.errstate(all="ignore"):
            apart, size = np.abs(x - y)[differs & ~unlike], np.abs(y)[differs & ~unlike]
            close &= not (exact or unlike.any() or np.isinf(apart).any() or (apart > atol + rtol * size).any())
            ratio = (apart / size)[(size > 0) & np.isfinite(size)]
        absolute = float(max(absolute, apart.max(initial=0.0)))
        relative = float(max(relative, ratio.max(initial=0.0)))
    return Difference(absolute, relative, bool(close), odd, others)


def is_exact(dtype: jax.typing.DTypeLike) -> bool:
    """Whether it is a dtype of integers or truth values, which no rounding changes."""
    return not jnp.issubdtype(jnp.dtype(dtype), jnp.inexact)


def _size(a: HostArray, b: HostArray) -> float:
    """The root mean square of `b` where `a` differs: what stands for nothing, such as -1e9, is the same in both."""
    total, count = 0.0, 0
    for _, y, differs, _ in _pieces(a, b):
        size = np.abs(y[differs])
        size = size[np.isfinite(size)]
        with np.errstate(over="ignore"):
            total, count = total + float((size**2).sum()), count + size.size
    return math.sqrt(total / count) if count else 0.0


def _pieces(a: HostArray, b: HostArray) -> Iterator[tuple[HostArray, HostArray, HostArray, HostArray]]:
    """What differs, piece by piece: both as wide numbers, where they differ, and where only one is NaN."""
    flat = a.reshape(-1), b.reshape(-1)
    for start in range(0, a.size, _CHUNK):
        one, other = (side[start : start + _CHUNK] for side in flat)
        x, y = _wide(one), _wide(other)
        unlike = np.isnan(x) != np.isnan(y)
        differs = (one != other) & ~(np.isnan(x) & np.isnan(y))
        if differs.any():
            yield x, y, differs, unlike


def _wide(values: HostArray) -> HostArray:
    """As numbers in which differences are not lost."""
    return values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)
