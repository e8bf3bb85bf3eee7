"""Claims about parts of a function's parameters: `x = batch["x"]  # (b, t)`, and what a docstring says of entries."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from shapecheck.claims.joined_pieces import JoinedArrays, Place, joined_variables
from shapecheck.model import Claim, DescribedPart, Site, entry_key
from shapecheck.model.parameter_parts import ParameterParts, Part
from shapecheck.shapes import Spec, is_variadic, parse_spec, print_spec
from shapecheck.syntax.scopes import Function, Tables


def described_parts(tables: Tables, claims: Sequence[Claim], sites: Sequence[Site]) -> Iterator[DescribedPart]:
    """The claims about what a statement takes out of a parameter, also of a function around it; and about entries.

    What is joined of parts, or of parameters, describes those that no claim describes by themselves.
    """
    reader = _PartReader(tables, sites)
    direct = [each for index, claim in enumerate(claims) for each in reader.taken_part(index, claim)]
    yield from direct
    known = {(each.scope, each.part) for each in direct}
    for index, claim in enumerate(claims):
        yield from (each for each in reader.joined_parts(index, claim) if (each.scope, each.part) not in known)


class _PartReader:
    """The parts of parameters that the claims of a file are about."""

    def __init__(self, tables: Tables, sites: Sequence[Site]) -> None:
        self._tables = tables
        self._sites = sites
        self._parts: dict[int, ParameterParts] = {}
        self._joined: dict[int, Mapping[Place, JoinedArrays]] = {}

    def taken_part(self, index: int, claim: Claim) -> Iterator[DescribedPart]:
        """The part that a claim is about."""
        if (entry := _entry(claim, self._sites)) is not None:
            yield DescribedPart(claim.scope, str(entry), index, claim.spec)
            return
        site = self._site(claim)
        place = _place(site) if site is not None else None
        if site is None or place is None:
            return
        for scope in self._functions(site.scope):
            part = self._parts_of(scope).assigned.get(place)
            if (
                part is not None
                and part.keys[:1] == (None,)
                and _is_of_pairs(self._tables.nodes[scope], part.parameter)
            ):
                continue
            if part is not None and part.keys and (spec := _without_axes(claim.spec, part.mapped)) is not None:
                yield DescribedPart(scope, str(part), index, spec)

    def joined_parts(self, index: int, claim: Claim) -> Iterator[DescribedPart]:
        """The parts that the value which a claim is about is joined of, each with its share of it."""
        site = self._site(claim)
        place = _place(site) if site is not None else None
        if site is None or place is None:
            return
        for scope in self._functions(site.scope):
            if scope not in self._joined:
                self._joined[scope] = joined_variables(self._tables.nodes[scope])
            joined = self._joined[scope].get(place)
            for piece, spec in joined.piece_specs(parse_spec(claim.spec)) if joined is not None else ():
                part = self._parts_of(scope).part(piece)
                if part is not None and not part.mapped:
                    yield DescribedPart(scope, str(part), index, spec)

    def _site(self, claim: Claim) -> Site | None:
        """The variable after its statement that a claim is about."""
        site = self._sites[claim.sites[0]] if claim.sites and not claim.select else None
        return site if site is not None and site.kind in ("name", "value") and site.when != "before" else None

    def _functions(self, scope: int | None) -> Iterator[int]:
        """A scope and those around it, as far as they are functions."""
        while scope is not None:
            if isinstance(self._tables.nodes[scope], Function):
                yield scope
            scope = self._tables.scopes[scope].parent

    def _parts_of(self, scope: int) -> ParameterParts:
        if scope not in self._parts:
            self._parts[scope] = ParameterParts(self._tables.nodes[scope])
        return self._parts[scope]


def _is_of_pairs(function: ast.AST, name: str) -> bool:
    """Whether a function is called with one variable twice, and with two: a kernel of `(x, x)` and of `(x, z)`.

    What it gives then has other axes for either.
    """
    calls = [
        [ast.dump(each) for each in node.args]
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]
    return len({tuple(map(call.index, call)) for call in calls}) > 1


def _entry(claim: Claim, sites: Sequence[Site]) -> Part | None:
    """The entry of a parameter that a docstring's claim is about."""
    site = sites[claim.sites[0]] if claim.notation == "docstring" and claim.sites else None
    keys = [key for each in claim.select if (key := entry_key(each)) is not None]
    if site is None or site.kind != "param" or not keys or len(keys) < len(claim.select):
        return None
    return Part(site.name, tuple(keys))


def _place(site: Site) -> Place | None:
    return (site.name, site.position.line, site.position.column) if site.position is not None else None


def _without_axes(text: str, number: int) -> str | None:
    """A spec without its first axes; None if it does not say which these are."""
    spec = parse_spec(text)
    if len(spec.dims) < number or any(map(is_variadic, spec.dims[:number])):
        return None
    return print_spec(Spec(spec.dims[number:])) if number else text
