"""What all stages come to."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import export

from shapecheck.templates.template_tree import total

A, B = export.symbolic_shape("a, b")


@settings(max_examples=40)
@given(st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=4))
def test_the_sum_of_texts_is_that_of_the_numbers(numbers: list[tuple[int, int, int]]) -> None:
    terms = [w * A * B + x * A * A + y for w, x, y in numbers]
    found = total([term if isinstance(term, int) else str(term) for term in terms])
    whole = sum(terms)
    if isinstance(found, int):
        assert found == whole
    else:
        (parsed,) = export.symbolic_shape(found, scope=A.scope)
        assert parsed == whole


@pytest.mark.parametrize(
    ("numbers", "whole"),
    [
        ([2, 3], 5),
        (["2*b", "3*b + 1", 4], "5*b + 5"),
        (["-b", "b"], 0),
        (["-b", 2], "-b + 2"),
        (["3*floordiv(b + 1, 2)", "floordiv(b + 1, 2) - 1"], "4*floordiv(b + 1, 2) - 1"),
    ],
)
def test_it_is_written_as_one_would(numbers: list[int | str], whole: int | str) -> None:
    assert total(numbers) == whole
