"""The processes of one run, which can be ended as soon as nobody wants its result any more."""

from __future__ import annotations

import threading
from pathlib import Path

from shapecheck.worker.spawn import Process, Start, kill_group


class RunCancelledError(Exception):
    """A later edit made the run needless."""


class RunProcesses:
    """Starts processes, until it is cancelled: then it ends them, and starts no others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: list[Process] = []
        self.is_cancelled = False

    def track(self, start: Start) -> Start:
        """Start processes by `start`, as those of this run; raises OSError if none is wanted any more."""

        def start_one(python: str, cwd: Path) -> Process:
            if self.is_cancelled:
                raise OSError(None, "the run was cancelled")
            process = start(python, cwd)
            with self._lock:
                self._processes.append(process)
                if self.is_cancelled:
                    kill_group(process)
            return process

        return start_one

    def progress(self, label: str, done: int, total: int) -> None:
        """Stop a run between two steps; raises RunCancelledError."""
        if self.is_cancelled:
            raise RunCancelledError

    def cancel(self) -> None:
        """End all processes of the run, and with them the run."""
        with self._lock:
            self.is_cancelled = True
            for process in self._processes:
                if process.returncode is None:
                    kill_group(process)
