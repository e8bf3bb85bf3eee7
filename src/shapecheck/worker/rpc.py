"""What parent and worker say to each other: one JSON object a line, rebuilt into the frozen facts.

The parent begins with a `Startup`, and sends a `Request`, with a time limit, for each thing that it wants to know. The
worker says `Ready` when it has imported JAX, and answers each request with an `Answer`, which holds what the request
says that it is answered with, or a `TimedOut`. Between them come `ModuleStart` and `Bug`; a `Bug` that ends the
process, as where it knows no such request, or `DamageNotice`, is its last message.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar, get_args

from shapecheck import model
from shapecheck.model import ComparedRuns, DescribedRank, Evaluation, FunctionKey, Scope, Site, StageRun, Tolerance
from shapecheck.model.plain_facts import PlainFacts

# Calls of a function, in different tests, that are evaluated with free sizes until one comes to an end: the worker
# counts them, and its parent knows by them which tests were the first.
TRIES = 3

# What a parameter is described as of which nobody says anything: an array, unless its annotation says otherwise.
UNSAID = "..."


SettingValue = bool | int | float | str | None
"""A value of a setting of JAX, or of a variable of the environment."""


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
    init: Mapping[str, object] | None = None
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = dataclasses.field(default_factory=dict)
    method: str = ""
    script: str = ""
    argv: tuple[str, ...] = ()
    read: bool = False  # the arguments are values already, and their texts mean nothing but themselves
    fill: bool = False  # arguments that are left out are made up
    as_annotated: bool = False  # those that contradict the annotation of their parameter are refused
    borrowed: Mapping[str, object] = dataclasses.field(default_factory=dict)  # arguments of another callable, in order
    borrowed_invented: bool = False  # those were made up, and step back behind what a factory returns with its model
    data: str = ""  # a file of arrays, by the names of arguments


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
    stepped: int = 0  # statements that were stepped over
    own: tuple[Evaluation, ...] = ()
    calls: tuple[FunctionKey, ...] = ()
    again: tuple[tuple[FunctionKey, tuple[Evaluation, ...]], ...] = ()
    touched: tuple[FunctionKey, ...] = ()
    ended: str = ""


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """What an evaluation needs of the configuration.

    `memory` is in GiB, 0 without limit; `made` has numbers that an earlier evaluation made up, by what they are for;
    `script_limit` is in seconds. `config_file` is where the examples stand, as messages show it.
    """

    memory: float = 0.0
    sizes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    made: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    examples: tuple[ConfiguredExample, ...] = ()
    config_file: str = ""
    script_limit: float = 10.0


@dataclass(frozen=True, kw_only=True)
class Startup:
    """The parent's first message: what may be imported, and the files that ended a worker, with the reason."""

    plans: tuple[ModulePlan, ...]
    settings: WorkerSettings
    culprits: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Ready:
    """The worker's first message: who evaluates."""

    python: str
    jax: str
    executable: str


@dataclass(frozen=True, kw_only=True)
class StartRefusal:
    """The worker's first and last message: why its interpreter will not do."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class ModuleStart:
    """The file whose module body runs from now on, or whose functions and classes are looked at; "" if none."""

    path: str


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A traceback of our own code. It is the worker's last message if it `ends` the process."""

    text: str
    ends: bool


@dataclass(frozen=True, kw_only=True)
class DamageNotice:
    """The worker's last message: what the user's code has broken that the worker stands on, in words."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class TimedOut:
    """In place of a reply: the user's code took longer than the call's limit; `touched` are the functions that ran."""

    reason: str
    touched: tuple[FunctionKey, ...]


@dataclass(frozen=True, kw_only=True)
class AbsentImport:
    """What an import statement did not find, as the statement has it, on which line, and why."""

    line: int
    name: str
    why: str


@dataclass(frozen=True, kw_only=True)
class ImportedModule:
    """What a module's body showed (claims at module level), if anything; or the error that it raised, and where.

    It may have been imported without what is `absent`.
    """

    evaluation: Evaluation | None = None
    error: str = ""
    line: int = 1
    absent: tuple[AbsentImport, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EntryList:
    """All that can be evaluated in what was imported."""

    entries: tuple[EntryPlan, ...]


@dataclass(frozen=True, kw_only=True)
class ImportEffects:
    """The functions that ran on import, by path and name, and the settings of JAX that this has changed."""

    ran: tuple[tuple[str, str], ...]
    settings: Mapping[str, SettingValue]


@dataclass(frozen=True, kw_only=True)
class ImportedFiles:
    """The project's files that were imported, those whose functions ran meanwhile, and where packages lie."""

    loaded: tuple[str, ...]
    ran: tuple[str, ...]
    sites: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CollectedTests:
    """The tests that pytest found, what it could not collect, and what importing them did; or why it could not begin.

    It is not `whole` if there was no time for some files.
    """

    tests: tuple[TestPlan, ...] = ()
    problems: tuple[str, ...] = ()
    whole: bool = True
    effects: ImportEffects = ImportEffects(ran=(), settings={})
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class EntryResults:
    """The evaluations of one entry, and which functions ran in any of them."""

    runs: tuple[Evaluation, ...]
    touched: tuple[FunctionKey, ...]


@dataclass(frozen=True, kw_only=True)
class TargetRefusal:
    """Why what the user named cannot be run: `missing` are parameters of which nothing is known, with examples.

    They are a constructor's, or maybe a factory's. It is `gone` if there is nothing of that name.
    """

    error: str
    missing: Mapping[str, str]
    constructing: bool
    factory: bool
    gone: bool = False


@dataclass(frozen=True, kw_only=True)
class TemplateResults:
    """The evaluations of a target with their stages; or an error that the user can mend."""

    runs: tuple[Evaluation, ...] = ()
    refusal: TargetRefusal | None = None


@dataclass(frozen=True, kw_only=True)
class InventedIntegers:
    """The integers that were made up for the template, and where constructors take them."""

    integers: Mapping[str, int]
    places: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class CollectedModel:
    """What the stages of a model give; or an error that the user can mend.

    `inputs` serve for another model like it; `made` are integers that were made up, `places` where constructors take
    them; `invented` and `given` are the arguments in words, those made up and all. It took its `own` inputs if those
    that were made up for another model gave way to them.
    """

    runs: tuple[StageRun, ...] = ()
    inputs: Mapping[str, object] | None = None  # plain values, or names of arrays in a file
    made: Mapping[str, int] = dataclasses.field(default_factory=dict)
    places: Mapping[str, str] = dataclasses.field(default_factory=dict)
    invented: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    own: bool = False
    refusal: TargetRefusal | None = None


@dataclass(frozen=True, kw_only=True)
class ComparisonResult:
    """Two models compared; or an error that the user can mend."""

    found: ComparedRuns | None = None
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class SampledArray:
    """An array of a sample: its path among the arguments; `values` says in words what they are."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    values: str


@dataclass(frozen=True, kw_only=True)
class SampleResult:
    """A sample of a target's arguments, which is in the file that was asked for; or an error that the user can mend.

    `omitted` are the arguments that are no arrays of data, in words; `made` are integers that were made up.
    """

    arrays: tuple[SampledArray, ...] = ()
    omitted: tuple[str, ...] = ()
    made: Mapping[str, int] = dataclasses.field(default_factory=dict)
    places: Mapping[str, str] = dataclasses.field(default_factory=dict)
    refusal: TargetRefusal | None = None


@dataclass(frozen=True, kw_only=True)
class WrittenCall:
    """A call as Python: what it imports, by module, the lines before it, and the call itself; or why there is none.

    `sizes` are those of its free axes, by name.
    """

    imports: tuple[tuple[str, tuple[str, ...]], ...] = ()
    lines: tuple[str, ...] = ()
    call: str = ""
    sizes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    error: str = ""


Reply = TypeVar("Reply")


class Request:
    """What the parent wants to know, answered with a value of the class `reply`."""

    reply: ClassVar[type] = object


class RequestFor(Request, Generic[Reply]):
    """A request that is answered with a value of this class."""

    def __init_subclass__(cls) -> None:
        (cls.reply,) = get_args(vars(cls)["__orig_bases__"][0])


@dataclass(frozen=True, kw_only=True)
class ForkReadiness:
    """Whether a worker can be forked from: it has no threads of others, and nothing half-imported."""

    safe: bool


@dataclass(frozen=True, kw_only=True)
class ImportModule(RequestFor[ImportedModule]):
    """Import one planned file."""

    path: str


@dataclass(frozen=True, kw_only=True)
class ImportAhead(RequestFor[ImportedModule]):
    """Import modules that the body of a planned file begins by importing: `names` as in `pkg` and `pkg:part`."""

    path: str
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ServeForks(RequestFor[ForkReadiness]):
    """From now on fork workers that have imported the same modules, at each request on the socket of this path."""

    socket: str


@dataclass(frozen=True, kw_only=True)
class ListEntries(RequestFor[EntryList]):
    """List the entries of what was imported: examples, then models (wholes before parts), then functions."""


@dataclass(frozen=True, kw_only=True)
class AskImportEffects(RequestFor[ImportEffects]):
    """Say what importing modules did besides."""


@dataclass(frozen=True, kw_only=True)
class ListFiles(RequestFor[ImportedFiles]):
    """Say which files were imported."""


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


@dataclass(frozen=True, kw_only=True)
class EvaluateEntry(RequestFor[EntryResults]):
    """Run one entry, in not many more than `seconds`."""

    key: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class EvaluateTemplate(RequestFor[TemplateResults]):
    """Evaluate what `given` calls, with its stages, and with `flops` what each costs."""

    given: ConfiguredExample
    seconds: float
    flops: bool = False


@dataclass(frozen=True, kw_only=True)
class AskInventedIntegers(RequestFor[InventedIntegers]):
    """Say which integers were made up for the template."""


@dataclass(frozen=True, kw_only=True)
class CollectModel(RequestFor[CollectedModel]):
    """Run what `given` calls, with values, and keep what its stages give in `file`.

    Inputs may be those in the file `batch`, if there is one, or be kept in the `other` file.
    """

    given: ConfiguredExample
    seconds: float
    batch: str
    file: str
    other: str
    seed: int


@dataclass(frozen=True, kw_only=True)
class CompareModels(RequestFor[ComparisonResult]):
    """Compare two models that were collected, here and elsewhere, whose arrays are in `files`."""

    a: tuple[StageRun, ...]
    b: tuple[StageRun, ...]
    files: tuple[str, str]
    rules: Mapping[str, str]
    tolerance: Tolerance


@dataclass(frozen=True, kw_only=True)
class SampleInputs(RequestFor[SampleResult]):
    """Make arrays for the arguments of what `given` calls, and write them to `file`.

    Axes have the `sizes` given by name; those of the batch have `batch` entries, if that is no 0.
    """

    given: ConfiguredExample
    seconds: float
    file: str
    seed: int
    sizes: Mapping[str, int]
    batch: int


@dataclass(frozen=True, kw_only=True)
class WriteCall(RequestFor[WrittenCall]):
    """Write the call of what `given` names as Python, its axes of these `sizes`; `untied` even if it does not run."""

    given: ConfiguredExample
    seconds: float
    sizes: Mapping[str, int]
    untied: bool


@dataclass(frozen=True, kw_only=True)
class TimedRequest:
    """A request, and the seconds that the user's code may take to answer it."""

    request: Request
    limit: float


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a call."""

    reply: object


WorkerMessage = Ready | StartRefusal | ModuleStart | Bug | DamageNotice | Answer
Send = Callable[[WorkerMessage], None]
"""Sends a message to the parent."""
Serve = Callable[[type[Request]], None]
"""Answers calls, until one comes of a request of this class."""


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
    WorkerSettings,
    Startup,
    Ready,
    StartRefusal,
    ModuleStart,
    Bug,
    DamageNotice,
    TimedOut,
    TimedRequest,
    Answer,
    ImportModule,
    AbsentImport,
    ImportedModule,
    ImportAhead,
    ServeForks,
    ForkReadiness,
    ListEntries,
    EntryList,
    AskImportEffects,
    ImportEffects,
    ListFiles,
    ImportedFiles,
    CollectTests,
    CollectedTests,
    RunTest,
    EndTests,
    EvaluateEntry,
    EntryResults,
    EvaluateTemplate,
    TemplateResults,
    TargetRefusal,
    AskInventedIntegers,
    InventedIntegers,
    CollectModel,
    CollectedModel,
    CompareModels,
    ComparisonResult,
    SampleInputs,
    SampleResult,
    SampledArray,
    WriteCall,
    WrittenCall,
    model.Span,
    model.Claim,
    model.DebugCall,
    model.Module,
    model.NearName,
    model.Problem,
    model.Suppression,
)
dump, load = _FACTS.dump, _FACTS.load
to_plain, from_plain = _FACTS.to_plain, _FACTS.from_plain
