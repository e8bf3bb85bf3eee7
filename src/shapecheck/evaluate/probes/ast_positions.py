"""Places in a syntax tree: of statements that are put in, and of nodes that are looked for."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from shapecheck.model import Position

Key = tuple[int, int, int, int]


def body_start(body: Sequence[ast.stmt], *, module: bool = False) -> int:
    """Where a statement may be put in front: behind the docstring and, in a module, behind `from __future__`."""
    start = 0
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        start = int(isinstance(body[0].value.value, str))
    while module and start < len(body):
        statement = body[start]
        if not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            break
        start += 1
    return start


def anchor(body: Sequence[ast.stmt], start: int) -> ast.AST:
    """The node whose line a statement gets that is put there."""
    if body:
        return body[min(start, len(body) - 1)]
    return ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)


def start_of(position: Position) -> tuple[int, int]:
    """Line and column, by which a scope is found."""
    return position.line, position.column


def key(position: Position) -> Key:
    """The place of a site, by which its node is found."""
    return position.line, position.column, position.end_line, position.end_column


def node_key(node: ast.AST) -> Key:
    """The same of a node; zeros for one that has no place."""
    return (
        getattr(node, "lineno", 0),
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", 0) or 0,
        getattr(node, "end_col_offset", 0) or 0,
    )
