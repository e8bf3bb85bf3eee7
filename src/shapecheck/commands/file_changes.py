"""Files with other contents: written all at once or not at all, or shown as a diff."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from shapecheck.config import ConfigError
from shapecheck.files import atomic_write
from shapecheck.model import Edit
from shapecheck.syntax.source_text import declared_encoding

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


class FileChange(Protocol):
    """A file before and after."""

    @property
    def path(self) -> str:
        """Where it is, as messages show it."""

    @property
    def before(self) -> bytes:
        """What is in it."""

    @property
    def after(self) -> bytes:
        """What shall be in it."""


class ChangedFileError(ConfigError):
    """Somebody has changed a file since it was read."""


def write(change: FileChange) -> None:
    """Put the new contents into the file.

    Raises ConfigError where that is not allowed, ChangedFileError if by now it has others than it had before.
    """
    try:
        if Path(change.path).read_bytes() != change.before:
            raise ChangedFileError(f"{change.path}: has changed since it was read, so nothing is written; run it again")
        atomic_write.write_bytes(Path(change.path), change.after)
    except OSError as error:
        raise ConfigError(f"{change.path}: cannot be written: {error.strerror}") from error


def diff(change: FileChange) -> str:
    """What changes, as a unified diff that `patch -p1` and `git apply` take."""
    return "".join(unified_diff(FileText(change.before).lines, FileText(change.after).lines, change.path))


class FileText:
    """The bytes of a file as text, with its line ends."""

    def __init__(self, data: bytes) -> None:
        self._encoding = declared_encoding(data)
        self._text = data.decode(self._encoding)
        self.lines: list[str] = _LINES.findall(self._text)[:-1]  # the last match is the end

    def plain(self) -> list[str]:
        """The lines as the checker counts them, without their ends."""
        return self._text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def with_edits(self, edits: Sequence[Edit]) -> bytes:
        """The bytes with the texts of claims in the place of others, each on one line."""
        lines = list(self.lines)
        for edit in sorted(edits, key=lambda each: (each.span.line, each.span.column), reverse=True):
            line, span = lines[edit.span.line - 1], edit.span
            lines[span.line - 1] = line[: span.column - 1] + edit.replacement + line[span.end_column - 1 :]
        return "".join(lines).encode(self._encoding)


def unified_diff(before: Sequence[str], after: Sequence[str], path: str) -> Iterator[str]:
    """The diff, line by line; lines come with their ends."""
    for line in difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
