"""What parent and worker say to each other: one JSON object a line, rebuilt into the frozen facts."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shapecheck import model
from shapecheck.model import DescribedRank, FunctionKey, Scope, Site
from shapecheck.model.plain_facts import PlainFacts

# Calls of a function, in different tests, that are evaluated with free sizes until one comes to an end: the worker
# counts them, and its parent knows by them which tests were the first.
TRIES = 3


@dataclass(frozen=True, kw_only=True)
class ParameterSpec:
    """What a comment or docstring says of a parameter: canonical spec text and a jaxtyping dtype name or "".

    It is `vague` if its text can be read in several ways: then a shape error of a call that it describes proves
    nothing. One of several `alternatives`, of which each will do (`(n,)` or `(n, k)`), has the others beside it once
    they are looked up. With `leaves` it is each array of a tuple. `prose` is part of a docstring.
    """

    scope: int
    parameter: str
    spec: str
    dtype: str
    vague: bool = False
    prose: bool = False
    alternative: bool = False
    others: tuple[str, ...] = ()
    leaves: bool = False


@dataclass(frozen=True, kw_only=True)
class ModulePlan:
    """One file to import: `file` absolute and resolved, `path` as messages show it, `root` its import root."""

    file: str
    path: str
    root: str
    name: str
    scopes: tuple[Scope, ...]
    sites: tuple[Site, ...]
    described: tuple[ParameterSpec, ...] = ()
    claimed: tuple[int, ...] = ()  # scopes that have claims
    names: tuple[tuple[int, tuple[str, ...]], ...] = ()  # those that each claim of a scope uses, and tells apart
    ranks: tuple[DescribedRank, ...] = ()
    aliases: str = ""  # a hash of what its annotations mean, where that stands in other files
    source: str = ""  # text in place of the file's own (its bytes as Latin-1), for an editor's unsaved buffer


@dataclass(frozen=True, kw_only=True)
class ConfiguredExample:
    """A `[[tool.shapecheck.example]]` table: something to call, or a `script` (absolute) with its arguments."""

    call: str
    init: Mapping[str, Any] | None = None
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    method: str = ""
    script: str = ""
    argv: tuple[str, ...] = ()
    read: bool = False  # the arguments are values already, and their texts mean nothing but themselves
    fill: bool = False  # arguments that are left out are made up
    borrowed: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # arguments of another callable, in order
    borrowed_invented: bool = False  # those were made up, and step back behind what a factory returns with its model


@dataclass(frozen=True, kw_only=True)
class EntryPlan:
    """Something that can be evaluated, as the worker lists it. `key` is stable across worker processes."""

    key: str
    target: str
    origin: str
    path: str
    line: int
    scope: int | None
    whole: bool = True  # no other class holds it
    body: FunctionKey | None = None  # (path, scope) of the function that runs, so that others may cover it


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
    settings: Mapping[str, Any]


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
    stepped: int = 0  # statements that were stepped over
    own: tuple[model.Evaluation, ...] = ()
    calls: tuple[FunctionKey, ...] = ()
    again: tuple[tuple[FunctionKey, tuple[model.Evaluation, ...]], ...] = ()
    touched: tuple[FunctionKey, ...] = ()
    ended: str = ""


def later(path: str, version: int) -> str:
    """What a file that has changed goes by among what was read of it before; the first version goes by its path."""
    return f"{path}\0{version}" if version else path


def as_shown(text: str) -> str:
    """A text with the paths that people know."""
    return _VERSION.sub("", text)


_VERSION = re.compile("\0[0-9]+")
_FACTS = PlainFacts(
    Scope,
    DescribedRank,
    Site,
    model.Switch,
    model.Position,
    model.ArrayValue,
    model.TreeValue,
    model.OtherValue,
    model.NamedSize,
    model.Observation,
    model.Frame,
    model.Call,
    model.Failure,
    model.Assumption,
    model.Evaluation,
    model.Stage,
    model.Tensor,
    model.StageRun,
    model.StageOutput,
    model.ComparedStage,
    model.ArrayMismatch,
    model.ComparedRuns,
    model.Tolerance,
    ParameterSpec,
    ModulePlan,
    ConfiguredExample,
    EntryPlan,
    TestFiles,
    TestLimits,
    TestPlan,
    TestResult,
    model.Span,
    model.Claim,
    model.DebugCall,
    model.Module,
    model.NearName,
    model.Problem,
    model.Suppression,
)
dump, load = _FACTS.dump, _FACTS.load
