"""What may be held against the code, by what the evaluations that show it rest on."""

from __future__ import annotations

import pytest

from shapecheck.model import Assumption, proves, weakest

ALIAS = Assumption("tie", "embed", "d_model", "alias")
UNEXPLAINED = Assumption("tie", "time", "n_heads", "invented")
FOLLOWS = Assumption("follows", "n", "5", "given")
DTYPE = Assumption("dtype", "x", "", "invented")


def invented(kind, value):
    return Assumption(kind, "model.width", value, "invented")


@pytest.mark.parametrize(
    ("evidence", "is_proof"),
    [
        ([[]], True),
        ([[ALIAS]], True),
        ([[DTYPE]], True),
        ([[UNEXPLAINED]], False),
        ([[FOLLOWS]], False),
        ([[FOLLOWS], []], True),
        ([[invented("size", "48")]], False),
        ([[invented("size", "48")], [invented("size", "48")]], False),
        ([[invented("size", "48")], [invented("size", "105")]], True),
        ([[invented("value", "True")], [invented("value", "False"), UNEXPLAINED]], False),
        ([], False),
    ],
)
def test_an_invention_spoils_what_stays_with_it(evidence, is_proof) -> None:
    assert proves(evidence) is is_proof


def test_invented_ranks_decide_on_ranks_but_not_on_sizes_and_invented_dtypes_on_no_dtype() -> None:
    ranks = [[invented("rank", "1 axis")], [invented("rank", "2 axes")]]
    assert proves(ranks, "shape")
    assert not proves(ranks, "dim")
    assert not proves([[DTYPE]], "dtype")


def test_the_weakest_assumption_tells_how_much_a_claim_rests_on() -> None:
    assert weakest([]) == "given"
    assert weakest([DTYPE, ALIAS]) == "alias"
    assert weakest([ALIAS, invented("size", "48")]) == "invented"
