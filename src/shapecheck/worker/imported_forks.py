"""Workers that have imported the user's modules already, all but those that are edited just now."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shapecheck.worker.fork_server import ForkChannel
from shapecheck.worker.messages.entry_messages import ImportAhead, ImportModule, ListFiles
from shapecheck.worker.messages.plans import ModulePlan, WorkerSettings
from shapecheck.worker.messages.protocol import ServeForks, Startup
from shapecheck.worker.spawn import Process, Start
from shapecheck.worker.worker_client import RequestTimeoutError, Worker, WorkerEndedError, WorkerError

_EDITED = "is being edited"


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """What is to be imported: the modules of all plans but those of the files that are `edited`.

    Of these, what their bodies begin by importing (`ahead`, by file, as `ImportAhead` has it).
    """

    python: str
    cwd: Path
    plans: tuple[ModulePlan, ...]
    to_import: tuple[str, ...]
    settings: WorkerSettings
    edited: frozenset[str]
    ahead: Mapping[str, tuple[str, ...]]
    limit: float

    def key(self) -> tuple[object, ...]:
        """What a process that was made for one request must have in common with another one to serve it, too."""
        kept = tuple(plan for plan in self.plans if plan.file not in self.edited)
        return self.python, self.cwd, kept, self.settings, self.edited, tuple(sorted(self.ahead.items()))


class ImportedForks:
    """Keeps at most one process that has imported what is not edited, and forks workers from it while that holds.

    Only on Linux, which forks processes safely that have loaded the system's libraries.
    """

    def __init__(self, start: Start) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._server: _ImportedServer | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def fork(self, request: ImportRequest) -> Process | None:
        """A worker for this request; None if there is no process that has imported the same."""
        with self._lock:
            server = self._server
            if server is None or server.key != request.key() or server.has_changed():
                return None
            return server.channel.fork(request.cwd)

    def prepare(self, request: ImportRequest) -> None:
        """Make a process for this request in the background, unless there is one or another one is being made."""
        with self._lock:
            server = self._server
            is_there = server is not None and server.key == request.key() and not server.has_changed()
            is_under_way = self._thread is not None and self._thread.is_alive()
            if self._closed or sys.platform != "linux" or is_there or is_under_way:
                return
            self._thread = threading.Thread(target=self._make, args=(request,), daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Wait for the process that is being made."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """End the process, and make no others."""
        with self._lock:
            self._closed = True
            server, self._server = self._server, None
        if server is not None:
            server.close()

    def _make(self, request: ImportRequest) -> None:
        # Whatever goes wrong, workers import the modules themselves, as they do without this.
        with contextlib.suppress(WorkerError, WorkerEndedError, RequestTimeoutError, OSError, RuntimeError):
            server = _ImportedServer(request, self._start)
            with self._lock:
                old, self._server = self._server, server
                if self._closed:
                    old, self._server = server, None
            if old is not None:
                old.close()


class _ImportedServer:
    """A worker that has imported modules, and forks others from then on."""

    def __init__(self, request: ImportRequest, start: Start) -> None:
        self.key = request.key()
        culprits = {plan.file: f"{plan.name} {_EDITED}" for plan in request.plans if plan.file in request.edited}
        startup = Startup(plans=tuple(request.plans), settings=request.settings, culprits=culprits, confined=True)
        self._worker = Worker(request.python, startup, cwd=request.cwd, start=start)
        try:
            self._stamps = self._import(request)
            self.channel = self._connect(request.limit)
        except BaseException:
            self._worker.close()
            raise

    def has_changed(self) -> bool:
        """Whether a file was written that it has imported."""
        return any(_stamp(file) != stamp for file, stamp in self._stamps.items())

    def close(self) -> None:
        """End it; workers that were forked from it go on."""
        self._worker.close()
        self.channel.close()

    def _import(self, request: ImportRequest) -> dict[str, tuple[int, int]]:
        planned = {plan.file: (0, 0) for plan in request.plans}  # whose text came with the plan
        for plan in request.plans:
            if plan.path in request.to_import and plan.file not in request.edited:
                self._worker.ask(ImportModule(path=plan.path), request.limit)
        for plan in request.plans:
            if plan.file in request.ahead:
                self._worker.ask(ImportAhead(path=plan.path, names=request.ahead[plan.file]), request.limit)
        loaded = self._worker.ask(ListFiles(), request.limit).loaded
        return {file: _stamp(file) for file in loaded if file not in planned or not _has_source(request.plans, file)}

    def _connect(self, limit: float) -> ForkChannel:
        with tempfile.TemporaryDirectory(prefix="shapecheck-forks-") as folder:
            path = os.path.join(folder, "socket")
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.bind(path)
                listener.listen(1)
                listener.settimeout(limit)
                if not self._worker.ask(ServeForks(socket=path), limit).safe:
                    raise WorkerError("what it has imported cannot be forked safely")
                ours, _ = listener.accept()
        ours.settimeout(None)
        channel = ForkChannel(ours)
        if not channel.is_ready():
            raise WorkerError("it does not fork")
        return channel


def _has_source(plans: Sequence[ModulePlan], file: str) -> bool:
    return any(plan.file == file and plan.source for plan in plans)


def _stamp(file: str) -> tuple[int, int]:
    try:
        found = os.stat(file)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


StartFor = Callable[[Sequence[ModulePlan], Sequence[str], WorkerSettings], Start]
"""How the processes of a run's workers are started, once its plans are known, and which of them are to be imported."""
