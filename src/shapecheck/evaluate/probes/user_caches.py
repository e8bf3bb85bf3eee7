"""The caches of the user's functions: emptied between evaluations, and passed by where arguments have no hash.

A function whose result is remembered does not run again: it would not be seen, its file would not be known as a part of
what depends on it, and what it gave under an earlier trace holds tracers that belong nowhere any more.

Whoever remembers results by arrays, which have no hash as tracers have none, gets an error from Python in any run. Its
message would hide what the function behind the cache shows: so that is called, each time.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, Protocol, cast

import jax

from shapecheck.evaluate.own_errors import HANDLE
from shapecheck.evaluate.probes.attribute_access import class_names, own_names

_MOST = 8  # decorators around each other
_PLAIN = frozenset({type(None), bool, int, float, str, tuple, dict, list, ModuleType})


class _Cache(Protocol):
    def cache_clear(self) -> None: ...


@dataclass(frozen=True)
class _Namespace:
    """What a module or a class bound when it was last looked at: caches among it, and classes of the module's own."""

    values: Sequence[object]
    caches: Sequence[_Cache]
    classes: Sequence[type]

    def is_as_before(self, values: Sequence[object]) -> bool:
        """Whether it binds the same objects now."""
        return _are_same(values, self.values)


@dataclass(frozen=True)
class _Modules:
    """What `sys.modules` held when it was last looked at, and those with probes among it."""

    loaded: Sequence[object] = ()
    probed: Sequence[ModuleType] = ()

    def look_again(self) -> _Modules:
        """What is there now: thousands of modules, which are seldom others than before."""
        loaded = list(sys.modules.values())
        if _are_same(loaded, self.loaded):
            return self
        modules = [each for each in loaded if issubclass(type(each), ModuleType)]
        return _Modules(loaded, [each for each in modules if HANDLE in vars(each)])


_seen: dict[int, _Namespace] = {}  # by id: if another object has it by now, it binds others
_modules = _Modules()


def forget() -> None:
    """Empty JAX's caches, and those that `functools` keeps for functions and methods of modules with probes."""
    global _modules  # noqa: PLW0603 - one for all, as `sys.modules` is
    jax.clear_caches()
    _modules = _modules.look_again()
    for module in _modules.probed:
        found = _look_into(module, vars(module))
        for each in (found, *(_look_into(cls, class_names(cls)) for cls in found.classes)):
            for cached in each.caches:
                cached.cache_clear()


def _are_same(values: Sequence[object], before: Sequence[object]) -> bool:
    return len(values) == len(before) and all(map(operator.is_, values, before))


def _look_into(owner: object, names: Mapping[str, object]) -> _Namespace:
    """What the names of a module or class are bound to: this is done before each evaluation, and seldom changes."""
    values = list(names.values())
    before = _seen.get(id(owner))
    if before is not None and before.is_as_before(values):
        return before
    caches: list[_Cache] = []
    classes: list[type] = []
    module = names.get("__name__") if issubclass(type(owner), ModuleType) else None
    for value in values:
        if type(value) in _PLAIN or (type(value) is FunctionType and not value.__dict__):
            continue  # nearly all of them
        caches += _find_caches(value)
        if module and issubclass(type(value), type):
            cls = cast("type", value)
            classes += [cls] if class_names(cls).get("__module__") == module else []
    _seen[id(owner)] = found = _Namespace(values, caches, classes)
    return found


def _find_caches(value: Any) -> Iterator[_Cache]:
    """The caches of a function, inside of its other decorators."""
    for _ in range(_MOST):
        kind = type(value)  # which no code of the user's says, as it may say its class or its attributes
        if kind in CACHES:
            yield value
        if issubclass(kind, (staticmethod, classmethod)):
            value = value.__func__
        elif issubclass(kind, property):
            value = value.fget
        elif kind is FunctionType:  # of which a long module has many
            value = value.__dict__.get("__wrapped__")
        elif value is None or issubclass(kind, type):
            return
        else:
            value = own_names(value).get("__wrapped__")


_python_cache: Any = type(functools.lru_cache(lambda: None))


class LenientCache:
    """A cache of Python's own (which is a final class) that calls its function where the arguments are no key."""

    __wrapped__: Callable[..., object]

    def __init__(self, function: object, *settings: object) -> None:
        self._cache = _python_cache(function, *settings)
        self.cache_clear, self.cache_info = self._cache.cache_clear, self._cache.cache_info

    def __call__(self, *args: object, **kwargs: object) -> object:
        """What is remembered, or what the function gives."""
        try:
            return self._cache(*args, **kwargs)
        except TypeError:
            if _is_key(args, kwargs):
                raise
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> object:
        return self if instance is None else types.MethodType(self, instance)

    def __copy__(self) -> LenientCache:
        return self

    def __deepcopy__(self, memo: object) -> LenientCache:
        return self


CACHES: tuple[Any, ...] = (_python_cache, LenientCache)
"""The classes of what `functools.lru_cache` and `functools.cache` make."""


def let_pass_unhashable() -> None:
    """A monkeypatch for good: the caches that modules with probes make from now on let pass what has no hash."""
    # What `lru_cache` and `cache` make a cache with, in CPython.
    if getattr(functools, "_lru_cache_wrapper", None) is _python_cache:
        vars(functools)["_lru_cache_wrapper"] = _AnyCache


class _CacheClass(type):
    """The class of a class whose instances are all caches: libraries such as PyTorch ask for that of `functools`."""

    def __call__(cls, function: object, *settings: object) -> object:
        """A cache for a function: a lenient one in modules with probes."""
        # Of a class, `__globals__` may be a descriptor.
        probed = isinstance(function, types.FunctionType) and HANDLE in function.__globals__
        return (LenientCache if probed else _python_cache)(function, *settings)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, CACHES)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, CACHES)


class _AnyCache(metaclass=_CacheClass):
    """What stands for `functools._lru_cache_wrapper`."""


def _is_key(args: tuple[object, ...], kwargs: dict[str, object]) -> bool:
    try:
        hash((args, tuple(kwargs.items())))
    except TypeError:
        return False
    return True
