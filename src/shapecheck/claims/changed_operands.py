"""Variables that a statement changes before it takes them beside others: `concatenate([cache, x[:, None]])`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_WORD = re.compile(r"[A-Za-z_]\w*")


def describes_operand(text: str, statement: ast.stmt) -> bool:
    """Whether a text names a variable that the value of a statement is only in part, and no target of the statement.

    "expand x from (b, d) to (b, d, 1)" then may tell what is done to that part, and not what becomes of the whole.
    """
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.expr):
        return False
    stored = {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    named = set(_WORD.findall(text))
    return named.isdisjoint(stored) and not named.isdisjoint(_changed_operands(value))


def _changed_operands(value: ast.expr) -> Iterator[str]:
    operands = list(_operands(value))
    for operand in operands:
        others = {name for other in operands if other is not operand for name in _names(other)}
        if not isinstance(operand, ast.Name):
            yield from (name for name in _names(operand) if others - {name})


def _operands(value: ast.expr) -> Iterator[ast.expr]:
    """What an operation takes, those of its lists one by one."""
    match value:
        case ast.Call():
            for each in (*value.args, *(keyword.value for keyword in value.keywords)):
                yield from each.elts if isinstance(each, ast.List | ast.Tuple) else (each,)
        case ast.BinOp():
            yield from (value.left, value.right)
        case _:
            return


def _names(node: ast.expr) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name))
