"""The program's side of the judge: one server process of ours for each of the program's."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import weakref
from typing import IO, cast

from shapecheck.model import Evaluation
from shapecheck.runtime.errors import CheckError
from shapecheck.runtime.runtime_options import SWITCH
from shapecheck.worker.messages.judge_messages import (
    ContradictedClaim,
    JudgeCall,
    JudgeRefusal,
    ObservationPlan,
    ReadCell,
    ReadFile,
)
from shapecheck.worker.messages.protocol import Reply, Request, RequestFor
from shapecheck.worker.messages.wire import dump, load

_START = (
    "import sys; sys.path[:1] = [p for p in sys.path[:1] if p]; "
    "from shapecheck.commands.judge_server import main; main()"
)


class JudgeClient:
    """Asks the judge server, which starts with the first question. Any thread may ask; a forked process has its own."""

    def __init__(self, python: str = "") -> None:
        self._python = python or os.environ.get("SHAPECHECK_PYTHON") or sys.executable
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._read: list[ReadFile | ReadCell] = []  # questions for what it knows

    def read_file(self, file: str, source: bytes, version: int = 0) -> ObservationPlan:
        """What to observe in a file, and the sites that can be judged at once.

        The versions of a file are kept apart: what was defined by an earlier one may be called yet.
        """
        return self._plan(ReadFile(file=file, text=source.decode("latin-1"), version=version))

    def read_cell(self, name: str, text: str, before: str) -> ObservationPlan:
        """The same of a notebook's cell. `before` tells, as statements, what it finds there."""
        return self._plan(ReadCell(name=name, text=text, before=before))

    def _plan(self, question: ReadFile | ReadCell) -> ObservationPlan:
        answer = self._request(question)
        self._read.append(question)
        return answer

    def judge(self, evaluation: Evaluation, *, over: bool) -> tuple[ContradictedClaim, ...]:
        """What contradicts the claims in the last call of an evaluation."""
        return self._request(JudgeCall(evaluation=evaluation, over=over)).claims

    def close(self) -> None:
        """End the server; another question starts another."""
        with self._lock:
            if self._process is not None:
                _end(self._process, self._owner)
            self._process = None

    def _request(self, message: RequestFor[Reply]) -> Reply:
        with self._lock:
            process, self._process = self._process, None  # one whose answer nobody has waited for is of no use
            if process is None or self._owner != os.getpid():
                process, self._owner = self._start_server(), os.getpid()
                weakref.finalize(self, _end, process, self._owner)
                for question in self._read:  # by another one
                    self._exchange(process, question)
            answer = self._exchange(process, message)
            self._process = process
            if isinstance(answer, JudgeRefusal):
                raise CheckError(answer.reason)
            if not isinstance(answer, message.reply):
                raise TypeError(f"the judge answered {type(message).__name__} with {type(answer).__name__}")
            return cast("Reply", answer)

    def _exchange(self, process: subprocess.Popen[bytes], message: Request) -> object:
        line = b""
        try:
            stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
            stdin.write(dump(message).encode() + b"\n")
            stdin.flush()
            line = stdout.readline()
        except OSError:
            pass  # it has ended, as an empty line says too
        except BaseException:  # Ctrl-C
            _end(process, self._owner)
            raise
        if not line:
            raise CheckError(
                f"shapecheck's own process ended ({self._python}); what it wrote stands above. Is shapecheck "
                "installed there, with its dependencies? SHAPECHECK_PYTHON names another interpreter."
            )
        return load(line)

    def _start_server(self) -> subprocess.Popen[bytes]:
        ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        environment = {name: value for name, value in os.environ.items() if name != SWITCH}
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        paths = [os.path.dirname(ours), *(path for path in paths if path and not path.startswith(ours))]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        try:
            return subprocess.Popen(
                [self._python, "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                start_new_session=True,  # Ctrl-C is the program's affair
            )
        except OSError as error:
            raise CheckError(f"{self._python}: {error.strerror}; SHAPECHECK_PYTHON names an interpreter") from error


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """Let a server end, if it belongs to this process and not to the one that it was forked from."""
    if owner == os.getpid() and process.returncode is None:
        cast("IO[bytes]", process.stdin).close()
        process.wait()
        cast("IO[bytes]", process.stdout).close()
