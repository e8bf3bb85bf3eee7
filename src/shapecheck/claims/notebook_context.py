"""What a notebook's cell finds there already: names that other cells, or code run elsewhere, have given it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from shapecheck.claims.annotation_names import Names, read_names
from shapecheck.claims.known_dims import known_dims
from shapecheck.syntax.scopes import Tables, survey

_T = TypeVar("_T")


@dataclass(frozen=True)
class NotebookContext:
    """What its names stand for, which of them are variables, and which names are known as dims."""

    names: Names = field(default_factory=Names)
    variables: frozenset[str] = frozenset()
    dims: frozenset[str] = frozenset()

    def names_behind(self, own: Names, tables: Tables) -> Names:
        """The tables of a cell, `own`, and behind them what it does not bind anew itself."""
        bound = {*own.imported, *tables.assigned[0], *(scope.qualname for scope in tables.scopes)}
        return Names(
            imported={**_without(self.names.imported, bound), **own.imported},
            starred=own.starred,
            aliases={**_without(self.names.aliases, bound), **own.aliases},
            constants={**_without(self.names.constants, bound), **own.constants},
            unclear=own.unclear,
        )


NOTHING: Final = NotebookContext()


def read_notebook_context(text: str, dims: Iterable[str]) -> NotebookContext:
    """What the statements of `text` would leave behind, where the names `dims` are known as dims besides."""
    tables = survey(ast.parse(text))
    names = read_names(tables.statements, frozenset())
    return NotebookContext(names, frozenset(tables.assigned[0]), frozenset({*dims, *known_dims(tables, ())}))


def _without(table: dict[str, _T], names: set[str]) -> dict[str, _T]:
    return {name: value for name, value in table.items() if name not in names}
