"""The axes that `vmap` takes away from values.

Where the names below do not fit a version of JAX, the readings of claims with mapped axes in front are not available,
and nothing else breaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, Literal

from shapecheck.evaluate.probes.jax_frames import begins_trace, evaluates, nested_tracers

Role = Literal["maps", "traces", "evaluates", ""]


def mapped_axes(value: Any) -> tuple[str, ...]:
    """Sizes of the axes that `vmap` took away from `value`, outermost first."""
    sizes: list[str] = []
    for tracer, inner in nested_tracers(value):
        axis = getattr(tracer, "batch_dim", None)
        if isinstance(axis, int) and axis < len(inner.shape):
            sizes.append(str(inner.shape[axis]))
    return tuple(reversed(sizes))


class VmapFrames:
    """Finds the `vmap`s around a frame whose axes no value shows any more, because a `jit` or a loop traces it anew."""

    def __init__(self) -> None:
        self._roles: dict[CodeType, Role] = {}

    def hidden_axes(self, frame: FrameType | None) -> tuple[str, ...]:
        """The sizes of their axes, outermost first: a value in `frame` may have them, or some, or none."""
        sizes = (around.f_locals.get("axis_size_") for around in self.hidden_frames(frame))
        return tuple(reversed([str(size) for size in sizes if size is not None]))

    def hidden_frames(self, frame: FrameType | None) -> Iterator[FrameType]:
        """The frames in which they run, the inner ones first."""
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
                yield frame
            frame = frame.f_back


def _role(frame: FrameType) -> Role:
    if evaluates(frame):
        return "evaluates"
    if frame.f_code.co_name == "vmap_f" and frame.f_code.co_filename.endswith("_src/api.py"):
        return "maps"
    return "traces" if begins_trace(frame) else ""
