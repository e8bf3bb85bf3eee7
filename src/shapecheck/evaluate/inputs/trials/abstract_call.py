"""One abstract evaluation under `jax.eval_shape`: placeholders become tracers, and calls that wait for it are made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.probes.constant_values import eval_shape
from shapecheck.evaluate.probes.describe_value import is_array

_FEATURES = 7


def activation(x: object, *args: object, **kwargs: object) -> object:
    """What stands in for an activation: it keeps shapes, and takes whatever it is given."""
    return jnp.tanh(x) if is_array(x) and jnp.issubdtype(x.dtype, jnp.inexact) else x


def alike(*args: object, **kwargs: object) -> object:
    """What stands in for a callable: it keeps the shapes of its main argument."""
    return jax.tree_util.tree_map(activation, _main(args, kwargs))


def initialise(*args: object, **kwargs: object) -> object:
    """What stands in for an initialiser: zeros of the shape that is among its arguments."""
    given = [*args, *kwargs.values()]
    shape = next((each for each in given if isinstance(each, (tuple, list))), ())
    return jnp.zeros(tuple(shape))


def _main(args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """The first argument that has arrays with axes, and no keys: a time, or another number, may stand before it."""
    given = [*args, *kwargs.values()]
    leaves = ((each, jax.tree_util.tree_leaves(each)) for each in given)
    main = (
        each for each, inside in leaves if any(is_array(leaf) and leaf.ndim and not _is_key(leaf) for leaf in inside)
    )
    return next(main, next(iter(given), None))


def _is_key(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jax.dtypes.prng_key))


def reduction(*args: object, **kwargs: object) -> object:
    """What stands in for a callable in another invention: it takes the last axis away."""
    return jax.tree_util.tree_map(lambda x: jnp.sum(x, axis=-1) if is_array(x) and x.ndim else x, _main(args, kwargs))


def total(*args: object, **kwargs: object) -> object:
    """What stands in for a callable in a further invention: nothing is left of the axes that it is given."""
    return jax.tree_util.tree_map(lambda x: jnp.sum(x) if is_array(x) else x, _main(args, kwargs))


def embed_numbers(*args: object, **kwargs: object) -> object:
    """What stands in for a callable in one more invention: it gives each number an axis of features."""
    return jax.tree_util.tree_map(_with_features, _main(args, kwargs))


def draw_samples(*args: object, **kwargs: object) -> object:
    """What stands in for a callable in the last invention: of keys and numbers it makes vectors, and keeps the rest."""
    main = _main(args, kwargs)
    return jax.tree_util.tree_map(lambda x: x if is_array(x) and x.ndim else _with_features(x), main)


def _with_features(x: Any) -> object:
    if not is_array(x):
        return x
    if _is_key(x):
        x = jnp.zeros(x.shape)
    kind = x.dtype if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.float32
    return jnp.repeat(x[..., None], _FEATURES, axis=-1).astype(kind)


@dataclasses.dataclass
class LazyCall:
    """A call to be made inside the abstract evaluation: its arguments may be abstract arrays or deferred themselves."""

    function: Callable[..., object]
    args: Sequence[object]
    kwargs: Mapping[str, object]


def force(value: object) -> Any:
    """Make every deferred call in `value`."""
    if isinstance(value, LazyCall):
        return value.function(*[force(a) for a in value.args], **{k: force(v) for k, v in value.kwargs.items()})
    if type(value) is list:
        return [force(v) for v in value]
    if type(value) is tuple:
        return tuple([force(v) for v in value])  # a generator would make another error of the code's StopIteration
    if type(value) is dict:
        return {k: force(v) for k, v in value.items()}
    return value


def is_plain_leaf(value: object) -> bool:
    """Whether a leaf of what was made abstractly holds nothing of that evaluation."""
    return isinstance(value, (jax.ShapeDtypeStruct, np.ndarray, np.generic, bool, int, float, str))


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


def run_abstractly(function: Callable[..., object], /, *args: object, **kwargs: object) -> None:
    """Call `function` once, abstractly; raises what it raises."""
    run_by(eval_shape, function, *args, **kwargs)


def run_by(evaluate: Evaluate, function: Callable[..., object], /, *args: object, **kwargs: object) -> None:
    """As `run_abstractly`, by another `evaluate`."""
    structs, rebuild = split_arrays((list(args), dict(kwargs)))

    def call_rebuilt(arrays: Sequence[object]) -> None:
        positional, named = force(rebuild(arrays))
        function(*positional, **named)

    evaluate(call_rebuilt, structs)


def build(constructor: LazyCall, evaluate: Callable[..., Any] = eval_shape) -> object:
    """What the deferred call constructs, with abstract arrays in place of its parameters.

    `evaluate` calls a function with arrays in place of abstract ones, and gives the abstract ones that it returns.
    """
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

    shapes = evaluate(build_leaves, structs)
    structure, leaves, is_dynamic = static
    return jax.tree_util.tree_unflatten(
        structure, [shapes[leaf] if d else leaf for leaf, d in zip(leaves, is_dynamic, strict=True)]
    )
