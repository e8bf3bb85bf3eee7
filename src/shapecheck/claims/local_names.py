"""Which names a claim may look up where it stands, and which a function leaves with more than one value.

Nearest binding wins: where a function binds `H` itself, but only further down (`B, T, H, C = x.shape`), a comment above
that means this `H`, and neither `self.H` nor a variable of the constructor.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence

from shapecheck.claims.claim_sites import SiteKey
from shapecheck.syntax.scopes import (
    Function,
    PlacedStatement,
    Tables,
    arguments,
    parameter_defaults,
    target_names,
    targets,
)
from shapecheck.syntax.source_text import position_of

_FOR = (ast.For, ast.AsyncFor)
_LOOPS = (*_FOR, ast.While)
_Point = tuple[int, int]
_START, _END = (0, 0), (1 << 31, 0)


def has_meaning(tables: Tables, place: SiteKey, name: str) -> bool:
    """Whether the value that a name has at a place may be what a claim there means by it.

    It may not where the function binds the name only behind the place, nor where all that is left of it is the
    counter of a loop that has ended.
    """
    if place.kind in {"field", "shown"} or not name.isidentifier():
        return True
    bindings = [tables.statements[each] for each in tables.assignments(place.scope, name)]
    if not bindings:
        return True
    point = _point(place)
    before = [each for each in bindings if _bound_at(each) <= point or _is_header(each, place)]
    if not before:
        return name in tables.scopes[place.scope].parameters or _is_copy(bindings[0].node, name)
    last = before[-1]
    return not isinstance(last.node, _FOR) or last.node.lineno in place.loop


def _is_copy(statement: ast.stmt, name: str) -> bool:
    """Whether a statement only gives an attribute its own name, as `heads = self.heads` does."""
    if not isinstance(statement, ast.Assign):
        return False
    pairs: list[tuple[ast.expr, ast.expr]] = [(target, statement.value) for target in statement.targets]
    if isinstance(statement.value, ast.Tuple):
        values = statement.value.elts
        pairs = [p for t in statement.targets if isinstance(t, ast.Tuple) for p in zip(t.elts, values, strict=False)]
    return any(
        isinstance(target, ast.Name) and target.id == name and isinstance(value, ast.Attribute) and value.attr == name
        for target, value in pairs
    )


def _point(place: SiteKey) -> _Point:
    """The point of the text at which a place has its value."""
    if place.kind == "param":
        return _START
    position = place.position
    if position is None:
        return _END
    if place.when == "after":
        return position.end_line, position.end_column
    return position.line, position.column


def _bound_at(statement: PlacedStatement) -> _Point:
    """The point behind which the variables that a statement assigns have their values."""
    position = position_of(targets(statement.node)[-1] if statement.compound else statement.node)
    return position.end_line, position.end_column


def _is_header(statement: PlacedStatement, place: SiteKey) -> bool:
    """Whether a place is the beginning of the body whose variables a statement binds."""
    return place.when == "body" and position_of(statement.node) == place.position


def rebound(function: Function) -> tuple[str, ...]:
    """The variables that a call may bind more than once: in a loop, or twice on one path.

    A parameter without a value of its own (`hidden=None`) is bound where it gets one.
    """
    counts = _counts(function.body)
    given = Counter(a.arg for a in arguments(function))
    given.subtract(_without_value(function))
    return tuple(sorted(name for name, count in counts.items() if count + given[name] > 1))


def _without_value(function: Function) -> Iterable[str]:
    pairs = parameter_defaults(function)
    return (argument.arg for argument, default in pairs if isinstance(default, ast.Constant) and default.value is None)


def _counts(body: Sequence[ast.stmt]) -> Counter[str]:
    """How often the statements bind each name at most; a loop counts twice."""
    total: Counter[str] = Counter()
    for node in body:
        own = Counter(name for target in targets(node) for name in target_names(target))
        if isinstance(node, ast.If):
            total += _alternatives(_branches(node))
        elif isinstance(node, ast.Match):
            total += _alternatives([case.body for case in node.cases])
        elif isinstance(node, ast.Try | ast.TryStar):
            total += _counts(node.body) + _alternatives([handler.body for handler in node.handlers])
            total += _counts(node.orelse) + _counts(node.finalbody)
        elif isinstance(node, _LOOPS):
            inner = own + _counts(node.body)
            total += inner + inner + _counts(node.orelse)
        elif isinstance(node, ast.With | ast.AsyncWith):
            total += own + _counts(node.body)
        else:
            total += own
    return total


def _branches(node: ast.If) -> list[Sequence[ast.stmt]]:
    """The bodies of an `if`, its `elif`s and `else`: no recursion, since a chain nests as deeply as it is long."""
    bodies: list[Sequence[ast.stmt]] = [node.body]
    while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        node = node.orelse[0]
        bodies.append(node.body)
    return [*bodies, node.orelse]


def _alternatives(bodies: Iterable[Sequence[ast.stmt]]) -> Counter[str]:
    most: Counter[str] = Counter()
    for body in bodies:
        most |= _counts(body)
    return most
