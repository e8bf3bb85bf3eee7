"""The axes that `vmap` takes away from values."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Literal

from shapecheck.evaluate.jax_internals import (
    begins_trace,
    evaluates,
    mapped_axis,
    mapped_size,
    nested_tracers,
    transform_in,
)

Role = Literal["maps", "stacks", "traces", "evaluates", ""]


def mapped_axes(value: object) -> tuple[str, ...]:
    """Sizes of the axes that `vmap` took away from `value`, outermost first."""
    sizes: list[str] = []
    for tracer, inner in nested_tracers(value):
        axis = mapped_axis(tracer)
        if axis is not None and axis < len(inner.shape):
            sizes.append(str(inner.shape[axis]))
    return tuple(reversed(sizes))


def is_mapped_within(value: object) -> bool:
    """Whether `vmap` took an axis away from another place of `value` than the front."""
    return any(mapped_axis(tracer) not in (None, 0) for tracer, _ in nested_tracers(value))


class VmapFrames:
    """Finds the `vmap`s around a frame whose axes no value shows any more, because a `jit` or a loop traces it anew."""

    def __init__(self) -> None:
        self._roles: dict[CodeType, Role] = {}

    def hidden_axes(self, frame: FrameType | None, *, of_scans: bool = False) -> tuple[str, ...]:
        """The sizes of their axes, outermost first: a value in `frame` may have them, or some, or none.

        With `of_scans` also the lengths of scans, which stack what their bodies give.
        """
        sizes = (_axis_size(around) for around in self.hidden_frames(frame, of_scans=of_scans))
        return tuple(reversed([str(size) for size in sizes if size is not None]))

    def hidden_frames(self, frame: FrameType | None, *, of_scans: bool = False) -> Iterator[FrameType]:
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
            elif (role == "maps" and traced) or (role == "stacks" and of_scans):
                yield frame
            frame = frame.f_back


def _axis_size(frame: FrameType) -> object:
    transform = transform_in(frame)
    return None if transform is None else mapped_size(frame, transform)


def _role(frame: FrameType) -> Role:
    if evaluates(frame):
        return "evaluates"
    transform = transform_in(frame)
    if transform is not None and transform.label in ("vmap", "scan"):
        return "maps" if transform.label == "vmap" else "stacks"
    return "traces" if begins_trace(frame) else ""
