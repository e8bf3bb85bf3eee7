"""Which run comes next: the newest edit wins, a run for an older text is ended, and nothing queues up."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from shapecheck.editor.project_checker import Extent, OpenDocument, ProjectChecker, RunOutcome
from shapecheck.editor.run_processes import RunCancelledError, RunProcesses

_PATIENCE = 1.0  # seconds without an edit, after which the project run that an edit had ended is begun again


@dataclass(kw_only=True)
class RunListener:
    """Who hears of runs, all in the event loop: how far one is (None when it is over), and what it came to.

    Where somebody ended a worker (`on_loss` has how), the run is done again, once.
    """

    on_progress: Callable[[str | None, int, int], None]
    on_outcome: Callable[[RunOutcome], None]
    on_loss: Callable[[str], None]
    on_bug: Callable[[str], None]


class RunQueue:
    """The runs over one folder, at most one at a time. Everything here happens in the event loop but the run itself."""

    def __init__(
        self, checker: ProjectChecker, documents: Callable[[], Sequence[OpenDocument]], listener: RunListener
    ) -> None:
        self.checker = checker
        self._documents, self._listener = documents, listener
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="shapecheck-run")
        self._timer: asyncio.TimerHandle | None = None
        self._wanted: Extent | None = None
        self._current: tuple[Extent, RunProcesses] | None = None
        self._has_lost_project = False
        self._has_retried = False
        self._closed = False

    def request(self, extent: Extent, delay: float = 0.0) -> None:
        """Have a run after so many seconds without another request; what is on for an older text ends now."""
        if self._closed:
            return
        # What is typed comes first, for it is waited for.
        self._has_lost_project |= self._wanted == "project" and extent == "edited"
        self._wanted = extent
        if self._current is not None:
            current, processes = self._current
            self._has_lost_project |= current == "project" and not processes.is_cancelled
            processes.cancel()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(delay, self._begin)

    def request_all(self) -> None:
        """Have a run over the open documents, and one over the project after it, as when one more is opened."""
        self._has_lost_project = True
        if self._current is None or self._current[0] == "project":
            self.request("edited")
        elif self._wanted is None:
            self._wanted = "edited"

    def close(self) -> None:
        """End the run and all processes; nothing begins from now on."""
        self._closed, self._wanted = True, None
        if self._timer is not None:
            self._timer.cancel()
        if self._current is not None:
            self._current[1].cancel()
        self.checker.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _begin(self) -> None:
        self._timer = None
        if self._current is not None or self._wanted is None or self._closed:
            return  # the end of the run that is on comes back here
        extent, self._wanted = self._wanted, None
        processes = RunProcesses()
        self._current = (extent, processes)
        documents = list(self._documents())
        future = self._loop.run_in_executor(self._thread, self._run, extent, documents, processes)
        future.add_done_callback(lambda done: self._end(extent, processes, done))

    def _run(self, extent: Extent, documents: Sequence[OpenDocument], processes: RunProcesses) -> RunOutcome:
        def progress(label: str, done: int, total: int) -> None:
            self._loop.call_soon_threadsafe(self._progress, processes, label, done, total)

        return self.checker.run(extent, documents, processes, progress)

    def _progress(self, processes: RunProcesses, label: str, done: int, total: int) -> None:
        if not processes.is_cancelled:
            self._listener.on_progress(label, done, total)

    def _end(self, extent: Extent, processes: RunProcesses, done: asyncio.Future[RunOutcome]) -> None:
        self._current = None
        if self._closed:
            return
        self._listener.on_progress(None, 1, 1)
        error = None if done.cancelled() else done.exception()
        if processes.is_cancelled:
            pass  # whatever it came to is of an older text
        elif error is None:
            self._finish(extent, done.result())
        elif not isinstance(error, RunCancelledError):
            self._listener.on_bug("".join(traceback.format_exception(error)))
        if self._wanted is not None:
            if self._timer is None:
                self._begin()
        elif self._has_lost_project:
            self._has_lost_project = False
            self.request("project", _PATIENCE)

    def _finish(self, extent: Extent, outcome: RunOutcome) -> None:
        if outcome.lost and not self._has_retried:
            self._has_retried = True
            self._listener.on_loss(outcome.lost)
            self._wanted = self._wanted or extent
            return
        self._has_retried = False
        self._has_lost_project = self._has_lost_project and extent != "project"
        self._listener.on_outcome(outcome)
