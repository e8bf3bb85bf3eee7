"""Names in expressions: attribute chains such as `a.b.c`, and what assignments assign to."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def split_chain(node: ast.AST) -> tuple[ast.AST, tuple[str, ...]]:
    """What an attribute chain starts from, and the attributes: of `f(x).a.b` the call and ("a", "b")."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return node, tuple(reversed(attributes))


def name_chain(node: ast.AST) -> tuple[str, ...] | None:
    """`a.b.c` as ("a", "b", "c"); None for anything else."""
    first, attributes = split_chain(node)
    return (first.id, *attributes) if isinstance(first, ast.Name) else None


def targets(node: ast.stmt) -> list[ast.expr]:
    """The expressions that a statement assigns to."""
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For | ast.AsyncFor):
        return [node.target]
    if isinstance(node, ast.With | ast.AsyncWith):
        return [item.optional_vars for item in node.items if item.optional_vars is not None]
    return []


def single_targets(target: ast.expr) -> Iterator[ast.expr]:
    """What a target assigns to one by one, through tuples, lists and stars, in the order of the text."""
    stack = [target]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Tuple | ast.List):
            stack += reversed(node.elts)
        elif isinstance(node, ast.Starred):
            stack.append(node.value)
        else:
            yield node
