"""The parent's side of the worker: start it, ask it, and outlive whatever the user's code does to it."""

from __future__ import annotations

import contextlib
import queue
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO, Protocol, cast

from shapecheck.evaluate.limits import STUBBORN
from shapecheck.model import FunctionKey
from shapecheck.worker.messages.protocol import (
    Answer,
    Bug,
    DamageNotice,
    ModuleStart,
    Ready,
    Reply,
    RequestFor,
    StartRefusal,
    Startup,
    TimedOut,
    TimedRequest,
)
from shapecheck.worker.messages.wire import dump, load
from shapecheck.worker.printed_lines import PrintedLines
from shapecheck.worker.spawn import Process, Start, kill_group, spawn_process

_GRACE = 5.0  # seconds past its time limit that the worker has to end the user's code by itself
_START_LIMIT = 120.0
_GLANCE = 0.5  # seconds after which we look whether a process that says nothing is there yet
_HUNG = (
    "{python} was not ready after {limit:g} s. Does `{python} -c 'import jax'` end? "
    "Name another interpreter with --python, or try again when the machine is less busy."
)
_TAIL = 40  # lines of the worker's stderr that are kept
BUG = "met a bug in shapecheck, which is shown at the end"
"""Why a worker ended that had a bug of ours."""
_OWN_SIGNALS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)  # which nobody else sends


class WorkerError(Exception):
    """The worker cannot be used at all: no such interpreter, or no JAX in it. The text names the remedy."""


class WorkerEndedError(Exception):
    """The worker process ended, or had to be ended, during a request.

    `reason` says how; `executing` is the file whose module body was running, if one was; `tail` is the end of what
    the process wrote to stderr. It `repeats` itself if the code did it, and not somebody from outside.
    """

    def __init__(self, reason: str, executing: str, tail: str, *, repeats: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.executing, self.tail, self.repeats = reason, executing, tail, repeats


class RequestTimeoutError(Exception):
    """The user's code took longer than a request's limit, and the worker is there yet.

    `touched` functions ran; `executing` is as that of WorkerEndedError.
    """

    def __init__(self, reason: str, touched: tuple[FunctionKey, ...], executing: str) -> None:
        super().__init__(reason)
        self.reason, self.touched, self.executing, self.tail = reason, touched, executing, ""


class WorkerHandle(Protocol):
    """A worker, here or on another machine; its last answer took `seconds`. Use as a context manager."""

    seconds: float

    def __enter__(self) -> WorkerHandle: ...

    def __exit__(self, *exc: object) -> None: ...

    def ask(self, request: RequestFor[Reply], limit: float) -> Reply:
        """The reply to one request; raises RequestTimeoutError and WorkerEndedError."""

    def complaint(self) -> str:
        """The last line on stderr that tells of an error, or nothing."""

    def close(self) -> None:
        """End it, and everything that it started."""


class Worker:
    """One worker process. Use as a context manager: whatever happens, its process group is gone afterwards.

    `startup` is the first message, as such or as the line of text that it is. A bug of ours in the process ends it as
    well. Its traceback goes to `on_bug`; where there is none, it raises RuntimeError.
    """

    def __init__(
        self,
        python: str,
        startup: Startup | str,
        *,
        cwd: Path,
        echo: PrintedLines | None = None,
        start: Start | None = None,
        on_bug: Callable[[str], None] | None = None,
    ) -> None:
        self.python = python
        self._echo = echo
        self._on_bug = on_bug
        self._executing = ""
        self.seconds = 0.0
        self._tail: deque[str] = deque(maxlen=_TAIL)
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        try:
            self._process: Process = (start or spawn_process)(python, cwd)
        except OSError as error:
            raise WorkerError(f"cannot start {python}: {error.strerror}. Name an interpreter with --python.") from error
        # With pipes asked for, these are there; the type does not say so.
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._stdin, self._stdout, self._stderr = cast("tuple[IO[bytes], IO[bytes], IO[bytes]]", pipes)
        self._readers = [
            threading.Thread(target=self._read_replies, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        try:
            self._send(startup)
            ready = self._receive(_START_LIMIT, starting=True)
            if not isinstance(ready, Ready):
                raise TypeError(f"the worker began with {ready!r}")
            self.ready = ready
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def ask(self, request: RequestFor[Reply], limit: float) -> Reply:
        """The worker's reply to one request.

        Raises RequestTimeoutError where the user's code takes longer than `limit` seconds, WorkerEndedError where the
        process dies, or has to be ended for the same reason.
        """
        began = time.monotonic()
        try:
            self._send(TimedRequest(request=request, limit=limit))
            answer = self._receive(limit + _GRACE)
        finally:
            self.seconds = time.monotonic() - began
        reply = answer.reply if isinstance(answer, Answer) else answer
        if isinstance(reply, TimedOut):
            raise RequestTimeoutError(reply.reason, reply.touched, self._executing)
        if not isinstance(reply, request.reply):
            # It may have lost its place, so that its next answers would be those to other questions, too.
            text = f"it answered {type(request).__name__} with {type(reply).__name__}"
            self._note_bug(Bug(text=text, ends=True))
        return cast("Reply", reply)

    def close(self) -> None:
        """End the process and everything that it started."""
        process = self._process
        # Also after the worker's own end: what it started may live on in its group.
        kill_group(process)
        process.wait()
        with contextlib.suppress(OSError, ValueError):
            self._stdin.close()
        for reader in self._readers:
            reader.join(timeout=1)
        for stream in (self._stdout, self._stderr):
            if not any(r.is_alive() for r in self._readers):
                stream.close()

    def _send(self, message: Startup | TimedRequest | str) -> None:
        line = message if isinstance(message, str) else dump(message)
        try:
            self._stdin.write(line.encode() + b"\n")
            self._stdin.flush()
        except (OSError, ValueError) as error:  # its end of the pipe is closed, or ours, as it has ended before
            raise self._worker_ended() from error

    def _receive(self, limit: float, *, starting: bool = False) -> Ready | Answer:
        deadline = time.monotonic() + limit
        while True:
            left = max(0.0, deadline - time.monotonic())
            try:
                line = self._lines.get(timeout=min(left, _GLANCE))
            except queue.Empty:
                if left > _GLANCE and not self._has_ended():
                    continue
                if left > _GLANCE:  # what it started may hold its pipe open
                    raise self._worker_ended() from None
                executing = self._executing
                self.close()
                if starting:
                    raise WorkerError(_HUNG.format(python=self.python, limit=limit)) from None
                raise WorkerEndedError(
                    f"took longer than {round(limit - _GRACE, 1):g} s (--timeout)", executing, self._text()
                ) from None
            if line is None:
                raise self._worker_ended()
            try:
                message = load(line)
            except (ValueError, KeyError, TypeError):
                continue  # the user's code found the pipe and wrote to it
            if isinstance(message, ModuleStart):
                self._executing = message.path
            elif isinstance(message, StartRefusal):
                self.close()
                raise WorkerError(f"{self.python}: {message.reason}. Name an interpreter with --python.")
            elif isinstance(message, Bug):
                self._note_bug(message)
            elif isinstance(message, DamageNotice):
                self.close()
                raise WorkerEndedError(message.reason, self._executing, self._text())
            elif isinstance(message, Ready | Answer):
                return message

    def _has_ended(self) -> bool:
        """Whether the process has ended, and all that it said is read."""
        try:
            self._process.wait(timeout=0)
        except subprocess.TimeoutExpired:
            return False
        time.sleep(_GLANCE / 10)  # in which the reader takes what is left in the pipe
        return self._lines.empty()

    def _note_bug(self, bug: Bug) -> None:
        if bug.ends:
            self.close()
        text = f"the worker failed:\n{bug.text}"
        if self._on_bug is None:
            raise RuntimeError(text)
        self._on_bug(text)
        if bug.ends:
            raise WorkerEndedError(BUG, self._executing, self._text(), repeats=False)

    def _worker_ended(self) -> WorkerEndedError:
        executing = self._executing
        # The pipe is closed first, then the process ends: wait for its own exit status.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        self.close()
        code = self._process.returncode
        return WorkerEndedError(_exit_reason(code), executing, self._text(), repeats=code >= 0 or -code in _OWN_SIGNALS)

    def complaint(self) -> str:
        """The last line on stderr that tells of an error, or nothing."""
        return next((line.strip() for line in reversed(self._tail) if "error:" in line.lower()), "")

    def _text(self) -> str:
        return "\n".join(self._tail)

    def _read_replies(self) -> None:
        for line in self._stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_stderr(self) -> None:
        for line in self._stderr:
            text = line.decode(errors="replace").rstrip("\n")
            self._tail.append(text)
            if self._echo is not None:
                self._echo.add(text)


def _exit_reason(code: int) -> str:
    if code == STUBBORN:
        return "took longer than its time, and would not end (--timeout, --test-timeout)"
    if code >= 0:
        return f"ended the process with exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    words = {"SIGSEGV": "a segmentation fault", "SIGKILL": "a kill, perhaps for want of memory", "SIGABRT": "an abort"}
    return f"ended the process with {words.get(name, name)}"
