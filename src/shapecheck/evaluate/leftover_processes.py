"""Processes that user code started in sessions of their own: no process group knows them, their environment does.

Each worker has a mark in its environment, which what it starts inherits. Only Linux shows the environment of others;
elsewhere such a process (a daemon, `Popen(start_new_session=True)`) outlives the run. What a forked worker forks shows
the mark of the fork server until it runs another program, and ends with that.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

MARK = "SHAPECHECK_WORKER"
"""The variable with the marks of all workers that a process descends from."""

_ROUNDS = 5  # in which what is ended may have started others


def new_mark() -> str:
    """A mark that no other worker has."""
    return secrets.token_hex(8)


def marked_environment(mark: str) -> dict[str, str]:
    """The variable as a worker with this mark has it."""
    return {MARK: " ".join(filter(None, [os.environ.get(MARK, ""), mark]))}


def end_leftovers(mark: str) -> int:
    """End all processes with this mark but this one; how many there were."""
    ended: set[int] = set()
    for _ in range(_ROUNDS if mark and sys.platform == "linux" else 0):
        found = set(_marked_processes(mark.encode())) - ended - {os.getpid()}
        if not found:
            break
        ended |= found
        for number in found:
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)
    return len(ended)


def _marked_processes(mark: bytes) -> Iterator[int]:
    begin = f"{MARK}=".encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended, or is somebody else's
                variables = (folder / "environ").read_bytes().split(b"\0")
                if any(each.startswith(begin) and mark in each for each in variables):
                    yield int(folder.name)
