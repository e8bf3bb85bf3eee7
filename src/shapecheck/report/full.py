"""The format for people: the finding, its source line with carets, and the details."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shapecheck.model import Finding, Report, Span
from shapecheck.report.concise import headline
from shapecheck.report.terminal_text import Part, cells, paint, visible

_WIDEST = 160  # characters of a source line that are shown
_BEFORE = 60  # of which so many before the span, where the line is longer


def render(report: Report, *, color: bool = False) -> str:
    """Each finding as a block, with an empty line between two."""
    sources = dict(report.sources)
    lines: list[tuple[Part, ...]] = []
    for index, finding in enumerate(report.findings):
        if index:
            lines.append(())
        lines.extend(_block(finding, sources))
    return paint(lines, color=color)


def _block(finding: Finding, sources: Mapping[str, Sequence[str]]) -> Iterator[tuple[Part, ...]]:
    place, space, code, message = headline(finding)
    # Only errors and warnings count for the exit code: say which is which.
    kind = "" if finding.severity == "error" else f" ({finding.severity})"
    yield (place, space, code, (kind, "dim"), message)
    source = sources.get(finding.path, ())
    if 0 < finding.span.line <= len(source):
        yield from _excerpt(source[finding.span.line - 1], finding)
    for detail in finding.details:
        yield ((f"  {visible(detail)}", ""),)


def _excerpt(text: str, finding: Finding) -> Iterator[tuple[Part, ...]]:
    text = text.rstrip("\r\n")
    start, end = _columns(finding.span, len(text))
    first = max(0, start - _BEFORE) if len(text) > _WIDEST else 0
    last = first + _WIDEST
    before, inside, after = (
        _visible_text(part) for part in (text[first:start], text[start : min(end, last)], text[end:last])
    )
    left = "…" if first else ""
    right = "…" if last < len(text) else ""
    number = f"{finding.span.line:>5} | "
    carets = "^" * max(1, cells(inside))
    yield ((number, "dim"), (f"{left}{before}{inside}{after}{right}", ""))
    yield ((" " * 6 + "| ", "dim"), (" " * cells(left + before), ""), (carets, finding.severity))


def _columns(span: Span, length: int) -> tuple[int, int]:
    """Where the span begins and ends in its first line, counted from 0."""
    start = min(max(span.column - 1, 0), length)
    end = length if span.end_line > span.line else min(span.end_column - 1, length)
    return start, max(start, end)


def _visible_text(text: str) -> str:
    return visible(text.replace("\t", "    "))
