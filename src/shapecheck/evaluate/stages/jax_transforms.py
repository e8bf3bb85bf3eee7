"""Which of JAX's transformations a stage runs under, as the call stack tells; and how to see through `jit`.

Where the names below do not fit a version of JAX, a stage is shown without what it runs under, and nothing else breaks.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

import jax

from shapecheck.evaluate.probes.jax_frames import TRACING

_numbers = itertools.count()
_JITTING = "_src/pjit.py"

# The file and function of a frame -> what it is called, and the local variable that has its size.
_KNOWN: Mapping[tuple[str, str], tuple[str, str]] = {
    ("_src/api.py", "vmap_f"): ("vmap", "axis_size_"),
    ("control_flow/loops.py", "scan"): ("scan", "length"),
    ("control_flow/loops.py", "while_loop"): ("while_loop", ""),
    ("control_flow/conditionals.py", "cond"): ("cond", ""),
    ("control_flow/conditionals.py", "_cond"): ("cond", ""),
    ("control_flow/conditionals.py", "switch"): ("switch", ""),
    ("_src/api.py", "value_and_grad_f"): ("grad", ""),
    ("_src/ad_checkpoint.py", "fun_remat"): ("checkpoint", ""),
}


class ActiveTransform:
    """One transformation that is under way: its name, its size or "", its frame, and the frame inside of it."""

    def __init__(self, name: str, size: str, frame: FrameType, inside: FrameType) -> None:
        self.size, self.frame, self.inside = size, frame, inside
        self.text = f"{name}({size})" if size else name
        self.is_loop = name in ("scan", "while_loop")


def around(frame: FrameType | None, until: Callable[[FrameType], bool]) -> list[ActiveTransform]:
    """The transformations between `frame` and the first frame outwards for which `until` holds, outermost first."""
    return list(_around(frame, until))[::-1]


def _around(frame: FrameType | None, until: Callable[[FrameType], bool]) -> Iterator[ActiveTransform]:
    inside: FrameType | None = None
    known: tuple[FrameType, str] | None = None
    while frame is not None and not until(frame):
        name = frame.f_code.co_name
        for (file, function), (label, size) in _KNOWN.items():
            if name == function and inside is not None and frame.f_code.co_filename.endswith(file):
                if known != (inside, label):  # until JAX 0.6, `cond` called `_cond`: one and the same
                    yield ActiveTransform(label, str(frame.f_locals.get(size, "?")) if size else "", frame, inside)
                known = frame, label
        inside, frame = frame, frame.f_back


def is_traced(frame: FrameType | None, until: Callable[[FrameType], bool]) -> bool:
    """Whether JAX traces a function between `frame` and the first frame outwards for which `until` holds."""
    return _is_under(TRACING, frame, until)


def is_jitted(frame: FrameType | None, until: Callable[[FrameType], bool]) -> bool:
    """Whether that is a jitted function: what JAX compiles of it serves for all arguments of these shapes."""
    return _is_under(_JITTING, frame, until)


def _is_under(file: str, frame: FrameType | None, until: Callable[[FrameType], bool]) -> bool:
    while frame is not None and not until(frame):
        if frame.f_code.co_filename.endswith(file):
            return True
        frame = frame.f_back
    return False


def callers(frame: FrameType | None, files: tuple[str, ...]) -> Iterator[str]:
    """The names of the functions, from `frame` outwards, that are written in files with such ends of their names."""
    while frame is not None:
        if frame.f_code.co_filename.endswith(files):
            yield frame.f_code.co_name
        frame = frame.f_back


@contextlib.contextmanager
def fresh_traces(name: str = "") -> Iterator[None]:
    """See functions anew that JAX has traced before, and leave the user's caches alone: they know the metadata.

    Under one `name`, those that were traced under it before are not traced again.
    """
    metadata: Callable[..., Any]
    try:
        from jax.experimental.xla_metadata import set_xla_metadata as metadata  # noqa: PLC0415
    except ImportError:
        if not name:
            jax.clear_caches()
        yield
        return
    with metadata(shapecheck=name or str(next(_numbers))):
        yield
