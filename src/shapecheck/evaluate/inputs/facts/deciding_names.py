"""Which variables decide whether a function comes to a line: what to vary where it refuses what it is given."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.probes.attribute_access import underlying_function


@dataclass(frozen=True)
class Check:
    """What decides whether a function comes to a line of it: the `names` it reads, and the `integers` it writes."""

    names: frozenset[str]
    integers: tuple[int, ...]


def find_check(function: Callable[..., object], line: int) -> Check | None:
    """The check that leads to a line of a function's file: the statement there, and the conditions around it.

    None if the line is not one of this function. What an error says beside its condition decides nothing.
    """
    inner = underlying_function(function)
    source = defining_source(inner)
    if source is None:
        return None
    parts: list[ast.AST] = []
    node: ast.AST | None = source.tree
    statement = None
    while node is not None:
        own = line - source.first_line + 1
        inside = [each for each in _statements(node) if each.lineno <= own <= (each.end_lineno or each.lineno)]
        node = inside[0] if inside else None
        if isinstance(node, (ast.If, ast.While, ast.For)):
            parts.append(node.iter if isinstance(node, ast.For) else node.test)
        statement = node or statement
    if statement is None:
        return None
    parts += [] if isinstance(statement, ast.Raise) else [statement]
    nodes = [each for part in parts for each in ast.walk(part)]
    names = frozenset(each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
    constants = (each.value for each in nodes if isinstance(each, ast.Constant))
    return Check(names, tuple(dict.fromkeys(each for each in constants if type(each) is int)))


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements directly inside of one."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from child.body
