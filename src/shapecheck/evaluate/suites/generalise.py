"""Functions with claims that a test or a script reached, evaluated again with free sizes."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import FrameType

from shapecheck.evaluate.inputs.facts.signature_facts import integers_of
from shapecheck.evaluate.inputs.project import entries
from shapecheck.evaluate.inputs.synthesis import replay
from shapecheck.evaluate.inputs.trials.size_assignment import UnknownSizeError
from shapecheck.evaluate.limits import TimeLimitError
from shapecheck.evaluate.probes.describe_value import is_size
from shapecheck.evaluate.probes.probe_importer import PlanImporter
from shapecheck.evaluate.probes.recorder import ProbeInfo, Recorder
from shapecheck.evaluate.search.entry_search import EntrySearch
from shapecheck.model import Assumption, Evaluation, FunctionKey
from shapecheck.shapes import SpecError
from shapecheck.worker.messages.plans import TRIES, EntryPlan, ModulePlan, ParameterSpec


class Generaliser:
    """Remembers the first call of each function in a test, and evaluates it again when the test is over."""

    def __init__(
        self,
        importer: PlanImporter,
        recorder: Recorder,
        described: Callable[[object], Mapping[str, ParameterSpec]],
        pinned: Mapping[str, int],
        claimed: Callable[[object], tuple[frozenset[str], ...]],
    ) -> None:
        self.importer, self.recorder, self.described, self.pinned = importer, recorder, described, pinned
        self.claimed = claimed
        self._plans = {plan.path: plan for plan in importer.plans.values()}
        self._claimed = {
            (plan.path, outermost)
            for plan in importer.plans.values()
            for index in plan.claimed
            if (outermost := entries.outermost_function(plan.scopes, index)) is not None
        }
        self._left = set(self._claimed)
        self._tried: Counter[FunctionKey] = Counter()
        self._captured: dict[FunctionKey, replay.RecordedCall] = {}
        self._captured_in: dict[FunctionKey, int] = {}  # the run that it was captured in
        self._called: set[FunctionKey] = set()
        self._apart: set[FunctionKey] = set()  # functions of which some call had different sizes for all names
        self._bare: dict[FunctionKey, tuple[replay.RecordedCall, int] | None] = {}  # no axes for `*batch`, in a run

    def renew(self) -> None:
        """Forget what was evaluated."""
        self._left = set(self._claimed)
        self._tried.clear()

    def begin(self) -> None:
        """A test begins: note which functions it calls."""
        self._captured, self._called = {}, set()
        self.recorder.on_enter = self._note

    def checkpoint(self) -> Callable[[], None]:
        """What takes back all that is noted from now on: those calls were not as they should be."""
        captured, called = dict(self._captured), set(self._called)

        def take_back() -> None:
            self._captured, self._called = captured, called

        return take_back

    def end(self) -> None:
        """The test is over."""
        self.recorder.on_enter = None

    @contextlib.contextmanager
    def coincidences(self, body: FunctionKey | None) -> Iterator[list[Evaluation]]:
        """Fill the list, when the block ends, with functions that it reached with too few different sizes, or axes.

        Those are called with two names of one size wherever they are called: every self-attention does so. They are
        evaluated alone, with these sizes apart; `body` is the function that was evaluated with free sizes itself. What
        was called with no axis for `*batch` is, with one.
        """
        found: list[Evaluation] = []
        self._captured, self._apart = {}, {body} if body is not None else set()
        self._bare = {body: None} if body is not None else {}
        self.recorder.vain.clear()
        self.recorder.on_enter = self._note_coincidence
        try:
            yield found
        finally:
            self.recorder.on_enter = None
        for key in sorted(self._captured):
            if key not in self._apart and not self._was_in_vain(key):
                found += self._again(self._plans[key[0]], key[1], self._captured[key])
        for key, called in sorted(self._bare.items()):
            if called is None or not self._is_bare(key):
                continue
            plan = self._plans[key[0]]
            none, one = (self._again(plan, key[1], called[0], rank=rank) for rank in (0, 1))
            if none and one and all(each.status == "ok" for each in one):  # else the code may be for one alone
                found += [*none, *one]  # what holds of the first alone may be what a comment has in mind
        self._captured = {}

    def _note_coincidence(self, probe: ProbeInfo, scope: int, frame: FrameType) -> None:
        key = (probe.path, scope)
        is_seen = key in self._bare and (self._bare[key] is None or self._is_bare(key))
        if key not in self._claimed or (key in self._apart and is_seen):
            return
        call = self._capture(probe, scope, frame)
        if call is None or replay.is_symbolic(call):
            return
        if replay.is_denied(call, self.described(call.function)):
            return  # the caller's own evaluation says so, and what it rests on
        if not is_seen:
            self._bare[key] = (call, self.recorder.run) if replay.lacks_axes(call) else None
        if key in self._apart:
            return
        if replay.coincides(call, self.described(call.function)):
            if key not in self._captured or self._was_in_vain(key):
                self._captured[key], self._captured_in[key] = call, self.recorder.run
        else:
            self._apart.add(key)

    def _is_bare(self, key: FunctionKey) -> bool:
        """Whether a call of it had no axis for what its annotations leave open, in a run that came to something."""
        called = self._bare[key]
        return called is not None and called[1] not in self.recorder.vain

    def _was_in_vain(self, key: FunctionKey) -> bool:
        """Whether a call has sizes that only a search gave it, which came to nothing."""
        return self._captured_in[key] in self.recorder.vain

    def calls(self) -> tuple[FunctionKey, ...]:
        """The functions with claims that the test called."""
        return tuple(sorted(self._called))

    def evaluate(
        self, assumptions: tuple[Assumption, ...] = ()
    ) -> tuple[tuple[FunctionKey, tuple[Evaluation, ...]], ...]:
        """The evaluations of what the test called, as far as they came to an end; for each function once for all.

        They rest on the `assumptions` that the test rests on.
        """
        found: list[tuple[FunctionKey, tuple[Evaluation, ...]]] = []
        for key in sorted(self._called & self._left):
            call = self._captured.get(key)
            self._tried[key] += 1
            # A test's own arrays are as the docstring says; what an evaluation hands on may be a guess. An instance
            # may be another one by now.
            prose = call is not None and "self" not in call.arguments
            results = self._again(self._plans[key[0]], key[1], call, prose=prose) if call is not None else ()
            results = tuple(replace(each, assumptions=(*each.assumptions, *assumptions)) for each in results)
            found.append((key, results))
            if results or self._tried[key] >= TRIES:
                self._left.discard(key)
        self._captured = {}
        return tuple(found)

    def _again(
        self, plan: ModulePlan, scope: int, call: replay.RecordedCall, *, rank: int | None = None, prose: bool = False
    ) -> tuple[Evaluation, ...]:
        described, claimed = self.described(call.function), self.claimed(call.function)
        call_spec = replay.replay_spec(call, described, self.pinned, claimed, rank=rank, prose=prose)
        if call_spec is None:
            return ()
        name = plan.scopes[scope].qualname
        position = plan.scopes[scope].position
        line = position.line if position is not None else 1
        entry = EntryPlan(
            key=f"seen:{plan.path}:{name}",
            target=f"{plan.name}:{name}",
            origin="seen",
            path=plan.path,
            line=line,
            scope=scope,
        )
        try:
            results = EntrySearch(entry, call_spec, self.recorder).evaluate()
        except (UnknownSizeError, SpecError, TimeLimitError):
            return ()
        # That a dim has the size of a parameter of the model's is no limit: models have numbers.
        own = set(map(str, call.own_sizes()))
        return tuple(
            replace(result, sizes=tuple((n, s) for n, s in result.sizes if s not in own))
            for result in results
            if result.status == "ok" or (result.failure is not None and result.failure.requires)
        )

    def _note(self, probe: ProbeInfo, scope: int, frame: FrameType) -> None:
        key = (probe.path, scope)
        if key in self._claimed:
            self._called.add(key)
        if key not in self._left or key in self._captured:
            return
        call = self._capture(probe, scope, frame)
        if call is not None:
            self._captured[key] = call

    def _capture(self, probe: ProbeInfo, scope: int, frame: FrameType) -> replay.RecordedCall | None:
        plan = self._plans[probe.path]
        module = self.importer.loaded.get(plan.file)
        function = entries.resolve(module, plan.scopes, plan.scopes[scope]) if module is not None else None
        return replay.capture(function, frame, self._known_sizes(frame)) if function is not None else None

    def _known_sizes(self, frame: FrameType) -> dict[str, int]:
        owner = frame.f_locals.get("self")
        if owner is None:
            return {}
        given = [dict(v) for v in self.recorder.constructions.variables(owner)[:1]]
        sizes = {n: v for space in given for n, v in space.items() if is_size(v) and isinstance(v, int)}
        return {**sizes, **integers_of(owner)}
