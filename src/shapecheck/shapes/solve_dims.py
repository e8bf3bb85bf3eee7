"""What sizes say of the names in expressions over them: of `t+1` axes there are 8, so `t` is 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shapecheck.shapes.expressions import Binary, Expression, Int, Name, Size
from shapecheck.shapes.spec import NamedDim, Spec, SymbolicDim


def solve_dims(spec: Spec, shape: Sequence[Size], known: Mapping[str, Size]) -> dict[str, Size]:
    """The names of a shape of which some stand in sums or products alone: `(d, t+1)` says what `t` is, too.

    Nothing where an axis contradicts another or what is known, or where another expression hides what it means.
    """
    found = dict(known)
    for dim, size in zip(spec.dims, shape, strict=True):
        if isinstance(dim, NamedDim) and not dim.broadcastable:
            solved = {dim.name: size}
        elif isinstance(dim, SymbolicDim):
            solved = solve_expression(dim.expression, size)
        else:
            continue
        if not solved or any(found.get(name, each) != each for name, each in solved.items()):
            return {}
        found.update(solved)
    return found


def solve_expression(expression: Expression, size: Size) -> dict[str, Size]:
    """The one name of `t+1`, `t-1`, `2*t`, `2*t+1`, and its size; nothing of any other expression."""
    return _solve(expression, size) if isinstance(expression, Binary) else {}


def _solve(expression: Expression, size: Size) -> dict[str, Size]:
    if isinstance(expression, Name):
        return {expression.text: size}
    if not isinstance(expression, Binary):
        return {}
    inner, operator, number = expression.left, expression.operator, expression.right
    if isinstance(inner, Int) and operator in ("+", "*"):
        inner, number = number, inner
    if not isinstance(number, Int):
        return {}
    if operator in ("+", "-"):
        step = number.value if operator == "+" else -number.value
        return _solve(inner, tuple(each - step for each in size))
    if operator == "*" and number.value > 0 and all(each % number.value == 0 for each in size):
        return _solve(inner, tuple(each // number.value for each in size))
    return {}
