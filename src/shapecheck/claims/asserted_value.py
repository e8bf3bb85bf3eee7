"""Which value a statement or an expression is about."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from shapecheck.syntax.scopes import dotted_name

_TYPES = frozenset({"Tuple", "tuple", "List", "list", "Dict", "dict", "Union", "Optional", "Callable", "Sequence"})
_PLAIN = frozenset({"int", "str", "bool", "Callable"})
_NOTHING_LEFT = (ast.Raise, ast.Return, ast.Continue, ast.Break, ast.Pass)


def left_by(node: ast.If) -> ast.expr | None:
    """The one variable that every branch of an `if` assigns last, if it goes on behind the `if` at all."""
    found: dict[str, ast.expr] = {}
    bodies = [node.body, node.orelse]
    while bodies:  # no recursion: an `elif` chain nests as deeply as it is long
        body = bodies.pop()
        last = _last(body)
        if isinstance(last, ast.If):
            bodies += [last.body, last.orelse]
            continue
        if last is None or isinstance(last, _NOTHING_LEFT):
            continue
        target = _assignment_target(last)
        name = dotted_name(target) if target is not None else None
        if target is None or name is None:
            return None
        found.setdefault(name, target)
    return next(iter(found.values())) if len(found) == 1 else None


def _last(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """The last statement that is more than a call for its effect."""
    return next((each for each in reversed(body) if not isinstance(each, ast.Expr)), None)


def _assignment_target(node: ast.stmt) -> ast.expr | None:
    if isinstance(node, ast.Assign):
        return node.targets[-1]
    return node.target if isinstance(node, ast.AnnAssign | ast.AugAssign) else None


def subject(node: ast.expr) -> ast.expr | None:
    """The one array whose shape an expression is about: x in `print(x.shape)`, `x.ndim == 2`, `assert_rank(x, 2)`."""
    if isinstance(node, ast.Call):
        if not speaks(node):
            return None
        if _last_name(node.func) in {"assert_shape", "assert_rank"} and node.args:
            return node.args[0]
    found: dict[str, ast.expr] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in {"shape", "ndim"}:
            found.setdefault(dotted_name(part.value) or f"expression {len(found)}", part.value)
    return next(iter(found.values())) if len(found) == 1 else None


def is_plain_type(annotation: ast.expr) -> bool:
    """Whether a type is one of whole numbers, texts or functions, and of nothing that may be an array."""
    nodes = (node for node in ast.walk(annotation) if isinstance(node, ast.expr))
    names = [part for node in nodes if (part := dotted_name(node)) is not None]
    lasts = {name.rpartition(".")[2] for name in names}
    return not lasts.isdisjoint(_PLAIN) and lasts <= _PLAIN | _TYPES


def is_no_array(value: ast.expr) -> bool:
    """Whether an expression is a plain number or text, a type, or one whose value a probe cannot pass on."""
    if isinstance(value, ast.Subscript) and (dotted_name(value.value) or "").rpartition(".")[2] in _TYPES:
        return True
    return isinstance(value, ast.Constant | ast.JoinedStr | ast.Starred)


def speaks(call: ast.Call) -> bool:
    """Whether a call only tells or asserts something of its arguments."""
    name = _last_name(call.func)
    return name in {"print", "len"} or name.lower().startswith("assert")


def _last_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
