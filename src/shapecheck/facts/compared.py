"""What two models gave for the same inputs, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass

from shapecheck.facts.observed import Frame


@dataclass(frozen=True)
class Tensor:
    """An array that a stage gave or was given: its `name` inside of that value.

    Its numbers are kept `at` an offset in a file, or not at all (-1); equal ones have equal digests. `nans` of them
    are NaN.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    digest: str
    at: int = -1
    nans: int = 0


@dataclass(frozen=True)
class Ran:
    """One run of a stage, of its path the `call`-th from 0. `parent` is the place of the run that it is inside of.

    Inputs, outputs and parameters are whole: under `vmap`, with the mapped axes in front.
    """

    path: str
    type: str
    call: int
    parent: int | None
    source: Frame | None
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    parameters: tuple[Tensor, ...]


@dataclass(frozen=True)
class Gave:
    """What one of the models has of a stage: its path there, its output in words, and where it is written."""

    path: str
    output: str
    source: Frame | None


@dataclass(frozen=True)
class ComparedStage:
    """One run of a stage in both models, `a` and `b`. `parent` is the place of the one that it is inside of.

    `path` is that of `b`. Without the same `shapes` (and dtypes), values are not compared: `absolute` and `relative`,
    the greatest differences, are None. They are `close` if they lie within the tolerance; `nans` are NaN in both,
    `odd` in one only. Of `inputs` and `parameters` it is said whether they agree, None where that cannot be known.
    """

    path: str
    call: int
    type: str
    parent: int | None
    a: Gave
    b: Gave
    shapes: bool
    close: bool
    absolute: float | None = None
    relative: float | None = None
    nans: int = 0
    odd: int = 0
    inputs: bool | None = None
    parameters: bool | None = None

    @property
    def equal(self) -> bool:
        """Whether both gave the same, within the tolerance."""
        return self.shapes and self.close


@dataclass(frozen=True)
class Compared:
    """All stages that both models have, in the order of `a`, and the paths of those that only one has."""

    stages: tuple[ComparedStage, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
