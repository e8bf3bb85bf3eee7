"""What was observed while the user's code ran, call by call."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal, Protocol

from shapecheck.evaluate.probes.constructor_arguments import Construction, ConstructionRecord, Constructions
from shapecheck.evaluate.probes.later_values import WatchedFunctions
from shapecheck.model import Call, Frame, FunctionKey, Observation, Point, Scope, Site, Stage
from shapecheck.worker.messages.plans import ClaimedShape

ClaimedShapes = Mapping[tuple[str, int], ClaimedShape]
"""What claims say of the values at sites, by path and site."""


class ProbeInfo(Protocol):
    """What calls know of the module that they belong to."""

    recorder: Recorder
    path: str
    scopes: Sequence[Scope]
    sites: Sequence[Site]


class OpenCall:
    """One call of one scope, while it runs."""

    def __init__(self, probe: ProbeInfo, scope: int, number: int, outer: OpenCall | None) -> None:
        self.probe, self.scope, self.number, self.outer = probe, scope, number, outer
        self.observations: list[Observation] = []
        self.paths: set[Point] = set()  # those that it came to
        self.caller: Frame | None = None
        self.stage = ""
        self.failed = False
        self.complete = True  # nothing has ended it half-way
        self.declared: OpenCall | None = None  # of the declaration that it overrides
        self.of_its_own: Literal["", "claims", "docstring"] = ""  # as in `Call`
        self.within: OpenCall | None = None  # the call in which it was made of a callable, which ends with that
        self.hidden: tuple[str, ...] | None = None  # the axes of vmap that its values may have and do not show
        self.run = probe.recorder.run
        self.instead: object = None  # what the variable that is observed shall hold


@dataclass(frozen=True)
class RecordedPart:
    """A part of an evaluation, which others can take in: the construction of a model that is used again."""

    calls: Sequence[OpenCall] = ()
    constructions: Sequence[Construction] = ()


class Watch:
    """Notes the stages of models; this one notes none."""

    def begin(self) -> None:
        """Forget what ran: another evaluation starts."""

    def evaluate(self, function: Callable[..., object], *args: object) -> None:
        """Evaluate `function(*args)` abstractly."""
        # A program that is watched decides itself when JAX is loaded.
        from shapecheck.evaluate.probes.constant_values import eval_shape  # noqa: PLC0415

        eval_shape(function, *args)

    def know(self, name: str, model: object) -> None:
        """What is called from outside may be a part of `model`, which is known as `name`."""

    def method(self, function: Callable[..., object]) -> Callable[..., object]:
        """`function`, whose first argument is a model, as a stage of its own."""
        return function

    def function(self, function: Callable[..., object]) -> Callable[..., object]:
        """`function`, as a stage if nothing inside of it is one."""
        return function

    def attempt(self) -> AbstractContextManager[None]:
        """Around each evaluation."""
        return contextlib.nullcontext()

    def retry(self) -> bool:
        """Whether an evaluation that failed is worth another run, without what saves time; that is now off."""
        return False

    def finish(self) -> tuple[Stage, ...]:
        """The stages that ran to their end since `begin`."""
        return ()


class Listener:
    """Hears of each observation as it is made; this one does nothing about it."""

    def on_enter(self, opened: OpenCall) -> None:
        """A call has begun, and its parameters were observed."""

    def on_observation(self, opened: OpenCall, site: Site, value: object) -> Any:
        """A value was observed, in the latest of the call's observations. The code goes on with what is returned."""
        return value

    def on_failure(self, opened: OpenCall, error: BaseException) -> None:
        """A call ends with an error."""

    def on_exit(self, opened: OpenCall) -> None:
        """A call is over, without an error."""


class _Look(AbstractContextManager[None]):
    """Around each look at a value, of which there are many: one object for all, that knows the threads in which one is.

    Nobody looks at a value while he looks at another, since what the first one runs is not observed.
    """

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def __enter__(self) -> None:
        self.threads.add(threading.get_ident())

    def __exit__(self, *error: object) -> None:
        self.threads.discard(threading.get_ident())


class Recorder:
    """All calls of the evaluation under way. `paths` maps the user's absolute file names to those in messages.

    In a process of the user's, Ctrl-C `interrupts` it; in the worker that exception can only be the code's own. There
    no file is known before, and `named` gives the paths of those that turn out to be the user's. With a `listener`,
    who does with them what there is to do, no calls are kept.
    """

    def __init__(
        self,
        paths: Mapping[str, str],
        *,
        interrupts: bool = False,
        named: Callable[[str], str | None] = lambda file: None,
        listener: Listener | None = None,
    ) -> None:
        self.paths, self._interrupts, self._named = dict(paths), interrupts, named
        self.listener = listener or Listener()
        self.keeps = listener is None
        self.calls: list[OpenCall] = []
        self.run = 0
        self.vain: set[int] = set()  # runs with sizes that were tied to see whether it helps, and it did not
        self.count = 0
        self.stages: dict[int, str] = {}
        self.constructions: ConstructionRecord = Constructions()
        self.claimed_shapes: ClaimedShapes = {}
        self.claimed_parameters: ClaimedShapes = {}
        self.claimed_fields: ClaimedShapes = {}
        self.touched: set[FunctionKey] = set()  # (path, scope) of all functions that ran since it was emptied
        self.watched = WatchedFunctions()
        self.active = True
        self.watch = Watch()
        self.on_enter: Callable[[ProbeInfo, int, FrameType], None] | None = None
        self._look = _Look()

    @property
    def observes(self) -> bool:
        """Whether what this thread runs now is to be observed."""
        return self.active and threading.get_ident() not in self._look.threads

    def look(self) -> AbstractContextManager[None]:
        """Observe nothing in this thread: to look at a value runs code of its class, which may have probes itself."""
        return self._look

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Observe nothing meanwhile."""
        before, self.active = self.active, False
        try:
            yield
        finally:
            self.active = before

    def meet(self, file: str) -> None:
        """Learn whether a file of whose code something ran is the user's."""
        path = self._named(file) if file not in self.paths else None
        if path is not None:
            self.paths[file] = path

    def is_interrupted(self, error: BaseException) -> bool:
        """Whether the user has pressed Ctrl-C."""
        return self._interrupts and isinstance(error, KeyboardInterrupt)

    def begin(self) -> None:
        """Forget the calls so far: a new evaluation starts."""
        self._look.threads.clear()  # an error at the wrong moment may have left one there
        self.calls = []
        self.stages = {}
        self.constructions = Constructions()
        self.watched = WatchedFunctions()
        self.run += 1
        self.watch.begin()

    def since(self, start: int) -> RecordedPart:
        """What happened after the first `start` calls."""
        return RecordedPart(self.calls[start:], self.constructions.all_records())

    def again(self, kept: RecordedPart) -> None:
        """Take a part of an earlier evaluation into this one."""
        for opened in kept.calls:
            opened.run = self.run
        self.calls += kept.calls
        for construction in kept.constructions:
            self.constructions.note(construction)

    def finish(self) -> tuple[Call, ...]:
        """The calls since `begin`, equal ones once."""
        seen: dict[object, int] = {}
        numbers: dict[int, int] = {}
        result: list[Call] = []
        for opened in self.calls:
            parent = numbers.get(opened.outer.number) if opened.outer is not None else None
            observations = tuple(opened.observations)
            paths = tuple(sorted(opened.paths))
            complete = opened.complete and (opened.within is None or opened.within.complete)
            key = (opened.probe.path, opened.scope, parent, observations, complete, paths, opened.of_its_own)
            if key in seen:
                numbers[opened.number] = seen[key]
                continue
            seen[key] = numbers[opened.number] = opened.number
            result.append(
                Call(
                    path=opened.probe.path,
                    scope=opened.scope,
                    number=opened.number,
                    parent=parent,
                    observations=observations,
                    caller=opened.caller,
                    stage=opened.stage,
                    complete=complete,
                    paths=paths,
                    of_its_own=opened.of_its_own,
                )
            )
        return tuple(result)

    def interrupt(self, error: BaseException, *, goes_on: bool = False) -> None:
        """Note which calls did not come to their end: those that `error` came through on its way out.

        The one that caught it may have lost nothing by that, and `goes_on`.
        """
        trace = error.__traceback__
        if goes_on and trace is not None:
            trace = trace.tb_next
        while trace is not None:
            opened = _open_call_of(trace.tb_frame)
            if opened is not None:
                opened.complete = False
            trace = trace.tb_next

    def open_call(self, frame: FrameType | None) -> OpenCall | None:
        """The nearest call that is watched, from `frame` outwards."""
        while frame is not None:
            opened = _open_call_of(frame)
            if opened is not None:
                return opened
            frame = frame.f_back
        return None

    def frame(self, frame: FrameType | None) -> Frame | None:
        """The nearest frame of the user's code, from `frame` outwards."""
        while frame is not None:
            path = self.paths.get(frame.f_code.co_filename)
            if path is not None:
                return Frame(path, frame.f_lineno, function_name(frame))
            frame = frame.f_back
        return None


def _open_call_of(frame: FrameType) -> OpenCall | None:
    """The call that a frame is of, as its own variable has it."""
    code = frame.f_code
    for name in (*code.co_varnames, *code.co_cellvars):
        opened = frame.f_locals.get(name) if name.startswith("__sc_") else None
        if isinstance(opened, OpenCall):
            return opened
    return None


def function_name(frame: FrameType) -> str:
    """`Class.method` as far as the frame tells (the qualified name where Python has it)."""
    code = frame.f_code
    if not hasattr(code, "co_qualname") and "self" in code.co_varnames[:1]:  # Python 3.10
        return f"{type(frame.f_locals.get('self')).__name__}.{code.co_name}"
    return str(getattr(code, "co_qualname", code.co_name)).replace("<locals>.", "")
