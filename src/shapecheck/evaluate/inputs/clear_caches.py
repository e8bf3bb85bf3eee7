"""What earlier evaluations have left in caches is forgotten before the next one.

A function whose result is remembered does not run again: it would not be seen, its file would not be known as a part of
what depends on it, and what it gave under an earlier trace holds tracers that belong nowhere any more.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Protocol

import jax

from shapecheck.evaluate.probes.ast_probes import HANDLE
from shapecheck.evaluate.probes.unhashable_arguments import CACHES

_MOST = 8  # decorators around each other


class _Cache(Protocol):
    def cache_clear(self) -> None: ...


def forget() -> None:
    """Empty JAX's caches, and those that `functools` keeps for functions and methods of modules with probes."""
    jax.clear_caches()
    for module in list(sys.modules.values()):
        if HANDLE not in getattr(module, "__dict__", ()):
            continue
        for value in list(vars(module).values()):
            owned = isinstance(value, type) and value.__module__ == module.__name__
            for part in (value, *(vars(value).values() if owned else ())):
                for cached in _find_caches(part):
                    cached.cache_clear()


def _find_caches(value: object) -> Iterator[_Cache]:
    """The caches of a function, inside of its other decorators."""
    for _ in range(_MOST):
        if isinstance(value, CACHES):
            yield value
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        elif isinstance(value, property):
            value = value.fget
        elif callable(value) and "__wrapped__" in getattr(value, "__dict__", ()):
            value = value.__dict__["__wrapped__"]
        else:
            return
