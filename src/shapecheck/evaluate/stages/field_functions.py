"""Functions that a module holds in its fields: each call of one is a stage."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Collection, Iterator
from typing import Any

from shapecheck.evaluate.framework_protocol import Classes, loaded_frameworks
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.evaluate.stages.called_fields import only_called
from shapecheck.evaluate.stages.stage_recorder import StageRecorder
from shapecheck.evaluate.stages.stage_records import StageStep, arguments, describe_unmapped, function_name
from shapecheck.model import OtherValue, TreeValue, Value

_CONTAINERS = (list, tuple, dict)


class FieldFunction:
    """A function as its module calls it. It equals the function, is an instance of its class, and is copied as that."""

    def __init__(self, watch: StageRecorder, function: Callable[..., object], path: str) -> None:
        self._watch, self._function, self._path = watch, function, path
        functools.update_wrapper(self, function)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` goes by."""
        return type(self._function)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call it, as a stage if it is given arrays."""
        function, name = self._function, function_name(self._function)
        given = tuple((n, describe_unmapped(value)) for n, value in arguments(function, args, kwargs))
        top = self._watch.top()
        if (top is not None and top.part is self) or not any(_has_arrays(value) for _, value in given):
            return function(*args, **kwargs)
        source = self._watch.origin(function, name)
        return self._watch.run_stage(
            StageStep(type=name, callable=name, part=None, source=source, path=self._path, input=given),
            function,
            args,
            kwargs,
        )

    def __deepcopy__(self, memo: dict[int, object]) -> object:
        return self._function

    def __reduce__(self) -> tuple[object, ...]:
        return (_itself, (self._function,))

    def __eq__(self, other: object) -> bool:
        return bool(self._function == (other._function if type(other) is FieldFunction else other))

    def __hash__(self) -> int:
        return hash(self._function)

    def __getattr__(self, name: str) -> object:
        return getattr(self.__dict__["_function"], name)


def _itself(function: object) -> object:
    return function


def watched_functions(watch: StageRecorder, module: object) -> object:
    """The module of the stage that begins, with its functions watched; the same module if it has none.

    Only functions with which the module does nothing but call them: JAX and users know some by their identity.
    """
    changed = _functions_of(watch, module)
    if not changed:
        return module
    other = copy.copy(module)
    for name, value in changed.items():
        object.__setattr__(other, name, value)  # modules are frozen
    return other


@contextlib.contextmanager
def watching_functions(watch: StageRecorder, module: object, known: Collection[str] = ()) -> Iterator[None]:
    """As `watched_functions`, for a module that may change itself: meanwhile it has other functions.

    Those in the `known` fields are only called, whatever its source looks like.
    """
    own = vars(module)
    changed = _functions_of(watch, module, known)
    before = {name: own[name] for name in changed}
    own.update(changed)  # monkeypatch: the module changes itself, so that no copy of it will do
    try:
        yield
    finally:
        own.update({name: value for name, value in before.items() if own.get(name) is changed[name]})


def _functions_of(watch: StageRecorder, module: object, known: Collection[str] = ()) -> dict[str, object]:
    """The fields of the stage's module that hold functions, with these watched."""
    stage = watch.top()
    fields = {name: value for name, value in vars(module).items() if _may_hold_functions(value)}
    if stage is None or not fields:
        return {}
    cls: type = type(module)
    called = known or only_called(cls)
    return dict(_wrapped_fields(watch, {name: fields[name] for name in fields if name in called}, stage.path))


def _wrapped_fields(watch: StageRecorder, fields: dict[str, object], path: str) -> Iterator[tuple[str, object]]:
    for name, value in fields.items():
        found = _wrap_functions(watch, value, f"{path}.{name}".lstrip("."))
        if found is not value:
            yield name, found


def _wrap_functions(watch: StageRecorder, value: Any, path: str) -> object:
    lists, dicts = _containers()
    if type(value) in (list, tuple, *lists):
        parts = [_wrap_functions(watch, part, f"{path}[{index}]") for index, part in enumerate(value)]
        made = tuple if type(value) is tuple else list
        return made(parts) if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    if type(value) in (dict, *dicts):
        place = "{}[{!r}]" if type(value) is dict else "{}.{}"
        named = {key: _wrap_functions(watch, part, place.format(path, key)) for key, part in value.items()}
        return named if any(named[key] is not part for key, part in value.items()) else value
    return FieldFunction(watch, value, path) if _is_function(value) else value


def _may_hold_functions(value: object) -> bool:
    lists, dicts = _containers()
    return type(value) in (*_CONTAINERS, *lists, *dicts) or _is_function(value)


def _containers() -> tuple[Classes, Classes]:
    """The lists and dicts of frameworks, in which modules may hold functions beside others."""
    found = [each.container_classes() for each in loaded_frameworks()]
    return tuple(cls for lists, _ in found for cls in lists), tuple(cls for _, dicts in found for cls in dicts)


def _is_function(value: Any) -> bool:
    """Whether it is a function in any dress: jitted, partial, with derivatives of its own. No module, no class."""
    if not callable(value) or isinstance(value, type) or type(value) is FieldFunction or is_array(value):
        return False
    return isinstance(value, functools.partial) or (hasattr(value, "__name__") and hasattr(value, "__module__"))


def _has_arrays(value: Value) -> bool:
    """Whether it is an array, or a plain container of some: no model, no state of one."""
    if isinstance(value, TreeValue):
        return value.kind in ("tuple", "list", "dict") and any(map(_has_arrays, value.children))
    return not isinstance(value, OtherValue)
