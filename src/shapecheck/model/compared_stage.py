"""What two models gave for the same inputs, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shapecheck.model.observation import Frame


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """An array that a stage gave or was given: its `name` inside of that value.

    Its numbers are kept `at` an offset in a file, or not at all (-1); equal ones have equal digests. `nans` of them
    are NaN. Of a parameter, `numbers` is a digest that is the same in any order of its numbers.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    digest: str
    at: int = -1
    nans: int = 0
    numbers: str = ""


@dataclass(frozen=True, kw_only=True)
class StageRun:
    """One run of a stage, of its path the `call`-th from 0. `parent` is the place of the run that it is inside of.

    Inputs, outputs and parameters are whole: under `vmap`, with the mapped axes in front. `states` are what the stage
    keeps for its next run beside its parameters, such as running averages, and whether this run `updated` that.
    """

    path: str
    type: str
    call: int
    parent: int | None
    source: Frame | None
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    parameters: tuple[Tensor, ...]
    states: tuple[Tensor, ...] = ()
    updated: bool = False


ROUNDING = {"float64": 1e-7, "complex128": 1e-7, "float32": 1e-5, "complex64": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
"""What two programs may differ by that compute the same in another order, relative to the size of the values.

In transformers of 12 layers (float32) it was measured to be 4e-6. Still smaller floats: a sixth of a value.
"""

_LEAST = 1e-8  # beside the size of the values


@dataclass(frozen=True)
class Tolerance:
    """What may differ: |a - b| <= atol + rtol * |b|.

    `rtol` is None for the rounding of the dtype, `atol` is None for the same share, `rtol`, of the root mean square of
    `b` where the two differ: a sum of large terms is no more exact where it happens to be small.
    """

    rtol: float | None = None
    atol: float | None = None

    def relative(self, dtype: str) -> float:
        """The relative tolerance for values of this dtype."""
        return self.rtol if self.rtol is not None else ROUNDING.get(dtype, 1 / 6)

    def absolute(self, dtype: str, size: float) -> float:
        """The absolute tolerance for values of this dtype, and of this root mean square where they differ."""
        return self.atol if self.atol is not None else _LEAST + self.relative(dtype) * size


@dataclass(frozen=True)
class StageOutput:
    """What one of the models has of a stage: its path there, its output in words, and where it is written."""

    path: str
    output: str
    source: Frame | None


@dataclass(frozen=True, kw_only=True)
class ArrayMismatch:
    """One array of what two stages have that is not the same in both: the names and forms that it has in `a` and `b`.

    They are "" where there is none. If the values can be compared, `absolute` is the greatest difference, and
    `differing` of all `size` numbers are not the same, which are `exact` if they are integers or truth values in one.
    In a `layout`, in words, that of `a` would be the same.
    """

    a: str
    a_form: str
    b: str
    b_form: str
    absolute: float | None
    differing: int
    size: int
    exact: bool
    layout: str = ""


@dataclass(frozen=True, kw_only=True)
class ComparedStage:
    """One run of a stage in both models, `a` and `b`. `parent` is the place of the one that it is inside of.

    `path` is that of `b`. `shapes` (and dtypes) are the same or not; the values are compared, too, if `layout` says in
    words how those of `a` have to be laid out anew for that. Else `absolute` and `relative`, the greatest differences,
    are None. They are `close` if all lie within the tolerance, and else `parts` are those that do not; `nans` are NaN
    in both, `odd` in one only. The layout is `apart` where it is a difference of its own, and not only another way to
    write the same. Arrays that do not stand as in `b` are `arranged`, in words. Stages that are `empty` give none.

    Of `inputs` and `parameters` it is said whether they agree, None where that cannot be known; `arguments` are the
    inputs that do not, or that only one has. Inputs that agree may still be `inexact`: that is by how much they differ
    at most, within the tolerance. They agree in any layout; parameters that are `rearranged` have the same
    numbers in another order, those that are `untransposed` in the same, though their frameworks lay them out in
    different ways, which their shapes do not tell; `held` are those that are not the same, where names tell them.

    Of `states` it is said whether the two keep the same for their next run, None where they learn nothing, or that
    cannot be known; `kept` is what does not agree of it.
    """

    path: str
    call: int
    type: str
    parent: int | None
    a: StageOutput
    b: StageOutput
    shapes: bool
    close: bool
    absolute: float | None = None
    relative: float | None = None
    nans: int = 0
    odd: int = 0
    empty: bool = False
    parts: tuple[ArrayMismatch, ...] = ()
    arranged: str = ""
    inputs: bool | None = None
    inexact: float = 0.0
    arguments: tuple[ArrayMismatch, ...] = ()
    parameters: bool | None = None
    layout: str = ""
    apart: bool = False
    rearranged: bool = False
    untransposed: bool = False
    held: tuple[ArrayMismatch, ...] = ()
    states: bool | None = None
    kept: tuple[ArrayMismatch, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether both gave and keep the same, within the tolerance, in whatever layout their frameworks have."""
        return self.close and not self.apart and self.states is not False


@dataclass(frozen=True)
class ComparedRuns:
    """All stages that both models have, in the order of `a`, and the paths of those that only one has.

    Some of these may belong together, as the `proposed` rules `old -> new` say. The `outermost` stage of one model, at
    least, has to be among those that were compared: what the others give may be lost on the way.
    """

    stages: tuple[ComparedStage, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    proposed: Mapping[str, str] = field(default_factory=dict)
    outermost: bool = True
