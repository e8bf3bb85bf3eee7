"""An argument made of its parts, as a function takes them: a dict, a tuple, or a function that gives them."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import jax
import jax.numpy as jnp

from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.model.parameter_parts import Key


def arrange_parts(name: str, made: Mapping[tuple[Key, ...], object]) -> object:
    """What holds these values under their keys: dicts, tuples and functions. Raises CannotSynthesiseError."""
    if () in made:
        return made[()]
    inner: dict[Key, dict[tuple[Key, ...], object]] = {}
    for keys, value in made.items():
        inner.setdefault(keys[0], {})[keys[1:]] = value
    parts = {key: arrange_parts(name, each) for key, each in inner.items()}
    if all(isinstance(key, str) for key in parts):
        return parts
    if parts.keys() == set(range(len(parts))):
        return tuple(parts[number] for number in range(len(parts)))
    if parts.keys() == {None}:
        return functools.partial(_give, parts[None])
    raise CannotSynthesiseError(f"`{name}` is taken apart in different ways")


def _give(value: object, *args: object, **kwargs: object) -> object:
    """What a made-up function gives, whatever it is given: one array of zeros for each that is described."""
    if callable(value):  # which depends on what it is given
        return value(*args, **kwargs)
    return jax.tree_util.tree_map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype) if is_array(leaf) else leaf, value)
