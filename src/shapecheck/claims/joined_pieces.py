"""What a claim about a joined array says of its pieces: `xy = jnp.concatenate([x, y], axis=-1)  # (b, dx + dy)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shapecheck.shapes import AnyDim, Dim, FixedDim, NamedDim, Spec, SymbolicDim, is_variadic, print_spec
from shapecheck.shapes.expressions import Binary, Expression, Int, Name
from shapecheck.shapes.spec import is_name

_JOINING: Final = frozenset({"concatenate", "concat"})
_STACKING: Final = frozenset({"stack"})
Place = tuple[str, int, int]
"""A variable, and line and column of the statement that binds it, or of its value."""


@dataclass(frozen=True)
class JoinedArrays:
    """Arrays that one call joins along an axis, or stacks as a new one."""

    pieces: tuple[ast.expr, ...]
    axis: int
    is_stack: bool

    def piece_specs(self, spec: Spec) -> Iterator[tuple[ast.expr, str]]:
        """The pieces, each with what a spec of the whole says of it; nothing if it does not say which axis it is."""
        place = self.axis if self.axis >= 0 else len(spec.dims) + self.axis
        beside = spec.dims[: place + 1] if self.axis >= 0 else spec.dims[max(place, 0) :]
        if not 0 <= place < len(spec.dims) or any(map(is_variadic, beside)):
            return
        shares = [None] * len(self.pieces) if self.is_stack else _shares(spec.dims[place], len(self.pieces))
        for piece, share in zip(self.pieces, shares, strict=True):
            along = () if share is None else (share,)
            yield piece, print_spec(Spec((*spec.dims[:place], *along, *spec.dims[place + 1 :])))


def joined_variables(function: ast.AST) -> Mapping[Place, JoinedArrays]:
    """The variables of a function that one of these calls gives."""
    found: dict[Place, JoinedArrays] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            joined = _joined_arrays(node.value)
            if joined is not None:
                for place in (node, node.value):
                    found[node.targets[0].id, place.lineno, place.col_offset] = joined
    return found


def _joined_arrays(value: ast.expr) -> JoinedArrays | None:
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or not value.args:
        return None
    name, pieces = value.func.attr, value.args[0]
    if name not in _JOINING | _STACKING or not isinstance(pieces, ast.List | ast.Tuple):
        return None
    given = [*value.args[1:2], *(each.value for each in value.keywords if each.arg == "axis")]
    axis = _integer(given[0]) if given else 0
    if axis is None or any(isinstance(each, ast.Starred) for each in pieces.elts):
        return None
    return JoinedArrays(tuple(pieces.elts), axis, name in _STACKING)


def _integer(node: ast.expr) -> int | None:
    try:
        value: object = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int else None


def _shares(dim: Dim, number: int) -> Sequence[Dim | None]:
    """What each of so many pieces has of an axis: `b` of `2 * b`, `dx` and `dy` of `dx + dy`; else some size."""
    expression = dim.expression if isinstance(dim, SymbolicDim) else None
    terms = _terms(expression) if expression is not None else []
    if len(terms) == number > 1:
        return [_dim(each) for each in terms]
    if isinstance(expression, Binary) and expression.operator == "*":
        for one, other in ((expression.left, expression.right), (expression.right, expression.left)):
            if one == Int(number):
                return [_dim(other)] * number
    return [AnyDim()] * number


def _terms(expression: Expression) -> list[Expression]:
    if isinstance(expression, Binary) and expression.operator == "+":
        return [*_terms(expression.left), expression.right]
    return [expression]


def _dim(expression: Expression) -> Dim:
    if isinstance(expression, Int):
        return FixedDim(expression.value)
    is_plain = isinstance(expression, Name) and is_name(expression.text)
    return NamedDim(str(expression)) if is_plain else SymbolicDim(expression)
