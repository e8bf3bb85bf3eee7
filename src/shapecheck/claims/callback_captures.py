"""What a callback takes from the function around it: JAX calls it with values, but what it takes so stays a tracer."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shapecheck.syntax.scopes import Tables

CALLBACKS = frozenset({"jax.debug.callback", "jax.pure_callback", "jax.experimental.io_callback"})

# What a tracer tells as an array does, at any time.
_STATIC_ATTRIBUTES = frozenset(
    {"shape", "dtype", "ndim", "size", "nbytes", "itemsize", "aval", "weak_type", "sharding"}
)
_STATIC_FUNCTIONS = frozenset({"len", "type", "isinstance", "id"})
_STATIC_OF_JAX = frozenset({"shape", "ndim", "size", "result_type", "structure", "tree_structure", "typeof"})

_Lambda = ast.Lambda | ast.FunctionDef


def captured_names(callback: ast.expr, tables: Tables, scope: int) -> Sequence[str]:
    """The variables from around a lambda, or a function defined in `scope`, whose values it uses; none of others."""
    function = callback if isinstance(callback, ast.Lambda) else _local_function(callback, tables, scope)
    if function is None:
        return ()
    body = function.body if isinstance(function.body, list) else [function.body]
    used = dict.fromkeys(name for statement in body for name in _used_values(statement))
    own = set(_bound_names(function))
    return [name for name in used if name not in own and _is_local(tables, scope, name)]


def _is_local(tables: Tables, scope: int | None, name: str) -> bool:
    """Whether a function around binds a name: what the module binds is no capture."""
    while scope is not None and tables.scopes[scope].kind != "module":
        if name in tables.scopes[scope].parameters or tables.assignments(scope, name):
            return True
        scope = tables.scopes[scope].parent
    return False


def _local_function(node: ast.expr, tables: Tables, scope: int) -> ast.FunctionDef | None:
    """The function that a name stands for, if `scope` defines one such and assigns nothing else to the name."""
    if not isinstance(node, ast.Name):
        return None
    found = [
        tables.nodes[each.index]
        for each in tables.scopes
        if each.parent == scope and each.kind == "function" and each.qualname.rpartition(".")[2] == node.id
    ]
    only = found[0] if len(found) == 1 else None
    return only if isinstance(only, ast.FunctionDef) and not tables.assignments(scope, node.id) else None


def _used_values(node: ast.AST) -> Iterator[str]:
    """The names whose values code reads, in order."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            yield node.id
        return
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.Name) and _asks_no_value(node)):
            yield from _used_values(child)


def _asks_no_value(node: ast.AST) -> bool:
    """Whether an expression wants nothing of the variables directly in it but what a tracer knows."""
    if isinstance(node, ast.Attribute):
        return node.attr in _STATIC_ATTRIBUTES
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):  # of JAX's and NumPy's modules
            return node.func.attr in _STATIC_OF_JAX
        return isinstance(node.func, ast.Name) and node.func.id in _STATIC_FUNCTIONS
    return isinstance(node, ast.Compare) and all(isinstance(each, ast.Is | ast.IsNot) for each in node.ops)


def _bound_names(function: _Lambda) -> Iterator[str]:
    """The names that a function, or one inside of it, binds."""
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
            yield node.name or ""
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
