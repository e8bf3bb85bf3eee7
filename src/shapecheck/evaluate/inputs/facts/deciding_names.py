"""Which variables decide whether a function comes to a line: what to vary where it refuses what it is given."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.probes.attribute_access import underlying_function


def names_of_check(function: Callable[..., object], line: int) -> frozenset[str] | None:
    """The variables that decide whether the function comes to a line of its file: those of the statement there, and of
    all conditions around it. None if the line is not one of this function.
    """
    inner = underlying_function(function)
    source = defining_source(inner)
    if source is None:
        return None
    found: set[str] = set()
    node: ast.AST | None = source.tree
    statement = None
    while node is not None:
        own = line - source.first_line + 1
        inside = [each for each in _statements(node) if each.lineno <= own <= (each.end_lineno or each.lineno)]
        node = inside[0] if inside else None
        if isinstance(node, (ast.If, ast.While, ast.For)):
            found |= _read_names(node.iter if isinstance(node, ast.For) else node.test)
        statement = node or statement
    if statement is None:
        return None
    return frozenset(found | (_read_names(statement) if not isinstance(statement, ast.Raise) else set()))


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements directly inside of one."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from child.body


def _read_names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
