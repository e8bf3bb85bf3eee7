"""How what `shapecheck template` names is run: a class, an instance, a factory, an example, a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax

from shapecheck.stage.observe.values import is_array
from shapecheck.stage.protocol import ConfiguredExample
from shapecheck.stage.search import abstract
from shapecheck.stage.search.deferred import Deferred
from shapecheck.stage.search.entries import model_classes, nnx_class
from shapecheck.stage.search.examples import ExampleError
from shapecheck.stage.search.recipes import Kitchen
from shapecheck.stage.search.synthesis import Synthesis
from shapecheck.stage.search.trials import Recipe
from shapecheck.stage.staging.batches import batch


def recipe(kitchen: Kitchen, target: Any, given: ConfiguredExample) -> Recipe:
    """Raises ExampleError for arguments that do not fit, CannotSynthesiseError for those that are missing."""
    models = model_classes()
    has_arguments = bool(given.args or given.kwargs)
    if getattr(target, "__shapecheck_example__", False) is True:
        if has_arguments or given.init:
            raise ExampleError(f"{given.call} is an example, which has its arguments already")
        return kitchen.example(target)
    if isinstance(target, type):
        if not callable(getattr(target, "__call__", None)) or has_arguments:  # noqa: B004 - of the instances
            return kitchen.configured(given, target)
        return kitchen.method(target, target.__call__, given.init)
    if isinstance(target, models):
        target = _abstract(target) if isinstance(target, nnx_class() or ()) else target
        return kitchen.configured(given, target) if has_arguments else kitchen.bound(target)
    if _is_pair(target):
        if not has_arguments:
            raise ExampleError(f"{given.call} is a transformed function; say what it takes, with --arg")
        return kitchen.configured(replace(given, init=None), _applied(target, given.init))
    if not callable(target):
        raise ExampleError(f"{given.call} is of type {type(target).__name__}, which cannot be called")
    made = _made(kitchen, target, given)
    if isinstance(made, models) or _is_pair(made):
        return recipe(kitchen, made, replace(given, init=None))
    if isinstance(made, tuple) and made and isinstance(made[0], models):
        model, *args = made
        return kitchen.configured(replace(given, init=None, args=tuple(args)), model)
    return kitchen.configured(given, target) if has_arguments else kitchen.function(target)


def with_batches(given: ConfiguredExample) -> ConfiguredExample:
    """Arguments `@file` become the shapes in these files."""

    def read(value: Any) -> Any:
        return batch(value[1:]) if isinstance(value, str) and value.startswith("@") else value

    return replace(given, args=tuple(map(read, given.args)), kwargs={n: read(v) for n, v in given.kwargs.items()})


def _abstract(model: Any) -> Any:
    """A model with shapes in place of its arrays: it may change itself when it is called."""
    return jax.tree_util.tree_map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype) if is_array(a) else a, model)


def _is_pair(target: Any) -> bool:
    """Whether it is what `haiku.transform` and its kin make: the functions `init` and `apply`, in a tuple."""
    return isinstance(target, tuple) and getattr(target, "_fields", ()) == ("init", "apply")


def _applied(pair: Any, init: Any) -> Callable[..., Any]:
    """The transformed function itself: its parameters, and its state if it has one, are made for it.

    Source: https://dm-haiku.readthedocs.io/en/latest/api.html#transformed
    """
    if init:
        raise ExampleError("init is for classes and factories, not for transformed functions")
    has_state = list(inspect.signature(pair.apply).parameters)[:2] == ["params", "state"]

    def applied(*args: Any, **kwargs: Any) -> Any:
        key = jax.random.PRNGKey(0)
        made = pair.init(key, *args, **kwargs)
        given = made if has_state else (made,)
        return pair.apply(*given, key, *args, **kwargs)

    return applied


def _made(kitchen: Kitchen, function: Any, given: ConfiguredExample) -> Any:
    """What a factory makes, abstractly; None if it is none, or does not run with made-up arguments."""
    synthesis = Synthesis(
        kitchen.constructing(function),
        variant=kitchen.constructions[0],
        pinned=kitchen.pinned,
        subclasses=kitchen.subclasses,
    )
    try:
        args, kwargs = synthesis.arguments(function, {}, given.init or {}, constructing=True)
        return abstract.build(Deferred(function, args, kwargs))
    except Exception:  # a function of arrays, say, with arguments that are none
        return None
