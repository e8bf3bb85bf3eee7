"""One abstract evaluation under `jax.eval_shape`: placeholders become tracers, deferred calls are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from shapecheck.evaluate.inputs.lazy_call import LazyCall, force

Rebuild = Callable[[Sequence[object]], object]
Evaluate = Callable[..., object]
"""Calls a function abstractly, as `jax.eval_shape` does."""


def split_arrays(value: object) -> tuple[list[jax.ShapeDtypeStruct], Rebuild]:
    """The abstract arrays inside `value`, and a function that puts others in their place.

    One that stands in several places, as shared parameters do, is one array.
    """
    structs: dict[int, tuple[int, jax.ShapeDtypeStruct]] = {}
    rebuild = _split_value(value, structs)
    return [struct for _, struct in structs.values()], rebuild


def _split_value(value: object, structs: dict[int, tuple[int, jax.ShapeDtypeStruct]]) -> Rebuild:
    if isinstance(value, jax.ShapeDtypeStruct):
        index, _ = structs.setdefault(id(value), (len(structs), value))
        return lambda arrays: arrays[index]
    if isinstance(value, LazyCall):
        args = [_split_value(a, structs) for a in value.args]
        kwargs = {k: _split_value(v, structs) for k, v in value.kwargs.items()}
        function = value.function
        return lambda arrays: LazyCall(function, [a(arrays) for a in args], {k: v(arrays) for k, v in kwargs.items()})
    if type(value) is list or type(value) is tuple:
        kind, parts = type(value), [_split_value(v, structs) for v in value]
        return lambda arrays: kind(p(arrays) for p in parts)
    if type(value) is dict:
        named = {k: _split_value(v, structs) for k, v in value.items()}
        return lambda arrays: {k: p(arrays) for k, p in named.items()}
    leaves, structure = jax.tree_util.tree_flatten(value)
    if not any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves):
        return lambda arrays: value
    inner = [_split_value(leaf, structs) if leaf is not value else (lambda arrays: value) for leaf in leaves]
    return lambda arrays: jax.tree_util.tree_unflatten(structure, [p(arrays) for p in inner])


def run_abstractly(function: Callable[..., object], *args: object, **kwargs: object) -> None:
    """Call `function` once, abstractly; raises what it raises."""
    run_by(jax.eval_shape, function, *args, **kwargs)


def run_by(evaluate: Evaluate, function: Callable[..., object], /, *args: object, **kwargs: object) -> None:
    """As `run_abstractly`, by another `evaluate`."""
    structs, rebuild = split_arrays((list(args), dict(kwargs)))

    def call_rebuilt(arrays: Sequence[object]) -> None:
        positional, named = force(rebuild(arrays))
        function(*positional, **named)

    evaluate(call_rebuilt, structs)


def build(constructor: LazyCall) -> object:
    """What the deferred call constructs, with abstract arrays in place of its parameters."""
    structs, rebuild = split_arrays(constructor)
    static: list[Any] = []

    def build_leaves(arrays: Sequence[object]) -> list[object]:
        leaves, structure = jax.tree_util.tree_flatten(force(rebuild(arrays)))
        # A parameter that is shared remains one.
        dynamic = {id(leaf): leaf for leaf in leaves if isinstance(leaf, jax.Array)}
        places = {key: index for index, key in enumerate(dynamic)}
        static[:] = [
            structure,
            [places.get(id(leaf), leaf) for leaf in leaves],
            [id(leaf) in places for leaf in leaves],
        ]
        return list(dynamic.values())

    shapes = jax.eval_shape(build_leaves, structs)
    structure, leaves, is_dynamic = static
    return jax.tree_util.tree_unflatten(
        structure, [shapes[leaf] if d else leaf for leaf, d in zip(leaves, is_dynamic, strict=True)]
    )
