"""The axes that `vmap` takes away from values.

JAX has no public way to ask. The names below are those of JAX 0.4 to 0.12; where they do not fit, the readings of
claims with mapped axes in front are not available, and nothing else breaks.
"""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any, Literal

_MOST = 64  # tracers around each other
_TRACING = "_src/interpreters/partial_eval.py"
_EVALUATORS = ("shapecheck.stage.search", "shapecheck.stage.tests", "shapecheck.stage.process")

Role = Literal["maps", "traces", "evaluates", ""]


def mapped_axes(value: Any) -> tuple[str, ...]:
    """Sizes of the axes that `vmap` took away from `value`, outermost first.

    A batching tracer has `val` and `batch_dim`, a differentiation tracer `primal`.
    """
    sizes: list[str] = []
    for _ in range(_MOST):
        axis, inner = getattr(value, "batch_dim", None), getattr(value, "val", None)
        if inner is not None and hasattr(inner, "shape"):
            if isinstance(axis, int) and axis < len(inner.shape):
                sizes.append(str(inner.shape[axis]))
        else:
            inner = getattr(value, "primal", None)
        if inner is None or inner is value or not hasattr(inner, "shape"):
            break
        value = inner
    return tuple(reversed(sizes))


class Surroundings:
    """Finds the `vmap`s around a frame whose axes no value shows any more, because a `jit` or a loop traces it anew."""

    def __init__(self) -> None:
        self._roles: dict[CodeType, Role] = {}

    def hidden_axes(self, frame: FrameType | None) -> tuple[str, ...]:
        """The sizes of their axes, outermost first: a value in `frame` may have them, or some, or none."""
        sizes: list[str] = []
        traced = False
        while frame is not None:
            role = self._roles.get(frame.f_code)
            if role is None:
                role = self._roles[frame.f_code] = _role(frame)
            if role == "evaluates":
                break
            if role == "traces":
                traced = True
            elif role == "maps" and traced:
                size = frame.f_locals.get("axis_size_")
                sizes += [] if size is None else [str(size)]
            frame = frame.f_back
        return tuple(reversed(sizes))


def _role(frame: FrameType) -> Role:
    file, function = frame.f_code.co_filename, frame.f_code.co_name
    if str(frame.f_globals.get("__name__", "")).startswith(_EVALUATORS):
        return "evaluates"
    if function == "vmap_f" and file.endswith("_src/api.py"):
        return "maps"
    return "traces" if function.startswith("trace_to_") and file.endswith(_TRACING) else ""
