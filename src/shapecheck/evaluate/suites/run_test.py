"""One test, evaluated abstractly: its function-scoped fixtures and its body under one `jax.eval_shape`."""

from __future__ import annotations

import dataclasses
import unittest
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest

from shapecheck.evaluate.global_state import GlobalState, Snapshot, differences, snapshot
from shapecheck.evaluate.inputs.facts.mocks import OF_MOCKS, uses_mocks
from shapecheck.evaluate.inputs.trials.failure_reasons import describe_error, explain, steady
from shapecheck.evaluate.limits import TimeLimitError, time_limit
from shapecheck.evaluate.own_errors import is_own, message_of, raise_own
from shapecheck.evaluate.probes.constant_values import eval_shape
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.evaluate.probes.tolerate_concrete import Steps
from shapecheck.evaluate.probes.user_caches import forget
from shapecheck.model import Call, Evaluation, Failure


@dataclasses.dataclass(frozen=True)
class TestOutcome:
    """How a test ended. Without `evaluation` it was skipped at once."""

    status: str
    reason: str
    evaluation: Evaluation | None = None


class TestRunner:
    """Runs tests one after the other, within `limit` seconds each.

    `changed` is what the latest had changed when its body was over: it means what the body called.
    """

    def __init__(self, recorder: Recorder, steps: Steps, limit: float, global_state: GlobalState) -> None:
        self.recorder, self.steps, self.limit, self.global_state = recorder, steps, limit, global_state
        self.changed: Snapshot = {}

    def run_item(self, item: pytest.Item, path: str, line: int) -> TestOutcome:
        """Evaluate a test abstractly; where that ends in a shape error, run it for real to see whether it is one."""
        error, failure, calls = self._evaluate(item, trusts_shapes=True)
        if isinstance(error, AssertionError) and failure is not None and not self._fails_for_real(item, failure):
            error, failure, calls = self._evaluate(item, trusts_shapes=False)  # what is abstract may have misled it
        skipped = error is not None and _is_skip(error)
        if error is not None and skipped and not calls:
            return TestOutcome("skipped", steady(message_of(error)) or "skipped")
        if failure is not None and failure.kind == "shape" and not self._fails_for_real(item, failure):
            failure = dataclasses.replace(failure, kind="other")
        status: Literal["ok", "stopped"] = "ok" if failure is None else "stopped"
        reason = failure.message if failure is not None else ""
        evaluation = Evaluation(
            target=item.nodeid,
            origin="test",
            path=path,
            line=line,
            mode="sized",
            status=status,
            reason=reason,
            calls=calls,
            failure=failure,
            assumptions=(OF_MOCKS,) if uses_mocks(getattr(item, "obj", None)) else (),
        )
        return TestOutcome("skipped" if skipped else status, reason, evaluation)

    def _evaluate(
        self, item: pytest.Item, *, trusts_shapes: bool
    ) -> tuple[BaseException | None, Failure | None, tuple[Call, ...]]:
        """What ended a test early, evaluated abstractly, and the calls that it came to."""
        self.recorder.begin()
        forget()
        self.steps.reset(abstract=True, trusts_shapes=trusts_shapes)
        error = self._abstractly(item)
        failure = self._failure(error) if error is not None else None
        if error is not None:
            self.recorder.interrupt(error)
        return error, failure, self.recorder.finish()

    def _failure(self, error: BaseException) -> Failure:
        if isinstance(error, TimeLimitError):
            return Failure(kind="other", message=f"it took longer than {self.limit:g} s (--test-timeout)", frame=None)
        failure = explain(error, self.recorder)
        if failure.kind == "other":
            failure = dataclasses.replace(failure, message=describe_error(error))
        return failure

    def _abstractly(self, item: pytest.Item) -> BaseException | None:
        """Run under `jax.eval_shape`; returns what ended the test early."""
        found: list[BaseException] = []
        self.changed = {}

        def body() -> None:
            before = snapshot()
            found.extend(_protocol(item, lambda: self.changed.update(differences(before, snapshot()))))

        return self._run_guarded(item, lambda: eval_shape(body, of_sizes=True), found)

    def _fails_for_real(self, item: pytest.Item, failure: Failure) -> bool:
        """Run the test once as pytest would; whether it ends on the same line, in a shape error or an assertion."""
        if item.get_closest_marker("xfail") is not None:
            return False
        self.steps.reset(abstract=False)
        found: list[BaseException] = []
        forget()
        with self.recorder.pause():
            error = self._run_guarded(item, lambda: found.extend(_protocol(item)), found)
        if error is None or isinstance(error, TimeLimitError):
            return False
        real = explain(error, self.recorder)
        is_alike = isinstance(error, AssertionError) or real.kind == "shape"
        return is_alike and real.kind == failure.kind and real.frame == failure.frame

    def _run_guarded(
        self, item: pytest.Item, run: Callable[[], object], found: list[BaseException]
    ) -> BaseException | None:
        try:
            with time_limit(self.limit):
                with self.global_state.let_changes_last():
                    _renew(item)
                with self.global_state.preserve():
                    run()
        except TimeLimitError as error:
            return error
        except BaseException as error:
            if is_own(error):
                raise
            return found[0] if found else error
        return found[0] if found else None


def _renew(item: Any) -> None:
    """End the fixtures of earlier tests that this one does not share, and make the test new if it ran before."""
    try:
        item.session._setupstate.teardown_exact(item)
    except Exception as error:  # how others' fixtures end says nothing of this test
        raise_own(error)
    if hasattr(item, "_initrequest"):
        item._initrequest()


def _protocol(item: pytest.Item, ended: Callable[[], None] = lambda: None) -> Iterator[BaseException]:
    """Setup, call and teardown, by pytest's own hooks and reports, so that marks and plugins have their say.

    `ended` is called before the teardown.
    """
    for when in ("setup", "call"):
        errors = _phase(item, when)
        yield from errors
        if errors:
            break
    ended()
    # Only the test's own fixtures: wider ones serve the next test.
    yield from _phase(item, "teardown", nextitem=item.parent)


def _phase(item: pytest.Item, when: Literal["setup", "call", "teardown"], **more: object) -> list[BaseException]:
    hook = getattr(item.ihook, f"pytest_runtest_{when}")
    call = pytest.CallInfo.from_call(lambda: hook(item=item, **more), when, reraise=(TimeLimitError,))
    item.ihook.pytest_runtest_makereport(item=item, call=call)
    if call.excinfo is None:
        return []
    if isinstance(call.excinfo.value, TimeLimitError) or is_own(call.excinfo.value):  # whoever caught it
        raise call.excinfo.value
    return [call.excinfo.value]


def _is_skip(error: BaseException) -> bool:
    return isinstance(error, (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest))
