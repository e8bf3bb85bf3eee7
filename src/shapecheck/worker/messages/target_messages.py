"""Requests about what the user named (for templates, comparisons, samples and calls), and their answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from shapecheck.model import ComparedRuns, Evaluation, StageRun, Tolerance
from shapecheck.worker.messages.plans import ConfiguredExample
from shapecheck.worker.messages.protocol import RequestFor


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
    """Write the call of what `given` names as Python, its axes of these `sizes`; `untied` even if it does not run.

    `switches` are arguments that are set otherwise than usual, by name (`causal` of the call, `self.causal` of the
    constructor): each as Python writes it, or "given" for one that is left out else.
    """

    given: ConfiguredExample
    seconds: float
    sizes: Mapping[str, int]
    untied: bool
    switches: Mapping[str, str]
