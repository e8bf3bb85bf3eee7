"""What sizes are at most, as an error says: a table of 64 positions, cut to the length of a sequence, holds no more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shapecheck.evaluate.inputs.trials.refused_sizes import RefusedComparison

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


def refused_limits(refused: RefusedComparison, chosen: Sequence[tuple[str, str]], least: int, before: Limits) -> Limits:
    """The limits with which a check of the user's lets sizes pass that it refused, with those of `before`."""
    found, limits = refused.most(), dict(before)
    if found is None or found[1] <= least:
        return before
    size, most = found
    for name in (name for name, text in chosen if text == str(size)):
        limits[name] = min(limits.get(name, most), most)
    return tuple(sorted(limits.items()))


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
