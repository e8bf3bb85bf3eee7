"""What user code prints in the workers of a run, on stderr, within limits that keep the terminal readable."""

from __future__ import annotations

import sys
from threading import Lock

_LINES, _WIDTH = 100, 200


class PrintedLines:
    """Shows each line once, for every call is evaluated several times; of many lines the first ones."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._left_out = 0
        self._lock = Lock()  # each worker is read by a thread of its own

    def add(self, line: str) -> None:
        """Show a line, unless it was shown or there are too many."""
        with self._lock:
            if len(self._seen) >= _LINES or line in self._seen:
                self._left_out += 1
                return
            self._seen.add(line)
            cut = f"{line[:_WIDTH]}... ({len(line)} characters)" if len(line) > _WIDTH else line
            sys.stderr.write(f"{cut}\n")

    def close(self) -> None:
        """Tell how many were not shown."""
        with self._lock:
            if self._left_out:
                said = f"{self._left_out} more line{'s' * (self._left_out != 1)}, repeated or beyond the first {_LINES}"
                sys.stderr.write(f"(your code printed {said})\n")
            self._left_out = 0
