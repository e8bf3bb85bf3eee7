"""What one shard of a run showed, entry by entry, and the run that all shards together are.

A shard does not know what the others show, and so leaves out nothing that they may make needless: which results count
is decided here, from the results of all, by the same phases that conduct a run on one machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shapecheck.model import Evaluation, FunctionKey
from shapecheck.worker.entry_phase import EntryPhase
from shapecheck.worker.messages.plans import EntryPlan, ModulePlan, WorkerSettings
from shapecheck.worker.messages.suite_messages import TestPlan, TestResult
from shapecheck.worker.result_cache import EntryRecord
from shapecheck.worker.run_result import RunResult, Trouble
from shapecheck.worker.run_state import RunState
from shapecheck.worker.test_phase import TestPhase, add_tests

_OVER = float("-inf")  # a replay evaluates nothing, as if its time had been over from the start


@dataclass(frozen=True, kw_only=True)
class ShardOutcome:
    """The raw results of a shard. `tests` and `entries` are all that there are, `left` are keys that others take.

    What is neither left nor among the results was cut. `tests` are None where no tests were looked for. `troubles` are
    those of modules.
    """

    tests: tuple[TestPlan, ...] | None = None
    problems: tuple[str, ...] = ()
    results: Mapping[str, TestResult] = field(default_factory=dict)
    entries: tuple[EntryPlan, ...] = ()
    modules: Mapping[str, tuple[Evaluation, ...]] = field(default_factory=dict)
    records: Mapping[str, EntryRecord] = field(default_factory=dict)
    left: frozenset[str] = frozenset()
    troubles: tuple[Trouble, ...] = ()
    python: str = ""
    sites: tuple[str, ...] = ()
    bugs: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


def outcome_of(
    result: RunResult, tests: TestPhase | None, entries: EntryPhase | None, sites: Sequence[str]
) -> ShardOutcome:
    """What the phases of a run showed."""
    left = {f"test:{key}" for key in tests.left} if tests is not None else set[str]()
    left |= {f"entry:{key}" for key in entries.left} if entries is not None else set()
    return ShardOutcome(
        tests=tuple((tests.plans or {}).values()) if tests is not None else None,
        problems=tuple(dict.fromkeys(tests.problems)) if tests is not None else (),
        results=dict(tests.results) if tests is not None else {},
        entries=(entries.entries or ()) if entries is not None else (),
        modules=dict(entries.modules) if entries is not None else {},
        records=dict(entries.records) if entries is not None else {},
        left=frozenset(left),
        troubles=tuple(each for each in result.troubles if ":" not in each.subject),
        python=result.python,
        sites=tuple(sites),
        bugs=tuple(result.bugs),
        failures=tuple(result.failures),
    )


def join(outcomes: Sequence[ShardOutcome]) -> ShardOutcome:
    """All that these shards showed; `left` is what each of them left."""
    with_tests = [each.tests for each in outcomes if each.tests is not None]
    tests = {plan.key: plan for plans in with_tests for plan in plans}
    # A shard that could not import something lists less. A list may have a key twice, as of overloads.
    longest = max((each.entries for each in outcomes), key=len)
    keys = {plan.key for plan in longest}
    others = {plan.key: plan for each in outcomes for plan in each.entries if plan.key not in keys}
    entries = (*longest, *others.values())
    results = {key: result for each in outcomes for key, result in each.results.items()}
    records = {key: record for each in outcomes for key, record in each.records.items()}
    listed = {f"test:{key}" for key in tests} | {f"entry:{plan.key}" for plan in entries}
    mine = [
        {f"test:{plan.key}" for plan in each.tests or ()} | {f"entry:{plan.key}" for plan in each.entries}
        for each in outcomes
    ]
    taken = {key for each, own in zip(outcomes, mine, strict=True) for key in own - each.left}
    return ShardOutcome(
        tests=tuple(tests.values()) if with_tests else None,
        problems=tuple(dict.fromkeys(problem for each in outcomes for problem in each.problems)),
        results=results,
        entries=entries,
        modules={path: runs for each in reversed(outcomes) for path, runs in each.modules.items()},
        records=records,
        left=frozenset(listed - taken),
        troubles=tuple(dict.fromkeys(trouble for each in outcomes for trouble in each.troubles)),
        python=next((each.python for each in outcomes if each.python), ""),
        bugs=tuple(dict.fromkeys(bug for each in outcomes for bug in each.bugs)),
        failures=tuple(dict.fromkeys(failure for each in outcomes for failure in each.failures)),
    )


def replay(plans: Sequence[ModulePlan], outcome: ShardOutcome) -> RunResult:
    """The run that shows these results: what counts of them, in the order and by the rules of a run on one machine."""
    conduct = RunState(plans=plans, to_import=[], settings=WorkerSettings(), timeout=0, progress=_show_nothing)
    result = conduct.result
    covered: set[FunctionKey] = set()
    tested: set[FunctionKey] = set()
    if outcome.tests is not None:
        phase = TestPhase(conduct, [], "", 0, deadline=_OVER, end=_OVER)
        phase.replay(outcome.tests, outcome.problems, outcome.results, outcome.left)
        covered, tested = add_tests(result, phase)
    entries = EntryPhase(conduct, _OVER, covered, tested, result.runs)
    result.troubles += outcome.troubles
    entries.replay(outcome.entries, outcome.modules, outcome.records, outcome.left)
    result.runs = entries.after(result.runs)
    result.python = outcome.python
    result.bugs += outcome.bugs
    result.failures += outcome.failures
    return result


def _show_nothing(label: str, done: int, total: int) -> None:
    """A replay takes no time that anybody would watch."""
