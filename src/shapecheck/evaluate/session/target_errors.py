"""What is answered of a target that cannot be run as it is asked for."""

from __future__ import annotations

import inspect

from shapecheck.evaluate.inputs import name_hints
from shapecheck.evaluate.inputs.synthesise_values import CannotSynthesiseError
from shapecheck.worker.messages.target_messages import TargetRefusal


def describe_refusal(error: BaseException, called: object, owner: object) -> TargetRefusal:
    """The error in words; of which parameters nothing is known, with examples, and whose they are.

    They are a constructor's, or else of `called`, which may be a factory if it stands in no class `owner`.
    """
    lacks = error if isinstance(error, CannotSynthesiseError) else error.__cause__
    known = lacks if isinstance(lacks, CannotSynthesiseError) else CannotSynthesiseError("")
    return TargetRefusal(
        error=str(error),
        missing={name: name_hints.example(name) for name in known.parameters},
        constructing=known.constructing,
        factory=inspect.isfunction(called) and not isinstance(owner, type),
    )
