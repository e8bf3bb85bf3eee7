"""What the axes of a value may be called where it stands: by names that are bound there, or numbers of the source."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from shapecheck.model import Call, Evaluation, Module, NamedSize
from shapecheck.shapes import (
    EvaluationError,
    FixedDim,
    NamedDim,
    Size,
    Spec,
    SymbolicDim,
    VariadicDim,
    evaluate,
    parse_spec,
)
from shapecheck.verdicts.call_bindings import CallReader
from shapecheck.verdicts.comment_verdicts import read_call
from shapecheck.verdicts.evaluation_results import is_invented_call
from shapecheck.verdicts.numeric_samples import Samples

_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_AXIS_NUMBER = re.compile(r"_?\d+")
_SMALLEST_DERIVED = 15  # of smaller numbers everything is some multiple
_FACTORS = range(2, 9)
_STEPS = (1, -1, 2, -2)
_SAID_BY_NUMBERS = (0, 1)  # any axis may happen to have these, whatever else has


def call_reader(modules: Mapping[str, Module], evaluation: Evaluation, call: Call) -> CallReader:
    """What names mean in a call, as its claims and those of the calls around it have it."""
    samples = Samples(evaluation)
    by_number = {each.number: each for each in evaluation.calls}
    chain = [call]
    while (parent := chain[-1].parent) is not None and parent in by_number:
        chain.append(by_number[parent])
    reader: CallReader | None = None
    for each in reversed(chain):
        reader = CallReader(modules[each.path], each, samples, reader)
        read_call(reader)
    assert reader is not None  # noqa: S101 - the chain begins with the call
    return reader


class AxisNames:
    """The names for sizes in one call. Those for `formal` claims are bound by annotations alone.

    Where nothing is claimed yet, an `anew` claim takes the integers that the function sees, if we chose them, and
    then the names that the arguments of the evaluation have for their dims.
    """

    def __init__(self, reader: CallReader, evaluation: Evaluation, *, formal: bool = False, anew: bool = False) -> None:
        self.reader, self.formal, self.anew = reader, formal, anew
        self.chosen = is_invented_call(evaluation)  # then we chose the sizes, and no two alike
        if anew and evaluation.origin == "function" and not evaluation.sizes:
            self.chosen = False  # as a test of no parameters, it has sizes of its own
        # In a test of two rows every axis of two looks like the 2 of a formula.
        # Who calls it chose the sizes of arrays, too.
        self.is_given = not self.chosen and evaluation.mode != "symbolic" and evaluation.origin != "seen"
        self._smallest_literal = _SMALLEST_DERIVED if anew and not self.chosen and evaluation.mode != "symbolic" else 0
        self._visible: dict[str, NamedSize] = {}
        for observation in reader.call.observations:
            for named in observation.names:
                if named.name.strip("_"):  # `b, _ = x.shape` gives the other axis no name
                    self._visible.setdefault(named.name, named)

    def dims_of(self, spec: Spec, texts: Sequence[str], shape: Sequence[Size]) -> list[str] | None:
        """The dims of `shape`, with a spec's own texts wherever their sizes are right; None if one has no name."""
        sizes = [self._size_of(Spec((dim,))) for dim in spec.dims]
        own = list(zip(sizes, texts, strict=True))
        in_numbers = bool(texts) and all(text.isdigit() for text in texts)
        found = []
        for index, size in enumerate(shape):
            same_place = own[index : index + 1] if len(own) == len(shape) else []
            at_hand = (text for known, text in (*same_place, *own) if known == size)
            literal = str(size[0]) if in_numbers and len(set(size)) == 1 and size[0] in self._literals else None
            name = next(at_hand, None) or literal or self.name(size) or next(self._near(same_place, size), None)
            if name is None:
                return None
            found.append(name)
        return found

    @staticmethod
    def _near(place: Sequence[tuple[Size | None, str]], size: Size) -> Iterator[str]:
        """One more or less than what is claimed at the same place: `N+1` where `N` is claimed."""
        for known, text in place:
            for step in _STEPS if known is not None and text.isidentifier() else ():
                if known is not None and tuple(each + step for each in known) == size and size[0] > _SMALLEST_DERIVED:
                    yield f"{text}{step:+d}"

    def name(self, size: Size) -> str | None:
        """A name, number or expression for a size; None where there is none, or where several are as good."""
        is_number = len(set(size)) == 1
        if is_number and size[0] in _SAID_BY_NUMBERS:
            return str(size[0])
        named = [name for name, known in self.sizes.items() if known == size]
        if named:
            return named[0] if len(named) == 1 or not is_number else None
        if self.anew and (symbol := self._symbol(size)) is not None:
            return symbol
        if is_number and size[0] in self._literals and size[0] > self._smallest_literal:
            return str(size[0])
        if is_number and (not self.chosen or size[0] <= _SMALLEST_DERIVED):
            return None
        for kind in (_multiples, _quotients, _products, _neighbours):
            derived = [text for text, known in kind(self.sizes) if known == size]
            if derived:
                return derived[0] if len(derived) == 1 or not is_number else None
        return None

    @cached_property
    def sizes(self) -> dict[str, Size]:
        """The names that claims of this scope and those around it use, and what they mean here."""
        found: dict[str, Size] = {}
        for name in self._names():
            size = self._of_name(name)
            if size is not None:
                found.setdefault(name, size)
        return found

    def _names(self) -> Iterator[str]:
        if self.formal:
            yield from self.reader.memo.single
            return
        module = self.reader.module
        index: int | None = self.reader.call.scope
        while index is not None:
            for claim in module.claims:
                if claim.scope == index or any(module.sites[site].scope == index for site in claim.sites[:1]):
                    yield from parse_spec(claim.spec).names()
            index = module.scopes[index].parent
        if self.anew and self.chosen:
            yield from self._visible

    def visible_names(self, size: Size) -> list[str]:
        """The integers that the function sees which have this size in the call, whoever chose it."""
        return [name for name in self._visible if self._of_name(name) == size]

    def visible_products(self, size: Size) -> set[str]:
        """The products of two of them, and multiples of one, that have this size."""
        sizes = {name: known for name in self._visible if (known := self._of_name(name)) is not None}
        return {text for kind in (_multiples(sizes), _products(sizes)) for text, known in kind if known == size}

    def _symbol(self, size: Size) -> str | None:
        """The name that the dim has in the arguments of the evaluation, unless it means something else here.

        None of those that we made up for an axis by its number: `x0` of an array `x`, or of `*x`.
        """
        text = self.reader.samples.text(size)
        is_plain = text.isidentifier() and not text.startswith("_") and not keyword.iskeyword(text)
        is_plain = is_plain and not any(
            _AXIS_NUMBER.fullmatch(text.removeprefix(each)) for each in self._bases_of_numbers
        )
        is_taken = self.reader.lookup(text) is not None or text in self._visible
        return text if is_plain and not is_taken else None

    @cached_property
    def _bases_of_numbers(self) -> frozenset[str]:
        """The names that may be followed by the number of an axis: of parameters, and of variadic dims."""
        module = self.reader.module
        variadic = (d.name for c in module.claims for d in parse_spec(c.spec).dims if isinstance(d, VariadicDim))
        return frozenset((*variadic, *itertools.chain.from_iterable(scope.parameters for scope in module.scopes)))

    def _of_name(self, name: str) -> Size | None:
        bound = self.reader.lookup(name)
        if bound is None and name in self._visible:
            return self.reader.samples.size(self._visible[name].size)
        return bound

    def _size_of(self, spec: Spec) -> Size | None:
        count = self.reader.samples.count
        match spec.dims[0]:
            case FixedDim(size=size):
                return (size,) * count
            case NamedDim(name=name):
                return self._of_name(name)
            case SymbolicDim(expression=expression):
                known = {name: bound for name in spec.names() if (bound := self._of_name(name)) is not None}
                try:
                    return evaluate(expression, known, count)
                except EvaluationError:
                    return None
        return None

    @cached_property
    def _literals(self) -> frozenset[int]:
        """The whole numbers in the source of the function, or of a module for what stands in none."""
        module = self.reader.module
        position = module.scopes[self.reader.call.scope].position
        lines = module.lines[position.line - 1 : position.end_line] if position is not None else module.lines
        return frozenset(int(number) for line in lines for number in _NUMBER.findall(line))


def _multiples(sizes: Mapping[str, Size]) -> Iterator[tuple[str, Size]]:
    for name, size in sizes.items():
        for factor in _FACTORS:
            yield f"{factor}*{name}", tuple(factor * each for each in size)


def _quotients(sizes: Mapping[str, Size]) -> Iterator[tuple[str, Size]]:
    for name, size in sizes.items():
        for divisor in _FACTORS:
            if not any(each % divisor for each in size):
                yield f"{name}//{divisor}", tuple(each // divisor for each in size)


def _products(sizes: Mapping[str, Size]) -> Iterator[tuple[str, Size]]:
    for (name, size), (other, by) in itertools.combinations_with_replacement(sizes.items(), 2):
        yield f"{name}*{other}", tuple(one * two for one, two in zip(size, by, strict=True))


def _neighbours(sizes: Mapping[str, Size]) -> Iterator[tuple[str, Size]]:
    for name, size in sizes.items():
        for step in _STEPS:
            yield f"{name}{step:+d}", tuple(each + step for each in size)
