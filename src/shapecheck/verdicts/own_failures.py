"""Assertions that an evaluation ran into: what ended it is the very line that makes the claim."""

from __future__ import annotations

from shapecheck.model import Claim, Evaluation, Module


def ends_at_claim(module: Module, claim: Claim, evaluation: Evaluation) -> bool:
    """Whether an evaluation ended because a shape that code asserts is another one.

    An assertion that fails on the way to something else was caught: so tests do that hand over what does not fit.
    """
    failure = evaluation.failure
    if claim.notation != "code" or failure is None or failure.frame is None or failure.frame.path != module.path:
        return False
    positions = (module.sites[site].position for site in claim.sites)
    return any(each is not None and each.line <= failure.frame.line <= each.end_line for each in positions)
