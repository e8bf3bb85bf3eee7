"""More places to observe than the claims need: what an editor shows of a line that claims nothing."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from shapecheck.claims.value_sites import target_text, value_of, value_sites, with_sites
from shapecheck.model import Module, Position
from shapecheck.syntax.inserted_lines import find_inserted
from shapecheck.syntax.scopes import Function, arguments, survey
from shapecheck.syntax.source_text import position_of, read_source


@dataclass(frozen=True)
class LinePlace:
    """Where a value stands: on a line, with the name that people would call it by, up to the end of its name.

    An assignment without a claim may have a hint behind its target, at this column (in bytes, from 0) of this line.
    """

    line: int
    label: str
    hint: tuple[int, int] | None = None


def with_line_sites(module: Module, data: bytes) -> Module:
    """The module with sites for the value of each assignment and return, and for the parameters of its functions."""
    source = read_source(module.path, data)
    if source.tree is None or find_inserted(source) is not None:
        return module
    return with_sites(module, (site for site, _ in value_sites(survey(source.tree)) if site.kind != "return"))[0]


def line_places(module: Module, data: bytes) -> dict[int, LinePlace]:
    """Where the values of sites stand, by the number of the site."""
    source = read_source(module.path, data)
    if source.tree is None:
        return {}
    tables = survey(source.tree)
    targets: dict[Position, ast.stmt] = {}
    for statement in tables.statements:
        value = value_of(statement.node)
        if value is not None:
            targets[position_of(value)] = statement.node
    found: dict[int, LinePlace] = {}
    for site in module.sites:
        if site.kind == "param" and site.scope < len(tables.nodes):
            line = _parameter_line(tables.nodes[site.scope], site.name)
            if line:
                found[site.index] = LinePlace(line, site.name)
        elif site.kind == "value" and site.position is not None:
            node = targets.get(site.position)
            if node is None:
                found[site.index] = LinePlace(site.position.end_line, site.name or "the value")
            else:
                found[site.index] = LinePlace(node.lineno, target_text(node) or "the value", _hint_at(node))
        elif site.kind == "name" and site.position is not None:
            found[site.index] = LinePlace(site.position.line, site.name)
    return found


def _hint_at(node: ast.stmt) -> tuple[int, int] | None:
    """Behind the target of an assignment to one name or attribute."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Name | ast.Attribute | ast.Tuple) and target.end_lineno is not None:
            return target.end_lineno, target.end_col_offset or 0
    return None


def _parameter_line(node: ast.AST, name: str) -> int:
    if not isinstance(node, Function):
        return 0
    return next((each.lineno for each in arguments(node) if each.arg == name), 0)
