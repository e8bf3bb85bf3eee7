"""What a statement or an expression is about, by its syntax alone: the array that it shows, what it leaves, or none."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from shapecheck.syntax.scopes import dotted_name, last_name

_TYPES = frozenset({"Tuple", "tuple", "List", "list", "Dict", "dict", "Union", "Optional", "Callable", "Sequence"})
_PLAIN = frozenset({"int", "str", "bool", "Callable"})
_NOTHING_LEFT = (ast.Raise, ast.Return, ast.Continue, ast.Break, ast.Pass)


def left_by(node: ast.If | ast.For | ast.AsyncFor) -> ast.expr | None:
    """The one variable that every branch of an `if`, or a loop, assigns last, if it goes on behind it at all."""
    found: dict[str, ast.expr] = {}
    bodies = [node.body, node.orelse]
    while bodies:  # no recursion: an `elif` chain nests as deeply as it is long
        body = bodies.pop()
        last = last_statement(body)
        if isinstance(last, ast.If):
            bodies += [last.body, last.orelse]
            continue
        if last is None or isinstance(last, _NOTHING_LEFT):
            continue
        target = assignment_target(last)
        name = dotted_name(target) if target is not None else None
        if target is None or name is None:
            return None
        found.setdefault(name, target)
    return next(iter(found.values())) if len(found) == 1 else None


def calls_its_variable(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop is over what it calls, `for layer in layers: x = layer(x)`: a comment there tells of `x`."""
    if not isinstance(node.target, ast.Name):
        return False
    calls = (each.func for part in node.body for each in ast.walk(part) if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Name) and each.id == node.target.id for each in calls)


def last_statement(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """The last statement that is more than a call for its effect."""
    return next((each for each in reversed(body) if not isinstance(each, ast.Expr)), None)


def assignment_target(node: ast.stmt) -> ast.expr | None:
    """What an assignment sets, and of several targets the one right in front of its value."""
    if isinstance(node, ast.Assign):
        return node.targets[-1]
    return node.target if isinstance(node, ast.AnnAssign | ast.AugAssign) else None


def subject(node: ast.expr) -> ast.expr | None:
    """The one array whose shape an expression is about: x in `print(x.shape)`, `x.ndim == 2`, `assert_rank(x, 2)`."""
    if isinstance(node, ast.Call):
        if not speaks(node):
            return None
        if last_name(node.func) in {"assert_shape", "assert_rank"} and node.args:
            return node.args[0]
    found: dict[str, ast.expr] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in {"shape", "ndim"}:
            found.setdefault(dotted_name(part.value) or f"expression {len(found)}", part.value)
    return next(iter(found.values())) if len(found) == 1 else None


def appended_value(node: ast.expr) -> ast.expr | None:
    """What a statement puts into a list: `out.append((w, b))  # (n, d), (d,)`."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords
    if not isinstance(node, ast.Call) or not is_call or not node.args:
        return None
    return node.args[-1] if last_name(node.func) in ("append", "appendleft", "insert") else None


def speaks(call: ast.Call) -> bool:
    """Whether a call only tells or asserts something of its arguments."""
    name = last_name(call.func)
    return name in {"print", "len"} or name.lower().startswith("assert")


def is_no_array(value: ast.expr) -> bool:
    """Whether an expression is a plain number or text, a type, or one whose value a probe cannot pass on."""
    if isinstance(value, ast.Subscript) and (dotted_name(value.value) or "").rpartition(".")[2] in _TYPES:
        return True
    return isinstance(value, ast.Constant | ast.JoinedStr | ast.Starred)


def is_plain_type(annotation: ast.expr) -> bool:
    """Whether a type is one of whole numbers, texts or functions, and of nothing that may be an array."""
    nodes = (node for node in ast.walk(annotation) if isinstance(node, ast.expr))
    names = [part for node in nodes if (part := dotted_name(node)) is not None]
    lasts = {name.rpartition(".")[2] for name in names}
    return not lasts.isdisjoint(_PLAIN) and lasts <= _PLAIN | _TYPES
