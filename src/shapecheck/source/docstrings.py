"""Docstrings."""

from __future__ import annotations

from collections.abc import Callable

from shapecheck.facts import Claim
from shapecheck.source.reading import Source
from shapecheck.source.scopes import Tables
from shapecheck.source.sites import Sites


class DocstringReader:
    """Reads the docstrings of one file."""

    def __init__(self, source: Source, tables: Tables, sites: Sites, new_group: Callable[[], int]) -> None:
        self.source = source

    def claims(self) -> list[Claim]:
        """All claims of docstrings, in order."""
        return []
