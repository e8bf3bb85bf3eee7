"""Where the lines of a text went in a later one, so that what was said of them can move along."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

from shapecheck.model import Span

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
