"""Ignore comments: `# shapecheck: ignore[SC201]`, `# shapecheck: ignore`, `# shapecheck: ignore-file`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from shapecheck.model import Span, Suppression
from shapecheck.syntax.comment_tokens import Comment

_IGNORE = re.compile(
    r"#\s*+shapecheck:\s*+ignore(?P<file>-file)?+(?![\w-])\s*+(?:\[(?P<codes>[\w\s,]*+)\])?+", re.IGNORECASE
)


def read_suppressions(comments: Iterable[Comment]) -> Iterator[Suppression]:
    """The ignore comments among all comments of a file."""
    for comment in comments:
        if "shapecheck" not in comment.text.lower():
            continue
        for match in _IGNORE.finditer(comment.text):
            codes = tuple(code.strip().upper() for code in (match["codes"] or "").split(",") if code.strip())
            start = comment.column + match.start() + 1
            span = Span(comment.line, start, comment.line, start + len(match.group().rstrip()))
            yield Suppression(None if match["file"] else comment.line, codes, span)
