"""Processes for workers that are forked from one that has imported JAX already."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

from shapecheck.evaluate.leftover_processes import marked_environment, new_mark
from shapecheck.worker.spawn import BOOTSTRAP, Process, SpawnedProcess, environment, kill_group, spawn_process

_START_LIMIT = 120.0
_MESSAGE = 4096  # bytes, more than any has


class ForkServers:
    """Starts processes from one fork server for each interpreter: from the second on, they need not wait for JAX.

    Use as a context manager. Only Linux forks processes safely that have loaded the system's libraries; elsewhere,
    and where the fork server is of no use, each process is started by itself.
    """

    def __init__(self) -> None:
        self._servers: dict[str, _ForkServer | None] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._processes: list[Process] = []

    def __enter__(self) -> ForkServers:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self, python: str, cwd: Path) -> Process:
        """A process of this interpreter in this folder; raises OSError if there can be none."""
        if self._closed:
            raise OSError("no process is wanted any more")
        with self._lock:
            if python not in self._servers and sys.platform == "linux":
                self._servers[python] = _start_server(python)
            server = self._servers.get(python)
            forked = server.fork(cwd) if server is not None else None
        process: Process = forked or spawn_process(python, cwd)
        self._processes.append(process)
        if self._closed:
            kill_group(process)
        return process

    def close(self) -> None:
        """End all processes, and start no others."""
        self._closed = True
        for process in self._processes:
            if process.returncode is None:
                kill_group(process)
        with self._lock:
            for server in self._servers.values():
                if server is not None:
                    server.close()
            self._servers.clear()


def _start_server(python: str) -> _ForkServer | None:
    """A fork server; None if the interpreter is none, or has no JAX."""
    try:
        server = _ForkServer(python)
    except OSError:
        return None
    if server.is_ready():
        return server
    server.close()
    return None


class _ForkServer:
    """A process that forks others, which has JAX imported."""

    def __init__(self, python: str) -> None:
        mark = new_mark()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                self._process = SpawnedProcess(
                    [python, "-X", "faulthandler", str(BOOTSTRAP), str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=environment(mark),
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except OSError:
                self._socket.close()
                raise
        self._process.mark = mark
        self._answers: queue.Queue[dict[str, int]] = queue.Queue()
        self._changed = threading.Condition()
        self._statuses: dict[int, int] = {}
        self._gone = False
        self._reader = threading.Thread(target=self._read_answers, daemon=True)
        self._reader.start()

    def is_ready(self) -> bool:
        """Whether it has come as far as to fork."""
        return "ready" in self._answer()

    def fork(self, cwd: Path) -> _ForkedProcess | None:
        """A process in this folder; None if there is no fork server any more."""
        pipes, mark = [os.pipe() for _ in range(3)], new_mark()
        (stdin, to_stdin), (from_stdout, stdout), (from_stderr, stderr) = pipes
        try:
            message = {"cwd": os.fspath(cwd), "environment": marked_environment(mark)}
            socket.send_fds(self._socket, [json.dumps(message).encode()], [stdin, stdout, stderr])
            pid = self._answer().get("forked")
        except OSError:
            pid = None
        for theirs in (stdin, stdout, stderr):
            os.close(theirs)
        if pid is None:
            for ours in (to_stdin, from_stdout, from_stderr):
                os.close(ours)
            return None
        return _ForkedProcess(self, pid, mark, to_stdin, from_stdout, from_stderr)

    def status(self, pid: int, timeout: float | None) -> int | None:
        """The exit status of a process that was forked, when it has ended; None if that takes longer."""
        with self._changed:
            self._changed.wait_for(lambda: self._gone or pid in self._statuses, timeout)
            # Who ended the server has ended the process too, or it ends now that nobody asks it.
            return self._statuses.get(pid, -signal.SIGKILL if self._gone else None)

    def close(self) -> None:
        """End it."""
        kill_group(self._process)
        self._process.wait()
        self._reader.join()
        self._socket.close()

    def _answer(self) -> dict[str, int]:
        try:
            return self._answers.get(timeout=_START_LIMIT)
        except queue.Empty:
            return {}

    def _read_answers(self) -> None:
        with contextlib.suppress(OSError):
            while message := self._socket.recv(_MESSAGE):
                answer = json.loads(message)
                if "ended" not in answer:
                    self._answers.put(answer)
                    continue
                with self._changed:
                    self._statuses[answer["ended"]] = answer["status"]
                    self._changed.notify_all()
        self._answers.put({})
        with self._changed:
            self._gone = True
            self._changed.notify_all()


class _ForkedProcess:
    """A process that a fork server has forked."""

    def __init__(self, server: _ForkServer, pid: int, mark: str, stdin: int, stdout: int, stderr: int) -> None:
        self._server, self.pid, self.mark = server, pid, mark
        self.stdin: IO[bytes] | None = os.fdopen(stdin, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(stdout, "rb")
        self.stderr: IO[bytes] | None = os.fdopen(stderr, "rb")

    @property
    def returncode(self) -> int | None:
        return self._server.status(self.pid, 0)

    def wait(self, timeout: float | None = None) -> int:
        status = self._server.status(self.pid, timeout)
        if status is None:
            raise subprocess.TimeoutExpired("a forked worker", timeout or 0)
        return status
