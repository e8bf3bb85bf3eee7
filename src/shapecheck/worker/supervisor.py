"""The parent's conduct of a run: first the user's tests, then examples, models and functions."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from shapecheck.evaluate.scratch_folders import scratch_folder, sweep
from shapecheck.worker.entry_phase import EntryPhase, Scopes
from shapecheck.worker.messages.plans import ModulePlan, WorkerSettings
from shapecheck.worker.messages.protocol import Startup
from shapecheck.worker.pool import Phase, Spare, WorkerPool
from shapecheck.worker.printed_lines import PrintedLines
from shapecheck.worker.result_cache import CachedCollection, ResultCache
from shapecheck.worker.run_result import RunResult, Trouble
from shapecheck.worker.run_state import Progress, RunState
from shapecheck.worker.shard_outcome import ShardOutcome, outcome_of
from shapecheck.worker.shard_split import Shard
from shapecheck.worker.spawn import Start
from shapecheck.worker.test_phase import TestPhase, add_tests
from shapecheck.worker.worker_client import Worker, WorkerEndedError, WorkerError, WorkerHandle

__all__ = ["Limits", "Progress", "RunResult", "Supervisor", "Trouble"]

_Task = TypeVar("_Task")

_TRACEBACK = "Traceback (most recent call last):"
_FOR_TESTS = 0.75  # the part of the budget that tests may use
_WORTHWHILE = 8  # entries, or tests, for which another start of JAX pays
_WORTHWHILE_FORK = 3  # where it is a fork of a process that has JAX already


@dataclass(frozen=True)
class Limits:
    """Seconds for one import or entry, for one test, and for the whole run; and how many workers."""

    timeout: float = 60.0
    test: float = 10.0
    budget: float = 60.0
    jobs: int = 1


@dataclass(frozen=True, kw_only=True)
class ClusterRun:
    """What a cluster has to know of a run."""

    plans: Sequence[ModulePlan]
    settings: WorkerSettings
    conduct: RunState
    cwd: Path
    tests: Sequence[Path]
    scratch: str


class Cluster(Protocol):
    """Other machines that evaluate."""

    @property
    def places(self) -> int:
        """How many tasks to give it at a time."""

    def open_worker(self, python: str, culprits: Mapping[str, str]) -> WorkerHandle:
        """A worker there; raises WorkerError if there can be none."""

    def share(self, phase: Phase[_Task]) -> Phase[_Task]:
        """The phase, as workers there need it."""

    def end_phase(self) -> None:
        """Let go of what a phase needed."""

    def close(self) -> None:
        """End all that was started there."""


class Supervisor:
    """Conducts one run, whose budget counts from when it `started` (by time.monotonic), else from now."""

    def __init__(
        self,
        plans: Sequence[ModulePlan],
        to_import: Sequence[str],
        settings: WorkerSettings,
        *,
        limits: Limits,
        cwd: Path,
        tests: Sequence[Path] = (),
        progress: Progress | None = None,
        memory: ResultCache | None = None,
        echo: bool = False,
        start: Start | None = None,
        started: float | None = None,
        shard: Shard | None = None,
        cluster_for: Callable[[ClusterRun], Cluster] | None = None,
    ) -> None:
        self.shard = shard
        self._cluster_for = cluster_for
        self._cluster: Cluster | None = None  # opened when there is something to evaluate
        self._scratch = ""
        self.plans, self.settings, self.limits = plans, settings, limits
        self.cwd, self.tests = cwd, tests
        self._printed = PrintedLines() if echo else None
        self._start_process = start
        self._interpreters: Sequence[str] = ()
        self._started = time.monotonic() if started is None else started
        self._tests: TestPhase | None = None
        self._entries: EntryPhase | None = None
        self._spare = Spare()
        self._has_worked = False
        show: Progress = progress or (lambda label, done, total: None)
        self.conduct = RunState(
            plans=plans,
            to_import=to_import,
            settings=settings,
            timeout=limits.timeout,
            progress=show,
            memory=memory,
            total=len(to_import),
        )
        if shard is not None and memory is not None:
            self.conduct.known_durations = memory.agreed_durations(shard.total)
        self.python = ""

    def run(self, interpreters: Sequence[str]) -> RunResult:
        """Evaluate everything; raises WorkerError if no interpreter will do."""
        try:
            return self._run_phases(interpreters)
        except (KeyboardInterrupt, SystemExit):
            self._keep()
            raise
        finally:
            self._spare.close()
            if self._cluster is not None:
                self._cluster.close()
            sweep()  # what the workers have left
            if self._printed is not None:
                self._printed.close()

    def _run_phases(self, interpreters: Sequence[str]) -> RunResult:
        sweep()
        started = self._started
        conduct, memory = self.conduct, self.conduct.memory
        self._interpreters = interpreters
        if memory is not None and memory.python in interpreters:
            self.python = memory.python
        result = conduct.result
        general: Scopes = set()
        tested: Scopes = set()
        if self.tests:
            general, tested = add_tests(result, self._run_tests(started))
        deadline = started + self.limits.budget
        self._entries = entries = EntryPhase(conduct, deadline, general, tested, result.runs, self.shard)
        if not entries.settle() and not self._evaluate_phase(entries, self._spare):
            entries.give_up("it could not be evaluated: the error is shown at the end")
        entries.leave_out_rest()
        result.python = self.python
        result.runs = entries.after(result.runs)
        self._keep()
        return result

    def outcome(self) -> ShardOutcome:
        """What the run showed, entry by entry, for the merge of shards."""
        memory = self.conduct.memory
        sites = {*self.conduct.sites, *(memory.files.sites if memory is not None else ())}
        return outcome_of(self.conduct.result, self._tests, self._entries, sorted(sites))

    def _keep(self) -> None:
        """Write what the next run can take over, also of a run that was interrupted."""
        memory, phase, entries = self.conduct.memory, self._tests, self._entries
        if memory is None or not self.python:
            return
        collected = phase.collection() if phase is not None else CachedCollection()
        recalled = [*(phase.recalled if phase is not None else ()), *(entries.recalled if entries is not None else ())]
        # Those of entries are remembered with them.
        troubles = [each for each in self.conduct.result.troubles if ":" not in each.subject]
        listed = entries.entries if entries is not None else None
        modules = entries.modules if entries is not None else {}
        memory.close(self.python, collected, listed, modules, troubles, recalled, self.conduct.durations)

    def _run_tests(self, started: float) -> TestPhase:
        end, deadline = started + self.limits.budget, started + _FOR_TESTS * self.limits.budget
        with scratch_folder() as scratch:
            self._scratch = scratch
            paths = [os.fspath(path) for path in self.tests]
            self._tests = phase = TestPhase(
                self.conduct, paths, scratch, self.limits.test, deadline=deadline, end=end, shard=self.shard
            )
            settled = phase.settle()
            while not settled:
                settled = not self._evaluate_phase(phase) or phase.resettle()
        return phase

    def _evaluate_phase(self, phase: Phase[_Task], spare: Spare | None = None) -> bool:
        """Have all tasks of a phase done; false if there is no worker any more that could.

        Raises WorkerError if there never was one: then nothing of the user's code is the reason, nor a bug of ours.
        """
        result = self.conduct.result
        try:
            first = (spare.take() if spare is not None else None) or self._first_working()
            self._has_worked = True
            if self._cluster is not None:
                self._evaluate_there(self._cluster, phase, first)
                return True
            if spare is None and self.limits.jobs > 1:
                # Tests change JAX's settings, so that others need a process of their own: it can start meanwhile.
                self._spare.prepare(self._start)
            worthwhile = _WORTHWHILE if self._start_process is None else _WORTHWHILE_FORK
            WorkerPool(self._start, self.limits.jobs, worthwhile, self.conduct).run_phase(phase, first)
        except WorkerError as error:
            if not result.bugs:
                if not self._has_worked:
                    raise
                if str(error) not in result.failures:  # as where a cluster is deserted, for both phases
                    result.failures.append(str(error))
            return False
        return True

    def _evaluate_there(self, cluster: Cluster, phase: Phase[_Task], first: WorkerHandle) -> None:
        try:
            WorkerPool(self._start, cluster.places, 1, self.conduct).run_phase(cluster.share(phase), first)
        finally:
            cluster.end_phase()

    def _first_working(self) -> WorkerHandle:
        problem: WorkerError | None = None
        self.conduct.progress("starting JAX", self.conduct.steps, max(self.conduct.total, 1))
        for python in [self.python] if self.python else self._interpreters:
            self.python = python
            try:
                return self._start()
            except WorkerError as error:
                problem = problem or error
        self.python = ""
        raise problem or WorkerError("there is no interpreter to evaluate with")

    def _start(self) -> WorkerHandle:
        try:
            return self._start_once()
        except WorkerEndedError as error:  # by a bug of ours, or by somebody else: maybe not a second time
            first = error.tail
        try:
            worker = self._start_once()
        except WorkerEndedError as error:
            remedy = "Name a Python that has JAX with --python, or give it more memory with --memory."
            text = f"{self.python} ended while it started ({error.reason}). {remedy}\n{error.tail}"
            raise WorkerError(text.rstrip()) from None
        if _TRACEBACK in first:
            self.conduct.note_bug(f"the worker failed while it started:\n{first}")
        return worker

    def _start_once(self) -> WorkerHandle:
        if self._cluster_for is not None:
            if self._cluster is None:
                self.conduct.progress("connecting to the cluster", 0, 0)
                self._cluster = self._cluster_for(
                    ClusterRun(
                        plans=self.plans,
                        settings=self.settings,
                        conduct=self.conduct,
                        cwd=self.cwd,
                        tests=self.tests,
                        scratch=self._scratch,
                    )
                )
            return self._cluster.open_worker(self.python, self.conduct.culprits)
        return Worker(
            self.python,
            Startup(
                plans=tuple(self.plans),
                settings=self.settings,
                culprits=dict(self.conduct.culprits),
                confined=True,
            ),
            cwd=self.cwd,
            echo=self._printed,
            on_bug=self.conduct.note_bug,
            start=self._start_process,
        )
