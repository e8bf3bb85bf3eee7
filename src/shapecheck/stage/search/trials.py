"""What a search is made of: a trial to make, a recipe that makes it, and the outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from shapecheck.facts import Call, Failure, Mode, Stage
from shapecheck.stage.search.sizes import Substitution

INDEPENDENT = Substitution()
"""No free name is tied to anything."""

Chosen = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Trial:
    """One way to run an entry: `rank` axes for each variadic dim, the constructor's integers by `construction`."""

    mode: Mode
    substitution: Substitution = INDEPENDENT
    variant: int = 0
    construction: int = 0
    rank: int = 1


@dataclass(frozen=True)
class Apart:
    """Sizes of a model's `own`, which free names shall not have; and those that names had `before`, which stay."""

    own: frozenset[int] = frozenset()
    before: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """An entry made ready for one trial. `chosen` are the sizes of its free names, `known` the constructor's.

    It is `guessed` if an argument has a shape that nothing speaks for, `guessed_dtype` if it has such a dtype;
    `made_up` are sizes inside of modules that nobody gave, and that no argument had to fit; `shared` are ties of
    free names to the sizes that they had in the constructor; `told` are names that the constructor fixed, to sizes
    that no other name has by chance.
    """

    call: Callable[[], None]
    chosen: Chosen = ()
    known: tuple[int, ...] = ()
    guessed: bool = False
    guessed_dtype: bool = False
    made_up: tuple[int, ...] = ()
    shared: Chosen = ()
    told: Chosen = ()
    apart: Apart = Apart()


@dataclass(frozen=True)
class Recipe:
    """How an entry is run under a trial, and what the search may vary.

    `relations` lets free names be tied to each other blindly. `tied` says that the user or the names fixed all dims,
    `certain` that annotations or comments describe the arguments, so that a shape error is one of the code. No two
    names of a set in `apart` are made equal: one annotation tells them apart. `described_apart` are those of comments:
    what evaluates only if they are equal is neither an error nor a proof. What contradicts a claim is only news if it
    `proves` anything: not if sizes that were made free may have to follow others. The search ends after so many
    `attempts`, or `seconds`.
    """

    prepare: Callable[[Trial], Prepared]
    relations: bool = False
    tied: bool = True
    certain: bool = True
    symbolic: bool = True
    constructions: tuple[int, ...] = (0,)
    ranks: tuple[int, ...] = (1,)
    apart: tuple[frozenset[str], ...] = ()
    described_apart: tuple[frozenset[str], ...] = ()
    proves: bool = True
    attempts: int = 240
    seconds: float = 20.0

    def allows(self, substitution: Substitution, told: Chosen = ()) -> bool:
        """Whether the ties keep apart what must be: two free names, or one and a name that the constructor fixed."""
        return self._keeps(self.apart, substitution, told)

    def fits_descriptions(self, substitution: Substitution, told: Chosen = ()) -> bool:
        """Whether the ties keep apart what one comment or docstring tells apart."""
        return self._keeps(self.described_apart, substitution, told)

    @staticmethod
    def _keeps(apart: tuple[frozenset[str], ...], substitution: Substitution, told: Chosen) -> bool:
        equal: dict[str, str] = {}
        for name, text in substitution.ties:
            if text.isidentifier():
                equal[name] = equal.get(text, text)
        sizes = dict(told)
        return all(
            len({equal.get(n, n) for n in names}) == len(names)
            and not any(name in names and text in (sizes.get(n) for n in names) for name, text in substitution.ties)
            for names in apart
        )


@dataclass(frozen=True)
class Outcome:
    """What one attempt showed."""

    trial: Trial
    calls: tuple[Call, ...]
    prepared: Prepared | None
    failure: Failure | None
    stages: tuple[Stage, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it ran to its end."""
        return self.failure is None

    @property
    def depth(self) -> int:
        """How far it came."""
        return sum(len(c.observations) for c in self.calls)
