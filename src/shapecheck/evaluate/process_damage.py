"""What user code must leave as it is in the worker's process, because the worker itself runs on it.

Python lets any module replace `open`, or take `os` out of `sys.modules`, for the whole process. Nothing that the worker
does from there on can be trusted, neither for that module nor for those that come after it.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import operator
import os
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import NamedTuple

import jax
import numpy as np

from shapecheck.worker.messages.protocol import DamageNotice, Send

DAMAGED = 78
"""The exit status of a process that cannot go on."""

# Names that people replace for their own ends, and that the worker does without.
_FREE = frozenset({"breakpoint", "copyright", "credits", "exit", "help", "input", "license", "print", "quit"})
_PROCESSES = ("abort", "exec", "fork", "kill", "popen", "posix_spawn", "register_at_fork", "spawn", "system", "wait")
_OWN = ("builtins.", "os.", "jax", "numpy.", "json.")
"""What not even an installed package may replace."""
_OTHERS_TO_REPLACE = frozenset({"builtins", "os", "posixpath", "ntpath", "sys", "warnings"})
"""Modules of the standard library that are dealt with apart, or whose functions are there to be replaced."""
_CLASSES_TO_CHANGE = frozenset({"json"})
"""Modules whose classes people change: `json.JSONEncoder.default` is a common place for it."""
_STREAMS = (0, 1, 2)
_LIMITS = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_NOFILE")
_LOWEST_RECURSION = 500  # frames: JAX and the worker need that many


class _NeededNames(NamedTuple):
    """Names of one module that the worker uses, in its namespace, and the module as people write it."""

    namespace: dict[str, object]
    names: tuple[str, ...]
    module: str


class _NeededMembers(NamedTuple):
    """What a class does or has by itself: its namespace as it is now, and the values when the worker began."""

    owner: type
    namespace: Mapping[str, object]
    names: tuple[str, ...]
    values: tuple[object, ...]
    written: str


class _ResourceLimit(NamedTuple):
    """What the system lets the process have of something, as it was when the worker began."""

    name: str
    number: int
    soft: int
    getter: Callable[[int], tuple[int, int]]


class ProcessDamage:
    """Ends the process after code that has broken what the worker needs, and tells the parent what that was.

    All that this class uses once user code has run was taken before, so that it works without the builtins too. What
    our own patches have put into a class, as `is_in_place` says, is no damage.
    """

    def __init__(self, send: Send, is_in_place: Callable[[type, str, object], bool]) -> None:
        self._send, self._is_in_place = send, is_in_place
        standard = _standard_modules()
        self._names = [
            _functions(builtins, "builtins"),
            _functions(os, "os"),
            _functions(os.path, "os.path"),
            _functions(sys, "sys"),
            *(_functions(module, module.__name__) for module in standard),
            *(_NeededNames(vars(module), (name,), module.__name__) for module, name in _SINGLE),
            *_array_types(),
            _NeededNames(vars(jax.tree_util), _tree_functions(), "jax.tree_util"),
        ]
        self._members = [_members(cls, written) for cls, written in _needed_classes(standard)]
        self._set_member = type.__setattr__
        modules = ("builtins", "importlib", "inspect", "jax", "jax.numpy", "json", "numpy", "os", "shapecheck", "sys")
        self._modules = [(name, sys.modules[name]) for name in modules if name in sys.modules]
        self._loaded, self._sys = sys.modules, vars(sys)
        self._limits = _resource_limits()
        self._exit, self._fstat, self._zip, self._getattr = os._exit, os.fstat, zip, getattr
        self._all, self._map, self._is, self._tuple = all, map, operator.is_, tuple
        self._recursion_limit, self._set_recursion_limit = sys.getrecursionlimit, sys.setrecursionlimit

    def values(self) -> list[tuple[object, ...]]:
        """What stands under each name now, before user code runs."""
        return [self._tuple(self._map(each.namespace.get, each.names)) for each in self._names]

    def verify(self, before: list[tuple[object, ...]]) -> None:
        """Return if the process is fit to go on; else put back what can be, tell the parent, and end."""
        reason = self._mend(before)
        if reason:
            try:
                self._send(DamageNotice(reason=reason))
            finally:  # the pipe may be closed as well: then the exit status tells the parent
                self._exit(DAMAGED)

    def _mend(self, before: list[tuple[object, ...]]) -> str:
        """What was broken, in words; nothing if nothing was."""
        reason = ""
        for group, values in self._zip(self._names, before):
            if not self._are_in_place(group.namespace, group.names, values):
                mended = self._mend_names(group, values)
                reason = reason or mended
        for members in self._members:
            if not self._are_in_place(members.namespace, members.names, members.values):
                mended = self._mend_members(members)
                reason = reason or mended
        if self._sys.get("modules") is not self._loaded:
            self._sys["modules"] = self._loaded
            reason = reason or "replaced sys.modules"
        for name, module in self._modules:
            if self._loaded.get(name) is not module:
                self._loaded[name] = module
                reason = reason or f"took {name} out of sys.modules, or put another module there"
        if self._recursion_limit() < _LOWEST_RECURSION:
            self._set_recursion_limit(1000)
            reason = reason or f"lowered Python's recursion limit below {_LOWEST_RECURSION}"
        for limit in self._limits:
            soft = limit.getter(limit.number)[0]
            if soft >= 0 and (limit.soft < 0 or soft < limit.soft):  # below 0 there is no limit
                reason = reason or f"lowered the limit {limit.name} of the process"
        return reason or self._closed_stream()

    def _are_in_place(self, namespace: Mapping[str, object], names: Sequence[str], values: Sequence[object]) -> bool:
        """Whether these very values stand under the names: asked of thousands, after each request."""
        return self._all(self._map(self._is, self._map(namespace.get, names), values))

    def _mend_names(self, group: _NeededNames, values: Sequence[object]) -> str:
        reason = ""
        for name, value in self._zip(group.names, values):
            if (other := group.namespace.get(name)) is value:
                continue
            written = f"{group.module}.{name}"
            if not written.startswith(_OWN) and self._is_of_package(other):
                if written.startswith("inspect."):  # who looks at functions is as well off with the original
                    group.namespace[name] = value
                continue
            group.namespace[name] = value
            reason = reason or f"replaced {written} for the whole process, which the checker needs as well"
        return reason

    def _mend_members(self, members: _NeededMembers) -> str:
        reason = ""
        for name, value in self._zip(members.names, members.values):
            if (other := members.namespace.get(name)) is value:
                continue
            if members.owner not in _CLASSES and self._is_of_package(other):
                continue
            if self._is_in_place(members.owner, name, other):  # user code imports while it is evaluated
                continue
            self._set_member(members.owner, name, value)
            whose = " of JAX" if members.owner in _CLASSES else ""
            written = f"{members.written}.{name}{whose}"
            reason = reason or f"replaced {written} for the whole process, which the checker needs as well"
        return reason

    def _is_of_package(self, function: object) -> bool:
        """Whether an installed package has put its own function there: torch has an `inspect.getfile` for its archives.

        What packages put there goes on doing what it is for, or their users would have told them.
        """
        file = self._getattr(self._getattr(function, "__code__", None), "co_filename", "")
        return "site-packages" in file or "dist-packages" in file

    def _closed_stream(self) -> str:
        for descriptor in _STREAMS:
            try:
                self._fstat(descriptor)
            except OSError:
                return f"closed the file descriptor {descriptor}, a standard stream of the process"
        return ""


_HEAP_TYPE = 1 << 9  # of `type.__flags__`: a class that Python code can change
_CLASSES = (jax.core.Tracer, jax.ShapeDtypeStruct)
_SINGLE: tuple[tuple[ModuleType, str], ...] = (
    (builtins, "__build_class__"),
    (builtins, "__import__"),
    (functools, "lru_cache"),
    (functools, "partial"),
    (functools, "wraps"),
    (importlib, "import_module"),
    (jax, "Array"),
    (jax, "ShapeDtypeStruct"),
    (jax, "clear_caches"),
    (jax, "config"),
    (jax, "eval_shape"),
    (jax, "make_jaxpr"),
    (np, "asarray"),
    (np, "dtype"),
    (np, "generic"),
    (np, "ndarray"),
    (sys, "_getframe"),
    (sys, "exc_info"),
    (sys, "meta_path"),
    (time, "monotonic"),
    (time, "thread_time"),
)


def _own_values() -> Iterator[object]:
    """What the modules of the worker have in their namespaces."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "shapecheck":
            yield from list(vars(module).values())


def _standard_modules() -> list[ModuleType]:
    """The modules of the standard library that the worker's own modules import, or whose functions they do."""
    found = {
        value.__name__ if isinstance(value, ModuleType) else value.__module__
        for value in _own_values()
        if isinstance(value, ModuleType | types.FunctionType)
    }
    standard = sorted(name for name in found if name.partition(".")[0] in sys.stdlib_module_names)
    return [sys.modules[name] for name in standard if name not in _OTHERS_TO_REPLACE and name in sys.modules]


def _needed_classes(standard: Sequence[ModuleType]) -> Iterator[tuple[type, str]]:
    """Classes that the worker cannot do without, as people write them."""
    yield from ((cls, cls.__name__) for cls in _CLASSES)
    for module in standard:
        for value in list(vars(module).values()):
            own = isinstance(value, type) and value.__module__ == module.__name__
            if own and value.__flags__ & _HEAP_TYPE and module.__name__ not in _CLASSES_TO_CHANGE:
                yield value, f"{module.__name__}.{value.__name__}"


def _members(cls: type, written: str) -> _NeededMembers:
    """The methods and properties that a class has by itself."""
    namespace = vars(cls)
    behaviour = {name: value for name, value in namespace.items() if callable(value) or hasattr(value, "__get__")}
    return _NeededMembers(cls, namespace, tuple(behaviour), tuple(behaviour.values()), written)


def _array_types() -> list[_NeededNames]:
    """The types by which the annotations of all modules name arrays."""
    jaxtyping = sys.modules.get("jaxtyping")
    if jaxtyping is None:
        return []
    found = vars(jaxtyping).items()
    names = tuple(key for key, value in found if isinstance(value, type) and not key.startswith("_"))
    return [_NeededNames(vars(jaxtyping), names, "jaxtyping")]


def _tree_functions() -> tuple[str, ...]:
    names = _functions(jax.tree_util, "jax.tree_util").names
    return tuple(name for name in names if name.startswith("tree_"))


def _resource_limits() -> list[_ResourceLimit]:
    """The limits without which the process cannot go on; none where the system has no such limits."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return []
    numbers = {name: getattr(resource, name, None) for name in _LIMITS}
    getter = resource.getrlimit
    return [_ResourceLimit(name, n, getter(n)[0], getter) for name, n in numbers.items() if n is not None]


def _functions(module: ModuleType, name: str) -> _NeededNames:
    """The public functions and classes of a module."""
    names = tuple(
        key
        for key, value in vars(module).items()
        if callable(value)
        and (not isinstance(value, type) or value.__module__ == module.__name__)
        and key not in _FREE
        and not key.startswith(("_", *_PROCESSES))
        and not key.endswith("hook")
    )
    return _NeededNames(vars(module), names, name)
