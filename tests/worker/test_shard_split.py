"""How tests, models and functions are divided among shards."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shapecheck.worker.shard_split import split_keys

KEYS = st.lists(st.text("abcdef", min_size=1), unique=True, max_size=30)


@given(KEYS, st.dictionaries(st.text("abcdef", min_size=1), st.floats(0, 100)), st.integers(1, 6))
def test_each_key_is_in_exactly_one_part(keys: list[str], durations: dict[str, float], total: int) -> None:
    parts = split_keys(keys, durations, total)
    assert len(parts) == total
    assert sorted(key for part in parts for key in part) == sorted(keys)
    assert parts == split_keys(keys, durations, total)


@given(KEYS, st.integers(1, 6))
def test_without_durations_the_counts_are_even(keys: list[str], total: int) -> None:
    sizes = [len(part) for part in split_keys(keys, {}, total)]
    assert max(sizes) - min(sizes) <= 1


def test_by_durations_a_long_one_is_alone() -> None:
    long, *rest = split_keys(["a", "b", "c", "d"], {"a": 1, "b": 1, "c": 9, "d": 1}, 2)
    assert long == {"c"}
    assert rest == [{"a", "b", "d"}]


def test_of_what_nobody_measured_the_median_is_assumed() -> None:
    parts = split_keys(["new", "a", "b", "c"], {"a": 10, "b": 10, "c": 20}, 2)
    assert parts == ({"c", "b"}, {"new", "a"})


def test_tests_of_one_file_stay_together_and_large_files_do_not() -> None:
    small = [f"test:a{number}.py::test_x[{size}]" for number in range(32) for size in range(4)]
    parts = split_keys(small, dict.fromkeys(small, 1.0), 4)
    assert [len(part) for part in parts] == [32] * 4
    assert all(len({key.partition("::")[0] for key in part}) == 8 for part in parts)
    large = [f"test:a.py::test_x[{size}]" for size in range(128)]
    assert [len(part) for part in split_keys(large, dict.fromkeys(large, 1.0), 4)] == [32] * 4
    assert all(len(part) == 1 for part in split_keys(large, dict.fromkeys(large, 1.0), 128))


def test_of_files_that_nobody_measured_each_shard_takes_a_part() -> None:
    tests = [f"test:a{number}.py::test_x[{size}]" for number in range(3) for size in range(8)]
    for part in split_keys(tests, {}, 4):
        assert [sum(f"a{number}.py" in key for key in part) for number in range(3)] == [2, 2, 2]
