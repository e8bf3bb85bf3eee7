"""What tells the monitor of steps: optax's updates, what adds them to parameters, and functions that JAX compiles.

Each is a monkeypatch, until the checks end. Functions of JAX, and of packages of others, stay as they are: only what
the user's files compile, by themselves or through a framework, is counted.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from shapecheck.evaluate.framework_protocol import loaded_frameworks
from shapecheck.evaluate.probes.monkeypatch import patch_attribute, patch_module
from shapecheck.runtime.training_monitor import MonitoredFunction, TrainingMonitor


def patch(
    name: str, monitor: TrainingMonitor, is_own: Callable[[str], bool]
) -> contextlib.AbstractContextManager[None]:
    """Let what JAX, optax or a framework has told the monitor, as long as the context lasts."""
    module = sys.modules[name]
    if name == "jax":
        return patch_module(module, "jit", _counting_jit(module.jit, monitor, is_own))
    return _patch_optax(module, monitor) if name == "optax" else _patch_apply(module, monitor)


@contextlib.contextmanager
def _patch_optax(optax: ModuleType, monitor: TrainingMonitor) -> Iterator[None]:
    """A monkeypatch: https://optax.readthedocs.io/en/latest/api/transformations.html#optax.GradientTransformation."""
    cls = optax.GradientTransformation
    getter = vars(cls)["update"]

    def update(transformation: object) -> Callable[..., object]:
        inner = getter.__get__(transformation, type(transformation))

        @functools.wraps(inner)
        def update_and_look(*args: object, **kwargs: object) -> object:
            return monitor.update(inner, args, kwargs)

        return update_and_look

    with patch_attribute(cls, "update", property(update)), _patch_apply(optax, monitor):
        yield


def _patch_apply(module: ModuleType, monitor: TrainingMonitor) -> contextlib.AbstractContextManager[None]:
    """A monkeypatch of what adds updates to parameters."""
    inner = module.apply_updates

    @functools.wraps(inner)
    def apply_updates(params: object, updates: object, *args: object, **kwargs: object) -> object:
        monitor.apply(params, updates)
        return inner(params, updates, *args, **kwargs)

    return patch_module(module, "apply_updates", apply_updates)


def _counting_jit(
    inner: Callable[..., Any], monitor: TrainingMonitor, is_own: Callable[[str], bool]
) -> Callable[..., Any]:
    """`jax.jit`, as a function and as what makes decorators."""

    @functools.wraps(inner)
    def jit(*args: object, **kwargs: object) -> Any:
        compiled = inner(*args, **kwargs)
        function = args[0] if args else kwargs.get("fun")
        if function is None:  # newer versions give a decorator
            return functools.partial(jit, **kwargs)
        return MonitoredFunction(monitor, compiled, _name(function)) if _is_users(function, is_own) else compiled

    return jit


def _is_users(function: object, is_own: Callable[[str], bool]) -> bool:
    """Whether it is written in the user's files, or a framework's wrapper around what may be."""
    while isinstance(function, functools.partial):
        function = function.func
    module = str(getattr(function, "__module__", "") or type(function).__module__)
    package = module.partition(".")[0]
    if any(each.compiles and each.package == package for each in loaded_frameworks()):
        return True
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return code is not None and is_own(code.co_filename)


def _name(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    for each in loaded_frameworks():
        function = each.unwrap_compiled(function)
    return str(getattr(function, "__name__", type(function).__name__))
