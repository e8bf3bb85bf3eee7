"""Which of JAX's transformations a stage runs under, as the call stack tells; and how to see through `jit`."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from types import FrameType

import jax

from shapecheck.evaluate.jax_internals import is_jitting, is_tracing, mapped_size, transform_in

_numbers = itertools.count()


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
        transform = transform_in(frame)
        if transform is not None and transform.label != "jit" and inside is not None:
            label, size = transform.label, mapped_size(frame, transform)
            if known != (inside, label):  # one that calls itself under another name is one
                text = "" if not transform.size else "?" if size is None else str(size)
                yield ActiveTransform(label, text, frame, inside)
            known = frame, label
        inside, frame = frame, frame.f_back


def is_traced(frame: FrameType | None, until: Callable[[FrameType], bool]) -> bool:
    """Whether JAX traces a function between `frame` and the first frame outwards for which `until` holds."""
    return _is_under(is_tracing, frame, until)


def is_jitted(frame: FrameType | None, until: Callable[[FrameType], bool]) -> bool:
    """Whether that is a jitted function: what JAX compiles of it serves for all arguments of these shapes."""
    return _is_under(is_jitting, frame, until)


def _is_under(
    condition: Callable[[FrameType], bool], frame: FrameType | None, until: Callable[[FrameType], bool]
) -> bool:
    while frame is not None and not until(frame):
        if condition(frame):
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
    metadata: Callable[..., contextlib.AbstractContextManager[object]]
    try:
        from jax.experimental.xla_metadata import set_xla_metadata as metadata  # noqa: PLC0415
    except ImportError:
        if not name:
            jax.clear_caches()
        yield
        return
    with metadata(shapecheck=name or str(next(_numbers))):
        yield
