"""How what `shapecheck template` names is run: a class, an instance, a factory, an example, a function."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shapecheck.stage.protocol import ConfiguredExample
from shapecheck.stage.search import abstract
from shapecheck.stage.search.deferred import Deferred
from shapecheck.stage.search.entries import module_class
from shapecheck.stage.search.examples import ExampleError
from shapecheck.stage.search.recipes import Kitchen
from shapecheck.stage.search.synthesis import Synthesis
from shapecheck.stage.search.trials import Recipe
from shapecheck.stage.staging.batches import batch


def recipe(kitchen: Kitchen, target: Any, given: ConfiguredExample) -> Recipe:
    """Raises ExampleError for arguments that do not fit, CannotSynthesiseError for those that are missing."""
    base = module_class() or ()
    has_arguments = bool(given.args or given.kwargs)
    if getattr(target, "__shapecheck_example__", False) is True:
        if has_arguments or given.init:
            raise ExampleError(f"{given.call} is an example, which has its arguments already")
        return kitchen.example(target)
    if isinstance(target, type):
        if not callable(getattr(target, "__call__", None)) or has_arguments:  # noqa: B004 - of the instances
            return kitchen.configured(given, target)
        return kitchen.method(target, target.__call__, given.init)
    if isinstance(target, base):
        return kitchen.configured(given, target) if has_arguments else kitchen.bound(target)
    if not callable(target):
        raise ExampleError(f"{given.call} is of type {type(target).__name__}, which cannot be called")
    made = _made(kitchen, target, given)
    if isinstance(made, base):
        return recipe(kitchen, made, replace(given, init=None))
    if isinstance(made, tuple) and made and isinstance(made[0], base):
        model, *args = made
        return kitchen.configured(replace(given, init=None, args=tuple(args)), model)
    return kitchen.configured(given, target) if has_arguments else kitchen.function(target)


def with_batches(given: ConfiguredExample) -> ConfiguredExample:
    """Arguments `@file` become the shapes in these files."""

    def read(value: Any) -> Any:
        return batch(value[1:]) if isinstance(value, str) and value.startswith("@") else value

    return replace(given, args=tuple(map(read, given.args)), kwargs={n: read(v) for n, v in given.kwargs.items()})


def _made(kitchen: Kitchen, function: Any, given: ConfiguredExample) -> Any:
    """What a factory makes, abstractly; None if it is none, or does not run with made-up arguments."""
    synthesis = Synthesis(kitchen.constructing(function), pinned=kitchen.pinned, subclasses=kitchen.subclasses)
    try:
        args, kwargs = synthesis.arguments(function, {}, given.init or {}, constructing=True)
        return abstract.build(Deferred(function, args, kwargs))
    except Exception:  # a function of arrays, say, with arguments that are none
        return None
