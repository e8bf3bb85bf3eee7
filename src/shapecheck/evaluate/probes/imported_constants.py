"""The constants that stand beside what a module imports: `Q` of `lattice.py` in a text below `from lattice import E`.

A text may mean them though the code has no use for the name itself.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import sys
import types
from collections.abc import Iterator, Mapping

from shapecheck.evaluate.own_errors import HANDLE
from shapecheck.evaluate.parse_python import parse_python


def imported_constants(module: Mapping[str, object]) -> Mapping[str, int]:
    """The integers, by names in capitals, of the checked modules from which a module imports something.

    Without those of which two modules have different ones.
    """
    name = module.get("__name__")
    return _constants(name) if isinstance(name, str) and name in sys.modules else {}


@functools.lru_cache(maxsize=512)
def _constants(name: str) -> Mapping[str, int]:
    found: dict[str, set[int]] = {}
    for other in _sources(name):
        for key, value in vars(other).items():
            if key.isupper() and type(value) is int:
                found.setdefault(key, set()).add(value)
    return types.MappingProxyType({key: min(values) for key, values in found.items() if len(values) == 1})


def _sources(name: str) -> Iterator[types.ModuleType]:
    """The modules with probes that a module names behind `from`."""
    package = str(getattr(sys.modules[name], "__package__", "") or "")
    try:
        tree = parse_python(inspect.getsource(sys.modules[name]))
    except (OSError, TypeError, SyntaxError, ValueError):
        return
    for statement in tree.body:
        if not isinstance(statement, ast.ImportFrom):
            continue
        try:
            full = importlib.util.resolve_name("." * statement.level + (statement.module or ""), package or None)
        except ImportError:
            continue
        other = sys.modules.get(full)
        if isinstance(other, types.ModuleType) and HANDLE in vars(other):
            yield other
