"""Variables that a statement changes: the one that it makes another of, or some before it takes them beside others."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from shapecheck.claims.axis_words import words
from shapecheck.syntax.scopes import dotted_name

_WORD = re.compile(r"[A-Za-z_]\w*")
# Methods of arrays, which are functions of these modules, too.
_METHODS = words(
    """
    reshape transpose swapaxes astype squeeze flatten ravel repeat sum mean max min prod std var any all argmax argmin
    cumsum cumprod clip round conj copy take dot diagonal trace
    """
)
_KEEPS = words("astype copy conj round clip block_until_ready")
_TRANSPOSED = frozenset({"T", "mT"})
_MODULES = frozenset({"jnp", "np", "numpy", "lax", "jax", "nn", "linalg", "einops", "fft", "ops"})


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


def changed_variable(code: ast.AST, is_array: Callable[[str], bool]) -> list[ast.expr]:
    """The one variable that a statement or an expression makes another of, and what it is on the way: `x.reshape(n)`.

    The variable is the first, and there is nothing if it is none. `is_array` tells those that may be arrays.
    """
    value = getattr(code, "value", None) if isinstance(code, ast.stmt) else code
    steps: list[ast.expr] = []
    while isinstance(value, ast.expr):
        steps.insert(0, value)
        name = dotted_name(value)
        if name is not None and name.rpartition(".")[2] not in _TRANSPOSED:
            return steps[:-1] if is_array(name) else []
        if isinstance(value, ast.Subscript) and isinstance(getattr(value.slice, "value", None), str):
            return []  # an entry of something
        if isinstance(value, ast.Subscript | ast.Attribute):
            value = value.value
        elif not isinstance(value, ast.Call):
            return []
        elif isinstance(value.func, ast.Attribute) and value.func.attr in _METHODS and _may_be_array(value.func.value):
            value = value.func.value
        else:
            taken = [*value.args, *(keyword.value for keyword in value.keywords)]
            others = (name for each in taken[1:] for name in _names(each))
            if not value.args or isinstance(value.args[0], ast.List | ast.Tuple) or any(map(is_array, others)):
                return []
            value = value.args[0]
    return []


def shapes_between(code: ast.AST, is_array: Callable[[str], bool]) -> list[ast.expr]:
    """What a variable is on the way to the value of a statement, without what only changes its dtype, as a copy."""
    steps = changed_variable(code, is_array)
    value = getattr(code, "value", None) if isinstance(code, ast.stmt) else code
    whole = [value] if steps and isinstance(value, ast.expr) else []
    changes = [each for each in (*steps[1:], *whole) if not isinstance(each, ast.Call) or _method(each) not in _KEEPS]
    return changes[:-1]


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _may_be_array(owner: ast.expr) -> bool:
    """Whether what a method is of is no module."""
    return (dotted_name(owner) or "").rpartition(".")[2] not in _MODULES


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
