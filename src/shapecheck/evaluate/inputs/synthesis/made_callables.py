"""Callables that are made up as an annotation has them: they give what it says, in the sizes of what they are given."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import jax
import jax.numpy as jnp

from shapecheck.evaluate.inputs.facts.runtime_annotations import (
    ArrayType,
    annotation_of,
    array_type,
    holds_anything,
    signature_of,
)
from shapecheck.evaluate.inputs.trials.size_assignment import Size, UnknownSizeError, evaluate
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.shapes import AnyDims, Dim, NamedDim, SymbolicDim, VariadicDim, is_variadic, parse_spec

Sizes = tuple[Size, ...]


@dataclass
class _ArgumentSizes:
    """What names mean by the arguments of one call."""

    single: dict[str, Size] = field(default_factory=dict)
    variadic: dict[str, Sizes] = field(default_factory=dict)

    def bind(self, annotation: object, value: object) -> None:
        """Take the sizes of an argument, if it is an array of as many axes as its annotation says."""
        found = _only_array_type(annotation)
        if found is None or not is_array(value):
            return
        shape = cast("Sizes", value.shape)
        for dim, sizes in _laid_out(parse_spec(found.shape).dims, shape):
            if isinstance(dim, NamedDim) and not dim.broadcastable:
                self.single.setdefault(dim.name, sizes[0])
            elif isinstance(dim, VariadicDim) and not dim.broadcastable:
                self.variadic.setdefault(dim.name, sizes)

    def of(self, dim: Dim, usual: Sizes) -> Sizes:
        """The axes of a dim: as the arguments have it, else the usual ones."""
        if isinstance(dim, NamedDim):
            return (self.single.get(dim.name, usual[0]),)
        if isinstance(dim, VariadicDim):
            return self.variadic.get(dim.name, usual)
        if isinstance(dim, SymbolicDim):
            try:
                return (evaluate(dim, self._size),)
            except UnknownSizeError:
                return usual
        return usual

    def _size(self, name: str) -> Size:
        if name not in self.single:
            raise UnknownSizeError(f"no argument says the size of {name}")
        return self.single[name]


def _laid_out(dims: Sequence[Dim], shape: Sizes) -> list[tuple[Dim, Sizes]]:
    """The axes that fall to each dim; nothing if there are too few or too many, or nobody can tell."""
    places = [index for index, dim in enumerate(dims) if is_variadic(dim)]
    spare = len(shape) - len(dims) + len(places)
    if spare < 0 or len(places) > 1 or (spare and not places):
        return []
    found: list[tuple[Dim, Sizes]] = []
    start = 0
    for dim in dims:
        length = spare if is_variadic(dim) else 1
        found.append((dim, shape[start : start + length]))
        start += length
    return found


class MadeCallable:
    """A function that takes what is `taken`, and gives the `usual` value of the annotation `given`.

    The axes that its arguments have, too, are as large as theirs. What is annotated as an argument, with a structure or
    axes that this leaves open, is like that.
    """

    def __init__(self, taken: Mapping[str, object], given: object, usual: object) -> None:
        self.taken, self.given, self.usual = taken, given, usual

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Zeros of the shapes that the annotation says."""
        sizes = _ArgumentSizes()
        if (like := self._like(args, kwargs)) is not None:
            return jax.tree_util.tree_map(lambda leaf: jnp.zeros_like(leaf) if is_array(leaf) else leaf, like)
        for annotation, value in zip(self.taken.values(), args, strict=False):
            sizes.bind(annotation, value)
        for name, value in kwargs.items():
            sizes.bind(self.taken.get(name), value)
        return _fill(self.given, self.usual, sizes)

    def _like(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """The argument that has the annotation of the result, if that does not say how it looks; else None."""
        found = _only_array_type(self.given)
        says_all = found is not None and not any(isinstance(dim, AnyDims) for dim in parse_spec(found.shape).dims)
        if says_all or (found is None and not holds_anything(self.given)):
            return None
        named = {**dict(zip(self.taken, args, strict=False)), **kwargs}
        return next((named[n] for n, each in self.taken.items() if n in named and str(each) == str(self.given)), None)


def _only_array_type(annotation: object) -> ArrayType | None:
    """The array that an annotation asks for; of a union such as `Float[ArrayLike, "d"]`, if all have one shape."""
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    members = typing.get_args(annotation) if is_union else (annotation,)
    found = [each for each in map(array_type, members) if each is not None]
    return found[0] if len({each.shape for each in found}) == 1 else None


def _fill(annotation: object, usual: Any, sizes: _ArgumentSizes) -> object:
    found = _only_array_type(annotation)
    if found is not None and isinstance(usual, jax.ShapeDtypeStruct):
        laid = _laid_out(parse_spec(found.shape).dims, usual.shape)
        shape = [size for dim, own in laid for size in (own if isinstance(dim, AnyDims) else sizes.of(dim, own))]
        return jnp.zeros(shape if laid else usual.shape, usual.dtype)
    parts = typing.get_args(annotation)
    if type(usual) is tuple and typing.get_origin(annotation) is tuple and len(parts) == len(usual):
        return tuple(_fill(part, each, sizes) for part, each in zip(parts, usual, strict=True))
    return jax.tree_util.tree_map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf, usual
    )


def protocol_call(cls: type) -> tuple[Mapping[str, object], object] | None:
    """What a Protocol of callables says that they take, by name, and give; None of any other class."""
    call = vars(cls).get("__call__")
    if not callable(call) or not getattr(cls, "_is_protocol", False):
        return None
    function = cast("Callable[..., object]", call)
    signature = signature_of(function)
    parameters = list(signature.parameters.values())[1:]
    taken = {each.name: annotation_of(function, each.name, each.annotation) for each in parameters}
    return taken, annotation_of(function, "return", signature.return_annotation)


def give(value: object, /, *args: object, **kwargs: object) -> object:
    """What a made-up function gives, whatever it is given: one array of zeros for each that is described."""
    if callable(value):  # which depends on what it is given
        return value(*args, **kwargs)
    return jax.tree_util.tree_map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype) if is_array(leaf) else leaf, value)
