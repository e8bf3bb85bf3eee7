"""Limits on the user's code, inside the worker: of time, and of what it may write."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

_AGAIN = 1.0  # seconds after which the alarm comes again, in case the user's code swallowed it
_BUSY = 4.0  # how much slower a busy machine may be before the limits of an evaluation notice
_SHORTEST = 0.05  # seconds between two looks at the processor's time
_MOST = 4  # alarms that may be swallowed, before the process ends itself
_OF_WEAK_REFERENCES = ("weakref.py", "_weakrefset.py")
_LONGEST_WAIT = 40  # alarms that wait for what Python calls as it collects garbage
STUBBORN = 79
"""The exit status of a process whose code would not end when its time was over."""

_alarms = 0
_postponed = 0


class Stopwatch:
    """The time that an evaluation has spent: the processor's, so that a busy machine does not change what it shows.

    At least a part of the clock's, for code that waits.
    """

    def __init__(self) -> None:
        self._clock, self._processor, self._forgiven = time.monotonic(), time.thread_time(), 0.0

    def seconds(self) -> float:
        """Seconds since the begin, without those that were forgiven."""
        clock = (time.monotonic() - self._clock) / _BUSY
        return max(time.thread_time() - self._processor, clock) - self._forgiven

    def forgive(self, seconds: float) -> None:
        """Leave out seconds that somebody else is charged for."""
        self._forgiven += seconds


class TimeLimitError(BaseException):
    """Raised inside the user's code when its time is over. Not an Exception, so that user code lets it pass."""


class ReadOnlyError(OSError):
    """Raised inside the user's code where it would change a file that it shall not change, as on a read-only disk."""


@contextlib.contextmanager
def time_limit(
    seconds: float, *, of_processor: bool = False, longer: Callable[[FrameType | None], float] | None = None
) -> Iterator[None]:
    """Raise TimeLimitError in the body after `seconds`, and again each second until it ends.

    If they are those `of_processor`, a busy machine may take longer for them. Where it is then may give it seconds
    that are `longer`. Limits may be nested: an inner one ends no later than the outer one, which goes on when that
    is over. Without POSIX timers, or in another thread than the main one, there is no limit; the parent process then
    ends the worker instead.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    global _alarms, _postponed  # noqa: PLW0603 - see below
    _alarms = _postponed = 0
    started, processor = time.monotonic(), time.process_time()
    outer = signal.getitimer(signal.ITIMER_REAL)[0]
    over, whole = False, seconds

    def seconds_left() -> float:
        elapsed = time.monotonic() - started
        left = whole - elapsed
        if of_processor:
            left = whole - (time.process_time() - processor) if elapsed < whole * _BUSY else 0.0
        return min(left, outer - elapsed) if outer else left

    def end_in_time(signum: int, frame: FrameType | None) -> None:
        nonlocal whole
        if over:
            return  # the alarm came as the body ended: set again, it would end what comes after
        left = seconds_left()
        if left <= 0 and longer is not None and (more := longer(frame)) > whole:
            whole = more
            left = seconds_left()
        if left > 0:
            signal.setitimer(signal.ITIMER_REAL, max(left, _SHORTEST))
        else:
            _on_alarm(signum, frame)

    handler = signal.signal(signal.SIGALRM, end_in_time)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, min(seconds, outer) if outer else seconds)
            yield
        finally:
            over = True
    finally:  # of its own, since an alarm may come before the line above
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        if outer:
            signal.signal(signal.SIGALRM, handler)
            left = outer - (time.monotonic() - started)
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.001))


def _on_alarm(signum: int, frame: FrameType | None) -> None:
    global _alarms, _postponed  # noqa: PLW0603 - a signal handler has nowhere else to count
    if _postponed < _LONGEST_WAIT and _passes_unseen(frame):
        _postponed += 1
        signal.setitimer(signal.ITIMER_REAL, _SHORTEST)
        return
    _alarms += 1
    if _alarms > _MOST:
        os._exit(STUBBORN)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN)
    raise TimeLimitError


def _passes_unseen(frame: FrameType | None) -> bool:
    """Whether what is raised here ends nothing, but is printed: in what Python calls as it collects garbage."""
    callbacks = [getattr(each, "__code__", None) for each in gc.callbacks]
    while frame is not None:
        code = frame.f_code
        if code in callbacks or code.co_name == "__del__" or os.path.basename(code.co_filename) in _OF_WEAK_REFERENCES:
            return True
        frame = frame.f_back
    return False
