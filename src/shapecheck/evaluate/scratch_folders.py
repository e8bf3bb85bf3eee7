"""Temporary folders of ours, each named for the process whose it is: one that was killed leaves its own behind.

The name says it, and no file inside: a process may be killed between the making of a folder and the writing into it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from shapecheck.evaluate.read_only_disk import writable

_PREFIX = "shapecheck-"
_NAME = re.compile(_PREFIX + r"(?P<pid>\d+)-(?P<begin>\d*)-")


@contextlib.contextmanager
def scratch_folder() -> Iterator[str]:
    """A folder for what a run writes, gone afterwards."""
    folder = lasting_folder()
    try:
        yield folder
    finally:
        with writable():
            shutil.rmtree(folder, ignore_errors=True)


def lasting_folder() -> str:
    """A folder for what this process writes as long as it lives: it goes with the first sweep thereafter."""
    with writable():
        return tempfile.mkdtemp(prefix=_own_prefix())


def _own_prefix() -> str:
    return f"{_PREFIX}{os.getpid()}-{_begin(os.getpid())}-"


def sweep() -> int:
    """Remove the folders of processes that have ended; how many there were."""
    found = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = _NAME.match(folder.name)
        with contextlib.suppress(OSError):
            if owner and _is_ours(folder) and not _is_alive(int(owner["pid"]), owner["begin"]):
                shutil.rmtree(folder, ignore_errors=True)
                found += not folder.exists()
    return found


def _is_ours(folder: Path) -> bool:
    return not folder.is_symlink() and (not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid())


def _is_alive(pid: int, begin: str) -> bool:
    """Whether a process still runs that began then: its number may meanwhile be that of another."""
    if os.name != "posix":  # where a signal that asks would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's, so the one that was ours has ended
        return False
    return _begin(pid) == begin and not _is_zombie(pid)


def _begin(pid: int) -> str:
    """When a process began, as Linux counts; nothing elsewhere."""
    return (_status(pid) or [""])[-1]


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended, and nobody has asked how: in a container perhaps nobody ever will."""
    return _status(pid)[:1] in (["Z"], ["X"])


def _status(pid: int) -> list[str]:
    """What Linux tells of a process, from its state to when it began; nothing elsewhere."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[:20]
    except OSError:
        return []
