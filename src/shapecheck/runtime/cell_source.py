"""The cells of a notebook: code that shares its variables with all other cells, and may show its last value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from shapecheck.evaluate.own_errors import HANDLE
from shapecheck.evaluate.probes.ast_probes import OUTERMOST


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run of a cell.

    `name` is how people know it, and no other run has it. `file` is what Python calls its code, "" if nobody can
    tell. `mentioned` are the variables in its code, `before` says, as statements, what it finds in the notebook, and
    `handle` is its own name for its probes among the `variables` that all cells share. With `shows_assigned`, what its
    last statement assigns is shown too.
    """

    name: str
    file: str
    text: str
    mentioned: frozenset[str]
    before: str
    handle: str
    variables: dict[str, object] = field(repr=False, compare=False)
    shows_assigned: bool = False

    def fit_tree(self, tree: ast.Module) -> ast.Module:
        """Its tree with probes, for where other cells have theirs, and where an expression at the end is shown."""
        _show_last(tree.body, self.shows_assigned)
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and _probe(node) is not None:
                node.value = _pass_value_call(ast.Constant(None), [node.value])  # all expressions may be shown
        return ast.fix_missing_locations(with_handle(tree, self.handle))


def with_handle(tree: ast.Module, handle: str) -> ast.Module:
    """A tree whose probes have another handle, where the variables are shared with code that has the usual one."""
    own = {HANDLE: handle, OUTERMOST: f"{handle}0__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = own.get(node.id, node.id)
    return tree


class CellEnd:
    """What the handle does that all cells share, where `wait` is called at the end of each."""

    def __init__(self, wait: Callable[[], None]) -> None:
        self.leave = wait

    def pass_value(self, value: object, *probes: object) -> object:
        """The value of a cell's last expression."""
        return value

    def __reduce__(self) -> tuple[object, ...]:
        """Some keep all variables of a notebook in a file."""
        return CellEnd, (type(None),)


def with_end(tree: ast.Module, assigned: bool) -> ast.Module:
    """The tree of a cell that waits at its end for what it has begun."""
    if tree.body:
        last = tree.body[-1]
        function = ast.Attribute(ast.Name(HANDLE, ast.Load()), "leave", ast.Load())
        call = ast.Call(function, [], [])
        for node in (function.value, function, call):
            ast.copy_location(node, last)
        tree.body.append(ast.copy_location(ast.Expr(call), last))
        _show_last(tree.body, assigned)
    return ast.fix_missing_locations(tree)


def _show_last(body: list[ast.stmt], assigned: bool) -> None:
    """Let the last statement be the last again: the probes behind it go into the expression that is shown."""
    end = len(body)
    while end and _probe(body[end - 1]) is not None:
        end -= 1
    probes = [probe for each in body[end:] if (probe := _probe(each)) is not None]
    if not end or not probes:
        return
    shown = body[end - 1]
    if not isinstance(shown, ast.Expr):
        name = _assigned_variable(shown) if assigned else None
        if name is None:
            return
        shown = ast.copy_location(ast.Expr(ast.copy_location(ast.Name(name, ast.Load()), shown)), shown)
        body.insert(end, shown)
        end += 1
    shown.value = _pass_value_call(shown.value, probes)
    del body[end:]


def _probe(statement: ast.stmt) -> ast.expr | None:
    """The call of a statement that only observes what is there already; None for any other."""
    call = statement.value if isinstance(statement, ast.Expr) else getattr(statement, "test", None)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    owner = call.func.value
    ours = isinstance(owner, ast.Name) and owner.id == HANDLE and call.func.attr in ("leave", "observe_name")
    return call if ours else None


def _pass_value_call(value: ast.expr, probes: Sequence[ast.expr]) -> ast.expr:
    function = ast.Attribute(ast.Name(HANDLE, ast.Load()), "pass_value", ast.Load())
    call = ast.Call(function, [value, *probes], [])
    for node in (function.value, function, call, value):
        if not hasattr(node, "lineno"):
            ast.copy_location(node, probes[0])
    return call


def _assigned_variable(statement: ast.stmt) -> str | None:
    """The variable that a statement assigns, if it is one."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    (target, *others) = targets
    return target.id if isinstance(target, ast.Name) and not others else None
