"""Sample sizes have nothing to do with each other."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest

from shapecheck.shapes import evaluate, parse_dim, sample_sizes

NAMES = ["batch", "seq", "d", "heads", "h", "w", "k", "n"]


@pytest.mark.parametrize("multiple_of", [1, 2, 3, 8, 12, 64])
def test_sizes_in_one_sample_are_unrelated(multiple_of: int) -> None:
    sizes = sample_sizes(NAMES, multiple_of=multiple_of)
    assert list(sizes) == NAMES
    for sample in zip(*sizes.values(), strict=True):
        for a, b in permutations(sample, 2):
            assert a not in {b, b + 1, 2 * b, 2 * b + 1, 2 * b - 1, b // 2}
        for a, b, c in permutations(sample, 3):
            assert a + b != c
            assert a * b != c
        assert all(size % multiple_of == 0 and size >= min(23, 3 * multiple_of) for size in sample)


def test_plain_sizes_are_of_a_moderate_size() -> None:
    assert all(23 <= size <= 400 for size in (n for sample in sample_sizes(NAMES[:5]).values() for n in sample))


def test_the_same_names_give_the_same_sizes() -> None:
    assert sample_sizes(NAMES) == sample_sizes(iter(NAMES))
    assert sample_sizes(["a", "b", "a"]) == sample_sizes(["a", "b"])
    assert sample_sizes(["a", "b", "c"])["b"] == sample_sizes(["a", "b"])["b"]


def test_many_names_still_get_distinct_sizes() -> None:
    sizes = sample_sizes(f"n{i}" for i in range(300))
    for sample in zip(*sizes.values(), strict=True):
        assert len(set(sample)) == 300


def test_no_names_and_one_sample() -> None:
    assert sample_sizes([]) == {}
    assert [len(size) for size in sample_sizes(NAMES, count=1).values()] == [1] * len(NAMES)


@pytest.mark.parametrize(("count", "multiple_of"), [(0, 1), (1, 0), (-1, 1)])
def test_nonsense_is_refused(count: int, multiple_of: int) -> None:
    with pytest.raises(ValueError, match="positive"):
        sample_sizes(NAMES, count, multiple_of)


DIFFERENT = [
    "h",
    "h - 1",
    "h + 1",
    "2*h",
    "floordiv(h, 2)",
    "floordiv(h - 1, 2)",
    "floordiv(h - 1, 2) + 1",
    "floordiv(h, 2) + 1",
    "floordiv(h, 3)",
    "floordiv(h + 2, 3)",
    "floordiv(h, 4)",
    "2*floordiv(h, 2)",
    "h^2",
    "mod(h, 2)",
    "mod(h, 3)",
    "w",
    "h*w",
    "h + w",
    "max(h, w)",
    "min(h, w)",
    "max(h, w) + min(h, w) - w + 2",
    "floordiv(h + w, 2)",
    "floordiv(h, 2) + floordiv(w, 2)",
    "48",
    "0",
]


def test_different_dims_are_told_apart() -> None:
    for names in (["h", "w"], ["w", "h"], ["b", "w", "s", "h"]):
        env = sample_sizes(names)
        values = {text: evaluate(parse_dim(text), env, 6) for text in DIFFERENT}
        for left, right in combinations(DIFFERENT, 2):
            assert values[left] != values[right], (left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [("2*(h + w)", "2*h + 2*w"), ("floordiv(h + 2, 2)", "floordiv(h, 2) + 1"), ("h*h*w", "w*h^2"), ("mod(h, 1)", "0")],
)
def test_equal_dims_are_equal(left: str, right: str) -> None:
    env = sample_sizes(["h", "w"])
    assert evaluate(parse_dim(left), env, 6) == evaluate(parse_dim(right), env, 6)
