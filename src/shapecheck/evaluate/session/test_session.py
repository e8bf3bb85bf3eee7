"""What the worker does with the user's tests: collect them, then run one after the other as the parent asks."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import jax

from shapecheck.evaluate.global_state import configuration_kinds, differences, jax_settings, set_jax_settings, write
from shapecheck.evaluate.inputs.trials.failure_reasons import kind_of
from shapecheck.evaluate.own_errors import is_own
from shapecheck.evaluate.playground import playground
from shapecheck.evaluate.probes.probe_importer import PlanImporter
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.evaluate.probes.tolerate_concrete import BUG, Steps
from shapecheck.evaluate.read_only_disk import read_only
from shapecheck.evaluate.suites.generalise import Generaliser
from shapecheck.worker.messages.entry_messages import ImportEffects
from shapecheck.worker.messages.suite_messages import CollectedTests, TestFiles, TestLimits, TestPlan, TestResult

if TYPE_CHECKING:
    import pytest


class TestSession:
    """The tests of one worker. pytest is the user's own, and imported only if there are tests."""

    def __init__(
        self,
        importer: PlanImporter,
        recorder: Recorder,
        generaliser: Generaliser,
        note_bug: Callable[[BaseException], None],
    ) -> None:
        self._note_bug = note_bug
        self.importer, self.recorder, self.generaliser = importer, recorder, generaliser
        self.steps = Steps(
            recorder, lambda error: BUG if is_own(error) else kind_of(error), checkpoint=generaliser.checkpoint
        )
        self.items: dict[str, pytest.Item] = {}
        self.plans: dict[str, TestPlan] = {}
        self.playground = self.scratch = self.home = ""
        self._begun = False

    def collect(
        self,
        tests: Sequence[str],
        scratch: str,
        limits: TestLimits,
        part: TestFiles | None,
        serve: Callable[[CollectedTests], None],
    ) -> CollectedTests:
        """Collect (only a part), and `serve` from inside pytest's run; else the answer is an error."""
        try:
            from shapecheck.evaluate.suites import collect_tests  # noqa: PLC0415
            from shapecheck.evaluate.suites.run_test import TestRunner  # noqa: PLC0415
        except ImportError as error:
            return CollectedTests(error=f"pytest cannot be imported: {error}")
        self.runner = TestRunner(self.recorder, self.steps, limits.test, self.importer.global_state)
        self._activate(tests)
        home = os.getcwd()
        self.scratch, self.home = scratch, home
        self.playground = playground(home, os.path.join(scratch, "here"))
        shown = self.importer.shown_path
        before = jax_settings()
        self.recorder.touched = set()

        def ready(items: Sequence[pytest.Item], problems: Sequence[str], *, whole: bool) -> None:
            for item in items:
                if hasattr(item, "runtest") and item.nodeid not in self.items:
                    self.items[item.nodeid] = item
                    self.plans[item.nodeid] = collect_tests.plan_of(item, shown)
            self.importer.ran |= {each for each in self.recorder.touched if each[1]}  # in hooks of conftest files
            set_jax_settings(part.settings if part is not None else {})
            left = differences(before, jax_settings())
            serve(
                CollectedTests(
                    tests=tuple(self.plans.values()),
                    problems=(*problems, *self.importer.problems_of_tests()),
                    whole=whole,
                    effects=ImportEffects(ran=self.import_functions(), settings=left),
                )
            )

        try:
            only = None if part is None else part.files
            with read_only(scratch, self._project()):
                collected = collect_tests.collect(
                    tests,
                    scratch,
                    limits,
                    only,
                    self.importer.global_state,
                    ready,
                    self._note_bug,
                    self.importer.admits_another,
                )
        except collect_tests.CollectionError as error:
            return CollectedTests(error=str(error))
        finally:
            os.chdir(home)
        return CollectedTests(problems=tuple(collected.problems), whole=collected.whole)

    def import_functions(self) -> tuple[tuple[str, str], ...]:
        """The functions that ran on import, by path and name."""
        scopes = {plan.path: plan.scopes for plan in self.importer.plans.values()}
        return tuple(sorted({(path, scopes[path][scope].qualname) for path, scope in self.importer.ran}))

    def run_test(self, *, key: str) -> TestResult:
        """Run one collected test, in a folder where it can leave what it likes."""
        plan = self.plans.get(key)
        if plan is None:
            return TestResult(
                key=key, status="stopped", reason="pytest did not collect it again: its name depends on chance"
            )
        os.chdir(self.playground)
        with self.importer.global_state.preserve():
            return self._run_plan(key, plan)

    def _run_plan(self, key: str, plan: TestPlan) -> TestResult:
        self.recorder.touched = set()
        self.generaliser.begin()
        try:
            with read_only(self.scratch, self._project()):
                ran = self.runner.run_item(self.items[key], plan.path, plan.line)
        finally:
            self.generaliser.end()
        if not self._begun:
            self._begun = True
            with contextlib.suppress(Exception):  # a device that cannot be used: the tests will tell
                jax.devices()  # whether a later test uses them first must not matter to the others
        touched = set(self.recorder.touched)
        if ran.evaluation is None:
            return TestResult(key=key, status=ran.status, reason=ran.reason, touched=tuple(sorted(touched)))
        calls = self.generaliser.calls()
        # What was called is evaluated again as the test would call it: in its precision, say.
        write(self.runner.changed, configuration_kinds())
        again = self.generaliser.evaluate(ran.evaluation.assumptions)
        touched |= self.recorder.touched
        return TestResult(
            key=key,
            status=ran.status,
            reason=ran.reason,
            own=(ran.evaluation,),
            calls=calls,
            again=again,
            touched=tuple(sorted(touched)),
        )

    def _project(self) -> list[str]:
        return [self.home, *{plan.root for plan in self.importer.plans.values() if plan.root}]

    def _activate(self, tests: Sequence[str]) -> None:
        importer = self.importer
        importer.steps = self.steps
        importer.tests = tuple(os.path.realpath(t.partition("::")[0]) for t in tests)
        roots = Counter(plan.root for plan in importer.plans.values())
        for root, _ in roots.most_common()[::-1]:
            importer.add_root(root)
