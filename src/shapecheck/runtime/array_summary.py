"""Arrays in words, with what their values are like."""

from __future__ import annotations

import contextlib

import jax
import numpy as np

from shapecheck.evaluate.probes.describe_value import array_text, dtype_name
from shapecheck.evaluate.stages.value_taps import HostArray


def summarize_array(array: object) -> str:
    """`f32[2,3]  -1.5 .. 2  4 not finite`; of a tracer, which has no values, the type alone."""
    text = array_text(array)
    with contextlib.suppress(Exception):  # donated, on other machines, or of a computation that has failed
        values = _values(array)
        if values is not None and values.size:
            return f"{text}  {_range(values)}"
    return text


def count_not_finite(array: object) -> int:
    """How many of its numbers are NaN or infinite, as far as it has any; may raise, as what is donated does."""
    values = _values(array)
    return int((~np.isfinite(values)).sum()) if values is not None and np.issubdtype(values.dtype, np.inexact) else 0


def _values(array: object) -> HostArray | None:
    if isinstance(array, jax.core.Tracer) or not isinstance(array, (jax.Array, np.ndarray)):
        return None
    if jax.numpy.issubdtype(array.dtype, jax.dtypes.prng_key):
        return None
    values = np.asarray(array)
    return values.astype(np.float32) if dtype_name(array) in ("bfloat16", "float16") else values


def _range(values: HostArray) -> str:
    if not np.issubdtype(values.dtype, np.inexact):
        return _between(values) if np.issubdtype(values.dtype, np.integer) else f"{int(values.sum())} true"
    finite = np.isfinite(values)
    bad = int(values.size - finite.sum())
    text = _between(np.abs(values[finite]) if np.iscomplexobj(values) else values[finite]) if finite.any() else ""
    return "  ".join(filter(None, [text, f"{bad} not finite" if bad else ""]))


def _between(values: HostArray) -> str:
    least, most = values.min(), values.max()
    return f"{least:.6g}" if least == most else f"{least:.6g} .. {most:.6g}"
