"""The functions of a source by where their `def` stands."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache

Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=8)
def functions_by_position(lines: tuple[str, ...]) -> Mapping[tuple[int, int], Function]:
    """By line, from 1, and column, from 0; none of what does not parse."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    nodes = (node for node in ast.walk(tree) if isinstance(node, Function))
    return {(node.lineno, node.col_offset): node for node in nodes}
