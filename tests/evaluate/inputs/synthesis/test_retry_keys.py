"""Other keys are tried where the usual ones may be to blame, and nowhere else."""

from __future__ import annotations

import pytest

from shapecheck.evaluate.inputs.synthesis.retry_keys import with_keys
from shapecheck.evaluate.inputs.trials.choices import Keys
from shapecheck.model import Evaluation, Failure


@pytest.mark.parametrize(("kind", "searches"), [("value", 1), ("other", 2), ("shape", 1)])
def test_a_search_is_repeated_for_what_may_lie_with_the_keys(kind: str, searches: int) -> None:
    keys, made = Keys(), []

    def search(seconds: float) -> tuple[Evaluation, ...]:
        keys.open = True
        made.append(keys.choice)
        failure = Failure(kind=kind, message="it does not go on", frame=None)
        run = {"target": "f", "origin": "function", "path": "f.py", "line": 1, "mode": "sized", "status": "stopped"}
        return (Evaluation(**run, reason=failure.message, calls=(), failure=failure),)

    with_keys(keys, search, 10.0)
    assert len(made) == searches
