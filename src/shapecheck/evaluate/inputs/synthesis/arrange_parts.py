"""An argument made of its parts, as a function takes them: a dict, a tuple, or a function that gives them."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from shapecheck.evaluate.inputs.synthesis.made_callables import give
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
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
        return functools.partial(give, parts[None])
    raise CannotSynthesiseError(f"`{name}` is taken apart in different ways")
