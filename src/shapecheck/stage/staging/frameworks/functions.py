"""Functions that a module holds in its fields: each call of one is a stage."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

from shapecheck.facts import OtherValue, TreeValue, Value
from shapecheck.stage.observe.values import is_array
from shapecheck.stage.staging.running import Step, arguments, described, short
from shapecheck.stage.staging.watching import StageWatch

_CONTAINERS = (list, tuple, dict)


class Held:
    """A function as its module calls it. It equals the function itself, so that nobody can tell them apart by `==`."""

    def __init__(self, watch: StageWatch, function: Callable[..., Any], path: str) -> None:
        self._watch, self._function, self._path = watch, function, path
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it, as a stage if it is given arrays."""
        function, name = self._function, function_name(self._function)
        given = tuple((n, described(value)) for n, value in arguments(function, args, kwargs))
        top = self._watch.top()
        if (top is not None and top.part is self) or not any(_has_arrays(value) for _, value in given):
            return function(*args, **kwargs)
        source = self._watch.origin(function, name)
        return self._watch.run(Step(name, name, None, source, self._path, input=given), function, args, kwargs)

    def __eq__(self, other: object) -> bool:
        return bool(self._function == (other._function if isinstance(other, Held) else other))

    def __hash__(self) -> int:
        return hash(self._function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_function"], name)


def watched_functions(watch: StageWatch, module: Any) -> Any:
    """The module of the stage that begins, with its functions watched; the same module if it has none."""
    stage = watch.top()
    if stage is None:
        return module
    changed = dict(_changed(watch, vars(module), stage.path))
    if not changed:
        return module
    other = copy.copy(module)
    for name, value in changed.items():
        object.__setattr__(other, name, value)  # modules are frozen
    return other


def _changed(watch: StageWatch, fields: dict[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        found = _watched(watch, value, f"{path}.{name}".lstrip("."))
        if found is not value:
            yield name, found


def _watched(watch: StageWatch, value: Any, path: str) -> Any:
    if type(value) in (list, tuple):
        parts = [_watched(watch, part, f"{path}[{index}]") for index, part in enumerate(value)]
        return type(value)(parts) if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    if type(value) is dict:
        named = {key: _watched(watch, part, f"{path}[{key!r}]") for key, part in value.items()}
        return named if any(named[key] is not part for key, part in value.items()) else value
    return Held(watch, value, path) if _is_function(value) else value


def _is_function(value: Any) -> bool:
    """Whether it is a function in any dress: jitted, partial, with derivatives of its own. No module, no class."""
    if not callable(value) or isinstance(value, (type, Held)) or is_array(value):
        return False
    return isinstance(value, functools.partial) or (hasattr(value, "__name__") and hasattr(value, "__module__"))


def function_name(function: Any) -> str:
    """What a function is called: `relu`, `partial(gelu)`, `<lambda>`; a bound method `Mechanics.step`."""
    method = getattr(function, "__func__", None)
    if method is not None:
        return f"{short(type(function.__self__))}.{method.__name__}"
    if isinstance(function, functools.partial):
        return f"partial({function_name(function.func)})"
    name = str(getattr(function, "__qualname__", None) or getattr(function, "__name__", type(function).__name__))
    return name.rpartition("<locals>.")[2]


def _has_arrays(value: Value) -> bool:
    if isinstance(value, TreeValue):
        return any(map(_has_arrays, value.children))
    return not isinstance(value, OtherValue)
