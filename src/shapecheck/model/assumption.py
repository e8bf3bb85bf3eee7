"""Assumptions: what an evaluation uses and the user did not give, and what that lets us say.

A program runs on some sizes, ranks, modules and values. Those that no example, test or setting gives are made by the
search for arguments, and each is an assumption with a provenance. What is seen under it holds for the user's code
only as far as the provenance reaches: `proves` is the one place that decides whether it may be held against the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

AssumptionKind = Literal["tie", "size", "sizes", "rank", "dtype", "value", "follows", "part", "callee"]
Provenance = Literal["given", "written", "namesake", "alias", "invented"]

AS_MAPPED: Final = "mapped, as the function is decorated"
"""How a function that `vmap` decorates was called, where its claims may be of what its callers give."""
AS_CLAIMED: Final = "as claims say"
"""How the value of an argument ends that claims describe, by what is computed of it."""
MADE_FUNCTION: Final = "a function that"
"""How the value of a callable begins that was made up."""
KEEPS_NO_AXIS: Final = "gives a number"
"""What one of these does, of whatever it is given: an axis of its result comes from elsewhere, as under `vmap`."""
DRAWS_VECTORS: Final = "makes vectors of keys and numbers"
"""What another one does, as samplers do, which keeps all else as it is."""

SEVERAL: Final = "several"
"""The value of a record that stands for a stack of them, of which nobody says whether it is one."""

NO_LAYER: Final = "None, in place of a layer"
"""The value of what a constructor takes that is a layer or None, as what stands around it needs it."""

NUMBER: Final = "a number"
"""The rank of what code only computes with, if it is made a number. An array of no axes may be for anything else."""

NO_AXES: Final = "no axes, with some of which the code does not run"
"""The rank of what a claim writes as `...`, in a run that shows nothing of arrays that have such axes."""

OF_VALUES: Final = "the values of arrays"
"""What is made up of arrays in a run that needs more than their shapes, as NumPy's functions do."""

ON_PATH: Final = "the path on which undetermined conditions are"
"""How the value begins that is a path through the code: what values of arrays choose it nobody says."""

OF_A_MOCK: Final = "what a mock of the test"
"""What gives something in a test that puts mocks in place: any shape that the test wrote down."""

AT_MOST: Final = "at most"
A_MULTIPLE: Final = "a multiple of"
"""How the value of a dim begins of which only that is known."""

_FREE: Final = ("dtype", "sizes")
_STRENGTH: dict[Provenance, int] = {"given": 0, "written": 1, "namesake": 2, "alias": 3, "invented": 4}


@dataclass(frozen=True)
class Assumption:
    """One of them: `subject` is or has `value`.

    - `tie`: the dim `subject` was made equal to `value`, a size or an expression over other dims, to let the code run.
    - `size`: an integer inside of a made-up instance, `subject` as `model.width`; or sizes of a special kind.
    - `sizes`: those of the array `subject`, of which only the number of axes is known.
    - `rank`: how many axes the array or the variadic dim `subject` has.
    - `dtype`: the dtype of the array `subject`.
    - `value`: a made-up flag, callable or instance.
    - `part`: the part `subject` of an argument is as a comment says where the function takes it out.
    - `callee`: the dim `subject` has a name that only a function has which is called, and may have any size.
    - `follows`: the dim `subject` was made free, beside something of its former size that may have to follow it.

    The provenance, strongest first: *given* (example, test, configuration), *written* (annotation, docstring,
    comment), *namesake* (an integer or attribute of the same name, or of its plain abbreviation), *alias* (a feature
    axis that JAX compares with an axis of the model's own arrays), *invented*. A tie that is invented is one that
    nothing explains. What `follows` holds for more sizes than were given, if it holds at all.
    """

    kind: AssumptionKind
    subject: str
    value: str
    provenance: Provenance

    def __str__(self) -> str:
        if self.kind == "follows":
            return f"{self.subject} is free, though something that stays may have to follow it"
        return f"{self.equation} ({self.provenance})"

    @property
    def equation(self) -> str:
        """`d = 64`, `t is at most 64`, or the subject alone where it has no value."""
        sign = "is" if self.value.startswith((AT_MOST, A_MULTIPLE)) else "="
        return f"{self.subject} {sign} {self.value}" if self.value else self.subject


def is_of_stacks(assumptions: Iterable[Assumption]) -> bool:
    """Whether records stand for stacks of them, as a second reading of what may be one or several."""
    return any(each.value == SEVERAL and each.provenance == "invented" for each in assumptions)


def weakest(assumptions: Iterable[Assumption]) -> Provenance:
    """The weakest provenance among the assumptions: what rests on them is as weak as that.

    Those of dtypes apart, and of sizes that are free.
    """
    kinds = (each.provenance for each in assumptions if each.kind not in _FREE)
    return max(kinds, key=_STRENGTH.__getitem__, default="given")


def without_varied(assumptions: Iterable[Assumption], others: Iterable[Sequence[Assumption]]) -> list[Assumption]:
    """What an evaluation rests on, without those inventions which `others` have otherwise and which show the same."""
    values: dict[str, set[str]] = {}
    for each in (each for one in others for each in one if each.kind == "value"):
        values.setdefault(each.subject, set()).add(each.value)

    def is_varied(each: Assumption) -> bool:
        made = each.kind == "value" and each.provenance == "invented"
        return made and bool(values.get(each.subject, set()) - {each.value})

    return [each for each in assumptions if not is_varied(each)]


def without_numbers(assumptions: Iterable[Assumption]) -> list[Assumption]:
    """What an evaluation rests on, apart from what is a number in it and might be an array."""
    return [each for each in assumptions if (each.kind, each.value) != ("rank", NUMBER)]


def proves(evidence: Sequence[Sequence[Assumption]], about: Literal["shape", "dim", "dtype"] = "shape") -> bool:
    """Whether what some evaluations show alike may be held against the code; `evidence` has the assumptions of each.

    An invention spoils what depends on it. What stays the same while the invention varies does not depend on it: so
    an invented size, rank or value is no hindrance if the evaluations differ in it, or if one has no invention. A
    tie that nothing explains, and a size that may have to follow another, always are; evaluations with these are left
    out, if there are others. What is shown about a `dtype` rests on the dtypes too, and what is shown about the size of
    a `dim` on the arrays whose ranks or sizes were invented.
    """
    spoilt = {"shape": ("tie",), "dtype": ("tie", "dtype"), "dim": ("tie", "rank", "sizes")}[about]
    invented = [
        [each for each in one if each.provenance == "invented"]
        for one in evidence
        if not any(each.kind == "follows" for each in one)
    ]
    free = [one for one in invented if not any(each.kind in spoilt for each in one)]
    values: dict[tuple[str, str], set[str]] = {}
    for one in free:
        for each in one:
            if each.kind not in _FREE:
                values.setdefault((each.kind, each.subject), set()).add(each.value)
    has_certain = any(all(each.kind in _FREE for each in one) for one in free)
    return has_certain or (bool(free) and all(len(different) > 1 for different in values.values()))
