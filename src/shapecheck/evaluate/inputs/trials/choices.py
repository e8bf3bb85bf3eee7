"""What can be chosen otherwise of arguments that are made up: a number of axes, a kind of number, `None` or a value.

Nothing says how many axes an array has that nobody describes, nor whether an argument that may be left out can be.
Where the first choice does not evaluate, the search takes others. A choice is text: `2 axes`, `int32`, `given`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeVar

from shapecheck.evaluate.inputs.facts.body_shapes import axis_name
from shapecheck.model import Assumption
from shapecheck.model.assumption import A_MULTIPLE, AS_MAPPED, SEVERAL, AssumptionKind

Choices = tuple[tuple[str, str], ...]
"""Arguments, by place and kind, and what was chosen for each: `("self.logits value", "given")`."""

GIVEN: Final = "given"
LEFT_OUT: Final = "None"
AS_MADE: Final = "as the model makes it"
AS_FILE_MAKES: Final = "as the file makes it"
AS_ELSEWHERE: Final = "as elsewhere in the file"
ONE_OF_STACK: Final = "one of those that the file makes"
OTHERWISE: Final = "otherwise"
OTHER_SIZE: Final = "another size"
OWN_SIZES: Final = ("each instance and call sizes", "its own sizes")
"""The choice that each instance of a class, and each call of a function, has sizes of its own for the same names."""
AS_DECORATED: Final = ("the call value", AS_MAPPED)
"""The choice that a function is called as `vmap` decorates it, with what its callers give."""
LENGTH: Final = 2
OTHER_LENGTHS: Final = (1, 5)
"""How long a sequence is that is made up, and how long it may as well be."""
DTYPES: Final[Mapping[str, str]] = {"float32": "Float", "int32": "Int", "bool": "Bool"}
_MOST_AXES = 4
_WRITTEN = ("value", "absence", "shape", "text", "default", "sizes")
_STACK = " stack"
_LIKENESS = " likeness"
_ABSENCE = " absence"
_TURNS = " turns"
FEW: Final = "few"
_RESULT = "()"
_TABLE = "[]"
_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"\d+")


class _HasShape(Protocol):
    @property
    def shape(self) -> Sequence[object]: ...


_Array = TypeVar("_Array", bound=_HasShape)


@dataclass(frozen=True)
class Options:
    """What could be chosen for each argument instead, by place and kind; and by place the sizes of the arrays made.

    `integers` are those that only instances in arguments take, each of which may be any other. `alike` says whether
    several instances of one class were made with the same sizes.
    """

    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sizes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    integers: Mapping[str, int] = field(default_factory=dict)
    alike: bool = False

    def __add__(self, more: Options) -> Options:
        return Options(
            {**self.others, **more.others},
            {**self.sizes, **more.sizes},
            {**self.integers, **more.integers},
            self.alike or more.alike,
        )

    def named_in(self, text: str, arrays: Collection[str]) -> list[str]:
        """The keys of what a failure names: by its words, by the arrays on its line, by sizes in its text first."""
        words, numbers = set(_WORD.findall(text)), set(_NUMBER.findall(text))

        def order(key: str) -> int:
            place = key.partition(" ")[0]
            if numbers & self.sizes.get(place, frozenset()):
                return 0
            name = place.rpartition(".")[2]
            return 1 if name in words or name in arrays else 2

        return sorted(self.others, key=order)


NO_OPTIONS: Final = Options()


class ArgumentChoices:
    """The choices of one making of arguments, and in `options` what could be chosen instead.

    Arguments of a constructor have their names behind `self.`, those of a configuration behind its own name.
    """

    def __init__(self, chosen: Choices = (), prefix: str = "") -> None:
        self.prefix = prefix
        self._others: dict[str, tuple[str, ...]] = {}
        self._sizes: dict[str, frozenset[str]] = {}
        self._integers: dict[str, int] = {}
        self._alike = False
        self._chosen = dict(chosen)

    @property
    def options(self) -> Options:
        """What could be chosen otherwise, until now."""
        return Options(self._others, self._sizes, self._integers, self._alike)

    def note(self, place: str, array: _Array) -> _Array:
        """An array that was made for a place."""
        self._sizes[f"{self.prefix}{place}"] = frozenset(map(str, array.shape))
        return array

    def integer(self, place: str, usual: int) -> int:
        """The size chosen for an integer of an instance, else the usual one."""
        key = f"{self.prefix}{place}"
        chosen = int(self._chosen.get(integer_key(key), usual))
        self._integers[key] = chosen
        return chosen

    def divisor(self, name: str) -> str:
        """The other integer of which one is a multiple, whoever takes the two; "" if that is left open."""
        return self._chosen.get(multiple_key(name), "")

    def has_few_turns(self, name: str) -> bool:
        """Whether an integer is small, whoever takes it, since a loop has as many turns."""
        return turns_key(name) in self._chosen

    def own_sizes(self) -> bool:
        """Whether a further instance of a class has sizes of its own, which its arrays are about to take."""
        chosen, choice = OWN_SIZES
        self._alike = self._chosen.get(chosen) != choice
        return not self._alike

    def is_stacked(self, place: str) -> bool:
        """Whether a record stands for several, as `scan` and `vmap` stack them: each of its arrays has an axis more."""
        return self._choose(f"{place}{_STACK}", "one", (SEVERAL,)) == SEVERAL

    def is_given(self, place: str) -> bool:
        """Whether an argument that may be left out is given."""
        return self._choose(f"{place} value", "left out", (GIVEN,)) == GIVEN

    def is_none(self, place: str) -> bool:
        """Whether an argument is None, of which nothing says more than that it is that or an array."""
        return self._choose(f"{place}{_ABSENCE}", GIVEN, (LEFT_OUT,)) == LEFT_OUT

    def axes(self, place: str, usual: int, least: int = 0, *, scalar: bool = False) -> int | None:
        """The number of axes chosen for an array that needs so many at `least`; None leaves it at the usual one.

        At last it may be a `scalar`, which fits nearly everywhere.
        """
        options = tuple(axes_text(number) for number in range(least, _MOST_AXES + 1) if number != usual)
        options += (axes_text(0),) if scalar and usual and least else ()
        chosen = self._choose(f"{place} rank", "", options)
        return int(chosen.split()[0]) if chosen else None

    def dtype(self, place: str, usual: str) -> str:
        """The dtype chosen for an array of which nothing says it, as one of jaxtyping's; "" for the `usual` one."""
        return DTYPES.get(self._choose(f"{place} dtype", "", tuple(each for each in DTYPES if each != usual)), "")

    def spec(self, place: str, written: str, others: tuple[str, ...]) -> str:
        """One of the shapes that are written of an array."""
        return self._choose(shape_key(place), written, others)

    def member(self, place: str, members: tuple[str, ...]) -> str:
        """One of the members of a union of arrays that have different numbers of axes."""
        return self._choose(f"{place} member", members[0], members[1:])

    def way(self, place: str, ways: tuple[str, str]) -> str:
        """How an argument is made that another method of the model makes, too."""
        return self._choose(f"{place} way", ways[0], ways[1:])

    def likeness(self, place: str, options: tuple[str, ...]) -> str:
        """What an argument is like: a part of another one, or what goes by the same name elsewhere."""
        return self._choose(f"{place}{_LIKENESS}", options[0], options[1:])

    def length(self, place: str) -> int:
        """How long a sequence is of which nobody says that."""
        return int(self._choose(f"{place} length", str(LENGTH), tuple(map(str, OTHER_LENGTHS))))

    def text(self, place: str, texts: tuple[str, ...]) -> str:
        """One of the texts that the code knows."""
        return self._choose(f"{place} text", texts[0], texts[1:])

    def mode(self, place: str, modes: tuple[int, ...]) -> int:
        """One of the integers that the code compares it with."""
        first, *others = map(str, modes)
        return int(self._choose(f"{place} mode", first, tuple(others)))

    def _choose(self, key: str, usual: str, options: tuple[str, ...]) -> str:
        key = f"{self.prefix}{key}"
        if key in self._chosen:
            return self._chosen[key]
        if options:
            self._others[key] = options
        return usual


def shape_key(place: str) -> str:
    """The key of the choice among several shapes of an argument."""
    return f"{place} shape"


def integer_key(place: str) -> str:
    """The key of the choice of an integer of an instance in an argument."""
    return f"{place} integer"


def multiple_key(name: str) -> str:
    """The key of the choice that an integer is a multiple of another one."""
    return f"{name} multiple"


def turns_key(name: str) -> str:
    """The key of the choice that an integer is small which a loop has as many turns as, or more."""
    return f"{name}{_TURNS}"


def is_turns_key(key: str) -> bool:
    """Whether it is the key of that choice."""
    return key.endswith(_TURNS)


def is_value_key(key: str) -> bool:
    """Whether it is the key of the choice whether an argument that may be left out is given."""
    return key.endswith(" value")


def is_absence_key(key: str) -> bool:
    """Whether it is the key of the choice whether an argument is None that has to be given."""
    return key.endswith(_ABSENCE)


def is_stack_key(key: str) -> bool:
    """Whether it is the key of the choice whether a record is a stack of them."""
    return key.endswith(_STACK)


def is_rank_key(key: str) -> bool:
    """Whether it is the key of the choice of an array's number of axes."""
    return key.endswith(" rank")


def result_of(name: str) -> str:
    """The place of what a made-up function gives."""
    return f"{name}{_RESULT}"


def is_result_key(key: str) -> bool:
    """Whether it is the key of a choice of what a made-up function gives."""
    return key.rpartition(" ")[0].endswith(_RESULT)


def table_of(place: str) -> str:
    """The place of a sequence of sequences: what a table holds is data, and no number of layers."""
    return f"{place}{_TABLE}"


def is_table_key(key: str) -> bool:
    """Whether it is the key of a choice of a sequence of sequences."""
    return key.rpartition(" ")[0].endswith(_TABLE)


def is_dtype_key(key: str) -> bool:
    """Whether it chooses the dtype of an array."""
    return key.endswith(" dtype")


def is_likeness_key(key: str) -> bool:
    """Whether it is the key of the choice what an argument is like."""
    return key.endswith(_LIKENESS)


def is_member_key(key: str) -> bool:
    """Whether it is the key of the choice of a member of a union."""
    return key.endswith(" member")


def is_length_key(key: str) -> bool:
    """Whether it is the key of the choice of a sequence's length."""
    return key.endswith(" length")


def is_case_key(key: str) -> bool:
    """Whether it is the key of a choice for each of which a claim has to hold."""
    return key.endswith((" shape", " default"))


def default_key(name: str) -> str:
    """The key of the choice whether an integer of the call keeps its default."""
    return f"{name} default"


def number_key(name: str) -> str:
    """The key of the choice that an integer of the call is a certain number."""
    return f"{name} number"


def axes_text(count: int) -> str:
    """`1 axis`, `2 axes`."""
    return f"{count} axis" if count == 1 else f"{count} axes"


def usual_axes(others: Sequence[str]) -> int:
    """The number of axes that an array has for which these may be chosen instead; -1 if those of another array."""
    counts = sorted(int(each.split()[0]) for each in others)
    gaps = [count + 1 for count, after in itertools.pairwise(counts) if after != count + 1]
    return gaps[0] if gaps else counts[0] - 1 if counts[-1] == _MOST_AXES else counts[-1] + 1


def as_assumption(key: str, choice: str, *, is_needed: bool) -> Assumption:
    """A choice as an assumption: the code's own where it runs with no other, or where the source says that it may.

    Its subject is the name alone, as that of the usual choice: by it one sees that the two differ in nothing else.
    """
    place, _, what = key.rpartition(" ")
    if what == "multiple":
        return Assumption("value", place, f"{A_MULTIPLE} {choice}", "written")
    kinds: Mapping[str, AssumptionKind] = {"rank": "rank", "dtype": "dtype", "integer": "size"}
    is_written = is_needed or choice == AS_FILE_MAKES or what in _WRITTEN
    axes = choice.split()
    if what == "shape" and len(axes) > 1 and set(axes) == {axis_name(name := place.rpartition(".")[2], 0)}:
        return Assumption("tie", axis_name(name, 1), axes[0], "alias")  # nobody says that it is square
    of = "self." if place.startswith("self.") else ""
    subject = of + place.rpartition(".")[2] if what in ("rank", "dtype", "stack") else place
    return Assumption(kinds.get(what, "value"), subject, choice, "written" if is_written else "invented")


KeyChoice = Literal["usual", "other kind", "left out"]


class Keys:
    """Which keys are made up: `optional` if one was that may be left out, `open` if the kind of one is a guess.

    Those of which nothing else says the kind are of the old one, which also does for the new one's functions, unless
    they are `new` where they are taken.
    """

    def __init__(self) -> None:
        self.choice: KeyChoice = "usual"
        self.optional = self.open = self.new = False
