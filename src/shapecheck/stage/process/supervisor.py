"""The parent's conduct of a run: first the user's tests, then examples, models and functions."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shapecheck.facts import Evaluation
from shapecheck.stage.process.client import Worker, WorkerEndedError, WorkerError
from shapecheck.stage.process.crew import Crew
from shapecheck.stage.process.entering import Entries, Scopes
from shapecheck.stage.process.outcome import Conduct, Evaluated, Progress, Trouble
from shapecheck.stage.process.testing import Tests
from shapecheck.stage.protocol import ModulePlan

__all__ = ["Evaluated", "Limits", "Progress", "Supervisor", "Trouble"]

_FOR_TESTS = 0.75  # the part of the budget that tests may use
_WORTHWHILE = 8  # entries, or tests, for which another start of JAX pays


@dataclass(frozen=True)
class Limits:
    """Seconds for one import or entry, for one test, and for the whole run; and how many workers."""

    timeout: float = 60.0
    test: float = 10.0
    budget: float = 60.0
    jobs: int = 1


class Supervisor:
    """Conducts one run."""

    def __init__(
        self,
        plans: Sequence[ModulePlan],
        wanted: Sequence[str],
        settings: Mapping[str, Any],
        *,
        limits: Limits,
        cwd: Path,
        tests: Sequence[Path] = (),
        progress: Progress | None = None,
        echo: bool = False,
    ) -> None:
        self.plans, self.settings, self.limits = plans, settings, limits
        self.cwd, self.echo, self.tests = cwd, echo, tests
        show: Progress = progress or (lambda label, done, total: None)
        self.conduct = Conduct(plans, wanted, settings, limits.timeout, show, total=len(wanted))
        self.python = ""

    def run(self, interpreters: Sequence[str]) -> Evaluated:
        """Evaluate everything; raises WorkerError if no interpreter will do."""
        started = time.monotonic()
        worker: Worker | None = self._first_working(interpreters)
        result = self.conduct.result
        result.python = self.python
        general: Scopes = set()
        tested: Scopes = set()
        if self.tests:
            phase = self._run_tests(worker, started + _FOR_TESTS * self.limits.budget)
            worker = None
            runs, general, tested = _shown(phase)
            result.runs += runs
            result.tests = phase.counts()
        entries = Entries(self.conduct, started + self.limits.budget, general, tested)
        self._crew(entries, worker)
        modules = [entries.modules[p.path] for p in self.plans if p.path in entries.modules]
        result.runs = [*modules, *result.runs, *entries.runs]
        return result

    def _run_tests(self, worker: Worker | None, deadline: float) -> Tests:
        with tempfile.TemporaryDirectory(prefix="shapecheck-", ignore_cleanup_errors=True) as scratch:
            paths = [os.fspath(path) for path in self.tests]
            phase = Tests(self.conduct, paths, scratch, self.limits.test, deadline)
            self._crew(phase, worker)
        return phase

    def _crew(self, phase: Any, first: Worker | None) -> None:
        crew = Crew(self._start, self.limits.jobs, _WORTHWHILE)
        crew.lock = self.conduct.lock
        crew.run(phase, first)

    def _first_working(self, interpreters: Sequence[str]) -> Worker:
        problem: WorkerError | None = None
        self.conduct.progress("starting JAX", 0, max(self.conduct.total, 1))
        for python in interpreters:
            self.python = python
            try:
                return self._start()
            except WorkerError as error:
                problem = problem or error
        raise problem or WorkerError("there is no interpreter to evaluate with")

    def _start(self) -> Worker:
        culprits = dict(self.conduct.culprits)
        try:
            return Worker(self.python, self.plans, self.settings, culprits, cwd=self.cwd, echo=self.echo)
        except WorkerEndedError as error:
            remedy = "Name a Python that has JAX with --python, or give it more memory with --memory."
            text = f"{self.python} ended while it started ({error.reason}). {remedy}\n{error.tail}"
            raise WorkerError(text.rstrip()) from None


def _shown(phase: Tests) -> tuple[list[tuple[Evaluation, ...]], Scopes, Scopes]:
    """What the tests showed, in their own order, and the functions that ran with free sizes, and with the tests'.

    Of a function that several workers generalised the first test's counts, so that it does not matter who was first.
    """
    runs: list[tuple[Evaluation, ...]] = []
    general: Scopes = set()
    tested: Scopes = set()
    targets: set[str] = set()
    for key in phase.plans or ():
        if key not in phase.results:
            continue
        own, *others = phase.results[key].runs or ((),)
        tested.update((c.path, c.scope) for e in own for c in e.calls)
        runs += [own] if own else []
        for run in others:
            if run[0].target not in targets:
                targets.add(run[0].target)
                runs.append(run)
                general.update((c.path, c.scope) for e in run for c in e.calls)
    return runs, general, tested
