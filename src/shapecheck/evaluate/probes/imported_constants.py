"""The constants that stand beside what a module imports: `Q` of `lattice.py` in a text below `from lattice import E`.

A text may mean them though the code has no use for the name itself. And those that a type alias stands for, as in
`type State = Dim[4]`, for which `Float[Array, "State"]` is the same.
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


def aliased_sizes(module: Mapping[str, object]) -> Mapping[str, int]:
    """The integers for which type aliases stand that a module has, by the names of these."""
    found: dict[str, int] = {}
    for name, value in module.items():
        if type(value).__name__ == "TypeAliasType":  # of Python 3.12 and newer
            home, own = getattr(value, "__module__", None), getattr(value, "__name__", None)
            size = _alias_sizes(home).get(str(own)) if isinstance(home, str) and home in sys.modules else None
            found.update({name: size} if size is not None else {})
    return found


@functools.lru_cache(maxsize=512)
def _alias_sizes(name: str) -> Mapping[str, int]:
    """Those of one module: what stands alone in the brackets of an alias's value."""
    found: dict[str, int] = {}
    for statement in _statements(name):
        if type(statement).__name__ != "TypeAlias" or not isinstance(value := vars(statement)["value"], ast.Subscript):
            continue
        if isinstance(value.slice, ast.Constant) and type(value.slice.value) is int and value.slice.value > 0:
            found[vars(statement)["name"].id] = value.slice.value
    return types.MappingProxyType(found)


def _statements(name: str) -> list[ast.stmt]:
    try:
        return parse_python(inspect.getsource(sys.modules[name])).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return []


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
    for statement in _statements(name):
        if not isinstance(statement, ast.ImportFrom):
            continue
        try:
            full = importlib.util.resolve_name("." * statement.level + (statement.module or ""), package or None)
        except ImportError:
            continue
        other = sys.modules.get(full)
        if isinstance(other, types.ModuleType) and HANDLE in vars(other):
            yield other
