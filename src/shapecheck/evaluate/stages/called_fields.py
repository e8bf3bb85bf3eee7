"""Which fields of a class its methods do nothing with but call them, as their source tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from shapecheck.evaluate.framework_protocol import loaded_frameworks, module_name
from shapecheck.evaluate.inputs.defining_source import defining_source

# Functions that call what they are given, or pass it on as it is.
_TRANSFORMING = frozenset(["vmap", "checkpoint", "remat", "jit", "grad", "value_and_grad"])
_MAPPING = frozenset(["tree_map", "map"])

Parents = dict[ast.AST, ast.AST]


@cache
def only_called(cls: type) -> frozenset[str]:
    """The fields that no method compares, tests other than for their class, or gives to a function that could do so.

    Those may be replaced by what behaves like them when it is called. None, where the source is not there.
    """
    called: set[str] = set()
    otherwise: set[str] = set()
    for base in cls.__mro__:
        if module_name(base).split(".")[0] in ("builtins", "collections", "abc", "typing") or _is_base(base):
            continue
        source = defining_source(base)
        if source is None:
            return frozenset()
        tree = source.tree
        parents: Parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for function in ast.walk(tree):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and function.args.args:
                for node in _fields(function):
                    (called if _is_call(node, function, parents) else otherwise).add(node.attr)
    return frozenset(called - otherwise)


def _is_base(cls: type) -> bool:
    """Whether it is of a framework itself, and none of its layers."""
    return any(each.is_base(cls) for each in loaded_frameworks())


def _fields(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Attribute]:
    """Where a method reads a field of its first parameter."""
    first = function.args.args[0].arg
    for node in ast.walk(function):
        of_first = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == first
        if isinstance(node, ast.Attribute) and of_first and isinstance(node.ctx, ast.Load):
            yield node


def _is_call(node: ast.expr, function: ast.AST, parents: Parents) -> bool:
    """Whether `node` is only called or asked for its class, or so is one after the other of what it holds."""
    parent = parents[node]
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return _is_call(parent, function, parents)
    if isinstance(parent, ast.For) and parent.iter is node and isinstance(parent.target, ast.Name):
        name = parent.target.id
        loads = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name and n is not parent.target]
        return all(_is_call(load, function, parents) for load in loads)
    if not isinstance(parent, ast.Call):
        return False
    if parent.func is node or (_name(parent.func) == "isinstance" and parent.args[:1] == [node]):
        return True
    if isinstance(parent.func, ast.Call):  # vmap(lambda f, x: f(x))(self.act, x)
        return _transforms(_name(parent.func.func))
    return _maps(_name(parent.func)) or (_transforms(_name(parent.func)) and parent.args[:1] == [node])


def _transforms(name: str) -> bool:
    return name in _TRANSFORMING or any(name in each.transformations for each in loaded_frameworks())


def _maps(name: str) -> bool:
    return name in _MAPPING or any(name in each.appliers for each in loaded_frameworks())


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else str(getattr(function, "id", ""))
