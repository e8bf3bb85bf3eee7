"""Random keys: which parameters take one, and of which kind.

JAX has two kinds: those of `jax.random.key`, and the `uint32[2]` of `jax.random.PRNGKey`.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any, Union

from shapecheck.evaluate.inputs.facts.runtime_annotations import MISSING, ArrayType, array_type, is_plain_array

_LABELS = ("PRNGKeyArray", "KeyArray", "PRNGKey")


def admits_key(annotation: object) -> bool:
    """Whether a random key is among what an annotation admits."""
    if annotation is MISSING or annotation is Any:
        return True
    members = list(_members(annotation))
    arrays = [found for member in members if (found := array_type(member)) is not None]
    if arrays:
        return bool(list(_of_keys(arrays)))
    return any(is_plain_array(m) or getattr(m, "__name__", "") in _LABELS for m in members)


def names_new_keys(function: object) -> bool:
    """Whether the module of a function has jaxtyping's `Key`: then its keys are of the new kind."""
    found = vars(sys.modules.get(str(getattr(function, "__module__", "")), object)).get("Key")
    return isinstance(found, type) and str(found.__module__).partition(".")[0] == "jaxtyping"


def key_types(annotation: object) -> tuple[ArrayType | None, ArrayType | None]:
    """The array types of an annotation that keys have, the new kind first; None for a kind that it does not admit."""
    found = list(_of_keys([array for m in _members(annotation) if (array := array_type(m)) is not None]))
    new = next((array for array in found if array.dtype in ("Key", *_LABELS)), None)
    return new, next((array for array in found if array is not new and array.dtype not in ("Key", *_LABELS)), None)


def _of_keys(arrays: Sequence[ArrayType]) -> Iterator[ArrayType]:
    for array in arrays:
        is_old = array.dtype in ("UInt32", "UInt") and array.shape.split()[-1:] in (["2"], ["4"])
        if array.dtype in ("Key", *_LABELS) or is_old:
            yield array


def _members(annotation: object) -> Iterator[object]:
    if typing.get_origin(annotation) in (Union, types.UnionType, typing.Annotated):
        for part in typing.get_args(annotation):
            yield from _members(part)
    elif annotation not in (None, type(None)):
        yield annotation
