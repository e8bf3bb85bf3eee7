"""Under a mesh, the sizes of axes that are split are multiples of its own: JAX says so, and so they are made."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

Multiples = tuple[tuple[str, int], ...]
"""Free names, and what their sizes are multiples of."""

# What JAX 0.5 to 0.10 says where an axis cannot be split: of `shard_map`, `all_to_all` and `psum_scatter`.
_UNEVEN = (
    re.compile(r"but (?P<parts>\d+) does not evenly divide (?P<size>[^\n]+)"),
    re.compile(
        r"split_axis \((?P<size>[^)\n]+)\) has to be divisible by the size of the named axis \S+ \((?P<parts>\d+)"
    ),
    re.compile(r"dimension size (?P<size>[^\n]+) must be divisible by shard_count (?P<parts>\d+)"),
)
_NAME = re.compile(r"[^\W\d]\w*")


def with_multiples(message: str, chosen: Sequence[tuple[str, str]], before: Multiples) -> Multiples:
    """The multiples that the free names must be `chosen` as to let a mesh split them; as `before` if that is not why.

    `message` is JAX's error, `chosen` has the sizes that it was raised with, as text.
    """
    multiples = dict(before)
    for pattern in _UNEVEN:
        for found in pattern.finditer(message):
            parts = int(found["parts"])
            for name in _names_of(found["size"], chosen):
                multiples[name] = math.lcm(multiples.get(name, 1), parts)
    return tuple(sorted(multiples.items()))


def _names_of(size: str, chosen: Sequence[tuple[str, str]]) -> list[str]:
    """The free names that a size is made of: for a number the one that has it, or that it is a multiple of."""
    if size.isdigit():
        numbers = [(name, int(text)) for name, text in chosen if text.isdigit() and int(text)]
        equal = [name for name, number in numbers if number == int(size)]
        return equal or [name for name, number in numbers if int(size) % number == 0]
    symbols = set(_NAME.findall(size))
    return [name for name, text in chosen if symbols & set(_NAME.findall(text))]
