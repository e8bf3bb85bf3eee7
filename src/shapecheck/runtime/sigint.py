"""Ctrl-C while JAX tells the host of values: it is for the program, not for the callback that happens to run.

JAX makes an error of its own of whatever is raised in a callback, so that `except KeyboardInterrupt:` would not see it.
"""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from shapecheck.evaluate.jax_internals import calls_back

_LATER = 0.01  # seconds


@contextmanager
def putting_off() -> Iterator[None]:
    """Meanwhile, an interrupt waits until no callback runs in this thread. What the program does of its own counts."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _handle_interrupt)
    try:
        yield
    finally:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is _handle_interrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _handle_interrupt(number: int, frame: FrameType | None) -> None:
    if not _is_called_back(frame):
        signal.default_int_handler(number, frame)
    again = threading.Timer(_LATER, _thread.interrupt_main)
    again.daemon = True
    again.start()


def _is_called_back(frame: FrameType | None) -> bool:
    while frame is not None:
        if calls_back(frame):
            return True
        frame = frame.f_back
    return False
