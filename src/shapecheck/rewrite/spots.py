"""The places of a file at which statements and decorators can be inserted, each on a line of its own."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from shapecheck.rewrite.insertion_points import first_line, is_docstring
from shapecheck.syntax.concrete_file import ConcreteFile, Suite, leading_lines
from shapecheck.syntax.scopes import Function

ONE_LINE = "it shares its line with other statements"


class NoPlaceError(Exception):
    """Nothing can be inserted there; the text says why."""


@dataclass(frozen=True)
class Spot:
    """The place behind or ahead of the line `index` of a suite, or of one more decorator under those of its function.

    Ahead of a line, `comments` lines of comments stay with it. In the file as it is, `line` stands right above.
    """

    line: int
    place: Literal["behind", "ahead", "decorator"]
    suite: Suite
    index: int
    comments: int = 0


class Spots:
    """Finds the spots of one file. Each method raises RewriteError where libcst cannot parse the file."""

    def __init__(self, file: ConcreteFile) -> None:
        self.file = file

    def behind(self, statement: ast.stmt) -> Spot:
        """The place right after a simple statement that has its lines for itself."""
        place = self.file.place(statement)
        if not place.is_alone:
            raise NoPlaceError(ONE_LINE)
        return Spot(statement.end_lineno or statement.lineno, "behind", place.suite, place.index)

    def ahead(self, statement: ast.stmt) -> Spot:
        """The place right before a statement; not between a comment and what it stands above."""
        spot = self.above_comments(statement, 0)
        above = self.lines_above(statement)
        if above and above[-1].comment is not None:
            raise NoPlaceError("a comment stands right above it")
        return spot

    def above_comments(self, statement: ast.stmt, comments: int) -> Spot:
        """The place before a statement and the last `comments` of the comments above it."""
        place = self.file.place(statement)
        if place.line is None or not place.is_first:
            raise NoPlaceError(ONE_LINE)
        return Spot(first_line(statement) - 1 - comments, "ahead", place.suite, place.index, comments)

    def start(self, owner: Function | ast.For | ast.AsyncFor | ast.With | ast.AsyncWith) -> Spot:
        """The start of a body, behind its docstring."""
        first = owner.body[0]
        if isinstance(owner, Function) and is_docstring(first):
            return self.behind(first)
        place = self.file.place(first)
        if place.line is None:
            raise NoPlaceError(ONE_LINE)
        return Spot(first_line(first) - 1 - len(self.lines_above(first)), "behind", place.suite, -1)

    def definition(self, function: Function) -> Spot:
        """The place of one more decorator, under all others."""
        place = self.file.place(function)
        return Spot(function.lineno - 1, "decorator", place.suite, place.index)

    def lines_above(self, statement: ast.stmt) -> Sequence[cst.EmptyLine]:
        """The blank lines and comments between a statement and what stands before it in its suite."""
        place = self.file.place(statement)
        if place.line is None or not place.is_first:
            return ()
        own = leading_lines(place.line)
        is_top = isinstance(place.suite, cst.Module) and place.index == 0
        return [*self.file.module.header, *own] if is_top else own
