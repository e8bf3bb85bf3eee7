"""A dim that was made a multiple is the whole size to who reads of it, and the symbol that it is made of a part."""

from __future__ import annotations

import pytest

from shapecheck.verdicts.whole_sizes import in_whole_sizes


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ("d", "d//8"),
        ("8*d", "d"),
        ("2*d", "d//4"),
        ("24*d", "3*d"),
        ("12*d", "3*(d//2)"),
        ("8*b*d", "b*d"),
        ("8*d + 3", "d+3"),
        ("floordiv(8*d, 3)", "d//3"),
        ("b", "b"),
        ("48", "48"),
        ("dim0", "dim0"),
    ],
)
def test_a_symbol_is_shown_as_the_part_that_it_is(size: str, shown: str) -> None:
    assert in_whole_sizes(size, {"d": 8}) == shown
