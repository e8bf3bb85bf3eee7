"""Positions as the protocol counts them: lines from 0, columns in the code units that client and server agreed on."""

from __future__ import annotations

import re
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
