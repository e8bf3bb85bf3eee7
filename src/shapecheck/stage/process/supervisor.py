"""The parent's conduct of a run: workers one after the other, until every module and entry has had its turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shapecheck.facts import Evaluation
from shapecheck.stage.process.client import Worker, WorkerEndedError, WorkerError
from shapecheck.stage.protocol import EntryPlan, ModulePlan

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Trouble:
    """A module that could not be imported (SC303), or that ended the worker (SC304)."""

    code: str
    path: str
    line: int
    subject: str
    reason: str


@dataclass
class Evaluated:
    """All that a run showed: the evaluations of each entry together, and the troubles on the way."""

    runs: list[tuple[Evaluation, ...]] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    python: str = ""


class Supervisor:
    """Feeds workers. A worker that dies is replaced, and what killed it is left out from then on."""

    def __init__(
        self,
        plans: Sequence[ModulePlan],
        wanted: Sequence[str],
        settings: Mapping[str, Any],
        *,
        timeout: float,
        cwd: Path,
        progress: Progress | None = None,
        echo: bool = False,
    ) -> None:
        self.plans, self.wanted, self.settings = plans, wanted, settings
        self.timeout, self.cwd, self.echo = timeout, cwd, echo
        self.progress: Progress = progress or (lambda label, done, total: None)
        self.result = Evaluated()
        self.culprits: dict[str, str] = {}
        self.loaded: set[str] = set()
        self.finished: set[str] = set()
        self.steps, self.total = 0, len(wanted)
        self._files = {p.path: p.file for p in plans}

    def run(self, interpreters: Sequence[str]) -> Evaluated:
        """Evaluate everything; raises WorkerError if no interpreter will do."""
        python = self._first_working(interpreters)
        self.result.python = python
        # Each round ends a module or an entry for good, or everything.
        while not self._round(python):
            pass
        return self.result

    def _first_working(self, interpreters: Sequence[str]) -> str:
        problem: WorkerError | None = None
        self.progress("starting JAX", 0, max(self.total, 1))
        for python in interpreters:
            try:
                self._worker = self._start(python)
            except WorkerError as error:
                problem = problem or error
            else:
                return python
        raise problem or WorkerError("there is no interpreter to evaluate with")

    def _start(self, python: str) -> Worker:
        try:
            return Worker(python, self.plans, self.settings, self.culprits, cwd=self.cwd, echo=self.echo)
        except WorkerEndedError as error:
            remedy = "Name a Python that has JAX with --python, or give it more memory with --memory."
            text = f"{python} ended while it started ({error.reason}). {remedy}\n{error.tail}"
            raise WorkerError(text.rstrip()) from None

    def _round(self, python: str) -> bool:
        worker = self._worker
        with worker:
            if self._load(worker) and self._evaluate(worker):
                return True
        self._worker = self._start(python)
        return False

    def _load(self, worker: Worker) -> bool:
        for plan in (p for p in self.plans if p.path in self.wanted and p.file not in self.culprits):
            first = plan.path not in self.loaded
            if first:
                self.steps += 1
                self.progress(f"importing {plan.name}", self.steps, max(self.total, self.steps))
            try:
                answer = worker.ask("load_module", self.timeout, path=plan.path)
            except WorkerEndedError as error:
                self._blame(plan, error)
                return False
            if first:
                self.loaded.add(plan.path)
                self._loaded(plan, answer)
        return True

    def _loaded(self, plan: ModulePlan, answer: Mapping[str, Any]) -> None:
        if "error" in answer:
            code = "SC304" if answer.get("kind") == "timeout" else "SC303"
            line = int(answer.get("line", 1))
            self.result.troubles.append(Trouble(code, plan.path, line, plan.name, str(answer["error"])))
        elif answer["evaluation"] is not None:
            self.result.runs.append((answer["evaluation"],))

    def _blame(self, plan: ModulePlan, error: WorkerEndedError) -> None:
        """Leave out the file whose body was running when the process ended (it may be one that `plan` imports)."""
        path = error.executing or plan.path
        culprit = next((p for p in self.plans if p.path == path), plan)
        if culprit.file in self.culprits:
            culprit = plan
        self.culprits[culprit.file] = f"{culprit.name} {error.reason}"
        self.result.troubles.append(Trouble("SC304", culprit.path, 1, culprit.name, error.reason))

    def _evaluate(self, worker: Worker) -> bool:
        worker.ask("cover", self.timeout, scopes=self._covered())
        entries: tuple[EntryPlan, ...] = worker.ask("list_entries", self.timeout)
        waiting = [e for e in entries if e.key not in self.finished]
        self.total = max(self.total, self.steps + len(waiting))
        for entry in waiting:
            self.steps += 1
            self.progress(f"evaluating {entry.target}", self.steps, self.total)
            self.finished.add(entry.key)
            try:
                answer = worker.ask("evaluate", self.timeout, key=entry.key)
            except WorkerEndedError as error:
                self._stopped(entry, error.reason)
                return False
            if isinstance(answer, Mapping):
                self._stopped(entry, str(answer["error"]))
            elif answer:
                self.result.runs.append(answer)
        return True

    def _stopped(self, entry: EntryPlan, reason: str) -> None:
        self.result.troubles.append(Trouble("SC304", entry.path, entry.line, entry.target, reason))
        failed = Evaluation(
            entry.target, entry.origin, entry.path, entry.line, "symbolic", "failed", f"it {reason}", (), tried=0
        )
        self.result.runs.append((failed,))

    def _covered(self) -> tuple[tuple[str, int], ...]:
        calls = (c for run in self.result.runs for e in run if e.status != "failed" for c in e.calls)
        return tuple(dict.fromkeys((c.path, c.scope) for c in calls))
