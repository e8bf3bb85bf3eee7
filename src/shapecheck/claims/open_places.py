"""Where a file could claim shapes and does not: values of assignments, parameters and results without annotation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from shapecheck.claims.axis_words import words
from shapecheck.claims.value_sites import SELVES, site_key, value_sites, with_sites
from shapecheck.model import Module, Site
from shapecheck.syntax.scopes import Function, arguments, survey
from shapecheck.syntax.source_text import SourceText

Style = Literal["comments", "annotations"]

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
    claimed = {site_key(module.sites[index]) for claim in module.claims for index in claim.sites}
    names = {index: tuple(_names_in(node))[:_MOST_NAMES] for index, node in enumerate(tables.nodes)}
    is_open = _UncommentedAssignments(source).includes if style == "comments" else _is_open_signature
    chosen = [
        (replace(site, names=names[site.scope]), node)
        for site, node in value_sites(tables)
        if site_key(site) not in claimed and is_open(site, node)
    ]
    module, numbers = with_sites(module, (site for site, _ in chosen))
    return module, tuple(_place(number, site, node) for number, (site, node) in zip(numbers, chosen, strict=True))


def _place(number: int, site: Site, node: ast.stmt) -> OpenPlace:
    if isinstance(node, Function):
        return OpenPlace(number, site.scope, site.name, node.lineno, node.col_offset)
    return OpenPlace(number, site.scope, site.name, node.end_lineno or node.lineno)


class _UncommentedAssignments:
    """Tells assignments to one name on lines that have no comment, nor another statement behind them."""

    def __init__(self, source: SourceText) -> None:
        self._lines = source.lines
        self._commented = {comment.line for comment in source.comments}

    def includes(self, site: Site, node: ast.stmt) -> bool:
        """Whether it is one."""
        match node:
            case ast.Assign(targets=[ast.Name()], value=value):
                is_plain = not isinstance(value, ast.Name | ast.Attribute)
            case _:
                return False
        end = node.end_lineno or node.lineno
        rest = self._lines[end - 1].encode()[node.end_col_offset or 0 :].strip()
        above = node.lineno - 1 in self._commented and self._lines[node.lineno - 2].lstrip().startswith("#")
        within = range(node.lineno, end + 1)
        return site.kind == "value" and is_plain and not rest and not above and self._commented.isdisjoint(within)


def _is_open_signature(site: Site, node: ast.stmt) -> bool:
    """Whether a parameter or result has no annotation, or none that says more than that it is an array."""
    if not isinstance(node, Function):
        return False
    if site.kind == "return":
        return _is_open(node.returns)
    stars = (node.args.vararg, node.args.kwarg)
    return any(each.arg == site.name and each not in stars and _is_open(each.annotation) for each in arguments(node))


def _is_open(annotation: ast.expr | None) -> bool:
    return annotation is None or ast.unparse(annotation) in _ARRAYS


def _names_in(node: ast.AST) -> Iterator[str]:
    """The names and attributes that a function reads: what its sizes may be called by."""
    seen: set[str] = set()
    for part in ast.walk(node) if isinstance(node, Function) else ():
        name = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
        if name and name not in seen and name not in SELVES:
            seen.add(name)
            yield name
