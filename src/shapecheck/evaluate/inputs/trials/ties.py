"""Ties between sizes: what explains them, and with it how far a run that needs one can be relied on.

`x: "time d"` may run only where `time` equals the number of heads. A tie is explained by a relation that the source
writes, by a namesake, or as an alias: the feature axis of an argument has the size of the model's own axis that it
meets, under another name. Two names of one signature, an extent and a constructor's integer, or a size that the same
array has already, are distinguished by the claims: a tie of these is one that nothing explains, and a finding.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shapecheck.evaluate.inputs.facts.body_shapes import is_inside
from shapecheck.evaluate.inputs.facts.defining_source import defining_source, owner_of
from shapecheck.evaluate.inputs.facts.namesakes import (
    are_height_and_width,
    are_moments,
    are_namesakes,
    are_sides,
    is_count,
    is_extent,
    is_of_models,
    is_of_moment,
    is_spatial,
    may_be_one_dim,
    words,
)
from shapecheck.evaluate.inputs.facts.runtime_annotations import annotation_of, array_type, signature_of
from shapecheck.evaluate.inputs.trials.size_assignment import UNNAMED
from shapecheck.evaluate.inputs.trials.written_relations import WrittenRelation, quotients_of_dims, written_relations
from shapecheck.model import Assumption
from shapecheck.shapes import AnyDims, FixedDim, NamedDim, VariadicDim, is_further_name, is_variadic, parse_spec

Tie = tuple[str, str]
"""A free name, and what it is made equal to: a size, another name, or an expression over names."""

_RELATING = frozenset(["half", "double", "twice", "quarter", "third", "minus", "plus", "total", "both"])
_MAKERS = ("__init__", "__post_init__", "setup")
_NAME = re.compile(r"[^\W\d]\w*")
_FEATURES = frozenset(["channel", "feature"])
_MULTIPLE = re.compile(r"\d+\*([^\W\d]\w*)")


@dataclass(frozen=True)
class ArgumentSpec:
    """What is written of one array argument. `formal` is an annotation, and no comment or docstring.

    One `inside` of an argument has the names of its class, or of the code that takes it out: another scope.
    """

    parameter: str
    spec: str
    formal: bool = True
    inside: bool = False


@dataclass(frozen=True)
class CallSignature:
    """What is written of a call: its arrays, the names that each claim of its scope uses, and the function itself.

    `made_names` are those that axes of arrays have which nothing describes; `records` has the names of each field of
    the records that the function takes or gives, `reached` those that each claim uses of the functions that it calls.
    `inferred` are those of which nothing but claims about what is computed of arrays says that the arrays have them;
    `commented` are those of arguments for which such claims stand as a description, `alike` the pairs of which two
    texts of one array have each for the same axis.
    """

    arrays: tuple[ArgumentSpec, ...] = ()
    claims: tuple[frozenset[str], ...] = ()
    function: Callable[..., object] | None = None
    made_names: frozenset[str] = frozenset()
    records: tuple[frozenset[str], ...] = ()
    reached: tuple[frozenset[str], ...] = ()
    inferred: frozenset[str] = frozenset()
    commented: frozenset[str] = frozenset()
    alike: frozenset[frozenset[str]] = frozenset()

    def features(self) -> frozenset[str]:
        """The names of feature axes: the last one of some array, or the channels before two others, and no extent.

        Not the only axis of a vector, if it stands in front of others: `x: "n d"` and `mask: "n"` are of n examples.
        """
        every = [parse_spec(array.spec).dims for array in self.arrays]
        leading = {dims[0].name for dims in every if len(dims) > 1 and isinstance(dims[0], NamedDim)}
        of_vectors = {name for dims in every if len(dims) == 1 for name in _feature_axes(dims)} & leading
        return frozenset(
            name for dims in every for name in _feature_axes(dims) if len(dims) > 1 or name not in of_vectors
        )

    def writes_beside(self, name: str, size: int) -> bool:
        """Whether another array has this size as a number, where a name is that of vectors, or of how many there are.

        `x: (n,)` beside `c: (3,)` is of another size; the d of points `(n, d)` may well be the 3 of `(3, 3)`.
        """
        every = [parse_spec(array.spec).dims for array in self.arrays if not array.inside]
        is_named = any(isinstance(dim, NamedDim) and dim.name == name for dims in every for dim in dims)
        is_last = any(len(dims) > 1 and isinstance(dims[-1], NamedDim) and dims[-1].name == name for dims in every)
        fixed = {dim.size for dims in every for dim in dims if isinstance(dim, FixedDim)}
        return is_named and size in fixed and size > 1 and not is_last

    def is_variadic_feature(self, name: str) -> bool:
        """Whether a name is that of an axis of such a variadic dim that ends some array: `shape0` of `*shape`."""
        ends = (dims[-1] for dims in (parse_spec(array.spec).dims for array in self.arrays) if dims)
        return any(
            isinstance(dim, VariadicDim)
            and not is_extent(dim.name)
            and name.startswith(dim.name)
            and name[len(dim.name) :].isdigit()
            for dim in ends
        )

    def is_variadic_axis(self, name: str) -> bool:
        """Whether a name is that of an axis which a claim leaves open, in front of others: `batch0` of `*batch d`."""
        every = [parse_spec(array.spec).dims for array in self.arrays if not array.inside]
        open_dims = [dims[0] for dims in every if len(dims) > 1 and is_variadic(dims[0])]
        names = (dim.name if isinstance(dim, VariadicDim) else "dim" for dim in open_dims)
        return any(name.startswith(each) and name[len(each) :].isdigit() for each in names)

    def has_named_variadics(self) -> bool:
        """Whether it has variadic dims, and all of them have names: `*batch`, and no `...`."""
        variadics = self.variadics()
        return bool(variadics) and all(each.startswith("*") for each in variadics)

    def variadics(self) -> tuple[str, ...]:
        """The variadic dims of its arrays, as claims write them: `*batch`, `...`."""
        dims = (dim for array in self.arrays for dim in parse_spec(array.spec).dims if is_variadic(dim))
        written = (d for d in dims if not isinstance(d, VariadicDim) or any(d.name in names for names in self.claims))
        return tuple(dict.fromkeys(map(str, written)))

    def shares_leading_axes(self) -> bool:
        """Whether several arrays begin with `...`, one of them with dims behind that: `(..., d)` and `(...)`.

        The result may be the second, where it is annotated.
        """
        dims = [parse_spec(array.spec).dims for array in self.arrays]
        if self.arrays and all(array.formal for array in self.arrays) and self.function is not None:
            returned = array_type(annotation_of(self.function, "return", signature_of(self.function).return_annotation))
            dims += [parse_spec(returned.shape).dims] if returned is not None else []
        leading = [each for each in dims if each and is_variadic(each[0]) and not isinstance(each[0], VariadicDim)]
        return len(leading) > 1 and any(len(each) > 1 for each in leading)

    def has_variadic_features(self) -> bool:
        """Whether a variadic dim ends some array, and neither its name says that it counts things, as `*batch` does.

        Nor another array, which has features of its own behind it: `*pts` of `(V, *pts, 2)` counts points.
        """
        every = [dims for array in self.arrays if (dims := parse_spec(array.spec).dims)]
        counting = {getattr(dim, "name", "") for dims in every for dim in dims[:-1] if is_variadic(dim)} - {""}
        names = [getattr(dims[-1], "name", "") for dims in every if is_variadic(dims[-1])]
        return any(name not in counting and not is_extent(name) for name in names)

    def has_inner_variadics(self) -> bool:
        """Whether a variadic dim stands behind another dim of some array: `channels *spatial`."""
        return any(is_variadic(dim) for array in self.arrays for dim in parse_spec(array.spec).dims[1:])

    def distinguishes(self, first: str, second: str) -> bool:
        """Whether one claim names both, which are two.

        So the `h` of `(h, t, d)` is not the `t // chunk` that the file writes of some axis.
        """
        every = itertools.chain(self._all(), self.records)
        return first != second and any(first in names and second in names for names in every)

    def has_all(self, names: Collection[str]) -> bool:
        """Whether one claim names all of these: they are axes of one array, and none is made of the others."""
        return any(each.issuperset(names) for each in self._all())

    def uses(self, name: str) -> bool:
        """Whether some claim uses the name."""
        return any(name in names for names in self._all())

    def is_nobodys(self, name: str) -> bool:
        """Whether a name stands for an axis of which nobody says anything, so that its size may be any other's."""
        is_open = self.is_made(name) or name in UNNAMED or is_inside(name) or is_further_name(name)
        return is_open and not self.uses(name)

    def is_made(self, name: str) -> bool:
        """Whether a name was made for an axis, perhaps of an array with more axes than are named beforehand."""
        first = f"{name.rstrip('0123456789')}0"
        return name in self.made_names or (name[-1:].isdigit() and first in self.made_names)

    def is_side_beside(self, name: str, other: str) -> bool:
        """Whether one is a side of an image, as another dim of that array is, and the other counts what is no space.

        The `H` of `(H, W)` does not abbreviate `horizon`. That of `heads` may stand beside a window, though.
        """
        if is_spatial(other) or is_of_models(other):
            return False
        every = (parse_spec(array.spec).names() for array in self.arrays)
        return any(name in names and any(are_height_and_width(name, each) for each in names) for names in every)

    def distinguishes_number(self, name: str, number: str) -> bool:
        """Whether claims have a name beside a number: in one array, or as the size of others."""
        return number.isdigit() and (self.distinguishes(name, number) or self.writes_beside(name, int(number)))

    def is_side_of(self, name: str, integer: str) -> bool:
        """Whether a name is a side of an image of which the other side stands beside it, and an integer is its size."""
        every = (parse_spec(array.spec).names() for array in self.arrays)
        return any(name in names and any(are_sides(name, each, integer) for each in names) for names in every)

    def stand_together(self, first: str, second: str) -> bool:
        """Whether one is an axis of `...` and the other a dim of the same array: then nothing makes them equal."""
        unnamed, named = (first, second) if first in UNNAMED else (second, first)
        if unnamed not in UNNAMED:
            return False
        specs = (parse_spec(array.spec) for array in self.arrays)
        return any(named in spec.names() and any(isinstance(d, AnyDims) for d in spec.dims) for spec in specs)

    def is_in_words_of_record(self, first: str, second: str) -> bool:
        """Whether one is a name that a record alone has for axes of its fields, and the other one that it has not.

        `w: QTensor` says `(in_dim, out_dim)`, whatever its users call what they multiply it with.
        """
        of_records = {name for names in self.records for name in names}
        of_records |= {name for array in self.arrays if array.inside for name in parse_spec(array.spec).names()}
        own = {name for array in self.arrays if not array.inside for name in parse_spec(array.spec).names()}
        own |= {name for names in self.claims for name in names}
        one, other = (first, second) if first in of_records else (second, first)
        return one in of_records - own and other in own - of_records

    def may_count_as(self, name: str, integer: str) -> bool:
        """Whether a dim and an integer that no claim names may be one number, by what they are numbers of.

        A record has its own word for what it counts, whatever it is made for; agents may have one state each; and
        channels are features, wherever they stand. But a length is no number of heads.
        """
        if self.uses(integer):
            return False
        if is_count(integer):
            return is_count(name) or (is_extent(name) and self._is_of_records_alone(name))
        return not (_FEATURES.isdisjoint(words(name)) or _FEATURES.isdisjoint(words(integer)))

    def counts_nothing_said(self, integer: str) -> bool:
        """Whether an integer counts, or bounds, what no claim has a name for: `max_nodes` beside `"D"`."""
        used = {name for names in self._all() for name in names}
        return is_count(integer, or_bound=True) and not any(are_namesakes(name, integer) for name in used)

    def _is_of_records_alone(self, name: str) -> bool:
        own = {n for array in self.arrays if not array.inside for n in parse_spec(array.spec).names()}
        own |= {n for names in self.claims for n in names}
        inside = (parse_spec(array.spec).names() for array in self.arrays if array.inside)
        return name not in own and any(name in names for names in (*self.records, *inside))

    def names_both(self, first: str, second: str) -> bool:
        """Whether the claims of this scope use both names, or two names that go for them."""
        used = {name for names in self._all() for name in names}
        one, other = ({name for name in used if are_namesakes(name, each)} for each in (first, second))
        return bool(one and other) and len(one | other) > 1 and first != second

    def annotates_both(self, first: str, second: str) -> bool:
        """Whether the annotations of one scope use both names, so that they mean two dims."""

        def uses(name: str, inside: bool) -> bool:
            arrays = (array for array in self.arrays if array.formal and array.inside == inside)
            return any(name in parse_spec(array.spec).names() for array in arrays)

        return any(uses(first, inside) and uses(second, inside) for inside in (False, True))

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

    def by_name(self) -> dict[str, int]:
        """The numbers that names have here; an attribute goes by its own name too."""
        integers = {name.rpartition(".")[2]: size for name, size in self.integers.items()}
        chosen = {name: int(text) for name, text in self.chosen.items() if text.isdigit()}
        return {**integers, **self.integers, **chosen}

    def factors_of(self, size: int) -> Iterator[tuple[str, str]]:
        """The names of which the sizes have this product, one of them an integer among the arguments."""
        factors = {name: self.integers[name] for name in self.arguments if self.integers.get(name, 0) > 1}
        for (name, factor), (other, rest) in itertools.product(factors.items(), self.by_name().items()):
            if name != other and factor * rest == size:
                yield name, other

    def names_of(self, size: int) -> list[str]:
        """The integers of this size."""
        return [name for name, value in self.integers.items() if value == size]


def names_alike(texts: Iterable[Sequence[str]]) -> frozenset[frozenset[str]]:
    """The pairs of names that texts of one array have for an axis: `x: Array,  # (B, H)`, and `(batch, heads)`.

    Not of a name that stands beside two others.
    """
    found: set[frozenset[str]] = set()
    for one, other in (pair for each in texts for pair in itertools.combinations(each, 2)):
        first, second = parse_spec(one).dims, parse_spec(other).dims
        for a, b in zip(first, second, strict=True) if len(first) == len(second) else ():
            if isinstance(a, NamedDim) and isinstance(b, NamedDim) and a.name != b.name:
                found.add(frozenset((a.name, b.name)))
    count = Counter(name for pair in found for name in pair)
    return frozenset(pair for pair in found if all(count[name] == 1 for name in pair))


def explain_tie(tie: Tie, signature: CallSignature, sizes: Sizes) -> Assumption:
    """The tie as an assumption, with what explains it; it is `invented` if nothing does."""
    name, text = tie
    if signature.stand_together(name, text):
        return Assumption("tie", name, text, "invented")
    if signature.is_nobodys(name) or signature.is_nobodys(text):
        return Assumption("tie", name, text, "alias")
    if name in signature.inferred and not text.isidentifier() and not _is_integer_of(text, sizes):
        return Assumption("tie", name, text, "alias")
    if text.isdigit():
        return _to_size(name, int(text), signature, sizes)
    if text.isidentifier():
        if {name, text} in signature.alike and not signature.distinguishes(name, text):
            return Assumption("tie", name, text, "namesake")
        written = signature.annotates_both(name, text)
        is_apart = signature.distinguishes(name, text) and not are_moments(name, text)
        is_apart |= signature.is_side_beside(name, text) or signature.is_side_beside(text, name)
        namesake = not written and not is_apart and may_be_one_dim(name, text)
        if not namesake and not is_apart and signature.is_in_words_of_record(name, text):
            return Assumption("tie", name, text, "alias")
        return Assumption("tie", name, text, "namesake" if namesake else "invented")
    related = [name, *_NAME.findall(text)]
    is_said = any(_says_relation(each, related) for each in related) or bool(
        _computed_variables(signature.function) & set(related)
    )
    is_said = is_said or any(
        each.text == text and (each.name or not any(signature.distinguishes(name, other) for other in related[1:]))
        for each in relations_of(name, sizes.by_name(), signature.function)
    )
    multiple = _MULTIPLE.fullmatch(text)
    if multiple is not None and any(
        each.text in (f"{name}//{multiple[1]}", f"{name}/{multiple[1]}") for each in relations_in_code(signature)
    ):
        is_said = True  # a quotient that is written is one of sizes that can be divided
    others = {*_NAME.findall(text)} - {name}
    if not is_said and "/" not in text and len(others) > 1 and not signature.has_all({name, *others}):
        # What is joined has the items of both, what is flattened those of all: no claim tells that from the name.
        return Assumption("tie", name, text, "alias")
    return Assumption("tie", name, text, "written" if is_said else "invented")


def _is_integer_of(text: str, sizes: Sizes) -> bool:
    return text.isdigit() and int(text) in sizes.integers.values()


def relations_in_code(signature: CallSignature) -> Sequence[WrittenRelation]:
    """What a function's file writes of sizes, and the function of its arguments' axes by names of its own."""
    specs = {each.parameter: each.spec for each in signature.arrays}
    function = signature.function
    if function is None:
        return ()
    for name, parameter in signature_of(function).parameters.items():
        annotated = array_type(annotation_of(function, name, parameter.annotation))
        if annotated is not None:
            specs[name] = annotated.shape
    return (*written_relations(function), *quotients_of_dims(function, specs))


def relations_of(
    name: str, sizes: Mapping[str, int], function: Callable[..., object] | None
) -> Iterator[WrittenRelation]:
    """How the size of a name may follow from those of others, as its function's file writes it, over names alone.

    What is said to follow is no number of data: `M = H * D`, whatever else an M may be.
    """
    relations = written_relations(function)
    is_said = any(each.name == name for each in relations)
    for each in relations:
        if (each.may_be_of(name) or (is_said and each.of_model)) and each.size(sizes) is not None:
            yield each


def equal_through_open(tie: Tie, ties: Sequence[Tie], signature: CallSignature) -> Iterator[Tie]:
    """What a tie makes equal by way of an axis of which nobody says anything: two that follow it, or one and another.

    Each alone is explained, as such an axis may have any size; that two of them are equal is not.
    """
    name, text = tie
    if signature.is_nobodys(text) and not signature.is_nobodys(name):
        beside = (each for each, size in ties if size == text and each != name and not signature.is_nobodys(each))
        yield from ((name, each) for each in beside)
    elif signature.is_nobodys(name) and text.isidentifier() and not signature.is_nobodys(text):
        yield from ((each, text) for each, size in ties if size == name and not signature.is_nobodys(each))


def _to_size(name: str, size: int, signature: CallSignature, sizes: Sizes) -> Assumption:
    if signature.distinguishes_number(name, str(size)):
        return Assumption("tie", name, str(size), "invented")
    if sizes.fields.get(name) == str(size):
        return Assumption("tie", name, f"the {name} of its fields", "namesake")
    named = sizes.names_of(size)
    if name in named:  # an integer that is called as the axis is
        return Assumption("tie", name, name, "namesake")
    argument = next((each for each in named if each in sizes.arguments and not is_of_models(each)), None)
    is_open = argument is not None and not signature.uses(argument) and not signature.distinguishes(name, argument)
    if argument is not None and is_open and any({name, argument} <= names for names in signature.reached):
        return Assumption("tie", name, argument, "invented")
    if argument is not None and is_open:
        # No claim says what the integer is: its caller may let it follow the arrays, though not two that differ.
        equal = [other for other, text in sizes.chosen.items() if text == str(size) and other != name]
        if not all(may_be_one_dim(name, other) for other in equal):
            return Assumption("tie", name, argument, "invented")
        return Assumption("tie", name, argument, "namesake" if are_namesakes(name, argument) else "alias")
    apart = next((each for each in named if signature.distinguishes(name, each) or each == argument), None)
    if apart is not None:
        return Assumption("tie", name, apart, "invented")
    namesake = next((each for each in named if are_namesakes(name, each) or signature.is_side_of(name, each)), None)
    if namesake is not None and not any(
        not are_sides(name, other, namesake) for other in _standing_beside(name, size, signature, sizes)
    ):
        return Assumption("tie", name, namesake, "namesake")
    shown = named[0] if named else str(size)
    if not named and size in sizes.own:  # an array that was given with the call has this extent too
        return Assumption("tie", name, shown, "alias")
    if not named and name in _variables_of_makers(signature.function):
        return Assumption("tie", name, shown, "written")
    if named and all("[" in each for each in named) and is_of_models(name):
        return Assumption("tie", name, shown, "alias")  # no claim could name one of a list of integers
    is_feature = name in signature.features() or signature.is_variadic_feature(name)
    is_alias = is_feature and not list(_standing_beside(name, size, signature, sizes))
    is_alias &= not any(signature.has_all({name, *factors}) for factors in sizes.factors_of(size))
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


def _feature_axes(dims: Sequence[object]) -> Iterator[str]:
    last = dims[-1] if dims else None
    # An m is as often a width as a number of points; behind two other axes it counts none.
    is_width = len(dims) > 2 and isinstance(last, NamedDim) and last.name in ("m", "M")
    # The h of `(b, t, h)` is hidden; a height has a width beside it.
    names = {dim.name.lower() for dim in dims if isinstance(dim, NamedDim)}
    is_hidden = len(dims) > 1 and isinstance(last, NamedDim) and last.name in ("h", "H") and "w" not in names
    if isinstance(last, NamedDim) and (is_width or is_hidden or not is_extent(last.name)):
        yield last.name
    channels = dims[-3] if len(dims) >= 3 else None
    if isinstance(channels, NamedDim) and any(word.startswith("c") for word in words(channels.name)):
        yield channels.name
    sides = list(itertools.takewhile(lambda dim: isinstance(dim, NamedDim) and is_spatial(dim.name), reversed(dims)))
    before = dims[-len(sides) - 1] if 0 < len(sides) < len(dims) else None
    # In front of the sides of an image stand its channels, whatever they are of: `num_fields h w`. A single letter may
    # count images, and what stands before one side alone is the other one, if it is not said to be of a model.
    is_image = len(sides) > 1 or (isinstance(before, NamedDim) and is_of_models(before.name))
    signal = dims[-2] if len(dims) > 1 and isinstance(last, NamedDim) and is_extent(last.name) else None
    if isinstance(signal, NamedDim) and _counts_channels(signal.name):
        yield signal.name  # `channels time`
    if isinstance(last, VariadicDim) and is_spatial(last.name) and len(dims) > 1:
        is_image, before = True, dims[-2]  # `channels *spatial`
    if (
        isinstance(last, AnyDims)
        and len(dims) == 2
        and isinstance(dims[0], NamedDim)
        and _counts_channels(dims[0].name)
    ):
        yield dims[0].name  # `in_c ...`
    if is_image and isinstance(before, NamedDim) and len(before.name) > 1 and not is_extent(before.name):
        yield before.name


def _counts_channels(name: str) -> bool:
    """Whether a name says so, or abbreviates it: `features`, `in_c`."""
    return not _FEATURES.isdisjoint(words(name)) or words(name)[-1:] in (("c",), ("ch",))


def _says_relation(name: str, related: Sequence[str]) -> bool:
    """Whether a name says that it follows from another: `half`, `x2`; `n_next` from an `n` alone."""
    if _RELATING & set(words(name)) or name[-1:].isdigit():
        return True
    return is_of_moment(name) and any(may_be_one_dim(name, other) for other in related if other != name)


def _computed_variables(function: Callable[..., object] | None) -> frozenset[str]:
    """The variables of a function that are computed of others: `half = d // 2`."""
    source = defining_source(function)
    found: set[str] = set()
    for node in ast.walk(source.tree) if source is not None else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(found)


def _variables_of_makers(function: Callable[..., object] | None) -> frozenset[str]:
    """The variables of what sets up the instances of a method's class, which may compute a size as they like."""
    owner = owner_of(function)
    if owner is None:
        return frozenset()
    found: set[str] = set()
    for name in _MAKERS:
        source = defining_source(inspect.getattr_static(owner, name, None))
        for node in ast.walk(source.tree) if source is not None else ():
            if isinstance(node, ast.Assign | ast.AugAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update(target.id for target in targets if isinstance(target, ast.Name))
    return frozenset(found)
