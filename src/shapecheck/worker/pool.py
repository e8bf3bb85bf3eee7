"""Workers side by side: each takes the next task, and is replaced when a task ends its process."""

from __future__ import annotations

import contextlib
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from shapecheck.worker.run_state import RunState
from shapecheck.worker.worker_client import BUG, RequestTimeoutError, WorkerEndedError, WorkerError, WorkerHandle

_PATIENCE = 2  # processes that may end while they are made ready, before that is taken for a rule

_Task = TypeVar("_Task")


class Phase(Protocol[_Task]):
    """A part of a run, which several workers share. All but `prepare` and `perform` are called under one lock."""

    def prepare(self, worker: WorkerHandle) -> bool:
        """Make a worker ready; False if it has to be replaced. Raises WorkerEndedError if it ended by itself."""

    def count_remaining(self) -> int:
        """How many tasks are left, once a worker is ready."""

    def take(self) -> _Task | None:
        """The next task, or None if there is none left."""

    def perform(self, worker: WorkerHandle, task: _Task) -> None:
        """Do a task and keep its result; raises WorkerEndedError if it ended the worker."""

    def on_worker_end(self, task: _Task, error: WorkerEndedError) -> None:
        """Keep that a task ended the worker."""

    def is_worth_another(self) -> bool:
        """Whether another worker, in the place of one that has ended, can do some of what is left."""

    def finish(self, worker: WorkerHandle) -> None:
        """Let a worker go that nothing is left for."""


class Spare:
    """A worker that starts in the background, for later."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._worker: WorkerHandle | None = None

    def prepare(self, start: Callable[[], WorkerHandle]) -> None:
        """Begin to start it, unless that was done before."""

        def begin() -> None:
            with contextlib.suppress(WorkerError):  # set when there is need of it
                self._worker = start()

        if self._thread is None:
            self._thread = threading.Thread(target=begin, daemon=True)
            self._thread.start()

    def take(self) -> WorkerHandle | None:
        """The worker, if there is one that has not ended meanwhile."""
        if self._thread is not None:
            self._thread.join()
        worker, self._worker = self._worker, None
        return worker

    def close(self) -> None:
        """End it, if nobody took it."""
        worker = self.take()
        if worker is not None:
            worker.close()


class WorkerPool:
    """At most `jobs` workers, the first in the caller's own thread. Nothing outlives `run_phase`, however it ends."""

    def __init__(self, start: Callable[[], WorkerHandle], jobs: int, worthwhile: int, conduct: RunState) -> None:
        self._start, self.jobs, self.worthwhile = start, jobs, worthwhile
        self.conduct, self.lock = conduct, conduct.lock
        self._workers: set[WorkerHandle] = set()
        self._threads: list[threading.Thread] = []
        self._error: BaseException | None = None
        self._stop = False

    def run_phase(self, phase: Phase[_Task], first: WorkerHandle | None = None) -> None:
        """Do all tasks of a phase."""
        try:
            self._member(phase, first, lead=True)
        except BaseException:
            self._stop = True
            raise
        finally:
            if self._stop:
                for worker in list(self._workers):
                    worker.close()
            for thread in self._threads:
                thread.join()
            self._threads = []
        if self._error is not None:
            raise self._error

    def _member(self, phase: Phase[_Task], worker: WorkerHandle | None, *, lead: bool) -> None:
        failures = 0
        while not self._stop:
            with self._use_worker(worker or self._start()) as current:
                worker = None
                try:
                    if not phase.prepare(current):
                        continue
                except (WorkerEndedError, RequestTimeoutError) as error:  # not by the user's code
                    failures += 1
                    if failures > _PATIENCE:
                        raise WorkerError(f"the worker {error.reason} again and again\n{error.tail}") from error
                    continue
                if lead:
                    self._enlist(phase)
                    lead = False
                if self._serve(phase, current):
                    return
            with self.lock:
                if not phase.is_worth_another():
                    return

    def _serve(self, phase: Phase[_Task], worker: WorkerHandle) -> bool:
        while not self._stop:
            with self.lock:
                task = phase.take()
            if task is None:
                phase.finish(worker)
                return True
            try:
                phase.perform(worker, task)
            except WorkerEndedError as error:
                if not self._stop:
                    with self.lock:
                        phase.on_worker_end(task, error)
                return False
            except WorkerError:
                raise
            except Exception:  # a bug of ours, in what becomes of one answer
                with self.lock:
                    self.conduct.note_bug(traceback.format_exc())
                    phase.on_worker_end(task, WorkerEndedError(BUG, "", "", repeats=False))
                return False
        return True

    def _enlist(self, phase: Phase[_Task]) -> None:
        """Others join in where the tasks are worth another start of JAX."""
        with self.lock:
            left = phase.count_remaining()
        for _ in range(min(self.jobs, left // self.worthwhile) - 1):
            thread = threading.Thread(target=self._helper, args=(phase,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _helper(self, phase: Phase[_Task]) -> None:
        try:
            self._member(phase, None, lead=False)
        except BaseException as error:
            self._error = self._error or error
            self._stop = True

    @contextlib.contextmanager
    def _use_worker(self, worker: WorkerHandle) -> Iterator[WorkerHandle]:
        self._workers.add(worker)
        try:
            with worker:
                yield worker
        finally:
            self._workers.discard(worker)
