"""What is known of the files of a workspace, and how their texts differ from what was looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from shapecheck.editor.file_result import FileResult
from shapecheck.editor.positions import MovedLines


class WorkspaceResults:
    """The last results of each file, by its path as runs show it."""

    def __init__(self) -> None:
        self._results: dict[str, FileResult] = {}
        self._moved: dict[tuple[str, bool], tuple[Sequence[str], Sequence[str], MovedLines]] = {}

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
                self._results[path] = replace(known, version=result.version, unread=result)
            elif cut and known.lines == result.lines and known.verified_count > result.verified_count:
                self._results[path] = replace(known, version=result.version, unread=None)
            else:
                self._results[path] = result
        for path in gone:
            del self._results[path]
        return set(new) | gone

    def get(self, path: str) -> FileResult | None:
        """What is known of a file."""
        return self._results.get(path)

    def movement(self, result: FileResult, lines: Sequence[str]) -> MovedLines:
        """Where the lines that were looked at stand in the present text."""
        slot = (result.path, result.module.parsed)  # for a text that cannot be parsed stands beside the one before it
        kept = self._moved.get(slot)
        if kept is None or kept[0] is not result.lines or kept[1] is not lines:
            kept = (result.lines, lines, MovedLines(result.lines, lines))
            self._moved[slot] = kept
        return kept[2]
