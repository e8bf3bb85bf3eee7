"""When the program fails: the traceback without our frames, and the arrays in each of the user's."""

from __future__ import annotations

import logging
import os
import pdb
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Final, Protocol

from shapecheck.evaluate.jax_internals import CALLBACK_LOGGER
from shapecheck.runtime.errors import NonFinite
from shapecheck.runtime.stderr_lock import stderr_lock

HEADER: Final = "Arrays in these frames, the innermost first:"
_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def no_other_record() -> None:
    """JAX logs whatever a callback raises: of what is reported already, once is enough."""
    logging.getLogger(CALLBACK_LOGGER).addFilter(_is_others)


def _is_others(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], NonFinite))


class OwnFiles(Protocol):
    """What is the user's own."""

    def is_own(self, file: str) -> bool:
        """Whether a file is."""

    def shown_path(self, file: str) -> str:
        """What it is called in messages."""

    def single_return(self, path: str, line: int) -> int:
        """The line of the only `return` of a function of the file shown as `path`, whose first `line` this is; or 0."""

    def shares_variables(self, file: str, function: str) -> bool:
        """Whether the variables of a frame are those of a whole notebook."""


class ErrorReporter:
    """Shows what ended the program, and saves it in a `folder`, if there is one. `own` knows the user's files."""

    def __init__(self, own: OwnFiles, folder: str = "") -> None:
        self._own, self._folder = own, folder
        self._debug = False
        self.not_finite: list[str] = []  # what a callback found and raised
        self._reported: set[str] = set()

    def watch(self, *, debug: bool) -> None:
        """Show what nobody catches, in whichever thread; with `debug`, open the debugger there."""
        self._debug = debug
        # monkeypatch: these are Python's own places for it
        sys.excepthook = self._show
        threading.excepthook = self._show_in_thread

    def arrays(self, error: BaseException) -> str:
        """The arrays in the user's frames that an error went through; "" if there are none."""
        return "\n".join(self._arrays(error.__traceback__))

    def plain(self, error: BaseException) -> BaseException:
        """What a check raised inside of a compiled function, in place of what JAX makes of it."""
        text = self._text(error)
        if text is None:
            return error
        self._reported.add(text)
        if isinstance(error, NonFinite):
            return error
        plain = NonFinite(text)
        plain.__suppress_context__ = True
        return plain.with_traceback(error.__traceback__)

    def raise_unless_reported(self, error: Exception) -> None:
        """At the end JAX may raise once more what a check has raised, and the program has shown."""
        if self._text(error) not in self._reported:
            raise self.plain(error) from None

    def _text(self, error: BaseException) -> str | None:
        return next((each for each in reversed(self.not_finite) if each.partition("\n")[0] in str(error)), None)

    def _show(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self._show_error(error, trace, sys.__excepthook__)
        if self._debug and not isinstance(error, (KeyboardInterrupt, SystemExit)):
            self._open_debugger(without_ours(trace))

    def _show_in_thread(self, args: threading.ExceptHookArgs) -> None:
        """The debugger is not opened: the program goes on meanwhile, and may read from the same terminal."""

        def show(*error: object) -> None:
            threading.__excepthook__(threading.ExceptHookArgs((*error, args.thread)))

        if args.exc_value is not None:
            self._show_error(args.exc_value, args.exc_traceback, show)

    def _show_error(self, error: BaseException, trace: TracebackType | None, show: Callable[..., object]) -> None:
        """Show an error as Python does, and the arrays in the user's frames."""
        error = self.plain(error)
        trace = without_ours(trace)
        for each in _chain(error):
            each.__traceback__ = without_ours(each.__traceback__)
        with stderr_lock():
            show(type(error), error, trace)
        if isinstance(error, SystemExit):
            return
        if not hasattr(error, "add_note"):  # before Python 3.11, which shows them
            sys.stderr.write("".join(f"{text}\n" for text in getattr(error, "__notes__", ())))
        if isinstance(error, KeyboardInterrupt):
            return
        lines = list(self._arrays(trace))
        if lines:
            sys.stderr.write("\n".join(["", HEADER, *lines, ""]))
        if self._folder:
            sys.stderr.write(f"\n{self._save(error, trace)}\n")

    def _save(self, error: BaseException, trace: TracebackType | None) -> str:
        """Save the failure, and say where, or why not: it must not hide the failure itself."""
        nothing = "shapecheck: no call on the way can be written down, so that nothing was saved."
        if "jax" not in sys.modules:
            return nothing
        from shapecheck.runtime.save_failure import FailureSaver  # noqa: PLC0415 - it imports JAX

        try:
            file = FailureSaver(self._folder, self._own.is_own).save(error, trace)
        except OSError as problem:
            return f"shapecheck: the failure cannot be saved: {problem}"
        return f"shapecheck: saved; `shapecheck reproduce {file}` writes a test of it." if file else nothing

    def _open_debugger(self, trace: TracebackType | None) -> None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            sys.stderr.write("shapecheck: --pdb needs a terminal, and there is none.\n")
            return
        own = [frame for frame, _ in traceback.walk_tb(trace) if self._own.is_own(frame.f_code.co_filename)]
        debugger = pdb.Pdb()
        debugger.reset()
        debugger.interaction(own[-1] if own else None, _until(trace, own[-1]) if own else trace)

    def _arrays(self, trace: TracebackType | None) -> Iterator[str]:
        if "jax" not in sys.modules:
            return
        from shapecheck.runtime.frame_summary import frame_lines  # noqa: PLC0415 - it imports JAX

        for frame, line in reversed(list(traceback.walk_tb(trace))):
            file = frame.f_code.co_filename
            if not self._own.is_own(file) or self._own.shares_variables(file, frame.f_code.co_name):
                continue
            lines = frame_lines(frame.f_locals)
            if lines:
                name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
                yield f"  {self._shown_path(file)}:{line} in {name}"
                yield from (f"    {text}" for text in lines)

    def _shown_path(self, file: str) -> str:
        shown = self._own.shown_path(file)
        return file if shown.startswith(os.pardir) else shown


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that it came from."""
    todo: list[BaseException | None] = [error]
    seen: set[int] = set()
    while todo:
        each = todo.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            todo += [each.__cause__, each.__context__]
            yield each


def without_ours(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames that the checks put in."""
    kept = [each for each in _each(trace) if not is_ours(each.tb_frame)]
    result: TracebackType | None = None
    for each in reversed(kept):
        result = TracebackType(result, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return result


def _until(trace: TracebackType | None, frame: FrameType) -> TracebackType | None:
    """A traceback that ends in `frame`."""
    kept = list(_each(trace))
    while kept and kept[-1].tb_frame is not frame:
        kept.pop()
    result: TracebackType | None = None
    for each in reversed(kept):
        result = TracebackType(result, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return result


def _each(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def users_frame(frame: FrameType | None) -> FrameType | None:
    """The nearest frame outwards that is none of ours."""
    while frame is not None and is_ours(frame):
        frame = frame.f_back
    return frame


def is_ours(frame: FrameType) -> bool:
    """Whether the checks put a frame in."""
    file = frame.f_code.co_filename
    return file.startswith(_OURS) or (file == "<string>" and "launch" in frame.f_code.co_names)
