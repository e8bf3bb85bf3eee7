"""Integers for constructors, and for whatever else takes sizes as numbers."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.trials.choices import ArgumentChoices
from shapecheck.evaluate.inputs.trials.size_assignment import InventedSizes

ALL_EQUAL: Final = 2
DEFAULTS_KEPT: Final = 1
OVER_NONE: Final = 3
AS_CALLED: Final = 4
DIVIDING: Final = 5
DESCENDING: Final = 6
SMALL: Final = 7
CONSTRUCTIONS: Final = (0, DEFAULTS_KEPT, OVER_NONE, DIVIDING, SMALL, DESCENDING, ALL_EQUAL, AS_CALLED)
"""How integers of constructors are chosen, in the order of trying.

0 distinct sizes even over defaults, 1 defaults kept, 3 as 0 but with sizes for integers that default to None, 5
distinct ones each of which divides those before it (as the heads of keys do those of queries), 7 small ones that
divide other sizes (as blocks of an image do), 6 distinct ones each of which is less than those before it (as what is
kept of what there is), 2 all plain sizes equal, 4 as the project's own calls write them, and all other literals too.
"""

DEFAULTS_FIRST: Final = (DEFAULTS_KEPT, 0, OVER_NONE, DIVIDING, SMALL, DESCENDING, ALL_EQUAL, AS_CALLED)
"""The same for what is to be shown as it is: integers that have defaults keep them if that goes."""


_SIZES: Final = (name_hints.CONSTRUCTOR_SIZES, name_hints.ODD_SIZES, name_hints.OTHER_SIZES)
# By a factor that code does not multiply sizes by, so that no multiple of one is another by chance.
_CHAINS: Final = tuple(tuple(least * 7**power for power in (3, 2, 1, 0)) for least in (48, 15, 16))
_FEWER: Final = tuple(tuple(reversed(each[:6])) for each in _SIZES)
_SMALLEST: Final = ((4, 2), (2, 4), (4, 2))
_LARGE: Final = 16  # what a name usually stands for is kept where it is no more
_POOLS: Final[Mapping[int, tuple[tuple[int, ...], ...]]] = {DIVIDING: _CHAINS, DESCENDING: _FEWER, SMALL: _SMALLEST}
# Even ones first, as everywhere: code may halve them.
_TURNS: Final = ((6, 10, 4), (7, 5, 11))  # few, since what is in the loop runs as often; a table may have an end, too
_ENDS: Final = ((6, 10, 14, 4, 12), (7, 11, 15, 5, 13))  # of slices: an array has more, or the end is none
_EXPONENTS: Final = {False: ((5, 6, 7), (8, 9, 10)), True: ((2, 1), (3, 2))}  # true of those taken off others
_ITEMS: Final = ((2, 3), (3, 2))  # of a list that is repeated for each axis of an image
_LARGEST_DIVISOR: Final = 4096
_TIMES: Final = 3  # what is divided is so many times the other: twice an integer is often another one
ODD: Final = 1
EVEN: Final = 2
"""Inventions, by which sizes they have: odd ones, and, where these do not divide, even ones again."""


class IntegerChoices:
    """Chooses integers in one of the ways above, and notes each in `chosen` under its parameter's name.

    Another `invention` has other sizes: what is the same for both does not depend on them. `kept` are defaults, of
    which some may be `defaults_replaced` by sizes. What a
    constructor takes is noted in `made` with its place: inside of the parameter `inside`. `choices` may have another
    size for one that only an instance in an argument takes.
    """

    def __init__(
        self,
        made: InventedSizes,
        variant: int,
        pinned: Mapping[str, int],
        invention: int,
        choices: ArgumentChoices,
    ) -> None:
        self.variant, self.pinned, self.invention = variant, pinned, invention
        self.chosen: dict[str, int] = {}
        self.kept: dict[str, int] = {}
        self.beside: Mapping[str, int] = {}  # integers of the call itself, which what makes its arguments has as well
        self.defaults_replaced = False
        self.constructs = False
        self.inside: list[str] = []
        self._choices = choices
        self._settings = 0  # how many of the classes that are being made only hold settings
        self._nested: set[str] = set()  # the names that nothing but instances in arguments has
        self._made = made
        self._used: set[int] = set()
        self.turns: set[str] = set()  # the names of those that count the turns of a loop that Python runs
        self.ends: set[str] = set()  # and of those that say how much is taken of an axis
        self.exponents: dict[str, bool] = {}  # names in exponents, and whether they are taken off others there
        self.items: set[str] = set()  # and of those that count how often a list is repeated
        self.of_settings: set[str] = set()  # and of those that an argument holds which is nothing but settings
        self.checked: dict[str, list[tuple[int, Sequence[str]]]] = {}  # what a check in the code wants to divide them
        self._defaults: dict[str, int] = {}  # of what divides them
        self.settled: set[str] = set()  # and of those that arrays beside them follow by default

    @property
    def by_parameter(self) -> dict[str, int]:
        """All, by the names of parameters."""
        return {**self.kept, **self.chosen}

    @contextlib.contextmanager
    def within(self, name: str, *, is_config: bool) -> Iterator[None]:
        """Choose integers for what makes the argument `name` meanwhile; a configuration has those of what reads it."""
        self.inside.append(name)
        self._settings += is_config
        try:
            yield
        finally:
            self._settings -= is_config
            self.inside.pop()

    def avoid(self, others: IntegerChoices) -> None:
        """Choose no size that these have chosen: those inside of the instance whose method is called."""
        self._used.update(others.chosen.values())

    def note_checks(self, checks: Iterable[tuple[str, int, Sequence[str]]], defaults: Mapping[str, object]) -> None:
        """Note which parameters a check wants to be multiples of a number times others, which have these defaults."""
        for name, factor, others in checks:
            if name in defaults and name not in others and defaults.keys() >= {*others}:
                self.checked.setdefault(name, []).append((factor, others))
                self._defaults.update((each, size) for each in others if type(size := defaults[each]) is int)

    def choose(self, name: str) -> int:
        """A size for the integer `name`: pinned, particular to the name, or distinct from all others."""
        if self._settings:
            self.of_settings.add(name)
        if self.inside and name in self.beside and name not in self.pinned:
            return self.choose_inner(name, self.beside[name])
        if not self.inside or self._settings or name in self.pinned or name_hints.particular_size(name) is not None:
            return self._choose(name)
        if name not in self.chosen:
            self._nested.add(name)
        if name not in self._nested:
            return self._choose(name)
        return self.choose_inner(name, self._choose(name))

    def choose_other(self, name: str, default: int) -> int:
        """A size for the integer `name` that is not its default."""
        size = self.choose(name)
        if size == default:
            size += 1
            self.chosen[name] = self._made.chosen[name] = size
        return size

    def choose_inner(self, name: str, usual: int) -> int:
        """The size of a name that belongs to the argument which is being made: the usual one, or one that fits."""
        return self._choices.integer(".".join([*self.inside, name]), usual)

    def _choose(self, name: str) -> int:
        if name in self.pinned:
            size = self.pinned[name]
        elif name in self.chosen:
            size = self.chosen[name]
        else:
            size = self._made.chosen[name] = self._as_checked(name, self._invent(name))
            if self.constructs:
                self._made.places[name] = ".".join([*self.inside, name])
        self.chosen.setdefault(name, size)
        return size

    def _as_checked(self, name: str, usual: int) -> int:
        """The usual size, or a multiple of what the code wants to divide it."""
        divisor = 1
        for factor, others in self.checked.pop(name, ()):  # once: what divides it may be said to be its multiple
            divisor = math.lcm(divisor, factor * math.prod(map(self._divisor_size, others)))
        if usual % divisor == 0 or divisor > _LARGEST_DIVISOR:
            return usual
        size = next(size for times in itertools.count(self._times, 2) if (size := times * divisor) not in self._used)
        self._used.add(size)
        return size

    @property
    def _times(self) -> int:
        """How many times the least multiple is another integer: its halves are whole where all shall be even."""
        return 2 * _TIMES if self.invention == EVEN else _TIMES

    def _divisor_size(self, name: str) -> int:
        keeps = self.variant == DEFAULTS_KEPT and name in self._defaults and name not in self.pinned
        return self._defaults[name] if keeps else self._choose(name)

    def _invent(self, name: str) -> int:
        divisor = self._choices.divisor(name)
        if divisor and divisor != name:
            size = self._times * self._choose(divisor)
            self._used.add(size)
            return size
        few = self._choices.has_few_turns(name)
        if self.variant in (0, DEFAULTS_KEPT) and name in self._made.integers and not self.invention and not few:
            return self._made.integers[name]
        particular = name_hints.particular_sizes(name, self.invention)
        if self.invention == EVEN:
            particular = tuple(size * (1 + size % 2) if size > _LARGE else size for size in particular)
        if few or (name in self.turns and not particular):
            particular = _TURNS[self.invention % len(_TURNS)]
        if name in self.ends and not particular and self.variant not in _POOLS:
            particular = _ENDS[self.invention % len(_ENDS)]
        if name in self.exponents and not particular:
            pools = _EXPONENTS[self.exponents[name]]
            particular = pools[self.invention % len(pools)]
        if name in self.items and not particular:
            particular = _ITEMS[self.invention % len(_ITEMS)]
        if particular and (self.variant != SMALL or min(particular) <= _LARGE):
            taken = {size for other, size in self.chosen.items() if other != name}
            distinct = [size for size in particular if size not in taken]
            return distinct[0] if distinct and self.variant in (0, OVER_NONE) else particular[0]
        sizes = _POOLS.get(self.variant, _SIZES)[min(self.invention, len(_SIZES) - 1)]
        if self.variant == ALL_EQUAL:
            return sizes[0]
        taken = {*self._used, *self._made.integers.values()}
        free = [s for s in sizes if s not in taken]
        size = free[0] if free else sizes[-1] + 16 * len(self._used)
        self._used.add(size)
        return size
