"""More places to observe than the claims need: what an editor shows of a line that claims nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shapecheck.model import Module, Position, Site
from shapecheck.syntax.inserted_lines import find_inserted
from shapecheck.syntax.scopes import Function, survey
from shapecheck.syntax.source_text import position_of, read_source

# They make parts of models rather than arrays; to look into all of these doubles the time of an evaluation.
_CONSTRUCTORS = ("__init__", "__post_init__", "setup")


@dataclass(frozen=True)
class LinePlace:
    """Where a value stands: on a line, with the name that people would call it by, up to the end of its name.

    An assignment without a claim may have a hint behind its target, at this column (in bytes, from 0) of this line.
    """

    line: int
    label: str
    hint: tuple[int, int] | None = None


def with_value_sites(module: Module, data: bytes) -> Module:
    """The module with sites for the value of each assignment and return, and for the parameters of its functions."""
    source = read_source(module.path, data)
    if source.tree is None or find_inserted(source) is not None:
        return module
    present = {(site.kind, site.scope, site.position, site.name) for site in module.sites if not site.part}
    observed = {(site.scope, site.position) for site in module.sites if site.kind == "value" and site.part is None}
    sites = list(module.sites)
    for site in _sites_of(source.tree):
        known = (site.scope, site.position) in observed if site.kind == "value" else False
        if not known and (site.kind, site.scope, site.position, site.name) not in present:
            sites.append(replace(site, index=len(sites)))
    return replace(module, sites=tuple(sites))


def _sites_of(tree: ast.Module) -> Iterator[Site]:
    tables = survey(tree)
    for scope, node in zip(tables.scopes, tables.nodes, strict=True):
        if isinstance(node, Function) and node.name not in _CONSTRUCTORS:
            is_method = scope.parent is not None and tables.scopes[scope.parent].kind == "class"
            for name in scope.parameters[is_method:]:  # of a whole model nobody wants to see all leaves
                yield Site(index=0, kind="param", scope=scope.index, position=None, name=name)
    for statement in tables.statements:
        value = _value_of(statement.node)
        scope_index = tables.function_scope(statement.scope)
        is_constructor = getattr(tables.nodes[scope_index], "name", "") in _CONSTRUCTORS
        if value is not None and tables.scopes[scope_index].kind == "function" and not is_constructor:
            name = _target_text(statement.node)
            yield Site(
                index=0,
                kind="value",
                scope=scope_index,
                position=position_of(value),
                name=name,
                loop=statement.loop,
            )


def value_places(module: Module, data: bytes) -> dict[int, LinePlace]:
    """Where the values of sites stand, by the number of the site."""
    source = read_source(module.path, data)
    if source.tree is None:
        return {}
    tables = survey(source.tree)
    targets: dict[Position, ast.stmt] = {}
    for statement in tables.statements:
        value = _value_of(statement.node)
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
                found[site.index] = LinePlace(node.lineno, _target_text(node) or "the value", _hint_at(node))
        elif site.kind == "name" and site.position is not None:
            found[site.index] = LinePlace(site.position.line, site.name)
    return found


def _value_of(node: ast.stmt) -> ast.expr | None:
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.Return(value=value):
            return value if not isinstance(value, ast.Constant) else None
    return None


def _target_text(node: ast.stmt) -> str:
    match node:
        case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target):
            return ast.unparse(target).removeprefix("(").removesuffix(")")
        case ast.Return():
            return "return"
    return ""


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
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return next((each.lineno for each in every if each is not None and each.arg == name), 0)
