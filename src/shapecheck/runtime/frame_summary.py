"""The variables of a frame in words, for who sees where a program failed: its arrays, and the rest in short."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import jax
import numpy as np

from shapecheck.evaluate.framework_protocol import is_state
from shapecheck.evaluate.probes.describe_value import array_text, dtype_name, is_array
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


_MOST_OF_VARIABLE = 8  # arrays
_MOST = 12  # arrays of a frame
_MOST_OTHERS = 10
_LONGEST = 24  # letters of a text that is shown: what is longer may be a secret
_OPTIMIZERS = "optax"  # the package

_Leaf = tuple[Any, Any]  # its path, and an array
_Row = tuple[str, str, int]  # a label, a text, and of how many arrays it tells


def frame_lines(variables: Mapping[str, object]) -> list[str]:
    """A line for each array among the variables, or inside of them, and one for the others; none without arrays."""
    plain: list[_Row] = []
    inside: list[_Row] = []
    others: list[str] = []
    for name, value in variables.items():
        if name.startswith("__"):
            continue
        found = _arrays_in(value)
        (plain if is_array(value) else inside).extend(_rows(name, value, found))
        text = "" if found else _in_short(value)
        others += [f"{name} = {text}"] if text else []
    rows = [*plain, *inside]
    width = max((len(label) for label, _, _ in rows[:_MOST]), default=0)
    lines = [f"{label:{width}}  {text}" for label, text, _ in rows[:_MOST]]
    left = sum(count for _, _, count in rows[_MOST:])
    lines += [f"and {left} arrays more"] if left else []
    if len(others) > _MOST_OTHERS:
        others[_MOST_OTHERS:] = [f"and {len(others) - _MOST_OTHERS} variables more"]
    return [*lines, ", ".join(others)] if lines and others else lines


def _arrays_in(value: object) -> list[_Leaf]:
    if isinstance(value, type):
        return []
    try:
        leaves = jax.tree_util.tree_flatten_with_path(value, is_leaf=is_state)[0]
    except Exception:  # of a class of others', which does not want to be looked into
        return []
    return [(path, leaf) for path, leaf in leaves if is_array(leaf) and not isinstance(leaf, np.generic)]


def _rows(name: str, value: object, found: Sequence[_Leaf]) -> Iterator[_Row]:
    if len(found) > 1 and (kinds := list(dict.fromkeys(_optimizer_states(value)))):
        yield name, _summarize_state(", ".join(kinds), [leaf for _, leaf in found]), len(found)
        return
    for path, leaf in found[:_MOST_OF_VARIABLE]:
        yield f"{name}{jax.tree_util.keystr(path)}", summarize_array(leaf), 1
    left = len(found) - _MOST_OF_VARIABLE
    if left > 0:
        yield name, f"and {left} arrays more", left


def _optimizer_states(value: Any) -> Iterator[str]:
    """The classes of Optax's states that a value is, or that a chain of them has."""
    if type(value) in (tuple, list):
        for each in value:
            yield from _optimizer_states(each)
    elif str(type(value).__module__).partition(".")[0] == _OPTIMIZERS and jax.tree_util.tree_leaves(value):
        yield type(value).__name__


def _summarize_state(kinds: str, arrays: Sequence[jax.Array]) -> str:
    """`ScaleByAdamState: 5 arrays of 1234 numbers  2 not finite`."""
    bad = 0
    with contextlib.suppress(Exception):  # donated, on other machines, or of a computation that has failed
        bad = sum(map(count_not_finite, arrays))
    text = f"{kinds}: {len(arrays)} arrays of {sum(array.size for array in arrays)} numbers"
    return f"{text}  {bad} not finite" if bad else text


def _in_short(value: object) -> str:
    """Numbers and short texts as they are, of others the class; "" for what the program's source tells."""
    if value is None or isinstance(value, (bool, int, float, complex, np.generic)):
        return str(value)
    if isinstance(value, (str, bytes)):
        return repr(value) if len(value) <= _LONGEST else f"{type(value).__name__} of {len(value)}"
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, (type, ModuleType)) or callable(value):
        return ""
    return type(value).__name__
