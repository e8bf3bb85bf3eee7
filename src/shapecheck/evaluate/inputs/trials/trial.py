"""What a search is made of: a trial, the call spec that binds it to arguments, and the outcome."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from shapecheck.evaluate.inputs.facts.namesakes import are_of_two_kinds
from shapecheck.evaluate.inputs.trials.choices import NO_OPTIONS, Choices, Options, is_dtype_key, is_stack_key
from shapecheck.evaluate.inputs.trials.later_variables import LaterArgument, assumptions_of
from shapecheck.evaluate.inputs.trials.multiples import Multiples
from shapecheck.evaluate.inputs.trials.refused_sizes import RefusedComparison
from shapecheck.evaluate.inputs.trials.size_assignment import Substitution
from shapecheck.evaluate.inputs.trials.size_limits import Limits
from shapecheck.evaluate.inputs.trials.ties import CallSignature, Sizes
from shapecheck.evaluate.own_errors import Trace
from shapecheck.model import Assumption, Call, Failure, Mode, Stage
from shapecheck.model.assumption import NUMBER
from shapecheck.shapes import Dim, SymbolicDim, is_variadic, parse_spec

INDEPENDENT = Substitution()
"""No free name is tied to anything."""

# What JAX and frameworks say where the dtype alone does not fit, as that of an index or of a loop's carry.
_NAME = re.compile(r"[^\W\d]\w*")
_OF_DTYPES_ALONE = re.compile(
    r"dtypes do not match|does not accept dtype|must be integers of the same type|types? must be an? (?:integer|bool)"
    r"|(?:must (?:be of|have)|requires?) (?:an? )?(?:integer|boolean|floating|real|inexact)\b"
    r"|must be (?:an? )?(?:boolean|integer)(?: or \w+)? types?\b"
)

ChosenSizes = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One way to run an entry.

    It has `rank` axes for each variadic dim, the constructor's integers by `construction`, and by `invention` what
    nothing describes. The sizes of some free names are `multiples` of what splits them, those of others at most
    their `limits`. The constructor is given the integers `init`. Of what is made up, `choices` are others than the
    usual ones. Its arrays have `values` of some kind, as `real_values` has them, or none; then conditions on these may
    have `decisions`.
    """

    mode: Mode
    substitution: Substitution = INDEPENDENT
    variant: int = 0
    construction: int = 0
    rank: int = 1
    invention: int = 0
    multiples: Multiples = ()
    limits: Limits = ()
    init: tuple[tuple[str, int], ...] = ()
    choices: Choices = ()
    values: int = 0
    decisions: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Apart:
    """Sizes of a model's `own`, which free names shall not have; and those that names had `before`, which stay."""

    own: frozenset[int] = frozenset()
    before: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BoundCall:
    """An entry made ready for one trial.

    `chosen` are the sizes of its free names, `integers` those of its model and its arguments by name, `arguments`
    the names of the latter. `own` are the sizes of arrays that are given and stay, `lengths` those of made-up
    sequences. `assumptions` are what was made up; `shared` are ties of free names to the sizes that they had in the
    constructor, `held` are the sizes of the arrays of its class, by the names of their axes, `fields` those of free
    names, `options` what could be chosen otherwise. `inner_specs` are those of arrays inside of its arguments that
    name dims of their own; it `has_inner_arrays` if there are any. `computed` are the dims that follow from others,
    such as `n//2+1`, by the sizes that they have. `built` are the names that arrays given to the constructor have,
    with their sizes. In `conditions` the call counts those that it decided, by place. `defaults_replaced` tells
    whether integers inside of its arguments have other sizes than their defaults. `later` are arguments that were
    made when models asked for them.
    """

    call: Callable[[], None]
    chosen: ChosenSizes = ()
    integers: Mapping[str, int] = field(default_factory=dict)
    arguments: frozenset[str] = frozenset()
    own: frozenset[int] = frozenset()
    lengths: frozenset[int] = frozenset()
    assumptions: tuple[Assumption, ...] = ()
    shared: ChosenSizes = ()
    held: Mapping[str, int] = field(default_factory=dict)
    fields: ChosenSizes = ()
    apart: Apart = Apart()
    options: Options = NO_OPTIONS
    inner_specs: tuple[str, ...] = ()
    has_inner_arrays: bool = False
    computed: Mapping[int, SymbolicDim] = field(default_factory=dict)
    built: ChosenSizes = ()
    conditions: Counter[tuple[int, ...]] = field(default_factory=Counter)
    defaults_replaced: bool = False
    later: Mapping[str, LaterArgument] = field(default_factory=dict)

    def with_later(self) -> BoundCall:
        """The same, with what is assumed of those arguments."""
        more = tuple(assumptions_of(self.later))
        return dataclasses.replace(self, assumptions=(*self.assumptions, *more)) if more else self

    def stacked_records(self) -> dict[str, str]:
        """The names of its records that may as well be stacks of them, by what chooses that."""
        return {key: key.rpartition(" ")[0].rpartition(".")[2] for key in self.options.others if is_stack_key(key)}

    def is_guess(self) -> bool:
        """Whether something was made up of which little follows: an array of any rank, a callable, a value.

        A record has the fields that its class describes.
        """
        records = set(self.stacked_records().values())
        made = (each for each in self.assumptions if each.provenance == "invented")
        return any(each.kind == "rank" or (each.kind == "value" and each.subject not in records) for each in made)

    def sizes(self) -> Sizes:
        """All sizes of the trial."""
        return Sizes(
            dict(self.chosen),
            self.integers,
            self.arguments,
            self.own | self.lengths,
            dict((*self.fields, *self.shared)),
        )

    def made_integers(self) -> tuple[tuple[str, str], ...]:
        """The free names by which integers go, too, that were made for the call or for what is in its arguments."""
        every = (*self.integers.items(), *self.options.integers.items())
        made = {place.rpartition(".")[2]: str(size) for place, size in every}
        return tuple((name, made[name]) for name, _ in self.chosen if name in made)

    def tie_candidates(self) -> tuple[int, ...]:
        """The sizes that a free name may be tied to."""
        return tuple(dict.fromkeys(size for size in self.integers.values() if size > 2))


@dataclass(frozen=True, kw_only=True)
class CallSpec:
    """How an entry is run under a trial, and what the search may vary.

    `relations` lets free names be tied to each other blindly. The `signature` has what is written of the arguments,
    which explains ties; it is `certain` if no array among them may have several shapes, so that a shape error is one of
    the code; it is not if an annotation `has_union` of some. With `open_ranks`, for some array nobody says how many
    axes it has, or which sizes; `open_names` are those of such sizes. Assumptions that hold for each trial are
    `lasting`. Of arguments that may have one of several shapes, `alternatives` choose the others,
    and `at_times` those that some have under a condition alone.
    Claims use the integers as sizes that have `defaults`. The project's calls agree on those that are `settled`.
    A model that `infers_inputs` is built for whatever it is given. If it `varies`, another invention has other
    integers. If it `takes_values`, its arrays may have some. The search ends after so many `attempts`, or `seconds`.
    The first arguments are so many `parameters` of a model, which its factory made. One that `is_mapped` may be called
    with what the callers of its decorator give, too. Sizes are chosen in these `variants` alone, if there are any.
    """

    prepare: Callable[[Trial], BoundCall]
    relations: bool = False
    signature: CallSignature = field(default_factory=CallSignature)
    certain: bool = True
    has_union: bool = False
    open_ranks: bool = False
    open_names: frozenset[str] = frozenset()
    symbolic: bool = True
    constructions: tuple[int, ...] = (0,)
    ranks: tuple[int, ...] = (1,)
    lasting: tuple[Assumption, ...] = ()
    defaults: tuple[tuple[str, int], ...] = ()
    settled: Callable[[], Mapping[str, int]] = dict
    varies: bool = False
    infers_inputs: bool = False
    alternatives: tuple[Choices, ...] = ()
    at_times: tuple[Choices, ...] = ()
    is_mapped: bool = False
    takes_values: bool = False
    attempts: int = 240
    seconds: float = 20.0
    parameters: int = 0
    variants: tuple[int, ...] = ()

    def model_axes(self, outcome: TrialOutcome) -> int | None:
        """How many axes the model's own arrays have for a variadic dim of its arguments, None without such a dim."""
        own = {name for name, _ in outcome.bound_call.shared} if outcome.bound_call is not None else set[str]()
        for name in (each.removeprefix("*") for each in self.signature.variadics() if each.startswith("*")):
            if f"{name}0" in own:
                return next(number for number in itertools.count(1) if f"{name}{number}" not in own)
        return None


@dataclass(frozen=True)
class TrialOutcome:
    """What one attempt showed."""

    trial: Trial
    calls: tuple[Call, ...]
    bound_call: BoundCall | None
    failure: Failure | None
    stages: tuple[Stage, ...] = ()
    trace: Trace = ()  # where the failure came through in the user's code
    lacks_package: bool = False  # it came to what only a package has that is not there
    takes_long: bool = False  # what it computes is more than a check may cost
    other_guess: bool = False  # the ranks of arrays that nothing describes were varied
    refused: RefusedComparison | None = None  # the comparison of sizes for which the user's own code raised

    @property
    def ok(self) -> bool:
        """Whether it ran to its end."""
        return self.failure is None

    @property
    def needs_values(self) -> bool:
        """Whether Python decided on a value there, which no other sizes give."""
        return self.failure is not None and self.failure.kind == "value"

    @property
    def depth(self) -> int:
        """How far it came."""
        return sum(len(c.observations) for c in self.calls)

    @property
    def place(self) -> tuple[str, int]:
        """The line of the user's code on which it ended."""
        frame = self.failure.frame if self.failure is not None else None
        return (frame.path, frame.line) if frame is not None else ("", 0)

    def has_free_names(self) -> bool:
        """Whether other sizes can be tried."""
        return self.bound_call is not None and bool(self.bound_call.chosen or self.trial.substitution.ties)

    def with_requirement(self, requires: str, *, has_two_names: bool = False) -> TrialOutcome:
        """The same failure, with what its code requires: perhaps of two sizes that a claim has two names for."""
        if self.failure is None:
            return self
        name, is_tie, other = requires.partition(" = ")
        of_two_kinds = has_two_names or (bool(is_tie) and are_of_two_kinds(name, _NAME.findall(other)))
        failure = dataclasses.replace(self.failure, requires=requires, of_two_kinds=of_two_kinds)
        return dataclasses.replace(self, failure=failure)

    def has_invented(self) -> bool:
        """Whether something that no one describes was made up, so that another invention may show something else."""
        return not {"dtype", "sizes", "follows"}.issuperset(self._invented_kinds())

    def has_variadics_inside(self) -> bool:
        """Whether arrays inside of its arguments leave their number of axes open, by names of their own."""
        return any(is_variadic(dim) for dims in self._inner_dims() for dim in dims)

    def has_variadics_in_front(self) -> bool:
        """Whether some of these stand in front of all others, as those of batches do."""
        return any(dims and is_variadic(dims[0]) for dims in self._inner_dims())

    def _inner_dims(self) -> list[tuple[Dim, ...]]:
        inner = self.bound_call.inner_specs if self.bound_call is not None else ()
        return [parse_spec(spec).dims for spec in inner]

    def has_made_values(self) -> bool:
        """Whether a callable, a flag or an instance was made up."""
        return "value" in self._invented_kinds()

    def has_guessed_rank(self) -> bool:
        """Whether nothing says how many axes some array has."""
        return "rank" in self._invented_kinds()

    def guessed_numbers(self) -> set[str]:
        """What was made a number, and may as well be an array."""
        found = self.bound_call.assumptions if self.bound_call is not None else ()
        invented = (each for each in found if (each.kind, each.provenance) == ("rank", "invented"))
        return {each.subject for each in invented if each.value == NUMBER}

    def options(self) -> Collection[str]:
        """The keys of what could be chosen otherwise for its arguments."""
        return self.bound_call.options.others if self.bound_call is not None else ()

    def blames_dtypes(self) -> bool:
        """Whether it ended with a dtype that does not fit, where some array may have another one: no sizes help."""
        is_of_dtypes = self.failure is not None and _OF_DTYPES_ALONE.search(self.failure.message) is not None
        return is_of_dtypes and self.may_have_other_dtypes()

    def may_have_other_dtypes(self) -> bool:
        """Whether nothing says of which dtype some array is."""
        return "dtype" in self._invented_kinds() or any(map(is_dtype_key, self.options()))

    def _invented_kinds(self) -> set[str]:
        found = self.bound_call.assumptions if self.bound_call is not None else ()
        return {each.kind for each in found if each.provenance == "invented"}


@dataclass(frozen=True)
class SearchResult:
    """What one construction showed: outcomes that went to their end; or those that did not, all untied.

    `requires` is a tie that nothing explains and under which `tied` went to its end. What is not `complete` ended while
    there was more to try, which might have mended what failed.
    """

    ok: tuple[TrialOutcome, ...] = ()
    failed: tuple[TrialOutcome, ...] = ()
    requires: Assumption | None = None
    tied: tuple[TrialOutcome, ...] = ()
    complete: bool = True
