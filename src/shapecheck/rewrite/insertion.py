"""Statements and decorators put into a file, each on a line of its own, and the places where they can stand."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from shapecheck.model import INSERTED
from shapecheck.rewrite.insertion_points import first_line, is_docstring
from shapecheck.rewrite.transform import COMPOUND, transform
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


LINE = "<line>"
"""Stands in a text for the line `Insertion.about`, as the file counts when everything is inserted."""

_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True)
class Insertion:
    """A statement, or the expression of a decorator, for one spot; its comment stands before the mark.

    Those of one spot stand in the order of `rank`, then as they were given.
    """

    spot: Spot
    text: str
    rank: int = 0
    about: int = 0
    comment: str = ""


def insert(file: ConcreteFile, insertions: Iterable[Insertion]) -> bytes:
    """The file with the insertions, each with the mark by which it is found again. Raises RewriteError."""
    ordered = sorted(dict.fromkeys(insertions), key=lambda each: each.rank)
    return transform(file, InsertLines(file, ordered)) if ordered else file.data


class InsertLines(cst.CSTTransformer):
    """Inserts what is given in the order that it is to have at each spot."""

    def __init__(self, file: ConcreteFile, insertions: Sequence[Insertion]) -> None:
        super().__init__()
        self._line_ends = [end.decode() for end in _LINE_END.findall(file.data)] or ["\n"]
        self._lines = sorted(each.spot.line for each in insertions)
        self._at: defaultdict[tuple[Suite, int], list[Insertion]] = defaultdict(list)
        for each in insertions:
            self._at[each.spot.suite, each.spot.index].append(each)

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Look into nothing that holds no statements."""
        return isinstance(node, COMPOUND)

    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> cst.BaseSuite:
        """Insert into a block."""
        return updated_node.with_changes(body=self._fill(original_node, updated_node.body))

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        """Insert on the top level. What stands above the first statement is divided as for any other."""
        body = list(updated_node.body)
        above = [*updated_node.header, *leading_lines(body[0])]
        body[0] = body[0].with_changes(leading_lines=above)
        return updated_node.with_changes(header=(), body=self._fill(original_node, body))

    def _fill(self, suite: Suite, body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
        found = list(self._statements(suite, -1, "behind"))
        for index, line in enumerate(body):
            ahead = list(self._statements(suite, index, "ahead"))
            below = self._with_decorators(suite, index, line)
            if ahead:
                above = leading_lines(line)
                cut = len(above) - self._at[suite, index][0].spot.comments
                ahead[0] = ahead[0].with_changes(leading_lines=above[:cut])
                below = below.with_changes(leading_lines=above[cut:])
            behind = list(self._statements(suite, index, "behind"))
            if behind:  # the last line of a file may have had no end
                below = below.with_deep_changes(_end_of(below), newline=_end_of(behind[0]).newline)
            found += [*ahead, below, *behind]
        return found

    def _statements(self, suite: Suite, index: int, place: str) -> Iterator[cst.BaseStatement]:
        for each in self._at.get((suite, index), ()):
            if each.spot.place == place:
                yield cst.parse_statement(self._text(each)).with_changes(trailing_whitespace=self._mark(each))

    def _with_decorators(self, suite: Suite, index: int, line: cst.BaseStatement) -> cst.BaseStatement:
        for each in self._at.get((suite, index), ()):
            if each.spot.place == "decorator" and isinstance(line, cst.FunctionDef):
                expression = cst.parse_expression(self._text(each))
                new = cst.Decorator(
                    expression, leading_lines=line.lines_after_decorators, trailing_whitespace=self._mark(each)
                )
                line = line.with_changes(decorators=[*line.decorators, new], lines_after_decorators=())
        return line

    def _text(self, insertion: Insertion) -> str:
        about = insertion.about + bisect_left(self._lines, insertion.about)
        return insertion.text.replace(LINE, str(about))

    def _mark(self, insertion: Insertion) -> cst.TrailingWhitespace:
        """The end of an inserted line; it ends as the line above does, or one near to it."""
        above = min(max(insertion.spot.line - 1, 0), len(self._line_ends) - 1)
        newline = cst.Newline(self._line_ends[above])
        return cst.TrailingWhitespace(cst.SimpleWhitespace("  "), cst.Comment(insertion.comment + INSERTED), newline)


def _end_of(line: cst.BaseStatement) -> cst.TrailingWhitespace:
    return cst.ensure_type(line, cst.SimpleStatementLine).trailing_whitespace
