"""Evaluations of what comments say of arguments, where others show that it is not so.

`h, c = carry  # (d,), (d,)` may be all that is known of a carry, and a function is evaluated with such a one. Where
its callers give it another, the comment is false, and whatever the first evaluation shows is a consequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shapecheck.model import Evaluation, Module
from shapecheck.verdicts.judge import Verdicts

Runs = Sequence[Sequence[Evaluation]]


def without_contradicted(modules: Mapping[str, Module], runs: Runs, verdicts: Verdicts) -> Runs:
    """The evaluations but those that give a function a part of an argument as a false claim describes it."""
    false = {
        (path, part.part)
        for path, module in modules.items()
        for part in module.parts
        if (path, part.claim) in verdicts.bad
    }
    if not false:
        return runs
    kept = ([each for each in run if not _rests_on(each, false)] for run in runs)
    return [run for run in kept if run]


def _rests_on(evaluation: Evaluation, false: set[tuple[str, str]]) -> bool:
    return any(each.kind == "part" and (evaluation.path, each.subject) in false for each in evaluation.assumptions)
