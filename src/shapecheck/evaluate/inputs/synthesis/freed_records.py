"""Records among the arguments of a call that was seen, whose arrays are made anew: as the annotations of its class say.

Only such that hold nothing but annotated arrays: what stands beside these, as a number of cells does, would have to
follow their sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax

from shapecheck.evaluate.inputs.facts.runtime_annotations import annotation_of_field, array_type
from shapecheck.evaluate.own_errors import is_own
from shapecheck.evaluate.probes.attribute_access import own_names
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.shapes import NamedDim, SpecError, parse_spec


@dataclass(frozen=True)
class FreedRecord:
    """A record with the specs of its fields, in the order of its leaves, and the sizes that their names had."""

    value: Any
    specs: Mapping[str, str]
    sizes: Mapping[str, int]

    def with_arrays(self, made: Callable[[str, str], jax.ShapeDtypeStruct]) -> object:
        """The same record with other arrays: `made` gives one for the spec of a field, and its name."""
        leaves, structure = jax.tree_util.tree_flatten(self.value)
        arrays = [made(text, name) for name, text in self.specs.items()]
        new = [jax.ShapeDtypeStruct(each.shape, leaf.dtype) for each, leaf in zip(arrays, leaves, strict=True)]
        return jax.tree_util.tree_unflatten(structure, new)


def freed_record(value: object) -> FreedRecord | None:
    """What a value is as such a record; None if it is none, or if its arrays are not as its class says."""
    try:
        found, _ = jax.tree_util.tree_flatten_with_path(value)
    except Exception as error:  # the user's own flattening
        if is_own(error):
            raise
        return None
    specs: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for path, leaf in found:
        name = getattr(path[0], "name", "") if len(path) == 1 else ""
        annotated = array_type(annotation_of_field(type(value), name)) if name else None
        if annotated is None or not is_array(leaf) or not _takes(annotated.shape, leaf.shape, sizes):
            return None
        specs[name] = annotated.shape
    return FreedRecord(value, specs, sizes) if specs and len(specs) == len(_fields(value)) else None


def _fields(value: object) -> tuple[str, ...]:
    """The names of all that it holds, static or not."""
    of_tuple = getattr(value, "_fields", None)
    return tuple(of_tuple) if of_tuple is not None else tuple(own_names(value))


def _takes(text: str, shape: tuple[object, ...], sizes: dict[str, int]) -> bool:
    """Whether an array is as a spec of plain names and numbers says, with one size for each name; that is noted."""
    try:
        dims = parse_spec(text).dims
    except SpecError:
        return False
    if len(dims) != len(shape):
        return False
    for dim, size in zip(dims, shape, strict=True):
        if not isinstance(size, int) or (isinstance(dim, NamedDim) and sizes.setdefault(dim.name, size) != size):
            return False
        if not isinstance(dim, NamedDim) and str(dim) != str(size):
            return False
    return True
