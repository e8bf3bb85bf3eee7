"""Where a file could claim shapes and does not: values of assignments, parameters and results without annotation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from shapecheck.claims.axis_words import words
from shapecheck.model import Module, Position, Site
from shapecheck.syntax.scopes import Function, Tables, arguments, is_generator, survey
from shapecheck.syntax.source_text import SourceText, position_of

Style = Literal["comments", "annotations"]

# They make parts of models rather than arrays; to look into all of these doubles the time of an evaluation.
_CONSTRUCTORS = words("__init__ __post_init__ setup __new__")
_SELVES = words("self cls")
_ARRAYS = words("Array jax.Array jnp.ndarray jax.numpy.ndarray chex.Array")
_MOST_NAMES = 40


@dataclass(frozen=True)
class OpenPlace:
    """A place for a claim on the value of a site: behind the statement that ends on `line`, or in the `def` there.

    `name` is the variable or parameter; "" is the result.
    """

    site: int
    scope: int
    name: str
    line: int
    column: int = 0


def with_open_places(module: Module, source: SourceText, style: Style) -> tuple[Module, tuple[OpenPlace, ...]]:
    """The module with sites for all places of a style, and these places."""
    if source.tree is None:
        return module, ()
    tables = survey(source.tree)
    sites = list(module.sites)
    claimed = {sites[index] for claim in module.claims for index in claim.sites}
    known = {_key(site) for site in claimed}
    found: list[OpenPlace] = []
    names = {index: tuple(_names_in(node))[:_MOST_NAMES] for index, node in enumerate(tables.nodes)}
    places = _assignments(tables, source) if style == "comments" else _signatures(tables)
    for site, line, column in places:
        if _key(site) in known:
            continue
        present = next((each.index for each in sites if _key(each) == _key(site)), len(sites))
        if present == len(sites):
            sites.append(replace(site, index=present, names=names[site.scope]))
        name = "" if site.kind == "return" else site.name
        found.append(OpenPlace(present, site.scope, name, line, column))
    return replace(module, sites=tuple(sites)), tuple(found)


def _key(site: Site) -> tuple[str, int, Position | None, str]:
    return site.kind, site.scope, site.position, "" if site.kind == "value" else site.name


def _assignments(tables: Tables, source: SourceText) -> Iterator[tuple[Site, int, int]]:
    """Assignments to one name on lines that have no comment, nor another statement behind them."""
    commented = {comment.line for comment in source.comments}
    for statement in tables.statements:
        node = statement.node
        scope = tables.function_scope(statement.scope)
        function = tables.nodes[scope]
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(function, Function):
            continue
        target, end = node.targets[0], node.end_lineno or node.lineno
        is_plain = isinstance(target, ast.Name) and not isinstance(node.value, ast.Constant | ast.Name | ast.Attribute)
        rest = source.lines[end - 1].encode()[node.end_col_offset or 0 :].strip()
        within = range(node.lineno, end + 1)
        above = node.lineno - 1 in commented and source.lines[node.lineno - 2].lstrip().startswith("#")
        if not is_plain or rest or above or function.name in _CONSTRUCTORS or not commented.isdisjoint(within):
            continue
        assert isinstance(target, ast.Name)  # noqa: S101 - `is_plain` says so
        position = position_of(node.value)
        yield Site(index=0, kind="value", scope=scope, position=position, name=target.id, loop=statement.loop), end, 0


def _signatures(tables: Tables) -> Iterator[tuple[Site, int, int]]:
    """Parameters and results of functions that say nothing, or no more than that they are arrays."""
    for scope, node in zip(tables.scopes, tables.nodes, strict=True):
        if not isinstance(node, Function) or node.name in _CONSTRUCTORS:
            continue
        stars = (node.args.vararg, node.args.kwarg)
        for parameter in arguments(node):
            if parameter not in stars and parameter.arg not in _SELVES and _is_open(parameter.annotation):
                site = Site(index=0, kind="param", scope=scope.index, position=None, name=parameter.arg)
                yield site, node.lineno, node.col_offset
        if _is_open(node.returns) and not is_generator(node):
            site = Site(index=0, kind="return", scope=scope.index, position=None, name="")
            yield site, node.lineno, node.col_offset


def _is_open(annotation: ast.expr | None) -> bool:
    return annotation is None or ast.unparse(annotation) in _ARRAYS


def _names_in(node: ast.AST) -> Iterator[str]:
    """The names and attributes that a function reads: what its sizes may be called by."""
    seen: set[str] = set()
    for part in ast.walk(node) if isinstance(node, Function) else ():
        name = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
        if name and name not in seen and name not in _SELVES:
            seen.add(name)
            yield name
