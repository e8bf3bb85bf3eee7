"""Names whose values the code tells apart from others by comparing them, so that nothing can stand in for these."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def compared_names(tree: ast.AST) -> frozenset[str]:
    """The variables, and with a dot in front the attributes, that are compared or looked up by: `f`, `.activation`."""
    return frozenset(name for node in ast.walk(tree) for each in _operands(node) if (name := _name(each)))


def _operands(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        if not any(isinstance(each, ast.Constant) for each in operands):
            yield from operands
    elif isinstance(node, ast.Subscript):
        yield node.slice
    elif isinstance(node, ast.Match):
        yield node.subject
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        yield from node.args[:1]


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
