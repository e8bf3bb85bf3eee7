"""Which of the arrays that two stages give, or are given, belong together."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shapecheck.model import Tensor

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
