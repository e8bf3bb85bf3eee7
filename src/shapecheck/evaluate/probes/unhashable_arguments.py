"""The caches of `functools` let pass what has no hash: a tracer, as any array.

Whoever remembers results by arrays gets an error from Python, in any run. Its message would hide what the function
behind the cache shows: so that is called, each time.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from shapecheck.evaluate.probes.ast_probes import HANDLE

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
