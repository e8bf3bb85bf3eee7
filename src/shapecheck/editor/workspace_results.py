"""What is known of the files of a workspace, and how their texts differ from what was looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from shapecheck.editor.file_result import FileResult
from shapecheck.editor.positions import MovedLines
from shapecheck.model import Finding


class WorkspaceResults:
    """The last results of each file, by its path as runs show it."""

    def __init__(self) -> None:
        self._results: dict[str, FileResult] = {}
        self._moved: dict[str, tuple[FileResult, Sequence[str], MovedLines]] = {}

    def take(self, results: Iterable[FileResult], folder: Path | None, *, cut: bool = False) -> set[str]:
        """Keep what a run gave, and return the paths of which something new is known.

        After a run over all of a `folder`, what is not in it is gone. A text that nobody can parse, as while it is
        typed, says nothing of what its lines mean: for these the earlier result holds, where they are as they were.
        Nor does a run that was `cut` take back what an earlier one has verified of the same text.
        """
        new = {result.path: result for result in results}
        gone = {
            path for path in set(self._results) - set(new) if folder and Path(path).absolute().is_relative_to(folder)
        }
        for path, result in new.items():
            known = self._results.get(path)
            if known is None:
                self._results[path] = result
            elif known.module.parsed and not result.module.parsed:
                self._results[path] = _with_problems(known, result)
            elif not (cut and known.lines == result.lines and known.verified_count > result.verified_count):
                self._results[path] = result
        for path in gone:
            del self._results[path]
        return set(new) | gone

    def get(self, path: str) -> FileResult | None:
        """What is known of a file."""
        return self._results.get(path)

    def movement(self, result: FileResult, lines: Sequence[str]) -> MovedLines:
        """Where the lines that were looked at stand in the present text."""
        kept = self._moved.get(result.path)
        if kept is None or kept[0] is not result or kept[1] is not lines:
            kept = (result, lines, MovedLines(result.lines, lines))
            self._moved[result.path] = kept
        return kept[2]


def _with_problems(known: FileResult, unread: FileResult) -> FileResult:
    """An earlier result on the lines of the new text, with what is wrong with that."""
    moved = MovedLines(known.lines, unread.lines)
    kept: list[Finding] = []
    for finding in known.findings:
        span = moved.span(finding.span)
        if span is not None:
            kept.append(replace(finding, span=span))
    claims = tuple(replace(claim, span=span) for claim in known.claims if (span := moved.span(claim.span)) is not None)
    values = {now: shown for line, shown in known.values.items() if (now := moved.forward(line)) is not None}
    return replace(
        known,
        lines=unread.lines,
        version=unread.version,
        findings=(*unread.findings, *kept),
        claims=claims,
        values=values,
    )
