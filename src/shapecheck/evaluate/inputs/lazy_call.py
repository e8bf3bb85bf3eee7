"""Calls that wait for the abstract evaluation, and the functions that stand in for the user's."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from shapecheck.evaluate.probes.describe_value import is_array

_FEATURES = 7


def activation(x: object, *args: object, **kwargs: object) -> object:
    """What stands in for a callable: it keeps shapes, and takes whatever it is given."""
    return jnp.tanh(x) if is_array(x) and jnp.issubdtype(x.dtype, jnp.inexact) else x


def initialise(*args: object, **kwargs: object) -> object:
    """What stands in for an initialiser: zeros of the shape that is among its arguments."""
    given = [*args, *kwargs.values()]
    shape = next((each for each in given if isinstance(each, (tuple, list))), ())
    return jnp.zeros(tuple(shape))


def reduction(x: object, *args: object, **kwargs: object) -> object:
    """What stands in for a callable in another invention: it takes the last axis away."""
    return jnp.sum(x, axis=-1) if is_array(x) and x.ndim else x


def total(x: object, *args: object, **kwargs: object) -> object:
    """What stands in for a callable in a further invention: nothing is left of the axes that it is given."""
    return jnp.sum(x) if is_array(x) else x


def embed_numbers(x: object, *args: object, **kwargs: object) -> object:
    """What stands in for a callable in one more invention: it gives each number an axis of features."""
    if not is_array(x):
        return x
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
