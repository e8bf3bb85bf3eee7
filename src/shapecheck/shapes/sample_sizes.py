"""Sample sizes for symbolic dims: numbers that nobody confuses.

If two dims come out equal in every sample, they are taken to be equal. So the numbers must have nothing to do with
each other, and they must differ in kind from sample to sample: if all were odd, `h//2` and `(h-1)//2` would look equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shapecheck.shapes.expressions import Size

LEAST = 23
MOST = 400

# Pairs are compared up to so many names: their sums and products would soon leave no number free.
_PAIRED = 16


def sample_sizes(names: Iterable[str], count: int = 6, multiple_of: int = 1) -> dict[str, Size]:
    """For each name `count` sizes, divisible by `multiple_of`.

    The same names give the same sizes. Within a sample all sizes are distinct, and as far as that is cheap none is
    twice, half, or one beside another, or the sum, difference, product or ratio of two others.
    """
    if count < 1 or multiple_of < 1:
        raise ValueError("count and multiple_of must be positive")
    unique = tuple(dict.fromkeys(names))
    columns = [_sample(len(unique), number, multiple_of) for number in range(count)]
    return {name: tuple(column[index] for column in columns) for index, name in enumerate(unique)}


def _sample(length: int, number: int, multiple_of: int) -> list[int]:
    """`length` unrelated sizes."""
    chosen: list[int] = []
    related: set[int] = set()
    for index in range(length):
        for quotient in _candidates(index, number, multiple_of):
            size = quotient * multiple_of
            if size not in related:
                break
        if index < _PAIRED:
            for other in chosen:
                related.update((size + other, abs(size - other), size * other, max(size, other) // min(size, other)))
        related.update((size - 1, size, size + 1, 2 * size - 1, 2 * size, 2 * size + 1, size // 2, (size + 1) // 2))
        chosen.append(size)
    return chosen


def _candidates(index: int, number: int, multiple_of: int) -> Iterator[int]:
    """Numbers in a scattered but fixed order, from an ever wider range.

    The first sample is of odd numbers and the second of multiples of 12, so each name has both kinds.
    """
    least = -(-LEAST // multiple_of) if multiple_of < LEAST else 3
    width = max(MOST // multiple_of - least, 24)
    attempt = 0
    while True:
        candidate = least + _scatter((number * 4096 + index) * 65536 + attempt) % width
        if number == 0:
            candidate |= 1
        elif number == 1:
            candidate += -candidate % (12 if multiple_of == 1 else 2)
        yield candidate
        attempt += 1
        if attempt % 64 == 0:
            width *= 2


def _scatter(key: int) -> int:
    """A number that looks random but is fixed by the key (the finalizer of splitmix64): `random` promises neither."""
    key = (key + 1) * 0x9E3779B97F4A7C15 % 2**64
    key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    key = (key ^ key >> 27) * 0x94D049BB133111EB % 2**64
    return key ^ key >> 31
