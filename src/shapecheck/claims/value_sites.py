"""The sites of all values in functions, claimed or not: their parameters, their results, and what they assign."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from shapecheck.claims.axis_words import words
from shapecheck.model import Module, Position, Site
from shapecheck.syntax.scopes import Function, Tables, arguments, is_generator
from shapecheck.syntax.source_text import position_of

SELVES = words("self cls")
"""What methods call their own model: nobody wants to see all of its leaves."""

# They make parts of models rather than arrays; to look into all of these doubles the time of an evaluation.
_CONSTRUCTORS = words("__init__ __post_init__ setup __new__")


def value_sites(tables: Tables) -> Iterator[tuple[Site, ast.stmt]]:
    """Each site, without its number, and the statement that gives the value: for those of a signature the `def`."""
    for scope, node in zip(tables.scopes, tables.nodes, strict=True):
        if not isinstance(node, Function) or node.name in _CONSTRUCTORS:
            continue
        for parameter in arguments(node):
            if parameter.arg not in SELVES:
                yield Site(index=0, kind="param", scope=scope.index, position=None, name=parameter.arg), node
        if not is_generator(node):
            yield Site(index=0, kind="return", scope=scope.index, position=None, name=""), node
    for statement in tables.statements:
        value, scope_index = value_of(statement.node), tables.function_scope(statement.scope)
        function = tables.nodes[scope_index]
        if value is None or not isinstance(function, Function) or function.name in _CONSTRUCTORS:
            continue
        place, name = position_of(value), target_text(statement.node)
        site = Site(index=0, kind="value", scope=scope_index, position=place, name=name, loop=statement.loop)
        yield site, statement.node


def with_sites(module: Module, wanted: Iterable[Site]) -> tuple[Module, tuple[int, ...]]:
    """The module with these sites beside its own, and the number of each: that of the module's own if it has it."""
    sites = list(module.sites)
    numbers = {site_key(site): site.index for site in reversed(sites) if site.part is None}
    found = []
    for site in wanted:
        number = numbers.setdefault(site_key(site), len(sites))
        if number == len(sites):
            sites.append(replace(site, index=number))
        found.append(number)
    return replace(module, sites=tuple(sites)), tuple(found)


def site_key(site: Site) -> tuple[str, int, Position | None, str]:
    """What two sites of the same value have in common: it does not matter what an expression is called."""
    return site.kind, site.scope, site.position, "" if site.kind == "value" else site.name


def value_of(node: ast.stmt) -> ast.expr | None:
    """What a statement assigns or returns, unless it is a literal."""
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.Return(value=value):
            return value if not isinstance(value, ast.Constant) else None
    return None


def target_text(node: ast.stmt) -> str:
    """What people would call the value of a statement by."""
    match node:
        case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target):
            return ast.unparse(target).removeprefix("(").removesuffix(")")
        case ast.Return():
            return "return"
    return ""
