"""How much of its budget a run leaves for what comes after the evaluation."""

from __future__ import annotations

import pytest

from shapecheck.claims import read_module
from shapecheck.commands.evaluation import time_to_evaluate

MODULE = read_module(
    "m.py", b"from jaxtyping import Array, Float\n\ndef f(x: Float[Array, 'b'], y: Float[Array, 'b']): ...\n"
)


def test_a_file_of_thousands_of_claims_leaves_time_for_their_verdicts() -> None:
    assert time_to_evaluate(60.0, [MODULE] * 5000) == pytest.approx(52.0)  # 10,000 claims take some seconds


def test_a_small_project_is_evaluated_until_the_end() -> None:
    assert time_to_evaluate(60.0, [MODULE] * 20) > 59.9


def test_most_of_a_small_budget_is_for_evaluation() -> None:
    assert time_to_evaluate(10.0, [MODULE] * 50_000) == pytest.approx(8.5)
