"""Cells of notebooks that are no Python: each is told of, and the others are checked without them.

People leave cells unfinished, and go on in the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shapecheck.files.notebook_source import Notebook, cell_python, notebook_of_cells
from shapecheck.model import Module, Problem
from shapecheck.syntax.source_text import parse_text


def without_unread_cells(notebook: Notebook) -> Notebook:
    """The notebook with blank lines for the cells that do not parse, where they keep the others from being read."""
    if parse_text("", notebook.module, newer=True).problem is None:
        return notebook
    unread = [number for number, _ in _unread(notebook)]
    return notebook_of_cells((cell.text for cell in notebook.cells), unread) if unread else notebook


def with_unread_cells(module: Module, notebook: Notebook | None) -> Module:
    """What was read of a notebook, with a problem for each cell that was passed over."""
    if notebook is None or not notebook.unread:
        return module
    problems = [
        replace(problem, span=replace(problem.span, line=line, end_line=line), message=problem.message.replace(*_WORDS))
        for number, problem in _unread(notebook)
        if number in notebook.unread
        for line in [problem.span.line + notebook.cells[number - 1].begin - 1]
    ]
    return replace(module, problems=(*module.problems, *problems))


_WORDS = ("this file", "this cell")


def _unread(notebook: Notebook) -> Iterator[tuple[int, Problem]]:
    for number, cell in enumerate(notebook.cells, 1):
        problem = parse_text("", cell_python(cell.text), newer=True).problem
        if problem is not None:
            yield number, problem
