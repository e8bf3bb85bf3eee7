"""Arrays in words, with what their values are like."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from shapecheck.evaluate.framework_protocol import is_state
from shapecheck.evaluate.probes.describe_value import dtype_name, is_array
from shapecheck.evaluate.stages.value_taps import HostArray
from shapecheck.model import ArrayValue
from shapecheck.templates import format_value

_MOST = 8  # arrays of one variable that are shown


def arrays(variables: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The arrays among variables, and inside of them, each with its name and in words."""
    for name, value in variables.items():
        if name.startswith("__") or isinstance(value, type):
            continue
        try:
            leaves = jax.tree_util.tree_flatten_with_path(value, is_leaf=is_state)[0]
        except Exception:  # noqa: S112 - of a class of others', which does not want to be looked into
            continue
        found = [(path, leaf) for path, leaf in leaves if is_array(leaf) and not isinstance(leaf, np.generic)]
        for path, leaf in found[:_MOST]:
            yield f"{name}{jax.tree_util.keystr(path)}", summarize_array(leaf)
        if len(found) > _MOST:
            yield name, f"and {len(found) - _MOST} arrays more"


def summarize_array(array: object) -> str:
    """`f32[2,3]  -1.5 .. 2  4 not finite`; of a tracer, which has no values, the type alone."""
    text = short(array)
    with contextlib.suppress(Exception):  # donated, on other machines, or of a computation that has failed
        values = _values(array)
        if values is not None and values.size:
            return f"{text}  {_range(values)}"
    return text


def short(array: Any) -> str:
    """`f32[2,3]`."""
    return format_value.array(ArrayValue(dtype_name(array), tuple(map(str, array.shape))))


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
