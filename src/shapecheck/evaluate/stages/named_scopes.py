"""Plain code: each `with jax.named_scope(...)` of the user's is a stage, and each function under it as a decorator.

What a block takes are the variables with arrays that it reads and had before, what it gives are those that it sets
and leaves, as the frame that it stands in tells. JAX has no public way to ask what runs inside of a scope.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType, TracebackType
from typing import Any

import jax

from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.evaluate.stages.stage_recorder import StageRecorder
from shapecheck.evaluate.stages.stage_records import OpenStage, StageStep, arguments, describe_unmapped
from shapecheck.model import OtherValue, TreeValue

_INSTALLED = f"{os.sep}site-packages{os.sep}"
_VARIABLE = re.compile(r"(LOAD|STORE)_(FAST|DEREF|NAME)")
_ACCESS = re.compile(r"LOAD|STORE")
# Between the end of a `with` statement's block and the return out of it, in Python 3.10 to 3.13.
_LEAVING = frozenset(["POP_TOP", "SWAP", "NOP", "CACHE", "ROT_TWO", "ROT_THREE", "ROT_FOUR", "POP_BLOCK"])


@contextlib.contextmanager
def record_stages(watch: StageRecorder) -> Iterator[None]:
    """Note the blocks under `jax.named_scope` in `watch`; functions that are decorated meanwhile remain watched."""
    original = jax.named_scope

    @functools.wraps(original)
    def named_scope(name: str) -> Any:
        return _RecordedScope(watch, original, name)

    jax.named_scope = named_scope  # monkeypatch: JAX tells nobody of its scopes
    try:
        yield
    finally:
        jax.named_scope = original


class _RecordedScope(contextlib.AbstractContextManager[None]):
    """What `jax.named_scope` gives: for a `with` statement, or a decorator."""

    def __init__(
        self, watch: StageRecorder, original: Callable[[str], contextlib.AbstractContextManager[object]], name: str
    ) -> None:
        self._watch, self._original, self._name = watch, original, name
        self._open: list[tuple[contextlib.AbstractContextManager[object], _Block | None]] = []

    def __enter__(self) -> None:
        frame = sys._getframe(1)
        scope = self._original(self._name)
        scope.__enter__()
        self._open.append((scope, _Block(self._watch, self._name, frame) if self._is_stage(frame.f_code) else None))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        scope, block = self._open.pop()
        if block is not None:
            block.end(failed=error is not None)
        scope.__exit__(kind, error, trace)

    def __call__(self, function: Callable[..., object]) -> Callable[..., object]:
        """`function` under this scope."""

        @functools.wraps(function)
        def call_in_scope(*args: object, **kwargs: object) -> object:
            with self._original(self._name):
                if not self._is_stage(getattr(function, "__code__", None)):
                    return function(*args, **kwargs)
                given = tuple((n, describe_unmapped(value)) for n, value in arguments(function, args, kwargs))
                source = self._watch.origin(function, function.__qualname__)
                path = _inside(self._watch, self._name)
                step = StageStep(
                    type="scope", callable=function.__qualname__, part=None, source=source, path=path, input=given
                )
                return self._watch.run_stage(step, function, args, kwargs)

        return call_in_scope

    def _is_stage(self, code: object) -> bool:
        """Whether it stands in the user's own code, and says more than that a module of this class runs."""
        top = self._watch.top()
        return (
            self._watch.is_mine()
            and _INSTALLED not in getattr(code, "co_filename", _INSTALLED)
            and (top is None or top.step.type != self._name)
        )


class _Block:
    """A block of code in `frame` while it runs."""

    def __init__(self, watch: StageRecorder, name: str, frame: FrameType) -> None:
        self._watch, self._frame, self._start = watch, frame, frame.f_lasti
        self._before = dict(frame.f_locals)
        self._given = {n: describe_unmapped(value) for n, value in self._before.items() if _is_shown(value)}
        source = watch.line(frame)
        self._stage = watch.open(
            StageStep(type="scope", callable="", part=None, source=source, path=_inside(watch, name)), frame.f_back
        )

    def end(self, *, failed: bool) -> None:
        """The block is left: it took what it read first, and gives what it set, or what the function returns."""
        self._watch.close(self._stage)
        if failed:
            return
        read, written, returns = _variables(self._frame, self._start)
        taken = tuple((name, self._given[name]) for name in read if name in self._given)
        self._stage.step = replace(self._stage.step, input=taken)
        now = self._frame.f_locals
        set_here = [n for n in written if n in now and _is_shown(now[n]) and now[n] is not self._before.get(n)]
        values = [describe_unmapped(now[name]) for name in set_here]
        if returns:
            self._stage.output = OtherValue("NoneType")
            _on_return(self._frame, self._stage)
        elif len(values) == 1:
            self._stage.output = values[0]
        else:
            self._stage.output = TreeValue("dict", "dict", tuple(set_here), tuple(values))


def _variables(frame: FrameType, start: int) -> tuple[list[str], list[str], bool]:
    """The variables that the code after `start` reads before it sets them, those that it sets, whether it returns."""
    read: dict[str, None] = {}
    written: dict[str, None] = {}
    returns = False
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset <= start:
            continue
        if instruction.offset > frame.f_lasti:
            if instruction.opname in _LEAVING:
                continue
            returns = instruction.opname == "RETURN_VALUE"
            break
        if _VARIABLE.match(instruction.opname):
            names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
            for kind, name in zip(_ACCESS.findall(instruction.opname), names, strict=True):
                if kind == "STORE":
                    written[name] = None
                elif name not in written:
                    read[name] = None
    return list(read), list(written), returns


def _on_return(frame: FrameType, stage: OpenStage) -> None:
    """When the function in `frame` returns, which is all that is left to it, the value is the stage's output."""
    before = sys.getprofile()

    def profile(current: FrameType, event: object, value: object) -> None:
        if current is frame and event == "return":
            sys.setprofile(before)
            stage.output = describe_unmapped(value)
            if callable(before):  # who may wait for the same
                before(current, event, value)

    sys.setprofile(profile)


def _is_shown(value: object) -> bool:
    """Whether a variable holds an array, or a plain container of some; models are known by their stages."""
    if isinstance(value, dict):
        value = list(value.values())
    return any(map(_is_shown, value)) if isinstance(value, (list, tuple)) else is_array(value)


def _inside(watch: StageRecorder, name: str) -> str:
    top = watch.top()
    return f"{top.path}.{name}".lstrip(".") if top is not None else name
