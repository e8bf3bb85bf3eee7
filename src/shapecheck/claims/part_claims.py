"""Claims about parts of a function's parameters: `x = batch["x"]  # (b, t)`, and what a docstring says of entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapecheck.model import Claim, DescribedPart, Site, entry_key
from shapecheck.model.parameter_parts import ParameterParts, Part
from shapecheck.syntax.scopes import Function, Tables


def described_parts(tables: Tables, claims: Sequence[Claim], sites: Sequence[Site]) -> Iterator[DescribedPart]:
    """The claims about what a statement takes out of a parameter, also of a function around it; and about entries."""
    kept: dict[int, ParameterParts] = {}
    for index, claim in enumerate(claims):
        if (entry := _entry(claim, sites)) is not None:
            yield DescribedPart(claim.scope, str(entry), index)
            continue
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


def _entry(claim: Claim, sites: Sequence[Site]) -> Part | None:
    """The entry of a parameter that a docstring's claim is about."""
    site = sites[claim.sites[0]] if claim.notation == "docstring" and claim.sites else None
    keys = [key for each in claim.select if (key := entry_key(each)) is not None]
    if site is None or site.kind != "param" or not keys or len(keys) < len(claim.select):
        return None
    return Part(site.name, tuple(keys))


def _part(parts: ParameterParts, site: Site) -> Part | None:
    place = site.position
    return parts.assigned.get((site.name, place.line, place.column)) if place is not None else None
