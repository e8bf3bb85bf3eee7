"""What the frames of the call stack are: JAX's that trace, and those of our own evaluation.

JAX has no public way to ask. The names here, and wherever frames and tracers are looked at, are those of JAX 0.5 to
0.12.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

import jax

TRACING = "_src/interpreters/partial_eval.py"
"""The end of the name of the file whose functions trace."""

_EVALUATORS = ("shapecheck.evaluate.inputs", "shapecheck.evaluate.suites", "shapecheck.evaluate.session")
_MOST = 64  # tracers around each other


def module_of(frame: FrameType) -> str:
    """The name of the module that runs in a frame."""
    return str(frame.f_globals.get("__name__", ""))


def evaluates(frame: FrameType) -> bool:
    """Whether our evaluation of the user's code is what runs in it: all outside of it is ours too."""
    return module_of(frame).startswith(_EVALUATORS)


def begins_trace(frame: FrameType) -> bool:
    """Whether JAX has begun to trace a function in it."""
    return frame.f_code.co_name.startswith("trace_to_") and frame.f_code.co_filename.endswith(TRACING)


def nested_tracers(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each tracer of `vmap` and of derivatives, the inner ones first, with what it has in hand: a tracer or an array.

    A batching tracer has `val` and `batch_dim`, a differentiation tracer `primal`.
    """
    for _ in range(_MOST):
        inner = getattr(value, "val", None) if isinstance(value, jax.core.Tracer) else None
        inner = inner if hasattr(inner, "shape") else getattr(value, "primal", None)
        if inner is None or inner is value or not hasattr(inner, "shape"):
            return
        yield value, inner
        value = inner


def innermost(value: Any) -> Any:
    """What all of them have wrapped, `value` itself if it is no such tracer."""
    return next((inner for _, inner in reversed(list(nested_tracers(value)))), value)
