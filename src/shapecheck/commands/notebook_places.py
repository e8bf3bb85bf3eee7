"""A report on notebooks: what was found in the module that their cells are together, at its cell and line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from shapecheck.files.notebook_source import Notebook, cell_path
from shapecheck.model import AssumedClaim, Edit, Finding, JudgedClaim, Report, Span, UnreachedClaim, VerifiedClaim

_LINE = re.compile(r"\bline (\d+)\b(?! of cell)")  # of the same file, as findings name it
_AtLine = TypeVar("_AtLine", UnreachedClaim, VerifiedClaim, AssumedClaim)


def with_cells(report: Report, notebooks: Mapping[str, Notebook]) -> Report:
    """The report with the cells of notebooks (by shown path) for paths, and the lines of these for lines."""
    if not notebooks:
        return report
    places = _Places(notebooks)
    return replace(
        report,
        findings=tuple(map(places.in_cell, report.findings)),
        unreached=tuple(map(places.reason, report.unreached)),
        verified=tuple(map(places.at, report.verified)),
        resting=tuple(map(places.at, report.resting)),
        loose=tuple(map(places.reason, report.loose)),
        broken=tuple(map(places.text, report.broken)),
        sources=tuple(sorted({**dict(report.sources), **dict(places.sources())}.items())),
    )


def claims_in_cells(claims: Iterable[JudgedClaim], notebooks: Mapping[str, Notebook]) -> Iterator[JudgedClaim]:
    """The claims, those of notebooks at their cells and lines."""
    places = _Places(notebooks) if notebooks else None
    for claim in claims:
        yield claim if places is None else places.of_claim(claim)


class _Places:
    """Translates lines of modules into lines of cells."""

    def __init__(self, notebooks: Mapping[str, Notebook]) -> None:
        self._notebooks = notebooks
        paths = "|".join(map(re.escape, sorted(notebooks, key=len, reverse=True)))
        self._line = re.compile(rf"(?<![\w/])({paths}):(\d+)")

    def at(self, what: _AtLine) -> _AtLine:
        """A part of the report that has a path and a line."""
        notebook = self._notebooks.get(what.path)
        if notebook is None:
            return what
        number, line = notebook.place(what.line)
        return replace(what, path=cell_path(what.path, number), line=line)

    def reason(self, claim: UnreachedClaim) -> UnreachedClaim:
        """Why a claim was not reached: that may name lines too."""
        return replace(self.at(claim), reason=self.text(claim.reason))

    def of_claim(self, claim: JudgedClaim) -> JudgedClaim:
        """A claim with its verdict; a name that another cell binds has that cell among the words for it."""
        claim = replace(claim, reason=self.text(claim.reason))
        notebook = self._notebooks.get(claim.path)
        if notebook is None:
            return claim
        number, _ = notebook.place(claim.span.line)
        shift = notebook.cells[number - 1].begin - 1 if notebook.cells else 0
        bindings = []
        for bound in claim.bindings:
            if bound.line is not None:
                cell, line = notebook.place(bound.line)
                elsewhere = "" if cell == number else f" ({cell_path(claim.path, cell)})"
                bound = replace(bound, line=line, source=f"{bound.source}{elsewhere}")  # noqa: PLW2901
            bindings.append(bound)
        path = cell_path(claim.path, number)
        return replace(claim, path=path, span=_up(claim.span, shift), bindings=tuple(bindings))

    def in_cell(self, found: Finding) -> Finding:
        """A finding, with its words and its fix."""
        found = replace(found, message=self.text(found.message), details=tuple(map(self.text, found.details)))
        notebook = self._notebooks.get(found.path)
        if notebook is None:
            return found
        number, _ = notebook.place(found.span.line)
        shift = notebook.cells[number - 1].begin - 1 if notebook.cells else 0
        fix = tuple(Edit(_up(edit.span, shift), edit.replacement) for edit in found.fix)

        def line_in_cell(named: re.Match[str]) -> str:
            cell, line = notebook.place(int(named[1]))
            return f"line {line}" if cell == number else f"line {line} of cell {cell}"

        details = tuple(_LINE.sub(line_in_cell, text) for text in found.details)
        # What Python says of a cell that it cannot parse counts the lines of that.
        message = found.message if found.code == "SC104" else _LINE.sub(line_in_cell, found.message)
        path, span = cell_path(found.path, number), _up(found.span, shift)
        return replace(found, path=path, span=span, fix=fix, message=message, details=details)

    def text(self, text: str) -> str:
        """Words that name lines."""

        def place(found: re.Match[str]) -> str:
            number, line = self._notebooks[found[1]].place(int(found[2]))
            return f"{cell_path(found[1], number)}:{line}"

        return self._line.sub(place, text)

    def sources(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The lines of each cell, as it is written."""
        for path, notebook in self._notebooks.items():
            for number, cell in enumerate(notebook.cells, 1):
                yield cell_path(path, number), tuple(cell.text.split("\n"))


def _up(span: Span, lines: int) -> Span:
    return replace(span, line=span.line - lines, end_line=span.end_line - lines)
