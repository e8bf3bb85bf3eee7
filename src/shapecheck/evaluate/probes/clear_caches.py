"""What earlier evaluations have left in caches is forgotten before the next one.

A function whose result is remembered does not run again: it would not be seen, its file would not be known as a part of
what depends on it, and what it gave under an earlier trace holds tracers that belong nowhere any more.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any, Protocol

import jax

from shapecheck.evaluate.probes.ast_probes import HANDLE
from shapecheck.evaluate.probes.unhashable_arguments import CACHES

_MOST = 8  # decorators around each other
_PLAIN = frozenset({type(None), bool, int, float, str, tuple, dict, list, ModuleType})


class _Cache(Protocol):
    def cache_clear(self) -> None: ...


def forget() -> None:
    """Empty JAX's caches, and those that `functools` keeps for functions and methods of modules with probes."""
    jax.clear_caches()
    for module in list(sys.modules.values()):
        names = vars(module) if issubclass(type(module), ModuleType) else {}
        if HANDLE not in names:
            continue
        for value in list(names.values()):
            owned = issubclass(type(value), type) and vars(value).get("__module__") == names.get("__name__")
            for part in (value, *(list(vars(value).values()) if owned else ())):
                if type(part) in _PLAIN or (type(part) is FunctionType and not part.__dict__):
                    continue  # nearly all of them, and this is done before each evaluation
                for cached in _find_caches(part):
                    cached.cache_clear()


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
            value = _own_names(value).get("__wrapped__")


def _own_names(value: object) -> Mapping[str, object]:
    """The attributes that an object itself has; its class may hide them, or say others."""
    try:
        names = object.__getattribute__(value, "__dict__")
    except Exception:  # it has none, or the user's class stands in the way
        return {}
    return names if type(names) is dict else {}
