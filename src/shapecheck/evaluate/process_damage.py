"""What user code must leave as it is in the worker's process, because the worker itself runs on it.

Python lets any module replace `open`, or take `os` out of `sys.modules`, for the whole process. Nothing that the worker
does from there on can be trusted, neither for that module nor for those that come after it.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import os
import sys
import time
import types
from collections.abc import Callable, Iterator
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


class _NeededName(NamedTuple):
    """A name that the worker uses, in its module's namespace, and as people write it."""

    namespace: dict[str, object]
    name: str
    written: str


class _NeededMember(NamedTuple):
    """What a class does or has by itself, as it was when the worker began."""

    owner: type
    name: str
    value: object
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
        self._names = [
            *_functions(builtins, "builtins"),
            *_functions(os, "os"),
            *_functions(os.path, "os.path"),
            *_functions(sys, "sys"),
            *(each for module in _standard_modules() for each in _functions(module, module.__name__)),
            *(_NeededName(vars(module), name, f"{module.__name__}.{name}") for module, name in _SINGLE),
            *_array_types(),
            *(each for each in _functions(jax.tree_util, "jax.tree_util") if each.name.startswith("tree_")),
        ]
        self._members = [
            _NeededMember(cls, name, value, f"{name_of_class}.{name}{' of JAX' if cls in _CLASSES else ''}")
            for cls, name_of_class in _needed_classes()
            for name, value in _behaviour(cls)
        ]
        self._set_member, self._members_of = type.__setattr__, vars
        modules = ("builtins", "importlib", "inspect", "jax", "jax.numpy", "json", "numpy", "os", "shapecheck", "sys")
        self._modules = [(name, sys.modules[name]) for name in modules if name in sys.modules]
        self._loaded, self._sys = sys.modules, vars(sys)
        self._limits = _resource_limits()
        self._exit, self._fstat, self._zip, self._getattr = os._exit, os.fstat, zip, getattr
        self._recursion_limit, self._set_recursion_limit = sys.getrecursionlimit, sys.setrecursionlimit

    def values(self) -> list[object]:
        """What stands under each name now, before user code runs."""
        return [each.namespace.get(each.name) for each in self._names]

    def verify(self, before: list[object]) -> None:
        """Return if the process is fit to go on; else put back what can be, tell the parent, and end."""
        reason = self._mend(before)
        if reason:
            try:
                self._send(DamageNotice(reason=reason))
            finally:  # the pipe may be closed as well: then the exit status tells the parent
                self._exit(DAMAGED)

    def _mend(self, before: list[object]) -> str:
        """What was broken, in words; nothing if nothing was."""
        reason = ""
        for each, value in self._zip(self._names, before):
            if (other := each.namespace.get(each.name)) is not value:
                if not each.written.startswith(_OWN) and self._is_of_package(other):
                    if each.written.startswith("inspect."):  # who looks at functions is as well off with the original
                        each.namespace[each.name] = value
                    continue
                each.namespace[each.name] = value
                reason = reason or f"replaced {each.written} for the whole process, which the checker needs as well"
        for member in self._members:
            if (other := self._members_of(member.owner).get(member.name)) is not member.value:
                if member.owner not in _CLASSES and self._is_of_package(other):
                    continue
                if self._is_in_place(member.owner, member.name, other):  # user code imports while it is evaluated
                    continue
                self._set_member(member.owner, member.name, member.value)
                reason = reason or f"replaced {member.written} for the whole process, which the checker needs as well"
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


def _needed_classes() -> Iterator[tuple[type, str]]:
    """Classes that the worker cannot do without, as people write them."""
    yield from ((cls, cls.__name__) for cls in _CLASSES)
    for module in _standard_modules():
        for value in list(vars(module).values()):
            own = isinstance(value, type) and value.__module__ == module.__name__
            if own and value.__flags__ & _HEAP_TYPE and module.__name__ not in _CLASSES_TO_CHANGE:
                yield value, f"{module.__name__}.{value.__name__}"


def _behaviour(cls: type) -> Iterator[tuple[str, object]]:
    """The methods and properties that a class has by itself."""
    yield from ((name, value) for name, value in vars(cls).items() if callable(value) or hasattr(value, "__get__"))


def _array_types() -> list[_NeededName]:
    """The types by which the annotations of all modules name arrays."""
    jaxtyping = sys.modules.get("jaxtyping")
    found = vars(jaxtyping).items() if jaxtyping is not None else ()
    return [
        _NeededName(vars(jaxtyping), key, f"jaxtyping.{key}")
        for key, value in found
        if isinstance(value, type) and not key.startswith("_")
    ]


def _resource_limits() -> list[_ResourceLimit]:
    """The limits without which the process cannot go on; none where the system has no such limits."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return []
    numbers = {name: getattr(resource, name, None) for name in _LIMITS}
    getter = resource.getrlimit
    return [_ResourceLimit(name, n, getter(n)[0], getter) for name, n in numbers.items() if n is not None]


def _functions(module: ModuleType, name: str) -> list[_NeededName]:
    """The public functions and classes of a module."""
    return [
        _NeededName(vars(module), key, f"{name}.{key}")
        for key, value in vars(module).items()
        if callable(value)
        and (not isinstance(value, type) or value.__module__ == module.__name__)
        and key not in _FREE
        and not key.startswith(("_", *_PROCESSES))
        and not key.endswith("hook")
    ]
