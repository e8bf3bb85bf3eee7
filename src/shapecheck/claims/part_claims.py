"""Claims about parts that a function takes out of its parameters: `x = batch["x"]  # (b, t)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapecheck.model import Claim, DescribedPart, Site
from shapecheck.model.parameter_parts import ParameterParts, Part
from shapecheck.syntax.scopes import Function, Tables


def described_parts(tables: Tables, claims: Sequence[Claim], sites: Sequence[Site]) -> Iterator[DescribedPart]:
    """The claims about what a statement takes out of a parameter, also of a function around it."""
    kept: dict[int, ParameterParts] = {}
    for index, claim in enumerate(claims):
        site = sites[claim.sites[0]] if claim.sites and not claim.select else None
        if site is None or site.kind not in ("name", "value") or site.when == "before":
            continue
        scope: int | None = site.scope
        while scope is not None:
            node = tables.nodes[scope]
            if isinstance(node, Function):
                if scope not in kept:
                    kept[scope] = ParameterParts(node)
                part = _part(kept[scope], site)
                if part is not None and part.keys:
                    yield DescribedPart(scope, str(part), index, part.mapped)
            scope = tables.scopes[scope].parent


def _part(parts: ParameterParts, site: Site) -> Part | None:
    place = site.position
    return parts.assigned.get((site.name, place.line, place.column)) if place is not None else None
