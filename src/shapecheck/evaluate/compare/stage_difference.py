"""How far what two models gave differs, stage by stage."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from shapecheck.evaluate.compare import parameter_arrays
from shapecheck.evaluate.compare.array_difference import is_exact
from shapecheck.evaluate.compare.equal_arrays import ArrayComparison, Pair
from shapecheck.evaluate.compare.rename_stages import Renames, pairs, propose_renames
from shapecheck.model import ArrayMismatch, ComparedRuns, ComparedStage, StageOutput, StageRun, Tensor, Tolerance

Alike = Callable[[Tensor, Tensor], bool]

_PLACES = re.compile(r"(\[\d+\])*")


@dataclass(frozen=True)
class ArrayPairs:
    """Arrays of two sides, and those that only one has. They are `moved` if they go by what they hold."""

    pairs: tuple[tuple[Tensor, Tensor], ...]
    only_a: tuple[Tensor, ...] = ()
    only_b: tuple[Tensor, ...] = ()
    moved: bool = False


def pair_arrays(a: Sequence[Tensor], b: Sequence[Tensor], alike: Alike, *, free: bool) -> ArrayPairs:
    """Arrays by their names, if these are the same, else in their order; or else, where possible, by what they hold.

    That is possible where they stand in no order that both know: where one side names them, and the other does not do
    so, or otherwise, or where they are `free` to have any. Each of one side then has its like; what the other has
    besides, is left over.
    """
    plain = in_order(a, b)
    if not (plain.only_a or plain.only_b) and all(alike(x, y) for x, y in plain.pairs):
        return plain
    if not free and (_have_the_same_names(a, b) or not any(map(is_named, (*a, *b)))):
        return plain
    pairs: list[tuple[Tensor, Tensor]] = []
    rest, left = list(b), []
    for x in a:
        likes = [y for y in rest if alike(x, y)]
        if likes:
            y = next((y for y in likes if y.digest == x.digest), likes[0])
            pairs.append((x, y))
            rest.remove(y)
        else:
            left.append(x)
    # One may have the same array twice.
    left = [x for x in left if x.digest not in {known.digest for known, _ in pairs}]
    rest = [y for y in rest if y.digest not in {known.digest for _, known in pairs}]
    return plain if not pairs or (left and rest) else ArrayPairs(tuple(pairs), tuple(left), tuple(rest), moved=True)


def in_order(a: Sequence[Tensor], b: Sequence[Tensor]) -> ArrayPairs:
    """Arrays by their names, if one side has those of the other, else in their order."""
    names = {t.name for t in a}, {t.name for t in b}
    if len(names[0]) == len(a) and len(names[1]) == len(b) and (names[0] <= names[1] or names[1] <= names[0]):
        known = {t.name: t for t in b}
        pairs = tuple((x, known[x.name]) for x in a if x.name in known)
        only = [tuple(t for t in side if t.name not in other) for side, other in ((a, names[1]), (b, names[0]))]
        return ArrayPairs(pairs, only[0], only[1])
    return ArrayPairs(tuple(zip(a, b, strict=False)), tuple(a[len(b) :]), tuple(b[len(a) :]))


def nearest(a: Sequence[Tensor], b: Sequence[Tensor], alike: Alike) -> ArrayPairs:
    """Arrays that do not all belong together: by their names, else what is alike, else what has the same form."""
    plain = in_order(a, b)
    if all(x.name == y.name for x, y in plain.pairs):
        return plain
    pairs, left, rest = [], list(a), list(b)
    ways: list[Alike] = [alike, lambda x, y: (x.dtype, x.shape) == (y.dtype, y.shape), lambda x, y: True]
    for fits in ways:
        for x in list(left):
            y = next((y for y in rest if fits(x, y)), None)
            if y is not None:
                pairs.append((x, y))
                left.remove(x)
                rest.remove(y)
    return ArrayPairs(tuple(pairs), tuple(left), tuple(rest))


def is_named(tensor: Tensor) -> bool:
    """Whether an array has a name where it stands, and not only a place."""
    return not _PLACES.fullmatch(tensor.name)


def _have_the_same_names(a: Sequence[Tensor], b: Sequence[Tensor]) -> bool:
    return sorted(t.name for t in a) == sorted(t.name for t in b)


_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}


@dataclass(frozen=True)
class CollectedRuns:
    """The runs of one model, and the file that their arrays are in."""

    ran: Sequence[StageRun]
    file: str


def compare_runs(a: CollectedRuns, b: CollectedRuns, rules: Mapping[str, str], tolerance: Tolerance) -> ComparedRuns:
    """Compare all stages that both have, where `rules` give paths of `a` other names. Raises RenameError."""
    found = pairs(a.ran, b.ran, Renames(rules))
    differing = _StageComparison(ArrayComparison(a.file, b.file, tolerance))
    differing.values.learn([(a.ran[one], b.ran[other]) for one, other in found])
    numbers: dict[int, int] = {}  # the place of a run of `a` -> that of its comparison
    stages: list[ComparedStage] = []
    for one, other in found:
        above = a.ran[one].parent
        while above is not None and above not in numbers:
            above = a.ran[above].parent
        numbers[one] = len(stages)
        stages.append(differing.stage(a.ran[one], b.ran[other], numbers[above] if above is not None else None))
    matched = {one for one, _ in found}, {other for _, other in found}
    only = [
        tuple(dict.fromkeys(ran.path for place, ran in enumerate(side.ran) if place not in known))
        for side, known in zip((a, b), matched, strict=True)
    ]
    outermost = any(a.ran[one].parent is None or b.ran[other].parent is None for one, other in found)
    return ComparedRuns(tuple(stages), only[0], only[1], propose_renames(a.ran, b.ran, found, rules), outermost)


class _StageComparison:
    """Compares stages by the `values` of their arrays."""

    def __init__(self, values: ArrayComparison) -> None:
        self.values = values

    def stage(self, a: StageRun, b: StageRun, parent: int | None) -> ComparedStage:
        """One run in both."""
        a, b = _with_states(a, b), _with_states(b, a)
        own, rearranged = parameter_arrays.same(a.parameters, b.parameters)
        inputs, arguments = self._agree(a.inputs, b.inputs)
        states, others = self._same_states(a, b)
        known = ComparedStage(
            path=b.path,
            call=b.call,
            type=b.type,
            parent=parent,
            a=StageOutput(a.path, _describe_tensors(a.outputs), a.source),
            b=StageOutput(b.path, _describe_tensors(b.outputs), b.source),
            shapes=[(t.dtype, t.shape) for t in a.outputs] == [(t.dtype, t.shape) for t in b.outputs],
            close=False,
            empty=not (a.outputs or b.outputs),
            inputs=inputs,
            inexact=self._inexact(a.inputs, b.inputs) if inputs else 0.0,
            arguments=arguments,
            parameters=own,
            rearranged=rearranged,
            untransposed=bool(own) and not rearranged and parameter_arrays.are_untransposed(a, b),
            held=_unlike_by_name(a.parameters, b.parameters) if not own else (),
            states=states,
            kept=others,
        )
        # What a whole model takes as the other does, it has to give as the other does; what is inside of it, may be
        # put together in another way, if the whole is the same then.
        outer = not (a.path and b.path)
        parts = pair_arrays(a.outputs, b.outputs, self.values.alike, free=not outer)
        found = [self.values.compare_layouts(x, y) for x, y in parts.pairs]
        known = replace(known, parts=tuple(self._wrong(parts, found, outer)), arranged=_describe_arrangement(parts))
        sure = [pair for pair in found if pair is not None]
        besides = bool(parts.only_a or parts.only_b) and not (parts.moved and not outer)
        if len(sure) != len(found) or besides:
            return known
        laid = [each.layout for each in sure if each.layout is not None]
        odd = sum(each.difference.odd for each in sure)
        return replace(
            known,
            close=not known.parts,
            absolute=max((each.difference.absolute for each in sure), default=0.0),
            relative=max((each.difference.relative for each in sure), default=0.0),
            nans=min(sum(t.nans for t in a.outputs), sum(t.nans for t in b.outputs)) if not odd else 0,
            odd=odd,
            layout=", ".join(dict.fromkeys(map(str, laid))),
            apart=any(self.values.is_apart(x, y) for x, y in parts.pairs)
            or (bool(laid) and outer and _shapes(a.inputs) == _shapes(b.inputs)),
        )

    def _wrong(self, parts: ArrayPairs, found: Sequence[Pair | None], outer: bool) -> list[ArrayMismatch]:
        """The outputs that differ."""
        wrong = []
        for (x, y), pair in zip(parts.pairs, found, strict=True):
            is_cast = x.dtype != y.dtype and (outer or not self.values.alike(x, y))
            if pair is None or is_cast or not pair.difference.close:
                wrong.append(_part(x, y, pair))
        return wrong

    def _same_states(self, a: StageRun, b: StageRun) -> tuple[bool | None, tuple[ArrayMismatch, ...]]:
        """Whether both keep the same for their next run, and what does not agree of it.

        Frameworks keep it under names of their own, and some of them more than others: counters, sums; a stack of
        layers keeps it in one array. It is None if neither has learnt anything, and where that cannot be known.
        """
        if not (a.updated or b.updated):
            return None, ()
        same = in_order(a.states, b.states)
        if not same.only_a and not same.only_b and _go_by_name(same):
            others = self._unlike(same)
            return not others, others
        one, two = ([t for t in side if not is_exact(t.dtype)] for side in (a.states, b.states))
        found = pair_arrays(one, two, self.values.alike, free=True)
        if found.moved or (one and self.values.have_same_numbers(one, two)):
            return True, ()
        same = nearest(one, two, self.values.alike)
        others = (*self._unlike(same), *_besides(same))
        few, many = sorted((one, two), key=len)
        has_none_like_it = (
            any(_size([x]) == _size([y]) for y in many)
            and not any(self.values.alike(*((x, y) if few is one else (y, x))) for y in many)
            for x in few
        )
        return (False if any(has_none_like_it) or (one and _size(one) == _size(two)) else None), others

    def _agree(self, a: Sequence[Tensor], b: Sequence[Tensor]) -> tuple[bool | None, tuple[ArrayMismatch, ...]]:
        """Whether what was given agrees, and what does not.

        One may take the same array twice, or integers besides, a mask say, or a key. It is None for the same in
        another order, or cut and transposed: what that means, only their code tells.
        """
        found = pair_arrays(a, b, self.values.alike, free=True)
        besides = _besides(found)
        if found.moved:
            swapped = in_order(a, b)
            if all(map(is_named, (*a, *b))) and not (swapped.only_a or swapped.only_b) and _go_by_name(swapped):
                return False, self._unlike(swapped)
            places = [list(b).index(y) for _, y in found.pairs]
            others = tuple(_part(x, y, None) for x, y in found.pairs if x.name != y.name)
            if places != sorted(places):
                return None, (*others, *besides)
        others = self._unlike(found if found.moved else nearest(a, b, self.values.alike))
        if not others:
            return (None if any(not is_exact(t.dtype) for t in (*found.only_a, *found.only_b)) else True), besides
        if len(a) != len(b):
            a, b = ([t for t in side if not is_exact(t.dtype)] for side in (a, b))
            if len(a) != len(b):
                return None, (*others, *besides)
            others = self._unlike(nearest(a, b, self.values.alike))
        rest = list(b)
        for x in a:
            other = next((y for y in rest if self.values.alike(x, y) or self._is_cut_anew(x, y)), None)
            if other is None:
                return False, (*others, *besides)
            rest.remove(other)
        return None, (*others, *besides)

    def _inexact(self, a: Sequence[Tensor], b: Sequence[Tensor]) -> float:
        """The greatest difference of inputs that agree."""
        pairs = [(x, y) for x, y in nearest(a, b, self.values.alike).pairs if x.digest != y.digest]
        found = (self.values.compare_layouts(x, y) for x, y in pairs)
        return max((each.difference.absolute for each in found if each is not None), default=0.0)

    def _is_cut_anew(self, a: Tensor, b: Tensor) -> bool:
        return a.shape != b.shape and self.values.have_same_numbers([a], [b])

    def _unlike(self, found: ArrayPairs) -> tuple[ArrayMismatch, ...]:
        alike = self.values.alike
        return tuple(_part(x, y, self.values.compare_layouts(x, y)) for x, y in found.pairs if not alike(x, y))


def _with_states(one: StageRun, other: StageRun) -> StageRun:
    """A run whose states are outputs, if the other one has so many, and knows of no states: it gives them by hand."""
    is_plain = not other.states and len(one.outputs) + len(one.states) == len(other.outputs)
    return replace(one, outputs=(*one.outputs, *one.states), states=()) if one.states and is_plain else one


def _unlike_by_name(a: Sequence[Tensor], b: Sequence[Tensor]) -> tuple[ArrayMismatch, ...]:
    """Parameters that are not the same, of stages of one framework, which has one name for them."""
    found = in_order(a, b)
    if not found.pairs or not _go_by_name(found):
        return ()
    return (*(_part(x, y, None) for x, y in found.pairs if x.digest != y.digest), *_besides(found))


def _besides(found: ArrayPairs) -> tuple[ArrayMismatch, ...]:
    return (*(_part(x, None, None) for x in found.only_a), *(_part(None, y, None) for y in found.only_b))


def _size(tensors: Sequence[Tensor]) -> int:
    return sum(math.prod(tensor.shape) for tensor in tensors)


def _go_by_name(found: ArrayPairs) -> bool:
    return all(x.name == y.name for x, y in found.pairs)


def _part(a: Tensor | None, b: Tensor | None, pair: Pair | None) -> ArrayMismatch:
    most, unlike = (pair.difference.absolute, pair.difference.unlike) if pair is not None else (None, 0)
    layout = str(pair.layout) if pair is not None and pair.layout is not None and pair.difference.close else ""
    both = [t for t in (a, b) if t is not None]
    exact = len(both) == 2 and any(is_exact(t.dtype) for t in both)
    return ArrayMismatch(
        a=a.name if a is not None else "",
        a_form=_form(a) if a is not None else "",
        b=b.name if b is not None else "",
        b_form=_form(b) if b is not None else "",
        absolute=most,
        differing=unlike,
        size=math.prod(both[-1].shape),
        exact=exact,
        layout=layout,
    )


def _describe_arrangement(parts: ArrayPairs) -> str:
    """How the parts of `a` have to be put together anew to be those of `b`."""
    if not parts.moved:
        return ""
    pairs = [(x.name or "the output", y.name or "the output") for x, y in parts.pairs]
    moved = [f"{one} of A is {other} of B" for one, other in pairs if one != other]
    besides = [
        f"{name} gives {_describe_tensors(only)} besides"
        for name, only in (("A", parts.only_a), ("B", parts.only_b))
        if only
    ]
    return ", ".join([*moved, *besides])


def _shapes(tensors: Sequence[Tensor]) -> list[tuple[int, ...]]:
    return [tensor.shape for tensor in tensors]


def _describe_tensors(tensors: Sequence[Tensor]) -> str:
    texts = list(map(_form, tensors))
    return (texts[0] if len(texts) == 1 else f"({', '.join(texts)})") if texts else "nothing"


def _form(tensor: Tensor) -> str:
    return f"{_dtype(tensor.dtype)}[{','.join(map(str, tensor.shape))}]"


def _dtype(name: str) -> str:
    kind = name.rstrip("0123456789")
    return f"{_SHORT[kind]}{name[len(kind) :]}" if kind in _SHORT and kind != name else name
