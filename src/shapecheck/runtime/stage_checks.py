"""What is done with each stage, and each claimed value, of a running program."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import parent_process
from types import FrameType

import jax

from shapecheck.evaluate.framework_protocol import has_identity
from shapecheck.evaluate.jax_internals import DebuggedFrame
from shapecheck.evaluate.probes.describe_value import array_text
from shapecheck.evaluate.probes.recorder import OpenCall
from shapecheck.evaluate.stages import stage_records
from shapecheck.evaluate.stages.stage_records import OpenStage
from shapecheck.evaluate.stages.value_taps import Sink, Stop, arrays_in, tap, tap_gradient
from shapecheck.model import Site, Stage
from shapecheck.runtime import numerics, stage_log
from shapecheck.runtime.breakpoint import note_frame, stop_in
from shapecheck.runtime.excepthook import OwnFiles
from shapecheck.runtime.numerics import LOGGER, HandleNonFinite, LogNonFinite, RaiseNonFinite, ValuePlace
from shapecheck.runtime.print_arrays import PrintGlobs, print_sink
from shapecheck.runtime.runtime_options import RuntimeOptions
from shapecheck.runtime.show_arrays import show_sink
from shapecheck.runtime.show_page import ShowPage
from shapecheck.runtime.training_monitor import TrainingMonitor
from shapecheck.syntax.intended_nonfinite import INFINITY, NAN
from shapecheck.templates import log_records
from shapecheck.worker.messages.plans import as_shown

_MOST = 3  # paths beside the first that are shown
_GIVEN = 256  # arrays that a value may come from
_FunctionPlace = tuple[str, int]  # where a function is: its file in messages, and its first line
_NONE = numerics.NamedArrays((), ())
_NOTHING_LOOKED_AT = (
    "--numerics: no stage and no claimed value has run, so that nothing was looked at; "
    "--numerics ops looks at every operation"
)


class StageChecks:
    """Puts taps on values as the options say. What is not finite, and raised, is noted in `found`."""

    def __init__(
        self, options: RuntimeOptions, own: OwnFiles, found: list[str], monitor: TrainingMonitor | None = None
    ) -> None:
        self._options, self._own, self._monitor = options, own, monitor
        self._raising = RaiseNonFinite(found)
        self._logger = LogNonFinite(again=options.failing == "breakpoint")
        self._failed: HandleNonFinite = self._raising.handle if options.failing == "raise" else self._logger.handle
        self._prints, self._shows = PrintGlobs(options.prints, "--print"), PrintGlobs(options.shows, "--show")
        self._page = ShowPage(options.show_output) if options.shows else None
        self._running: list[OpenStage] = []
        self._titles: list[str] = []  # of those that are running
        self._handlers = [stage_log.write_to(path) for path in options.log]
        self._stops = options.failing == "breakpoint"
        self._returned: _Return | None = None  # in the innermost stage
        self._returns: dict[tuple[_FunctionPlace, str], set[int]] = {}  # lines, by function and stage
        self._outputs, self._grads = "outputs" in options.numerics, "grads" in options.numerics
        self._passing = frozenset([INFINITY] if options.nan_only else [])
        # Whether there was anything to look for NaN in, if that was asked for: `ops` needs no stages.
        self._looked = "ops" in options.numerics or not options.numerics

    def arrive(self) -> None:
        """All is computed: raise what could not be raised before."""
        self._raising.arrive()

    def close(self) -> None:
        """Write no more."""
        self._logger.sum_up()
        idle = [*self._prints.idle(), *self._shows.idle(), *([] if self._looked else [_NOTHING_LOOKED_AT])]
        for text in idle if parent_process() is None else ():  # another process may have what is missing
            LOGGER.warning("%s", text)
        for handler in self._handlers:
            stage_log.LOGGER.removeHandler(handler)
            handler.close()
        if self._page is not None:
            self._page.close()

    def run_stage(
        self, stage: OpenStage, function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> object:
        """Run a stage between taps."""
        self._looked = True
        paths = stage_records.names(self._running, stage)
        caller = self._caller(sys._getframe(1))
        title = _title(stage, paths, caller, 0)
        if self._grads:
            own = _names(stage, args, kwargs)
            args = tuple(self._input(name, value, title) for name, value in zip(own, args, strict=True))
            kwargs = {name: self._input(name, value, title) for name, value in kwargs.items()}
        self._running.append(stage)
        self._titles.append(title)
        self._returned = None
        try:
            if self._monitor is None:
                result = function(*args, **kwargs)
            else:
                result = self._monitor.run_stage(paths[0] or stage.step.type, lambda: function(*args, **kwargs))
        finally:
            self._running.pop()
            self._titles.pop()
            returned, self._returned = self._returned, None
        if self._outputs:
            place = self._place(_gave(_title(stage, paths, caller, self._return_line(stage, returned))), title)
            frame = returned.frame if returned is not None and returned.is_of(stage) else None
            given = _stage_arguments(stage, args, kwargs)
            result = self._forward(result, place, given, "output", self._passing, stop_in(self._own.is_own, "", frame))
        result = self._print_value(result, [*(path or stage.step.type for path in paths), stage.step.type], title)
        found = arrays_in(result)
        if self._options.log and found:
            model = self._running[-1].step.type if self._running else stage.step.type
            result = tap(
                result,
                (),
                stage_log.log_sink(log_records.message(_logged_stage(stage, paths, result), model), found[0].ndim),
            )
        return self._backward(result, f"the output of {title}") if self._grads else result

    def value(
        self,
        opened: OpenCall,
        site: Site,
        value: object,
        given: Mapping[str, object],
        line: int,
        intended: frozenset[str],
    ) -> object:
        """A claimed value between taps, with the variables that it came from, and the NaN or infinity it is to hold."""
        if site.kind not in ("value", "return", "name"):
            return value
        self._looked = True
        scope = opened.probe.scopes[opened.scope].qualname
        stage = f", in stage {self._innermost()}" if self._running else ""
        variable = site.name if site.kind == "name" else ""  # of several that have a value on this line
        path = as_shown(opened.probe.path)
        what = f"the value {f'of {variable} ' if variable else ''}at {path}:{line} in {scope}{stage}"
        if self._outputs:
            place, name = self._place(f"{what} is not finite"), variable or "output"
            stop = stop_in(self._own.is_own, site.name)
            value = self._forward(value, place, given, name, self._passing | intended, stop)
        return self._backward(value, what) if self._grads else value

    def note_return(self, frame: FrameType, line: int) -> None:
        """A function of the user's returns."""
        if self._running:
            code = frame.f_code
            key = self._own.shown_path(code.co_filename), code.co_firstlineno
            self._returns.setdefault((key, self._running[-1].path), set()).add(line)
            self._returned = _Return(key, line, note_frame(frame, line) if self._stops else None)

    def _return_line(self, stage: OpenStage, returned: _Return | None) -> int:
        """The line that gave the output of a stage; 0 if that is not known, as of installed code."""
        if stage.step.source is None:
            return 0
        if returned is not None and returned.is_of(stage):
            return returned.line
        written = stage.step.source.path, stage.step.source.line
        lines = self._returns.get((written, stage.path), set())  # if it is jitted, and was traced before
        return next(iter(lines)) if len(lines) == 1 else self._own.single_return(*written)

    def _place(self, title: str, stage: str = "") -> ValuePlace:
        return ValuePlace(title, stage, tuple(self._titles))

    def _innermost(self) -> str:
        *around, stage = self._running
        return _either(stage_records.names(around, stage)) or stage.step.type

    def variable(self, name: str, line: int, value: object) -> object:
        """A variable that is to be printed."""
        return self._print_value(value, [name, name.rpartition(".")[2]], f"{name} (line {line})")

    def parameter(self, name: str, value: object) -> object:
        """A parameter that the innermost stage takes out of what holds it, and is not given."""
        return self._input(name, value, self._titles[-1]) if self._titles else value

    def _input(self, name: str, value: object, title: str) -> object:
        def tap_leaf(path: tuple[object, ...], leaf: object) -> object:
            what = f"{name}{jax.tree_util.keystr(path)} of {title}"
            return self._backward(leaf, what, "in the backward pass of this stage")

        return jax.tree_util.tree_map_with_path(tap_leaf, value, is_leaf=has_identity) if arrays_in(value) else value

    def _forward(
        self,
        value: object,
        place: ValuePlace,
        given: Mapping[str, object],
        name: str,
        passing: frozenset[str],
        stop: Callable[[object], Stop],
    ) -> object:
        given = dict(_few(given))
        parts = [numerics.name_arrays(name, each) for name, each in given.items()]
        names = tuple(itertools.chain.from_iterable(part.names for part in parts))
        ranks = tuple(itertools.chain.from_iterable(part.ranks for part in parts))
        outs = numerics.name_arrays(name, value, has_identity)
        ins = numerics.NamedArrays(names, ranks)
        if passing >= {INFINITY, NAN}:
            return value
        sink = numerics.finite(place, outs, ins, self._failed, stop if self._stops else None, passing)
        return tap(value, list(given.values()), sink)

    def _backward(self, value: object, what: str, where: str = "on the way back through what uses it") -> object:
        place = ValuePlace(f"the gradient with respect to {what} is not finite: it became so {where}", gradient=True)

        def sink(leaf: jax.Array) -> Sink:
            named = numerics.NamedArrays(("gradient",), (leaf.ndim,))
            stop = stop_in(self._own.is_own, "gradient") if self._stops else None
            return numerics.finite(place, named, _NONE, self._failed, stop, self._passing)

        return tap_gradient(value, sink)

    def _print_value(self, value: object, names: Sequence[str], title: str) -> object:
        if self._page is not None:
            value = self._show_value(value, names, title, self._page)
        plain, gradient = self._prints.selects(names)
        if plain:
            paths = [f" {name}".rstrip() for name in numerics.name_arrays("", value, has_identity).names]
            value = tap(value, (), print_sink(title, paths, [_dtype(array) for array in arrays_in(value)]))
        if gradient:
            value = tap_gradient(
                value,
                lambda leaf: self._prints.with_note(names, print_sink(f"gradient of {title}", [""], [_dtype(leaf)])),
            )
        return value

    def _show_value(self, value: object, names: Sequence[str], title: str, page: ShowPage) -> object:
        plain, gradient = self._shows.selects(names)
        if plain:
            paths = [f"{names[0]}{name}" for name in numerics.name_arrays("", value, has_identity).names]
            value = tap(value, (), show_sink(page, title, paths))
        if gradient:
            value = tap_gradient(
                value, lambda leaf: self._shows.with_note(names, show_sink(page, title, [f"gradient of {names[0]}"]))
            )
        return value

    def _caller(self, frame: FrameType | None) -> str:
        while frame is not None and not self._own.is_own(frame.f_code.co_filename):
            frame = frame.f_back
        return (
            f", called at {self._own.shown_path(frame.f_code.co_filename)}:{frame.f_lineno}"
            if frame is not None
            else ""
        )


@dataclass(frozen=True)
class _Return:
    """A function that returns: where it is written, on which line it does, and its frame if the program may stop."""

    written: _FunctionPlace
    line: int
    frame: DebuggedFrame | None

    def is_of(self, stage: OpenStage) -> bool:
        """Whether it is the function of a stage."""
        source = stage.step.source
        return source is not None and self.written == (source.path, source.line)


def _title(stage: OpenStage, paths: Sequence[str], caller: str, line: int) -> str:
    """What a stage is called, and where it is written, or the `line` of it that is meant."""
    step = stage.step
    source = f" at {step.source.path}:{line or step.source.line}" if step.source is not None else ""
    path = f"{_either(paths)} ({step.type}{source})" if stage.path else f"{step.type}{source}"
    return f"stage {path}{caller}"


def _stage_arguments(stage: OpenStage, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
    """What a stage is given, by name; its own parameters last."""
    given = dict(zip(_names(stage, args, kwargs), args, strict=True))
    own = {"self": given.pop("self")} if "self" in given else {}
    return {**given, **kwargs, **own}


def _few(given: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """What has arrays, and not too many of them: each is kept until the value is looked at."""
    count = 0
    for name, value in given.items():
        count += len(found := numerics.name_arrays(name, value).names)
        if found and count <= _GIVEN:
            yield name, value


def _names(stage: OpenStage, args: Sequence[object], kwargs: Mapping[str, object]) -> list[str]:
    """What the arguments are called that a stage is given by position."""
    own = ["self"] if args and type(args[0]) is type(stage.part) else []
    names = [name for name, _ in stage.step.input if name not in kwargs]
    if len(names) != len(args) - len(own):
        names = [f"[{index}]" for index in range(len(args) - len(own))]
    return [*own, *names]


def _gave(title: str) -> str:
    return f"{title} gave what is not finite"


def _dtype(array: object) -> str:
    return array_text(array).partition("[")[0]


def _logged_stage(stage: OpenStage, paths: Sequence[str], result: object) -> Stage:
    stage.output = stage_records.describe_unmapped(result)
    ended = next(stage_records.stages([stage], lambda _: (0, 0)))
    return dataclasses.replace(ended, path=_either(paths), label=_either(paths)) if len(paths) > 1 else ended


def _either(paths: Sequence[str]) -> str:
    """The paths that a stage may have: `a`, `a, b or c`."""
    first, *others = paths
    if len(others) > _MOST:
        return f"{first} or one of {len(others)} like it"
    return " or ".join(filter(None, [", ".join([first, *others[:-1]]), *others[-1:]]))
