"""A progress bar for runs that take longer than a second, on a terminal only."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_DELAY = 1.0  # seconds


class Bar:
    """Shows how far a run has come while the `with` block lasts, and leaves nothing on the terminal behind.

    Call it with the phase, the steps done and the steps in all (0 if nobody knows).
    """

    def __init__(self, stream: TextIO, delay: float = _DELAY) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._timer = threading.Timer(delay, self._start) if stream.isatty() else None
        self._state = ("starting", 0, 0)
        self._bar: tuple[Progress, TaskID] | None = None

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Note the state, and show it if the time has come."""
        with self._lock:
            self._state = (phase, done, total)
            self._show()

    def __enter__(self) -> Bar:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        with self._lock:
            self._timer = None
            if self._bar is not None:
                self._bar[0].stop()
                self._bar = None

    def _start(self) -> None:
        # rich takes 50 ms to import: only long runs pay for it
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        with self._lock:
            if self._timer is None:  # the run ended meanwhile
                return
            columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
            bar = Progress(*columns, TimeElapsedColumn(), console=Console(file=self._stream), transient=True)
            self._bar = (bar, bar.add_task("", total=None))
            self._show()
            bar.start()

    def _show(self) -> None:
        if self._bar is not None:
            phase, done, total = self._state
            self._bar[0].update(self._bar[1], description=phase, completed=done, total=total or None)
