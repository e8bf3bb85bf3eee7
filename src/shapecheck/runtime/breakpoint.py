"""JAX's debugger, opened in the user's frame: `--on-failure breakpoint`.

`jax.debug.breakpoint` takes the frames as they are while JAX traces, with whatever tracers they have, and its own
frames only are left out. Here the frames are noted where a value is looked at, and their arrays come with what is
sent of it: so the value itself is among them, which has no name there yet, and no tracer of a trace that is over.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp

from shapecheck.evaluate.jax_internals import DebuggedFrame, is_alive, open_debugger, traces_under_way
from shapecheck.evaluate.probes.describe_value import array_text
from shapecheck.evaluate.stages.value_taps import Arrays, Stop
from shapecheck.runtime.excepthook import is_ours

_NAMES = ("output", "gave")  # of a value without a name


def stop_in(
    is_own: Callable[[str], bool], name: str, returned: DebuggedFrame | None = None
) -> Callable[[object], Stop]:
    """What a sink asks for: a stop where the value is computed, in the user's frames, with the value as `name`.

    If a stage has `returned` it, that frame is the innermost.
    """

    def stop(value: object) -> Stop:
        frames = [*([returned] if returned is not None else []), *_users_frames(sys._getframe(1), is_own)]
        innermost = frames[0] if frames else DebuggedFrame(file="", line=0, variables={}, module={})
        called = name or next((each for each in _NAMES if each not in innermost.variables), _NAMES[0])
        frames[:1] = [replace(innermost, variables={**innermost.variables, called: value})]
        under_way = traces_under_way(sys._getframe(1))
        flat = [_flatten(frame.variables, under_way) for frame in frames]
        arrays = tuple(leaf for variables in flat for variable in variables for leaf in variable.tracers())

        def open_with(values: Arrays) -> None:
            left = iter(values)
            shown = [
                replace(frame, variables={variable.name: variable.with_values(left) for variable in variables})
                for frame, variables in zip(frames, flat, strict=True)
            ]
            sys.stderr.write(
                f"The value is `{called}` here: `p {called}` prints it, `up` goes to who called, `c` on.\n"
            )
            sys.stderr.flush()
            open_debugger(shown)

        return Stop(arrays, open_with)

    return stop


def note_frame(frame: FrameType, line: int) -> DebuggedFrame:
    """A frame as it is now."""
    return DebuggedFrame(
        file=frame.f_code.co_filename, line=line, variables=dict(frame.f_locals), module=frame.f_globals
    )


def _users_frames(frame: FrameType | None, is_own: Callable[[str], bool]) -> Iterator[DebuggedFrame]:
    """Those around a frame, the innermost first."""
    while frame is not None:
        if is_own(frame.f_code.co_filename) and not is_ours(frame):
            yield note_frame(frame, frame.f_lineno)
        frame = frame.f_back


@dataclass(frozen=True)
class _SentTracer:
    """Stands for a tracer that has no value yet, and will have one."""

    tracer: object


@dataclass(frozen=True)
class _FrameVariable:
    """A variable's parts, and how it is made of them again."""

    name: str
    parts: Sequence[object]
    rebuild: Callable[[Sequence[object]], object]

    def tracers(self) -> Iterator[Any]:
        """The tracers that will have values."""
        return (part.tracer for part in self.parts if isinstance(part, _SentTracer))

    def with_values(self, values: Iterator[object]) -> object:
        """The variable with these in place of them."""
        return self.rebuild([next(values) if isinstance(part, _SentTracer) else part for part in self.parts])


def _flatten(variables: Mapping[str, object], under_way: Sequence[object]) -> list[_FrameVariable]:
    found = []
    for name, value in variables.items():
        parts, rebuild = _parts(value)
        if not any(isinstance(part, jax.core.Tracer) for part in parts):
            parts, rebuild = (value,), _only
        found.append(_FrameVariable(name, [_stand_in(part, under_way) for part in parts], rebuild))
    return found


def _parts(value: object) -> tuple[Sequence[object], Callable[[Sequence[object]], object]]:
    try:
        leaves, structure = jax.tree_util.tree_flatten(value)
    except Exception:  # of a class of others', which does not want to be looked into
        return (value,), _only
    return leaves, functools.partial(jax.tree_util.tree_unflatten, structure)


def _only(parts: Sequence[object]) -> object:
    return parts[0]


def _stand_in(part: object, under_way: Sequence[object]) -> object:
    if not isinstance(part, jax.core.Tracer):
        return part
    if jnp.issubdtype(part.dtype, jax.dtypes.extended) or not is_alive(part, under_way):
        return _Unknown(array_text(part))
    return _SentTracer(part)


@dataclass(frozen=True)
class _Unknown:
    """Stands for a tracer that nobody can have the value of: of a trace that is over, or a random key."""

    text: str

    def __repr__(self) -> str:
        return f"<{self.text}, whose value is not known here>"
