"""Functions that another compiler than Python's reads: Numba's, Triton's. Nothing may be put into them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_COMPILERS = frozenset({"cupyx", "numba", "pythran", "taichi", "triton", "warp"})


def compiled_elsewhere(tree: ast.Module) -> frozenset[tuple[int, int]]:
    """Where the functions begin, by line and column, that such a compiler is given: `@njit`, `fast = njit(slow)`."""
    names = _names_of_compilers(tree)
    if not names:
        return frozenset()
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _root(node.func) in names)
    given = {each.id for call in calls for each in call.args if isinstance(each, ast.Name)}
    return frozenset(
        (node.lineno, node.col_offset)
        for node in functions
        if node.name in given or any(_root(each) in names for each in node.decorator_list)
    )


def _names_of_compilers(tree: ast.Module) -> set[str]:
    """The names by which a file knows such a compiler, or what it has of it."""
    found: set[str] = set()
    for node in _statements(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in _COMPILERS:
            found.update(each.asname or each.name for each in node.names)
        elif isinstance(node, ast.Import):
            wanted = (each for each in node.names if each.name.partition(".")[0] in _COMPILERS)
            found.update(each.asname or each.name.partition(".")[0] for each in wanted)
    return found


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements, in which imports stand: a tenth of what a file has of nodes."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inside = getattr(node, part, ())
            todo += inside if isinstance(inside, list) else ()  # a lambda's body is an expression


def _root(node: ast.expr) -> str:
    """`numba` of `numba.cuda.jit(...)`."""
    while isinstance(node, (ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
