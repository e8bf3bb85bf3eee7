"""Functions that `vmap` decorates, as those see them who call them: with the mapped axes in front."""

from __future__ import annotations

from dataclasses import replace

from shapecheck.model import Call, Evaluation, Module, Observation
from shapecheck.model.assumption import AS_MAPPED
from shapecheck.verdicts.select_arrays import in_front


def as_callers_have_it(module: Module, call: Call, evaluation: Evaluation) -> Call:
    """The call that an evaluation made of such a function, with what the decorated one was given and gave.

    What stands on the lines inside is of one example all the same.
    """
    if call.caller is not None or not any(assumption.value == AS_MAPPED for assumption in evaluation.assumptions):
        return call

    def whole(observation: Observation) -> Observation:
        if module.sites[observation.site].kind not in ("param", "return"):
            return observation
        return replace(observation, value=next(iter(in_front(observation.value)), observation.value))

    return replace(call, observations=tuple(map(whole, call.observations)))
