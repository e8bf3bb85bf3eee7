"""Statements that leave a variable the shape that it had: `x = (x - x.mean()) / 255`.

What is said behind one is said of the variable as it came, too.
"""

from __future__ import annotations

import ast
from typing import Final

from shapecheck.syntax.functions_by_position import Function

_PER_ELEMENT = (
    "abs absolute exp expm1 log log1p log2 log10 sqrt rsqrt square sign sin cos tan tanh sinh cosh arctan floor ceil"
    " round clip nan_to_num asarray array astype negative reciprocal stop_gradient relu gelu silu swish sigmoid"
    " softplus elu leaky_relu selu hard_tanh log_sigmoid softmax log_softmax copy"
)
_ELEMENTWISE: Final = frozenset(_PER_ELEMENT.split())
_REDUCING: Final = frozenset({"sum", "mean", "max", "min", "std", "var", "prod", "norm", "amax", "amin", "median"})


def keeps_shape(function: Function, line: int, name: str) -> bool:
    """Whether the statement on a line of a function is the first to bind a variable again, and leaves it its shape."""
    bound = [each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id == name and _is_bound(each)]
    statement = next((each for each in function.body if each.lineno <= line <= (each.end_lineno or 0)), None)
    if statement is None or any(each.lineno < statement.lineno for each in bound):
        return False
    if isinstance(statement, ast.AugAssign):
        return _is_variable(statement.target, name) and _is_plain(statement.value, name)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    return _is_variable(statement.targets[0], name) and _keeps(statement.value, name)


def _is_bound(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store | ast.Del)


def _is_variable(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _keeps(node: ast.expr, name: str) -> bool:
    """Whether an expression has the shape of the variable: it is computed with it element by element."""
    if _is_variable(node, name):
        return True
    if isinstance(node, ast.UnaryOp):
        return _keeps(node.operand, name)
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        sides = (node.left, node.right)
        return any(
            _keeps(one, name) and (_keeps(other, name) or _is_plain(other, name)) for one, other in (sides, sides[::-1])
        )
    if isinstance(node, ast.Call):
        function, arguments = node.func, node.args
        if isinstance(function, ast.Attribute) and function.attr in _ELEMENTWISE:
            return _keeps(function.value, name) or (bool(arguments) and _keeps(arguments[0], name))
    return False


def _is_plain(node: ast.expr, name: str) -> bool:
    """Whether an expression is a number, or computed of the variable so that it fits in: `x.mean(0, keepdims=True)`."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.UnaryOp):
        return _is_plain(node.operand, name)
    if isinstance(node, ast.BinOp):
        return all(_is_plain(each, name) for each in (node.left, node.right))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _REDUCING:
        return False
    rest = [*node.args, *(each.value for each in node.keywords)]
    if _keeps(node.func.value, name):
        given = rest
    elif rest and _keeps(rest[0], name):
        given = rest[1:]
    else:
        return False
    keeps = any(each.arg == "keepdims" for each in node.keywords)
    return keeps or not given
