"""Who writes several pieces to stderr is not interrupted: Python writes a traceback so, and devices print meanwhile."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_LONGEST_WAIT = 1.0  # seconds: what is being written may be what waits for a device
_lock = threading.RLock()


@contextlib.contextmanager
def stderr_lock() -> Iterator[None]:
    """Around what is to stand in one piece."""
    held = _lock.acquire(timeout=_LONGEST_WAIT)
    try:
        yield
    finally:
        if held:
            _lock.release()
