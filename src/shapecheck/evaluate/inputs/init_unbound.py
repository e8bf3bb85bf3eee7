"""Modules that hold no parameters: Flax's linen and Haiku make them when a module is called inside of an `init`.

Sources: https://flax.readthedocs.io/en/stable/api_reference/flax.linen/module.html#flax.linen.Module.init_with_output
and https://dm-haiku.readthedocs.io/en/latest/api.html#haiku.transform_with_state
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from typing import Any

import jax

from shapecheck.evaluate.inputs.entries import member
from shapecheck.evaluate.inputs.failure_reasons import message_of

_OUTSIDE = re.compile(r"(inside|as part of) an `hk\.transform`")


def haiku_class() -> type | None:
    """`haiku.Module`, if the user's code has imported it."""
    return getattr(sys.modules.get("haiku"), "Module", None)


def wrap_unbound(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method, which a linen module that nobody has bound runs with parameters that are made for it."""

    @functools.wraps(function)
    def call_unbound(model: Any, /, *args: Any, **kwargs: Any) -> Any:
        linen: Any = sys.modules.get("flax.linen")
        if linen is None or not isinstance(model, linen.Module) or model.scope is not None:
            return function(model, *args, **kwargs)
        keys = {name: jax.random.PRNGKey(0) for name in ("params", "dropout")}
        result, _ = model.init_with_output(keys, *args, method=run_member, **kwargs)
        return result

    def run_member(module: Any, *args: Any, **kwargs: Any) -> Any:
        name = getattr(function, "__name__", "")
        own = member(type(module), name)
        if isinstance(own, (property, functools.cached_property)):
            return getattr(module, name)
        # Not the function itself: Flax has wrapped the one in the class.
        return getattr(module, name)(*args, **kwargs) if callable(own) else function(module, *args, **kwargs)

    return call_unbound


def is_outside(error: BaseException) -> bool:
    """Whether Haiku raised this because nothing around the call is a transform."""
    return isinstance(error, ValueError) and haiku_class() is not None and bool(_OUTSIDE.search(message_of(error)))


def inside(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """As `evaluate`, with the function inside of a transform of Haiku's that makes the parameters it asks for."""

    def evaluate_inside(function: Callable[..., Any], *args: Any) -> Any:
        haiku: Any = sys.modules["haiku"]

        def initialise(*arrays: Any) -> None:
            haiku.transform_with_state(lambda: function(*arrays)).init(jax.random.PRNGKey(0))

        return evaluate(initialise, *args)

    return evaluate_inside
