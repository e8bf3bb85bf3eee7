"""Conditions that nothing determines, decided both ways: `if x.any(): ...`, `else: ...`.

Where Python asks a traced array whether it is true, evaluation ends. Decided by us it goes on, along one path of those
that the program may take. Whether it ever takes this one nobody says: so what holds there is said to rest on that, and
what does not is held against nobody.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterator
from types import FrameType
from typing import Any

import jax

from shapecheck.evaluate.jax_internals import trace_of, traces_under_way
from shapecheck.evaluate.probes.monkeypatch import patch_attribute

DECISIONS = ((True,), (False,), (True, False), (False, True))
"""How conditions are decided, one after the other; as the last of these, all that come behind."""
_MOST = 64  # conditions of one run


@contextlib.contextmanager
def decided_conditions(
    usual: tuple[bool, ...], files: Container[str], asked: Counter[tuple[int, ...]]
) -> Iterator[None]:
    """Meanwhile conditions on traced arrays are decided, where code of these files asks, and counted in `asked`.

    One that is asked again, as that of a loop is, has the other answer then: so a loop takes one turn, or none. Inside
    of a `jit` none is decided: there the program would end as well.
    """
    answers: dict[tuple[int, ...], bool] = {}
    original = vars(jax.core.Tracer)["__bool__"]

    def is_true(self: Any) -> bool:
        frame = sys._getframe(1)
        is_open = self.to_concrete_value() is None and frame.f_code.co_filename in files
        if not (is_open and asked.total() < _MOST and _is_outermost(self, frame) and self.shape == ()):
            return bool(original(self))
        place = id(frame), *_position(frame)
        first = answers.setdefault(place, usual[min(len(answers), len(usual) - 1)])
        asked[place] += 1
        return first if asked[place] % 2 else not first

    # monkeypatch: JAX lets nobody answer for a tracer
    with patch_attribute(jax.core.Tracer, "__bool__", is_true):
        yield


def _position(frame: FrameType) -> tuple[int, ...]:
    """Where the code of a frame is: the condition of a loop stands there twice for Python, and once in the source.

    Before Python 3.11 only the line is known.
    """
    positions: Callable[[], Iterator[tuple[int | None, ...]]] | None = getattr(frame.f_code, "co_positions", None)
    if positions is None:
        return (frame.f_lineno,)
    found = next(itertools.islice(positions(), frame.f_lasti // 2, None), ())
    return tuple(each or 0 for each in found)


def _is_outermost(tracer: object, frame: FrameType) -> bool:
    """Whether a tracer belongs to the trace around all others."""
    under_way = traces_under_way(frame)
    return bool(under_way) and trace_of(tracer) is under_way[-1]
