"""Two versions of a file as a unified diff that `patch -p1` and `git apply` take."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence


def unified_diff(before: Sequence[str], after: Sequence[str], path: str) -> Iterator[str]:
    """The diff, line by line; lines come with their ends."""
    for line in difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
