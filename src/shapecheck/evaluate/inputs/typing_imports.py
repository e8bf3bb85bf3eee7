"""Names that a module imports for type checkers only: under `if TYPE_CHECKING:`."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping

from shapecheck.evaluate.limits import TimeLimitError


def typing_names(module: str) -> Mapping[str, object]:
    """What the imports under `if TYPE_CHECKING:` of a loaded module would bind, as far as they can be imported."""
    return _typing_names(module) if module in sys.modules else {}


@functools.lru_cache(maxsize=256)
def _typing_names(module: str) -> Mapping[str, object]:
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, SyntaxError):
        return {}
    found: dict[str, object] = {}
    package = str(getattr(sys.modules[module], "__package__", "") or "")
    for statement in _imports(tree):
        for alias in statement.names:
            name = alias.asname or (alias.name.partition(".")[0] if isinstance(statement, ast.Import) else alias.name)
            value = _import_name(statement, alias, package)
            if value is not None:
                found[name] = value
    return found


def _imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    for statement in tree.body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test).rpartition(".")[2] == "TYPE_CHECKING":
            yield from (s for s in statement.body if isinstance(s, (ast.Import, ast.ImportFrom)))


def _import_name(statement: ast.Import | ast.ImportFrom, alias: ast.alias, package: str) -> object:
    try:
        if isinstance(statement, ast.Import):
            module = importlib.import_module(alias.name)
            return module if alias.asname else sys.modules[alias.name.partition(".")[0]]
        source = importlib.import_module("." * statement.level + (statement.module or ""), package or None)
        if hasattr(source, alias.name):
            return getattr(source, alias.name)
        return importlib.import_module(f"{source.__name__}.{alias.name}")
    except TimeLimitError:
        raise
    except Exception:  # stubs that exist for type checkers only; or a module whose import raises anything
        return None
