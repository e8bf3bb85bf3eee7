"""Which names a probe may bind anew, without changing what they mean to the code around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

ScopedNode = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_SCOPES = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


def bound_names(scope: ScopedNode) -> frozenset[str]:
    """The names that are a scope's own: its parameters, and what its statements assign."""
    names: set[str] = set()
    others: set[str] = set()
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        given = scope.args
        names.update(each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs))
        names.update(each.arg for each in (given.vararg, given.kwarg) if each is not None)
    for node in _inside(scope.body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            others.update(node.names)
    return frozenset(names - others)


def is_generator(scope: ast.FunctionDef) -> bool:
    """Whether a function's own body yields."""
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in _inside(scope.body))


def assigned_names(statement: ast.stmt) -> frozenset[str]:
    """The variables and attribute chains that a statement itself assigns."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = list(statement.targets)
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign, ast.For, ast.AsyncFor)):
        targets = [statement.target]
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        targets = [item.optional_vars for item in statement.items if item.optional_vars is not None]
    found: set[str] = set()
    while targets:
        target = targets.pop()
        if isinstance(target, (ast.Tuple, ast.List)):
            targets += target.elts
        elif isinstance(target, ast.Starred):
            targets.append(target.value)
        elif isinstance(target, (ast.Name, ast.Attribute)):
            found.add(ast.unparse(target))
    return frozenset(found)


def target(name: str) -> ast.expr:
    """A variable or attribute chain, as what is assigned to."""
    first, *rest = name.split(".")
    found: ast.expr = ast.Name(first, ast.Load() if rest else ast.Store())
    for index, attribute in enumerate(rest, 1):
        found = ast.Attribute(found, attribute, ast.Store() if index == len(rest) else ast.Load())
    return found


def _inside(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """What belongs to a scope, and to none inside of it."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _SCOPES):
            todo += ast.iter_child_nodes(node)
