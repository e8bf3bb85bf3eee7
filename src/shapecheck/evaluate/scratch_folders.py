"""Temporary folders of ours, each with a note of whose it is: a process that was killed leaves its own behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "shapecheck-"
_OWNER = ".owner"


@contextlib.contextmanager
def scratch_folder() -> Iterator[str]:
    """A folder for what a run writes, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder:
        Path(folder, _OWNER).write_text(f"{os.getpid()} {_begin(os.getpid())}", encoding="ascii")
        yield folder


def sweep() -> int:
    """Remove the folders of processes that have ended; how many there were."""
    found = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError, ValueError):
            pid, _, begin = Path(folder, _OWNER).read_text(encoding="ascii").partition(" ")
            if _is_ours(folder) and not _is_alive(int(pid), begin):
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
    return _begin(pid) == begin


def _begin(pid: int) -> str:
    """When a process began, as Linux counts; nothing elsewhere."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
