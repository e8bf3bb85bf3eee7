"""The worker's standard streams: the user's code may write, close and replace them as it likes."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO


def keep_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes to the parent for ourselves; the user's code gets stderr as stdout, and an empty stdin."""
    replies = os.fdopen(os.dup(1), "wb")
    commands = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    renew()
    return replies, commands


def renew() -> None:
    """Fresh stream objects: what one module did to its streams is not the next one's trouble."""
    # They live as long as the process, and closing one must leave its descriptor open.
    sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = open(descriptor, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
