"""The sites of one file, shared by the claims that stand at them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from shapecheck.model import Point, Position, Selector, Site, SiteKind
from shapecheck.syntax.scopes import dotted_name
from shapecheck.syntax.source_text import SourceText, position_of

When = Literal["", "before", "after", "body"]

_NAME_LENGTH = 40


@dataclass(frozen=True, kw_only=True)
class SiteKey:
    """A site without its number: equal places are one site."""

    kind: SiteKind
    scope: int
    position: Position | None = None
    name: str = ""
    when: When = ""
    loop: tuple[int, ...] = ()
    part: int | None = None
    inside: tuple[Selector, ...] = ()


def value_place(scope: int, node: ast.expr, name: str, loop: tuple[int, ...]) -> SiteKey:
    """The place of an expression's value; `name` is how people would call it."""
    return SiteKey(kind="value", scope=scope, position=position_of(node), name=name, when="", loop=loop)


def name_place(scope: int, name: str, statement: ast.stmt, when: When, loop: tuple[int, ...]) -> SiteKey:
    """The place of a variable around a statement."""
    return SiteKey(kind="name", scope=scope, position=position_of(statement), name=name, when=when, loop=loop)


def describe_expression(source: SourceText, node: ast.expr) -> str:
    """How to call an expression in a message."""
    name = dotted_name(node)
    if name is None:
        span = source.span(node)
        end = span.end_column - 1 if span.line == span.end_line else None
        name = source.lines[span.line - 1][span.column - 1 : end].strip()
        name += "" if end is not None else " ..."
    return name if len(name) <= _NAME_LENGTH else f"{name[: _NAME_LENGTH - 3]}..."


class Sites:
    """Collects the sites of one file. `has_meaning` tells which of a claim's names may be looked up at a place."""

    def __init__(self, has_meaning: Callable[[SiteKey, str], bool]) -> None:
        self._has_meaning = has_meaning
        self._numbers: dict[SiteKey, int] = {}
        self._names: list[dict[str, None]] = []

    def add(self, place: SiteKey, names: Iterable[str]) -> int:
        """The number of a place, and note that a claim there uses `names`."""
        number = self._numbers.setdefault(place, len(self._numbers))
        if number == len(self._names):
            self._names.append({})
        self._names[number].update(dict.fromkeys(names))
        return number

    def names(self) -> set[str]:
        """All names that claims have used so far."""
        return {name for names in self._names for name in names}

    def build(self, paths: Callable[[SiteKey], tuple[Point, ...]]) -> tuple[Site, ...]:
        """All sites, by number. At its return a function shows the integers of all names that it uses for dims.

        `paths` are those that the value at a place may come by.
        """
        used: dict[int, dict[str, None]] = {}
        for place, number in self._numbers.items():
            used.setdefault(place.scope, {}).update(self._names[number])
        return tuple(
            Site(
                index=number,
                kind=p.kind,
                scope=p.scope,
                position=p.position,
                name=p.name,
                when=p.when,
                names=self._names_with_meaning(p, names),
                loop=p.loop,
                part=p.part,
                paths=paths(p),
                inside=p.inside,
            )
            for p, number in self._numbers.items()
            for names in [used[p.scope] if p.kind == "return" else self._names[number]]
        )

    def _names_with_meaning(self, place: SiteKey, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if self._has_meaning(place, name))
