"""Whether a value is a tracer in every run of the user's code, or only because all is abstract here.

The call stack tells: between the user's line and the start of our evaluation, one of JAX's functions that trace in any
case (`jit`, `scan`, ...) has begun the trace that the value belongs to. Or our evaluation has begun it, of a function
without the `jit` that decorates it. What JAX traces only because it is under a trace already, such as the body of a
`custom_jvp` function, is no proof, for on real arrays it just runs. Nor are the tracers of `vmap` and `grad` by
themselves: they print what is in them.

Where the names below do not fit a version of JAX, nothing is proven.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

import jax

from shapecheck.evaluate.probes.describe_value import describe, is_array
from shapecheck.evaluate.probes.jax_frames import TRACING, begins_trace, evaluates, innermost, module_of
from shapecheck.model import OtherValue, Value

_MOST = 64  # parts of a container that are looked at

# The file and function of a frame that traces whatever it is given -> what it is called.
_ALWAYS: Mapping[tuple[str, str], str] = {
    ("_src/pjit.py", "_infer_params"): "jit",
    ("control_flow/loops.py", "scan"): "scan",
    ("control_flow/loops.py", "while_loop"): "while_loop",
    ("control_flow/conditionals.py", "cond"): "cond",
    ("control_flow/conditionals.py", "_cond"): "cond",
    ("control_flow/conditionals.py", "switch"): "switch",
    ("_src/ad_checkpoint.py", "fun_remat"): "checkpoint",
}


class FormattedTracer:
    """Stands for a tracer in an f-string: a real array of no axes takes formats such as `.2f`, and no tracer does."""

    def __init__(self, value: object) -> None:
        self._text = str(value)

    def __str__(self) -> str:
        return self._text

    def __format__(self, spec: str) -> str:
        return self._text


def describe_type(value: object) -> Value:
    """The plain form of an array; of anything else its type, whatever it holds."""
    return describe(value) if is_array(value) else OtherValue(type(value).__name__)


def traced_by(value: object, frame: FrameType) -> str:
    """The transformation that traces `value`, or an array in it, in any run of the code in `frame`; "" if none does."""
    for tracer in _tracers(value):
        found = _begun_by(getattr(innermost(tracer), "_trace", None), frame)
        if found:
            return found
    return ""


def _tracers(value: object) -> Iterator[Any]:
    """The tracers that printing shows: `value`, or those in plain containers."""
    stack: list[object] = [value]
    for _ in range(_MOST):
        if not stack:
            return
        part = stack.pop()
        if isinstance(part, jax.core.Tracer):
            yield part
        elif isinstance(part, (list, tuple)):
            stack += part[:_MOST]
        elif type(part) is dict:
            stack += list(part.values())[:_MOST]


def _begun_by(trace: object, frame: FrameType | None) -> str:
    """What has begun `trace`, or another one around it, between `frame` and our evaluation."""
    found = tracing = False
    entry = frame
    while frame is not None and trace is not None:
        module = module_of(frame)
        if evaluates(frame):
            return "jit" if _is_jitted(entry) and (found or _has_begun(frame, trace)) else ""
        file, function = frame.f_code.co_filename, frame.f_code.co_name
        if not module.startswith("jax."):
            tracing = False
            entry = entry if module.startswith("shapecheck.") else frame
        elif begins_trace(frame):
            found = found or _holds(frame, trace)
            tracing = found
        elif file.endswith(TRACING) and function.startswith("process_"):
            tracing = False
        elif tracing:
            name = next((name for (end, own), name in _ALWAYS.items() if own == function and file.endswith(end)), "")
            if name:
                return name
        frame = frame.f_back
    return ""


def _holds(frame: FrameType, trace: object) -> bool:
    return frame.f_locals.get("trace") is trace


def _has_begun(frame: FrameType | None, trace: object) -> bool:
    """Whether the nearest trace from `frame` outwards is `trace`."""
    while frame is not None:
        if begins_trace(frame):
            return _holds(frame, trace)
        frame = frame.f_back
    return False


def _is_jitted(frame: FrameType | None) -> bool:
    """Whether the function that runs in `frame` is, under its own name, one that `jit` decorates.

    Not a method under `jax.jit` itself: what `self` holds may be static there.
    """
    if frame is None:
        return False
    *owners, name = str(getattr(frame.f_code, "co_qualname", frame.f_code.co_name)).split(".")
    value: Any = frame.f_globals.get([*owners, name][0])
    for step in [*owners, name][1:]:
        value = inspect.getattr_static(value, step, None)
    jitted = False
    for _ in range(_MOST):
        for inside in () if inspect.isfunction(value) else ("__func__", "func", "method"):
            value = inspect.getattr_static(value, inside, value)
        kind = type(value).__name__
        jitted = jitted or kind == "_JitWrapper" or (kind == "PjitFunction" and not owners)
        if getattr(value, "__code__", None) is frame.f_code:
            return jitted
        value = getattr(value, "__wrapped__", None)
    return False
