"""What sizes are at most, as an error says: a table of 64 positions, cut to the length of a sequence, holds no more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Limits = tuple[tuple[str, int], ...]
"""Free names, and the largest size of each."""

_CUT_OFF = 2
# What JAX says where it cannot tell which of a symbol and a number is less.
_CUT = re.compile(r"\bmin\((?P<limit>\d+), (?P<size>[^\W\d]\w*)\)")
_COMPARED = re.compile(r"comparison '(?P<size>[^\W\d]\w*)' <= '(?P<limit>\d+)' is inconclusive")


def with_limits(message: str, chosen: Sequence[tuple[str, str]], least: int, before: Limits) -> Limits:
    """The limits that a message about symbols tells of; as `before` if it tells of none.

    `chosen` has the symbol of each free name. What is at most `least` leaves no sizes to choose from.
    """
    limits = dict(before)
    for pattern in (_CUT, _COMPARED):
        for found in pattern.finditer(message):
            limit = int(found["limit"])
            for name in (name for name, text in chosen if text == found["size"] and limit > least):
                limits[name] = min(limits.get(name, limit), limit)
    return tuple(sorted(limits.items()))


# What a check of the user's refused, as `failure_reasons` tells it: `assert n <= 16 (where n = 76)`,
# `too many (not n <= 16, where n = 76)`, `too many (n > 16, where n = 76)`.
_REFUSED = re.compile(
    r"(?:(?P<held>(?<=assert )[^()]+ \(|\(not .+, )|\((?P<raised>.+), )where (?P<sizes>[^()]+(?:\[-?\d\])?[^()]*)\)$"
)
_COMPARISON = re.compile(r"(?P<left>[\w.\[\]-]+) ?(?P<how><=?|>=?) ?(?P<right>[\w.\[\]-]+)")


def refused_limits(message: str, chosen: Sequence[tuple[str, str]], least: int, before: Limits) -> Limits:
    """The limits with which a check of the user's would let sizes pass that it refused, with those of `before`."""
    found = _REFUSED.search(message)
    condition = (found["held"] or found["raised"]).removeprefix("(not ").strip(" (,") if found is not None else ""
    compared = _COMPARISON.fullmatch(condition)
    if found is None or compared is None:
        return before
    sizes = dict(pair.split(" = ") for pair in found["sizes"].split(", "))
    left, right = (sizes.get(side, side) for side in compared.group("left", "right"))
    if not (left.isdigit() and right.isdigit()):
        return before
    size, limit = max(int(left), int(right)), min(int(left), int(right))
    is_strict = "=" not in compared["how"] if found["held"] else "=" in compared["how"]
    is_upper = (int(left) > int(right)) == (compared["how"].startswith("<") == bool(found["held"]))
    limits = dict(before)
    for name in (name for name, text in chosen if text == str(size) and is_upper):
        limits[name] = min(limits.get(name, limit), limit - is_strict)
    return tuple(sorted((name, most) for name, most in limits.items() if most > least or name in dict(before)))


def possible_limits(
    pairs: Sequence[tuple[str, ...]], chosen: Sequence[tuple[str, str]], least: int
) -> Iterator[tuple[str, int]]:
    """Free names of which a size does not fit a smaller one that no name has, as `pairs` of the two: perhaps a limit.

    The size may be a little less than the name's, as that of `tokens[:, :-1]` is.
    """
    free = {text for _, text in chosen}
    for pair in pairs:
        sizes = [int(size) for size in pair]
        limit = min(sizes)
        if str(limit) not in free and limit > least:
            sized = ((name, int(text) - max(sizes)) for name, text in chosen if text.isdigit())
            yield from ((name, limit) for name, less in sized if 0 <= less <= _CUT_OFF)
