"""Statements and decorators put into a file, each on a line of its own: nothing else of the file changes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from shapecheck.model import INSERTED
from shapecheck.rewrite.spots import Spot
from shapecheck.rewrite.transform import COMPOUND, transform
from shapecheck.syntax.concrete_file import ConcreteFile, Suite, leading_lines

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
