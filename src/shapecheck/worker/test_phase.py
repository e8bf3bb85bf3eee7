"""The phase of a run in which the user's tests are collected and evaluated.

None is begun after the `deadline`, and none goes on after the `end` of the run.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from shapecheck.model import Evaluation, FunctionKey, TestCounts
from shapecheck.worker.messages.entry_messages import ListFiles
from shapecheck.worker.messages.plans import TRIES, SettingValue
from shapecheck.worker.messages.suite_messages import (
    CollectTests,
    EndTests,
    RunTest,
    TestFiles,
    TestLimits,
    TestPlan,
    TestResult,
)
from shapecheck.worker.result_cache import CachedCollection
from shapecheck.worker.run_result import RunResult
from shapecheck.worker.run_state import RunState
from shapecheck.worker.shard_split import Shard, split_keys
from shapecheck.worker.worker_client import RequestTimeoutError, WorkerEndedError, WorkerHandle

_COLLECTING = 0.75  # the part of the time left that collecting may take, so that what is collected can be evaluated
_LEAST = 10.0  # seconds that collecting gets in any case
_SHORTEST = 2.0  # seconds that a test gets which is begun at all
_GRACE = 20.0  # seconds, over a test's own limit, for its confirmation by a real run, and for what was seen in it
_LONGER = "took longer"
_TOO_LONG = f"it {_LONGER}"  # how the reason of a test begins that had no time to come to its end
_ENDING = 10.0  # seconds for the fixtures of the whole session to end


class TestPhase:
    """All tests, those first which use what has claims."""

    __test__ = False  # no test class of ours

    def __init__(
        self,
        conduct: RunState,
        paths: Sequence[str],
        scratch: str,
        each: float,
        *,
        deadline: float,
        end: float,
        shard: Shard | None = None,
    ) -> None:
        self.conduct, self.paths, self.scratch, self.shard = conduct, paths, scratch, shard
        self.each, self.deadline, self.end = each, deadline, end
        self.plans: dict[str, TestPlan] | None = None
        self.settings: Mapping[str, SettingValue] = {}
        self.order: list[str] = []
        self.left: frozenset[str] = frozenset()  # the keys of those that other shards take
        self.opening = ""
        self.waiting: list[str] = []
        self.recalled: list[str] = []
        self.results: dict[str, TestResult] = {}
        self.problems: list[str] = []
        self.cut = 0
        self.whole = True
        self._members = 0
        self._given_up = False
        self._serving: set[WorkerHandle] = set()

    def prepare(self, worker: WorkerHandle) -> bool:
        """Have pytest collect."""
        conduct = self.conduct
        if self._given_up:
            return True
        with conduct.lock:
            self._members += 1
            scratch = f"{self.scratch}/{self._members}"
            if self.plans is None:
                conduct.progress("collecting tests", 0, 0)
            if self.plans is not None and not self.waiting:
                return True  # others were quicker
            part = self._part()
        # Who collects a part again, and not all of it in the time for all tests, has none left to evaluate any.
        left = round(max((1 if part else _COLLECTING) * (self.deadline - time.monotonic()), _LEAST), 1)
        limits = TestLimits(self.each, conduct.timeout, left)
        try:
            request = CollectTests(tests=tuple(self.paths), scratch=scratch, limits=limits, part=part)
            answer = worker.ask(request, left + _LEAST)
        except RequestTimeoutError as error:
            with conduct.lock:
                self.whole = False
                self._note_uncollected(error.reason, worker)
            return True
        except WorkerEndedError as error:
            with conduct.lock:
                culprit = os.path.realpath(error.executing)
                self.whole = self.whole and _LONGER not in error.reason  # with more time it may come to its end
                self.problems.append(f"{error.executing or 'pytest'} {error.reason}")
                if not error.executing or culprit in conduct.culprits:
                    self.plans, self.waiting, self._given_up = self.plans or {}, [], True
                else:
                    conduct.culprits[culprit] = f"{error.executing} {error.reason}"
            return False
        with conduct.lock:
            if answer.error:
                self._note_uncollected(answer.error, worker)
                return True
            if answer.tests:
                self._serving.add(worker)
            if self.plans is None:
                self.problems += answer.problems
                self.whole = self.whole and answer.whole
                self.settings = answer.effects.settings
                if conduct.memory is not None:
                    conduct.memory.note_imports("tests", answer.effects, whole=self.whole)
                self._plan(answer.tests)
        self._note_files(worker)
        return self._open(worker)

    def _note_files(self, worker: WorkerHandle) -> None:
        """Learn what it has loaded: an interrupted run has no time to ask."""
        with contextlib.suppress(RequestTimeoutError):
            files = worker.ask(ListFiles(), self.conduct.timeout)
            with self.conduct.lock:
                self.conduct.saw(files)

    def _note_uncollected(self, reason: str, worker: WorkerHandle) -> None:
        self.problems.append(" ".join(filter(None, [reason, worker.complaint()])))
        if self.plans is None:
            self._plan(())

    def _part(self) -> TestFiles | None:
        """What a worker has to collect, once all is known."""
        if self.plans is None:
            return None
        keys = {*self.waiting, *filter(None, [self.opening])}
        return TestFiles(tuple(sorted({self.plans[key].files[0] for key in keys})), self.settings)

    def _open(self, worker: WorkerHandle) -> bool:
        """Begin with the same test in each worker, for whatever runs first may settle much in a process.

        The devices of JAX are an example: the set-up of a module can ask for several only before there are any.
        """
        with self.conduct.lock:
            key = self.opening
            if not key or time.monotonic() > self.deadline:
                return True
            if waits := key in self.waiting:
                self.waiting.remove(key)
                self.conduct.step(f"evaluating {key}")
        try:
            answer = self._ask(worker, key)
        except WorkerEndedError as error:
            with self.conduct.lock:
                self.opening = ""
                if waits:
                    self.on_worker_end(key, error)
            return False
        with self.conduct.lock:
            if answer is None or isinstance(answer, str) or _TOO_LONG in answer.reason:
                self.opening = ""
            if waits:
                self._take_over(key, answer)
        return True

    def settle(self) -> bool:
        """Take what is remembered; whether that is all, so that no worker is needed."""
        memory = self.conduct.memory
        if memory is None or memory.collected is None:
            return False
        self.problems += memory.collected.problems
        self.settings = memory.collected.settings
        self._plan(memory.collected.tests)
        return not self.waiting

    def replay(
        self,
        plans: Sequence[TestPlan],
        problems: Iterable[str],
        results: Mapping[str, TestResult],
        left: Container[str],
    ) -> None:
        """Take what shards have shown; `left` are slots of what no shard of these has taken."""
        self.problems += problems
        self.plans = {plan.key: plan for plan in plans}
        self.order = _order_tests(plans, self.conduct)
        self.results = {key: results[key] for key in self.order if key in results}
        self.left = frozenset(key for key in self.order if f"test:{key}" in left)
        self.cut = len(self.plans.keys() - self.results.keys() - self.left)
        for result in self.results.values():
            self.conduct.result.touched.update(result.touched)

    def resettle(self) -> bool:
        """After some tests ran again: whether all functions were evaluated anew in the tests that call them first.

        Else the tests in question wait once more. They were remembered, and an earlier test used to do it for them.
        """
        if self.cut:
            return True
        self.waiting = [key for key, call in self._first_calls() if call not in dict(self.results[key].again)][::-1]
        self.waiting = [key for key in dict.fromkeys(self.waiting) if f"test:{key}" in self.recalled]
        return not self.waiting

    def general(self) -> Mapping[FunctionKey, tuple[Evaluation, ...]]:
        """The functions that were evaluated with free sizes, in the first test that this came to an end for."""
        found: dict[FunctionKey, tuple[Evaluation, ...]] = {}
        for key, call in self._first_calls():
            runs = dict(self.results[key].again).get(call)
            if runs:
                found.setdefault(call, runs)
        return found

    def _first_calls(self) -> Iterator[tuple[str, FunctionKey]]:
        """The first calls of each function, in the order of tests, until one came to an end or there were enough."""
        tries: Counter[FunctionKey] = Counter()
        done: set[FunctionKey] = set()
        for key in self.order:
            result = self.results.get(key)
            for call in result.calls if result is not None else ():
                if call not in done and tries[call] < TRIES:
                    tries[call] += 1
                    yield key, call
                    if result is not None and dict(result.again).get(call):
                        done.add(call)

    def _plan(self, plans: Sequence[TestPlan]) -> None:
        conduct = self.conduct
        self.plans = {plan.key: plan for plan in plans}
        if not self.whole and conduct.memory is not None:  # what there was time for in an earlier run counts on
            known = (plan for plan in conduct.memory.known_tests if plan.key not in self.plans)
            self.plans |= {plan.key: plan for plan in known if conduct.memory.test(plan) is not None}
        self.order = _order_tests(self.plans.values(), conduct)
        self.opening = next((key for key in self.order if self.plans[key].prepares), next(iter(self.order), ""))
        if self.shard is not None:
            slots = [f"test:{key}" for key in self.order]
            own = split_keys(slots, conduct.known_durations, self.shard.total)[self.shard.number - 1]
            self.left = frozenset(key for key in self.order if f"test:{key}" not in own)
        if conduct.memory is not None:
            conduct.memory.fetch(self.plans[key] for key in self.order if key not in self.left)
        for key in (key for key in self.order if key not in self.left):
            result = conduct.memory.test(self.plans[key]) if conduct.memory is not None else None
            if result is None:
                self.waiting.insert(0, key)
            else:
                self.results[key] = result
                self.recalled.append(f"test:{key}")
                conduct.result.touched.update(result.touched)
        opened = self.results.get(self.opening)
        if opened is not None and (opened.ended or _TOO_LONG in opened.reason):
            self.opening = ""
        conduct.total = max(conduct.total, conduct.steps + len(self.waiting))

    def count_remaining(self) -> int:
        """How many tests wait."""
        return len(self.waiting)

    def is_worth_another(self) -> bool:
        """Always: who collects again knows how much time is left."""
        return True

    def take(self) -> str | None:
        """The next test, if there is time for it."""
        if not self.waiting:
            return None
        if time.monotonic() > self.deadline:
            self.cut += len(self.waiting)
            self.waiting = []
            return None
        key = self.waiting.pop()
        self.conduct.step(f"evaluating {key}")
        return key

    def perform(self, worker: WorkerHandle, task: str) -> None:
        """Evaluate one test."""
        answer = self._ask(worker, task)
        with self.conduct.lock:
            self._take_over(task, answer)

    def _ask(self, worker: WorkerHandle, key: str) -> TestResult | str | None:
        """What a test showed, or in words that it was stopped by its limit; None if that was the limit of the run."""
        limit, left = 2 * self.each + _GRACE, max(self.end - time.monotonic(), _SHORTEST)
        try:
            return worker.ask(RunTest(key=key), min(limit, left))
        except RequestTimeoutError as error:
            return error.reason if limit <= left else None
        finally:
            self.conduct.durations[f"test:{key}"] = worker.seconds

    def _take_over(self, key: str, result: TestResult | str | None) -> None:
        if result is None:
            self.cut += 1
            return
        if isinstance(result, str):
            self._note_stopped(key, TestResult(key=key, status="stopped", reason=result))
            return
        self.results[key] = result
        if f"test:{key}" in self.recalled:
            self.recalled.remove(f"test:{key}")
        self.conduct.result.touched.update(result.touched)
        plan = (self.plans or {})[key]
        if self.conduct.memory is not None:
            self.conduct.memory.store_test(plan, result, ended=_TOO_LONG in result.reason)

    def on_worker_end(self, task: str, error: WorkerEndedError) -> None:
        """A test ended the worker."""
        result = TestResult(key=task, status="stopped", reason=f"it {error.reason}", ended=error.reason)
        if error.repeats:
            self._note_stopped(task, result)
            return
        self.results[task] = result
        if self.conduct.memory is not None:
            self.conduct.memory.lasting = False

    def _note_stopped(self, key: str, result: TestResult) -> None:
        """Keep a result without anything that the test showed."""
        self.results[key] = result
        if self.conduct.memory is not None:
            self.conduct.memory.store_test((self.plans or {})[key], result, ended=True)

    def finish(self, worker: WorkerHandle) -> None:
        """Let pytest end its session: wider fixtures may have something to put away."""
        if worker in self._serving:
            with contextlib.suppress(WorkerEndedError):
                self._note_files(worker)
            with contextlib.suppress(WorkerEndedError, RequestTimeoutError):
                worker.ask(EndTests(), _ENDING)

    def collection(self) -> CachedCollection:
        """What the next run can take over."""
        whole = self.whole and self.plans is not None
        tests = tuple((self.plans or {}).values())
        if not whole and self.conduct.memory is not None:
            tests = (*tests, *(plan for plan in self.conduct.memory.known_tests if plan.key not in (self.plans or {})))
        return CachedCollection(tests, tuple(dict.fromkeys(self.problems)), self.settings, whole)

    def counts(self) -> TestCounts:
        """What became of them."""
        by = Counter(result.status for result in self.results.values())
        results = [self.results[key] for key in self.order if key in self.results]
        ended = [f"{result.key} {result.ended}" for result in results if result.ended]
        problems = tuple(dict.fromkeys([*self.problems, *ended]))
        return TestCounts(
            collected=len(self.plans or ()),
            ok=by["ok"],
            stopped=by["stopped"],
            skipped=by["skipped"],
            cut=self.cut,
            problems=problems,
        )


def add_tests(result: RunResult, phase: TestPhase) -> tuple[set[FunctionKey], set[FunctionKey]]:
    """Add what tests showed to a run: the functions that they showed in general, and all that they reached."""
    again = phase.general()
    own = [phase.results[key].own for key in phase.plans or () if key in phase.results]
    result.runs += [*filter(None, own), *(again[call] for call in sorted(again))]
    result.tests = phase.counts()
    general = {(c.path, c.scope) for run in again.values() for e in run for c in e.calls}
    return general, {scope for one in phase.results.values() for scope in one.touched}


def _order_tests(plans: Iterable[TestPlan], conduct: RunState) -> list[str]:
    """Tests that use most of what has claims and was not used yet come first; of equal ones the first in the text."""
    claimed = {
        name
        for plan in conduct.plans
        for index in plan.claimed
        for name in plan.scopes[index].qualname.split(".")
        if not name.startswith(("<", "__"))
    }
    left = [(plan.key, frozenset(plan.names) & claimed) for plan in plans]
    ordered: list[str] = []
    while left:
        seen: set[str] = set()
        later: list[tuple[str, frozenset[str]]] = []
        for key, used in sorted(left, key=lambda each: -len(each[1])):
            if used - seen:
                seen |= used
                ordered.append(key)
            else:
                later.append((key, used))
        if not seen:  # what is left uses nothing that has claims, at least not by name
            return ordered + [key for key, _ in left]
        left = later
    return ordered
