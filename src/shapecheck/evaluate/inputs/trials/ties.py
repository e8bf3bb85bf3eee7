"""Ties between sizes: what explains them, and with it how far a run that needs one can be relied on.

`x: "time d"` may run only where `time` equals the number of heads. A tie is explained by a relation that the source
writes, by a namesake, or as an alias: the feature axis of an argument has the size of the model's own axis that it
meets, under another name. Two names of one signature, an extent and a constructor's integer, or a size that the same
array has already, are distinguished by the claims: a tie of these is one that nothing explains, and a finding.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.inputs.trials.size_assignment import UNNAMED
from shapecheck.model import Assumption
from shapecheck.shapes import AnyDims, FixedDim, NamedDim, VariadicDim, is_variadic, parse_spec

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that say "how many" or "how large", and not of what.
_COUNTS = _word_set("n num number nb no of max min total size dim dims len length count d")
_SHORTEST_PREFIX = 3  # `seq` of `sequence`; shorter ones begin too many words
# One-letter names that nearly always mean one word.
_NUMBERS = (("n",), ("num",), ("number",))
_LETTERS = {"b": "ba", "t": "ti", "c": "ch"}

_SEQUENCE = _word_set(
    "s t l n seq sequence time timestep step length len token position pos patch context ctx block frame horizon"
)
_SPATIAL = _word_set("h w x y height row col column image img resolution res pixel spatial grid")
_ALONG = (_word_set("h y height row"), _word_set("w x column"))  # the one side of an image, and the other
_BATCH = _word_set("b bs batch example sample")
_POINTS = _word_set("m point edge node vertex agent env environment particle atom residue ray query key")
_OF_MODELS = _word_set(
    "head group layer channel class feature hidden model embed embd embedding kernel expert code vocab latent unit"
)

EXTENTS = (_SEQUENCE | _SPATIAL | _BATCH | _POINTS) - {"n", "x", "y", "l"}
"""Words for axes that count things, which one more of would be as good, as against features; single letters that are
used for both are left out."""


def words(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters and singular: `num_patches`, `nPatches` -> num, patch."""
    return tuple(_singular(word.lower()) for word in _WORD.findall(name))


def is_extent(name: str) -> bool:
    """Whether an axis of this name counts things: a batch, the steps of time, the points of a cloud."""
    return any(word in EXTENTS for word in words(name))


def counts_examples(name: str) -> bool:
    """Whether an axis of this name counts what a model is given many of: no size of the model follows that."""
    return any(word in (_BATCH | _POINTS) - {"m", "query", "key"} for word in words(name))


def is_of_models(name: str) -> bool:
    """Whether an integer of this name belongs to how a model is built, and to no axis of its data: `n_heads`."""
    return any(word in _OF_MODELS for word in words(name))


def are_namesakes(dim: str, integer: str) -> bool:
    """Whether a dim and an integer go by one name: `embed`, `embed_dim`; `t`, `num_timesteps`; `seq`, `max_len`."""
    if dim == integer:
        return True
    left, right = significant_words(dim), significant_words(integer)
    if left == right:
        return True
    if len(dim) == 1:
        start = _LETTERS.get(dim.lower(), dim.lower())
        if any(word.startswith(start) for word in right):
            return True
        if start == "n" and words(integer)[:1] in _NUMBERS and is_extent(integer) and not is_of_models(integer):
            return True  # `N` of `num_points`
    elif any(_abbreviates(a, b) or _abbreviates(b, a) for a in left for b in right):
        return True
    return any(kind & set(left) and kind & set(right) for kind in (_SEQUENCE, _SPATIAL, _BATCH))


def _may_be_one_dim(first: str, second: str) -> bool:
    """Whether two dims of one call may be two names of one size.

    Not so `x_dim` and `y_dim`, `h` and `w`, `s` and `t`, of which an integer such as `img_size` may be either. But the
    `h` of one array may be the `y` of another.
    """
    left, right = set(significant_words(first)), set(significant_words(second))
    if any(left <= along and right <= along for along in _ALONG):
        return True
    if left != right and (left | right <= _SPATIAL or all(len(word) == 1 for word in left | right)):
        return False
    return are_namesakes(first, second)


def significant_words(name: str) -> tuple[str, ...]:
    """The words of a name that say of what it is a number, if any do: of `num_heads` that is head."""
    found = words(name)
    return tuple(word for word in found if word not in _COUNTS) or found


def _abbreviates(short: str, long: str) -> bool:
    return len(short) >= _SHORTEST_PREFIX and long.startswith(short)


def _singular(word: str) -> str:
    if word.endswith(("ches", "xes", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith("ss") else word


Tie = tuple[str, str]
"""A free name, and what it is made equal to: a size, another name, or an expression over names."""

_RELATING = frozenset(["half", "double", "twice", "quarter", "third", "minus", "plus", "prev", "next", "total", "both"])
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class ArgumentSpec:
    """What is written of one array argument. `formal` is an annotation, and no comment or docstring."""

    parameter: str
    spec: str
    formal: bool = True


@dataclass(frozen=True)
class CallSignature:
    """What is written of a call: its arrays, the names that each claim of its scope uses, and the function itself.

    `made_names` are those that axes of arrays have which nothing describes.
    """

    arrays: tuple[ArgumentSpec, ...] = ()
    claims: tuple[frozenset[str], ...] = ()
    function: Callable[..., object] | None = None
    made_names: frozenset[str] = frozenset()

    def features(self) -> frozenset[str]:
        """The names of feature axes: the last one of some array, or the channels before two others, and no extent."""
        return frozenset(name for array in self.arrays for name in _feature_axes(parse_spec(array.spec).dims))

    def variadics(self) -> tuple[str, ...]:
        """The variadic dims of its arrays, as claims write them: `*batch`, `...`."""
        dims = (dim for array in self.arrays for dim in parse_spec(array.spec).dims if is_variadic(dim))
        written = (d for d in dims if not isinstance(d, VariadicDim) or any(d.name in names for names in self.claims))
        return tuple(dict.fromkeys(map(str, written)))

    def has_variadic_features(self) -> bool:
        """Whether a variadic dim ends some array, and its name does not say that it counts things as `*batch` does."""
        ends = (dims[-1] for dims in (parse_spec(array.spec).dims for array in self.arrays) if dims)
        return any(is_variadic(dim) and not is_extent(getattr(dim, "name", "")) for dim in ends)

    def distinguishes(self, first: str, second: str) -> bool:
        """Whether one claim names both."""
        return any(first in names and second in names for names in self._all())

    def uses(self, name: str) -> bool:
        """Whether some claim uses the name."""
        return any(name in names for names in self._all())

    def is_nobodys(self, name: str) -> bool:
        """Whether a name stands for an axis of which nobody says anything, so that its size may be any other's."""
        return (name in self.made_names or name in UNNAMED) and not self.uses(name)

    def stand_together(self, first: str, second: str) -> bool:
        """Whether one is an axis of `...` and the other a dim of the same array: then nothing makes them equal."""
        unnamed, named = (first, second) if first in UNNAMED else (second, first)
        if unnamed not in UNNAMED:
            return False
        specs = (parse_spec(array.spec) for array in self.arrays)
        return any(named in spec.names() and any(isinstance(d, AnyDims) for d in spec.dims) for spec in specs)

    def names_both(self, first: str, second: str) -> bool:
        """Whether the claims of this scope use both names, or names that go for them."""
        used = {name for names in self._all() for name in names}
        return all(any(are_namesakes(name, each) for name in used) for each in (first, second)) and first != second

    def is_formal(self, name: str) -> bool:
        """Whether an annotation uses the name."""
        return any(array.formal and name in parse_spec(array.spec).names() for array in self.arrays)

    def _all(self) -> Iterator[frozenset[str]]:
        yield from self.claims
        for array in self.arrays:
            yield frozenset(parse_spec(array.spec).names())


@dataclass(frozen=True)
class Sizes:
    """The sizes of one trial: those `chosen` for free names, and integers by name, of models and of the call itself.

    `own` are the sizes of arrays that were given with the call, and stay; `fields` those that free names had in the
    arrays of the constructor.
    """

    chosen: Mapping[str, str]
    integers: Mapping[str, int] = field(default_factory=dict)
    arguments: frozenset[str] = frozenset()
    own: frozenset[int] = frozenset()
    fields: Mapping[str, str] = field(default_factory=dict)

    def names_of(self, size: int) -> list[str]:
        """The integers of this size."""
        return [name for name, value in self.integers.items() if value == size]


def explain_tie(tie: Tie, signature: CallSignature, sizes: Sizes) -> Assumption:
    """The tie as an assumption, with what explains it; it is `invented` if nothing does."""
    name, text = tie
    if signature.stand_together(name, text):
        return Assumption("tie", name, text, "invented")
    if signature.is_nobodys(name) or signature.is_nobodys(text):
        return Assumption("tie", name, text, "alias")
    if text.isdigit():
        return _to_size(name, int(text), signature, sizes)
    if text.isidentifier():
        written = signature.is_formal(name) and signature.is_formal(text)
        namesake = not written and not signature.distinguishes(name, text) and _may_be_one_dim(name, text)
        return Assumption("tie", name, text, "namesake" if namesake else "invented")
    related = [name, *_NAME.findall(text)]
    is_said = any(_says_relation(each) for each in related) or bool(
        _computed_variables(signature.function) & set(related)
    )
    return Assumption("tie", name, text, "written" if is_said else "invented")


def _to_size(name: str, size: int, signature: CallSignature, sizes: Sizes) -> Assumption:
    if sizes.fields.get(name) == str(size):
        return Assumption("tie", name, f"the {name} of its fields", "namesake")
    named = sizes.names_of(size)
    argument = next((each for each in named if each in sizes.arguments and not is_of_models(each)), None)
    if argument is not None and not signature.uses(argument):
        # No claim says what the integer is: its caller may let it follow the arrays, though not two that differ.
        equal = [other for other, text in sizes.chosen.items() if text == str(size) and other != name]
        if not all(_may_be_one_dim(name, other) for other in equal):
            return Assumption("tie", name, argument, "invented")
        return Assumption("tie", name, argument, "namesake" if are_namesakes(name, argument) else "alias")
    apart = next((each for each in named if signature.distinguishes(name, each) or each == argument), None)
    if apart is not None:
        return Assumption("tie", name, apart, "invented")
    namesake = next((each for each in named if are_namesakes(name, each)), None)
    if namesake is not None and not any(
        not _are_sides(name, other, namesake) for other in _standing_beside(name, size, signature, sizes)
    ):
        return Assumption("tie", name, namesake, "namesake")
    shown = named[0] if named else str(size)
    if not named and size in sizes.own:  # an array that was given with the call has this extent too
        return Assumption("tie", name, shown, "alias")
    is_alias = name in signature.features() and not any(_standing_beside(name, size, signature, sizes))
    return Assumption("tie", name, shown, "alias" if is_alias else "invented")


def _standing_beside(name: str, size: int, signature: CallSignature, sizes: Sizes) -> Iterator[str]:
    """The other axes of that size, by name, that an array with this axis has already; a number has none."""
    for array in signature.arrays:
        dims = parse_spec(array.spec).dims
        if not any(isinstance(dim, NamedDim) and dim.name == name for dim in dims):
            continue
        for dim in dims:
            other = dim.name if isinstance(dim, NamedDim) else ""
            value = (
                str(dim.size)
                if isinstance(dim, FixedDim)
                else sizes.chosen.get(other, str(sizes.integers.get(other, "")))
            )
            if other != name and value == str(size):
                yield other


def _are_sides(name: str, other: str, integer: str) -> bool:
    """Whether two names are the sides of an image, and an integer is its size: a square one has that twice."""
    sides = [set(words(each)) for each in (name, other)]
    is_height = any(one & _ALONG[0] and two & _ALONG[1] for one, two in (sides, sides[::-1]))
    return is_height and bool(_SPATIAL & {*words(integer)}) and not (_ALONG[0] | _ALONG[1]) & {*words(integer)}


def _feature_axes(dims: Sequence[object]) -> Iterator[str]:
    last = dims[-1] if dims else None
    if isinstance(last, NamedDim) and not is_extent(last.name):
        yield last.name
    channels = dims[-3] if len(dims) >= 3 else None
    if isinstance(channels, NamedDim) and any(word.startswith("c") for word in words(channels.name)):
        yield channels.name


def _says_relation(name: str) -> bool:
    return bool(_RELATING & set(words(name))) or name[-1:].isdigit()


def _computed_variables(function: Callable[..., object] | None) -> frozenset[str]:
    """The variables of a function that are computed of others: `half = d // 2`."""
    source = defining_source(function)
    found: set[str] = set()
    for node in ast.walk(source.tree) if source is not None else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(found)
