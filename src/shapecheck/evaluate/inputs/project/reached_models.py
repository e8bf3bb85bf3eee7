"""The models that a function reaches without being given them: those that it closes over, and globals."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType

from shapecheck.evaluate.inputs.project.entries import code_names, is_model
from shapecheck.evaluate.probes.attribute_access import unwrap


def reached_models(function: Callable[..., object]) -> dict[str, object]:
    """The models, and containers that may hold some, by the names that the code has for them.

    Of two of one name, in functions that call each other, it is that of the outer one.
    """
    found: dict[str, object] = {}
    seen: set[int] = set()
    todo = [function]
    while todo:
        inner = _plain(todo.pop(0))
        if id(inner) in seen or not isinstance(inner, FunctionType):
            continue
        seen.add(id(inner))
        for name, value in _names(inner):
            if is_model(value) or isinstance(value, (list, tuple, dict)):
                found.setdefault(name, value)
            elif callable(value) and not isinstance(value, type):
                todo.append(value)
    return found


def _plain(function: object) -> object:
    function = unwrap(function)
    while isinstance(function, functools.partial):
        function = unwrap(function.func)
    return function.__func__ if inspect.ismethod(function) else function


def _names(function: FunctionType) -> Iterator[tuple[str, object]]:
    """What it closes over, and of the globals that its code names the models, and the functions of the same module."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for name in code_names(function.__code__):
        value = function.__globals__.get(name)
        if is_model(value) or (callable(value) and _is_of(function.__module__, _plain(value))):
            yield name, value


def _is_of(module: str, function: object) -> bool:
    return isinstance(function, FunctionType) and function.__module__ == module
