"""Processes that can write in some folders only: Linux says so of a thread, and of all that it starts.

Modes and times of files can still be changed by them. Where Linux has no Landlock, and elsewhere, nothing is confined.

Sources:
    https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, the same on all processors
_ASK_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38
_WRITE_FILE = 1 << 1
_CHANGE_ENTRIES = sum(1 << bit for bit in range(4, 13))  # remove folders and files, make any kind of them
_REFER, _TRUNCATE = 1 << 13, 1 << 14  # since versions 2 and 3

Result = TypeVar("Result")


def call_confined(function: Callable[[], Result], folders: Iterable[str]) -> Result:
    """Call a function that starts a process, which can write in these folders only."""

    def call() -> Result:
        confine(folders)
        return function()

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="shapecheck-confined") as thread:
        return thread.submit(call).result()


def confine(folders: Iterable[str]) -> bool:
    """Let this thread, for good, and all that it starts write in these folders only; False where it cannot be done."""
    if sys.platform != "linux":
        return False
    system = ctypes.CDLL(None)
    version = system.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    if version < 1:
        return False
    handled = _WRITE_FILE | _CHANGE_ENTRIES | (_REFER if version > 1 else 0) | (_TRUNCATE if version > 2 else 0)
    ruleset = system.syscall(_CREATE_RULESET, ctypes.byref(ctypes.c_uint64(handled)), ctypes.c_size_t(8), 0)
    if ruleset < 0:
        return False
    try:
        for folder in folders:
            _allow(system, ruleset, folder, handled)
        if system.prctl(_NO_NEW_PRIVILEGES, *map(ctypes.c_ulong, (1, 0, 0, 0))):
            return False
        return bool(system.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


class _PathBeneath(ctypes.Structure):
    """What the kernel calls `landlock_path_beneath_attr`."""

    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def _allow(system: ctypes.CDLL, ruleset: int, folder: str, allowed: int) -> None:
    try:
        descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # there is nothing to write in
        return
    try:
        rule = _PathBeneath(allowed, descriptor)
        system.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(descriptor)
