"""Requests about the user's tests, and their answers: which there are, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shapecheck.model import Evaluation, FunctionKey
from shapecheck.worker.messages.entry_messages import ImportEffects
from shapecheck.worker.messages.plans import SettingValue
from shapecheck.worker.messages.protocol import RequestFor


@dataclass(frozen=True)
class TestLimits:
    """Seconds for one test, for the import of one file of tests, and for collecting all of them."""

    test: float
    file: float
    collecting: float


@dataclass(frozen=True)
class TestFiles:
    """The files of tests to collect, absolute, and JAX's settings as all files together leave them."""

    files: tuple[str, ...]
    settings: Mapping[str, SettingValue]


@dataclass(frozen=True, kw_only=True)
class TestPlan:
    """One collected test. `names` are the identifiers that its code and its fixtures use.

    `files` are absolute: the file that pytest finds it in, then those that it is written in or takes names from.
    """

    __test__ = False  # no test class of ours

    key: str
    path: str
    line: int
    names: tuple[str, ...]
    files: tuple[str, ...]
    prepares: bool = False  # whether its module has a set-up of its own


@dataclass(frozen=True, kw_only=True)
class TestResult:
    """What became of one test, and all that it showed.

    `calls` are the functions with claims that it called, as (path, scope); `again` has the evaluations of those that
    were evaluated anew with free sizes, empty where that came to no end. `touched` are all functions that ran. `ended`
    tells how it ended the process, if it did.
    """

    __test__ = False

    key: str
    status: str  # "ok", "stopped", "skipped"
    reason: str
    own: tuple[Evaluation, ...] = ()
    calls: tuple[FunctionKey, ...] = ()
    again: tuple[tuple[FunctionKey, tuple[Evaluation, ...]], ...] = ()
    touched: tuple[FunctionKey, ...] = ()
    ended: str = ""


@dataclass(frozen=True, kw_only=True)
class CollectedTests:
    """The tests that pytest found, what it could not collect, and what importing them did; or why it could not begin.

    It is not `whole` if there was no time for some files.
    """

    tests: tuple[TestPlan, ...] = ()
    problems: tuple[str, ...] = ()
    whole: bool = True
    effects: ImportEffects = field(default_factory=ImportEffects)
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class CollectTests(RequestFor[CollectedTests]):
    """Collect tests, perhaps only a `part` of them. They can be run until the parent says `EndTests`."""

    tests: tuple[str, ...]
    scratch: str
    limits: TestLimits
    part: TestFiles | None = None


@dataclass(frozen=True, kw_only=True)
class RunTest(RequestFor[TestResult]):
    """Run one collected test."""

    key: str


@dataclass(frozen=True, kw_only=True)
class EndTests(RequestFor[CollectedTests]):
    """Let pytest end its session. The answer tells of no more tests."""
