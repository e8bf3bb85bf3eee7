"""What the frames of the call stack are to us: those of our own evaluation, and in which module any of them runs."""

from __future__ import annotations

from types import FrameType

_EVALUATORS = ("shapecheck.evaluate.inputs", "shapecheck.evaluate.suites", "shapecheck.evaluate.session")


def module_of(frame: FrameType) -> str:
    """The name of the module that runs in a frame."""
    return str(frame.f_globals.get("__name__", ""))


def evaluates(frame: FrameType) -> bool:
    """Whether our evaluation of the user's code is what runs in it: all outside of it is ours too."""
    return module_of(frame).startswith(_EVALUATORS)
