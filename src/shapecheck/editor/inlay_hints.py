"""Shapes behind the targets of assignments that claim nothing."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from shapecheck.editor.file_result import FileResult, ShownValue
from shapecheck.editor.positions import EditorText, MovedLines, column_of_bytes

_LONGEST = 60  # characters that a hint may put into a line


def inlay_hints(
    result: FileResult, text: EditorText, moved: MovedLines, visible: types.Range
) -> Iterator[types.InlayHint]:
    """A hint for each assignment whose shape is proved, and the same in all stages."""
    claimed = {line for claim in result.claims for line in range(claim.span.line, claim.span.end_line + 1)}
    for line, values in result.values.items():
        now = moved.forward(line)
        if now is None or line in claimed or not text.owns(now):
            continue
        if not visible.start.line <= text.position(now, 1).line <= visible.end.line:
            continue
        for value in _proved_values(values):
            hint_line, offset = value.place.hint or (0, 0)
            if hint_line != line:
                continue
            position = text.position(now, column_of_bytes(result.lines[line - 1], offset))
            yield types.InlayHint(
                position=position,
                label=f": {value.shapes}",
                kind=types.InlayHintKind.Type,
                tooltip=f"evaluated in {value.stage or value.function}",
                padding_left=False,
            )


def _proved_values(values: tuple[ShownValue, ...]) -> Iterator[ShownValue]:
    """The values that have one shape wherever they were seen, with symbols."""
    by_place: dict[tuple[int, int] | None, list[ShownValue]] = {}
    for value in values:
        by_place.setdefault(value.place.hint, []).append(value)
    for hint, shown in by_place.items():
        is_proved = all(each.whole for each in shown) and len({each.shapes for each in shown}) == 1
        if hint is not None and is_proved and len(shown[0].shapes) <= _LONGEST:
            yield shown[0]
