"""What a factory returns to be called: a function or a model, and what it is called with, parameters first.

Some frameworks keep parameters apart from what computes with them: `(model.apply, variables, x)`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.framework_protocol import framework_of
from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.project.data_arguments import unpack_sequences
from shapecheck.evaluate.inputs.project.entries import is_model
from shapecheck.evaluate.inputs.project.user_examples import is_switch
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.worker.messages.plans import ConfiguredExample


def split_factory_result(
    given: ConfiguredExample, made: tuple[Any, ...]
) -> tuple[Any, tuple[object, ...], tuple[object, ...]]:
    """What computes, the parameters that it has to be given first, and its inputs.

    A transformed function is as https://dm-haiku.readthedocs.io/en/latest/api.html#transformed has it.
    """
    called = made[0]
    args = made[1:]
    has_parameters = bool(args) and isinstance(args[0], Mapping)
    framework = framework_of(called)
    if has_parameters and framework is not None and (bound := framework.bind(called, args[0])) is not None:
        return bound, (), args[1:]
    if has_parameters and getattr(called, "_fields", ()) == ("init", "apply") and callable(called.apply):
        takes = list(inspect.signature(called.apply).parameters)
        first = 2 if takes[:2] == ["params", "state"] else 1
        has_key = "rng" not in takes or (len(args) > first and (args[first] is None or _is_key(args[first])))
        called, args = called.apply, (*args[:first], *([] if has_key else [jax.random.PRNGKey(0)]), *args[first:])
    if is_model(called) or isinstance(called, tuple):
        return called, (), args
    inputs = [*given.args, *given.kwargs.values(), *given.borrowed.values()]
    # Where inputs may be tables too, as parameters are, it is by their number that they are distinguished.
    least = len(inputs) if any(isinstance(each, (Mapping, list, tuple)) for each in inputs) else 0
    first = _parameters(args, least)
    return called, args[:first], args[first:]


def beside(
    given: ConfiguredExample, called: Callable[..., object], parameters: Sequence[object], own: Sequence[object]
) -> ConfiguredExample:
    """What is given to `called` in place of its `own` inputs, as far as it goes."""
    if given.args or given.kwargs:
        return given
    names = _positional(called)[len(parameters) :]
    given = replace(given, borrowed=unpack_sequences(called, given.borrowed))
    named = {name for name in given.borrowed if name in names}
    others = [(name, value) for name, value in given.borrowed.items() if name not in named]
    queue = [name for name, value in others if not (name_hints.is_key(name) or is_switch(value))]
    args, left = list(own), dict(given.borrowed)
    free = [place for place in range(len(own)) if place >= len(names) or names[place] not in named]
    free = [place for place in free if not (_is_key(own[place]) or is_switch(own[place]))]
    for name in [*named, *queue[: len(free)]]:
        place = names.index(name) if name in named else free.pop(0)
        if place < len(own):
            args[place] = _either(own[place], left.pop(name))
    return replace(given, args=tuple(args), borrowed=left, read=True)


def _positional(called: Callable[..., object]) -> list[str]:
    """The names of the parameters that are filled by their place; that of all others is ""."""
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):  # built in, and silent about its parameters
        return [""]
    by_place = [p for p in parameters if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    return ["" if p.kind is p.VAR_POSITIONAL else p.name for p in by_place]


def _parameters(own: Sequence[object], inputs: int) -> int:
    """How many of the arguments are parameters, states and keys, which stand in front of so many inputs at least."""
    most = max(0, len(own) - inputs)
    return next((place for place in range(most) if is_array(own[place]) and not _is_key(own[place])), most)


def _is_key(value: object) -> bool:
    if not is_array(value):
        return False
    old = value.dtype == jnp.uint32 and tuple(value.shape[-1:]) == (2,)
    return old or bool(jnp.issubdtype(value.dtype, jax.dtypes.prng_key))


def _either(own: object, other: object) -> object:
    """What the other model is given; or its own, if that are the same numbers as this model has its axes."""
    if not (is_array(own) and is_array(other)) or own.dtype != other.dtype or own.shape == other.shape:
        return other
    if math.prod(own.shape) != math.prod(other.shape):
        return other
    if any(isinstance(each, (jax.ShapeDtypeStruct, jax.core.Tracer)) for each in (own, other)):
        return own if sorted(own.shape) == sorted(other.shape) else other
    one, two = (np.sort(np.asarray(each), axis=None) for each in (own, other))
    return own if np.array_equal(one, two) else other
