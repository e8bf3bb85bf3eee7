"""Positions as the protocol counts them: lines from 0, columns in the code units that client and server agreed on; and
where the lines of a text went in a later one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from lsprotocol import types

from shapecheck.model import Span

_LINE_END = re.compile(r"\r\n|\r|\n")
_BYTES: Final = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class EditorText:
    """The text of a document, with its lines as the protocol has them (which are those of the checker, too).

    The document may be a part of the text, as a cell is of a notebook: `count` lines behind those `above` it.
    """

    def __init__(self, source: str, encoding: str = "utf-16", *, above: int = 0, count: int | None = None) -> None:
        self.source = source
        self._above, self._count = above, count
        self._codec, self._unit = _BYTES.get(encoding, _BYTES["utf-16"])

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines without their ends."""
        return tuple(_LINE_END.split(self.source))

    def range(self, span: Span) -> types.Range:
        """A span as the protocol has it."""
        return types.Range(
            start=self.position(span.line, span.column), end=self.position(span.end_line, span.end_column)
        )

    def position(self, line: int, column: int) -> types.Position:
        """A line and column from 1, in characters, as the protocol has them."""
        before = self._line(line)[: max(column - 1, 0)]
        return types.Position(
            line=max(line - 1 - self._above, 0),
            character=len(before.encode(self._codec, "surrogatepass")) // self._unit,
        )

    def place(self, position: types.Position) -> tuple[int, int]:
        """The line and column, from 1 and in characters, of a position."""
        line = position.line + 1 + self._above
        data = self._line(line).encode(self._codec, "surrogatepass")
        before = data[: position.character * self._unit].decode(self._codec, "ignore")
        return line, len(before) + 1

    def owns(self, line: int) -> bool:
        """Whether a line of the text belongs to the document."""
        return self._above < line and (self._count is None or line <= self._above + self._count)

    def line_range(self, line: int) -> types.Range:
        """The whole of a line, without its end."""
        return types.Range(start=self.position(line, 1), end=self.position(line, len(self._line(line)) + 1))

    def _line(self, line: int) -> str:
        return self.lines[line - 1] if 1 <= line <= len(self.lines) else ""


def column_of_bytes(text: str, offset: int) -> int:
    """The column from 1, in characters, of a byte of a line as Python counts it: in UTF-8 from 0."""
    return len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "ignore")) + 1


_LARGEST_DIFF = 500  # lines that differ, beyond which nobody waits for a diff


class MovedLines:
    """The lines of `old` that stand in `new`, unchanged; lines count from 1."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._to = dict(_pairs(old, new))
        self._from = {there: here for here, there in self._to.items()}

    def forward(self, line: int) -> int | None:
        """Where a line of the old text is now; None if it was edited, or is gone."""
        return self._to.get(line)

    def back(self, line: int) -> int | None:
        """Where a line of the new text was; None if it was not there."""
        return self._from.get(line)

    def span(self, span: Span) -> Span | None:
        """A span of the old text in the new one; None if any of its lines was edited."""
        lines = [self.forward(line) for line in range(span.line, span.end_line + 1)]
        if not lines or lines[0] is None or lines != list(range(lines[0], lines[0] + len(lines))):
            return None
        return replace(span, line=lines[0], end_line=lines[0] + len(lines) - 1)


def _pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Lines that are the same, as pairs of numbers."""
    shorter = min(len(old), len(new))
    front = 0
    while front < shorter and old[front] == new[front]:
        front += 1
    back = 0
    while back < shorter - front and old[-1 - back] == new[-1 - back]:
        back += 1
    pairs = [(line, line) for line in range(1, front + 1)]
    inner_old, inner_new = old[front : len(old) - back], new[front : len(new) - back]
    if inner_old and inner_new and len(inner_old) + len(inner_new) <= _LARGEST_DIFF:
        matcher = difflib.SequenceMatcher(None, inner_old, inner_new, autojunk=False)
        for block in matcher.get_matching_blocks():
            first = (front + block.a + 1, front + block.b + 1)
            pairs += [(first[0] + step, first[1] + step) for step in range(block.size)]
    pairs += [(len(old) - step, len(new) - step) for step in range(back)]
    return pairs
