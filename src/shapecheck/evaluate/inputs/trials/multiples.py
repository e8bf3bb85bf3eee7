"""What sizes have to be multiples of, as an error says: of the parts of a mesh, or of what an axis is divided by.

Sizes that are made up are multiples of little. Where code splits an axis into blocks, `x.reshape(-1, block, n)`, those
that divide are meant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Container, Iterator, Sequence

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
# What einops says where an axis is not made of whole parts, and what checks of users' own say.
_PAIRS = (
    re.compile(r"can't divide axis of length (?P<size>\d+) in chunks of (?P<parts>\d+)"),
    re.compile(r"(?<![\w.])(?P<size>\d+)\b[^\d\n]*\b(?:divisible by|a multiple of)\b[^\d\n]*(?P<parts>\d+)"),
)
_MOST = 100_000
_RESHAPE = re.compile(r"cannot reshape array of shape \(([\d, ]*)\)[^\n]* into shape \((-?[\d, -]*)\)")
_NUMBERS = re.compile(r"-?\d+")
_NAME = re.compile(r"[^\W\d]\w*")


def with_multiples(
    message: str, chosen: Sequence[tuple[str, str]], integers: Collection[int], before: Multiples
) -> Multiples:
    """The multiples that the free names must be `chosen` as to be split evenly; as `before` if that is not why.

    `message` is an error, `chosen` has the sizes that it was raised with, as text, `integers` those that code may
    divide by.
    """
    multiples = dict(before)
    free = {text for _, text in chosen}
    for size, parts in divisions(message, free, free, {*map(str, integers)}):
        for name in _names_of(size, chosen):
            multiple = math.lcm(multiples.get(name, 1), parts)
            multiples[name] = multiple if multiple <= _MOST else multiples.get(name, 1)
    return tuple(sorted((name, multiple) for name, multiple in multiples.items() if multiple > 1))


def divisions(
    message: str, divided: Container[str], free: Container[str], integers: Container[str]
) -> Iterator[tuple[str, int]]:
    """The sizes that a message says are `divided` with a rest, and by what: by no size that is `free` itself."""
    for pattern in _UNEVEN:
        yield from ((found["size"], int(found["parts"])) for found in pattern.finditer(message))
    for pattern in _PAIRS:
        pairs = ((found["size"], found["parts"]) for found in pattern.finditer(message))
        yield from ((size, int(parts)) for size, parts in pairs if size in divided and parts not in free)
    division = _division_of(*_reshape_shapes(message), divided, free, integers)
    if division is not None:
        yield division


def _reshape_shapes(message: str) -> tuple[list[str], list[str]]:
    """The shape of an array, and the one that it was to have, of JAX's message; two empty ones of another message."""
    found = _RESHAPE.match(message)
    return (_NUMBERS.findall(found.group(1)), _NUMBERS.findall(found.group(2))) if found is not None else ([], [])


def flattened_axis(message: str) -> tuple[str, list[str]] | None:
    """The last of several axes, and the numbers of columns to which all are flattened: (5, 7, 9) as (-1, 48, 8)."""
    before, after = _reshape_shapes(message)
    is_flat = len(before) > 1 and after[:1] == ["-1"] and len(after) > 1
    return (before[-1], after[1:]) if is_flat and set(before).isdisjoint(after) else None


def _division_of(
    before: list[str], after: list[str], divided: Container[str], free: Container[str], integers: Container[str]
) -> tuple[str, int] | None:
    """The one axis that a reshape divides by what nobody chose for a name, with a rest: (68, 8) as (-1, 48, 8).

    How many blocks there are is left to JAX, or computed, as 1 of (1, 48, 8), which is none of the `integers`.
    """
    for size in [*before]:
        if size in after:
            before.remove(size)
            after.remove(size)
    if len(before) != 1 or before[0] not in divided or any(size in free for size in after):
        return None
    number = int(before[0])
    counts = [each for each in after if each == "-1"]
    counts = counts or [each for each in after if each not in integers and _counts_blocks(each, number, after)]
    if len(counts) != 1:
        return None
    after.remove(counts[0])
    parts = math.prod(map(int, after))
    return (before[0], parts) if parts > 1 and number % parts else None


def _counts_blocks(count: str, size: int, axes: Sequence[str]) -> bool:
    """Whether an axis is as long as another has blocks, where the axes beside it are a block."""
    others = [int(each) for each in axes]
    others.remove(int(count))
    parts = math.prod(others)
    return parts > 1 and int(count) == size // parts


def _names_of(size: str, chosen: Sequence[tuple[str, str]]) -> list[str]:
    """The free names that a size is made of: for a number the one that has it, or that it is a multiple of."""
    if size.isdigit():
        numbers = [(name, int(text)) for name, text in chosen if text.isdigit() and int(text)]
        equal = [name for name, number in numbers if number == int(size)]
        return equal or [name for name, number in numbers if int(size) % number == 0]
    symbols = set(_NAME.findall(size))
    return [name for name, text in chosen if symbols & set(_NAME.findall(text))]
