"""Whether a value is a tracer in every run of the user's code, or only because all is abstract here.

The call stack tells: between the user's line and the start of our evaluation, one of JAX's functions that trace in any
case (`jit`, `scan`, ...) has begun the trace that the value belongs to. Or our evaluation has begun it, of a function
without the `jit` that decorates it. What JAX traces only because it is under a trace already, such as the body of a
`custom_jvp` function, is no proof, for on real arrays it just runs. Nor are the tracers of `vmap` and `grad` by
themselves: they print what is in them.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from types import FrameType, FunctionType

import jax

from shapecheck.evaluate.framework_protocol import loaded_frameworks
from shapecheck.evaluate.jax_internals import (
    begins_trace,
    evaluates,
    holds_trace,
    innermost,
    is_jit_wrapper,
    module_of,
    processes_primitive,
    trace_of,
    transform_in,
)
from shapecheck.evaluate.probes.describe_value import describe, is_array
from shapecheck.model import OtherValue, Value

_MOST = 64  # parts of a container that are looked at


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


def captured_value(function: object, name: str) -> object:
    """What a function has from around it under a name; itself if nothing. JAX calls it when the trace is over."""
    if isinstance(function, FunctionType) and name in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        with contextlib.suppress(ValueError):  # it is not bound yet
            return cell.cell_contents
    return function


def traced_by(value: object, frame: FrameType) -> str:
    """The transformation that traces `value`, or an array in it, in any run of the code in `frame`; "" if none does."""
    for tracer in _tracers(value):
        found = _begun_by(trace_of(innermost(tracer)), frame)
        if found:
            return found
    return ""


def _tracers(value: object) -> Iterator[object]:
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
        if not module.startswith("jax."):
            tracing = False
            entry = entry if module.startswith("shapecheck.") else frame
        elif begins_trace(frame):
            found = found or holds_trace(frame, trace)
            tracing = found
        elif processes_primitive(frame):
            tracing = False
        elif tracing:
            transform = transform_in(frame)
            if transform is not None and transform.always:
                return transform.label
        frame = frame.f_back
    return ""


def _has_begun(frame: FrameType | None, trace: object) -> bool:
    """Whether the nearest trace from `frame` outwards is `trace`."""
    while frame is not None:
        if begins_trace(frame):
            return holds_trace(frame, trace)
        frame = frame.f_back
    return False


def _is_jitted(frame: FrameType | None) -> bool:
    """Whether the function that runs in `frame` is, under its own name, one that `jit` decorates.

    Not a method under `jax.jit` itself: what `self` holds may be static there.
    """
    if frame is None:
        return False
    *owners, name = str(getattr(frame.f_code, "co_qualname", frame.f_code.co_name)).split(".")
    value = frame.f_globals.get([*owners, name][0])
    for step in [*owners, name][1:]:
        value = inspect.getattr_static(value, step, None)
    jitted = False
    for _ in range(_MOST):
        for inside in () if inspect.isfunction(value) else ("__func__", "func", "method"):
            value = inspect.getattr_static(value, inside, value)
        jitted = jitted or is_jit_wrapper(value, is_method=bool(owners))
        jitted = jitted or any(each.is_jitted(value) for each in loaded_frameworks())
        if getattr(value, "__code__", None) is frame.f_code:
            return jitted
        value = getattr(value, "__wrapped__", None)
    return False
