"""A fork server: an interpreter that starts in milliseconds, because JAX and what else is large is imported already.

`ForkServer` gives the path of a program that stands in the place of the interpreter: `program -m pytest ...`,
`program script.py ...` or `program -c ...` runs in a process forked from the server, with the arguments, environment,
working directory and open files of whoever called it. Each such process is as fresh as one that has imported some
libraries; nothing of the package under test is among them, and no JAX backend has been initialised.

Linux only. This file runs in the package's interpreter too, so it needs the standard library alone.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_HEAD = 12  # digits of the request's length, which the open files come with
_MOST = 64  # open files
_CHUNK = 1 << 16
_FREE = 500  # descriptors from here on are nobody's
CLOCK = "FORK_SERVER_CLOCK"  # "cpu": the monotonic clock counts the process's own time, as on an idle machine
MODULES = "FORK_SERVER_MODULES"  # the file to which a process writes what it has imported

_PROGRAM = """\
#!{python} -IS
import sys
sys.path.append({folder!r})
from fork_client import main
main({address!r})
"""


class ForkServer:
    """The user's side: starts the server, and ends it. Use as a context manager.

    `learn` is a command whose imported modules the server shall have: that of a run of the tests, say. Left out are
    those that lie below `project`, and those whose top level package is in `own`.
    """

    def __init__(
        self,
        python: str,
        folder: Path,
        environment: Mapping[str, str],
        *,
        modules: Sequence[str] = (),
        learn: Sequence[str] = (),
        own: Collection[str] = (),
        project: Path | None = None,
    ) -> None:
        self._python, self._folder = python, Path(tempfile.mkdtemp(prefix="fork-", dir=folder))
        self._environment = {**environment, "PYTHONHASHSEED": "0"}
        self.program = str(self._folder / "python")
        self._process: subprocess.Popen[bytes] | None = None
        self._own, self.left_out = frozenset(own), set(own)
        self.modules: Sequence[str] = ()
        self._begin(modules)
        if learn:
            file = self._folder / "modules.json"
            subprocess.run(
                [self.program, *learn], env={**self._environment, MODULES: str(file)}, cwd=project, check=False
            )
            found = json.loads(file.read_text("utf-8"))
            inside = os.path.join(os.path.realpath(project or folder), "")
            wanted = [
                name
                for name, origin in found
                if name.partition(".")[0] not in self.left_out and not os.path.realpath(origin).startswith(inside)
            ]
            self.close()
            self._begin([*modules, *wanted])

    def _begin(self, modules: Sequence[str]) -> None:
        """Start it, and again without a package that initialises JAX's backends on import."""
        while True:
            address = str(self._folder / "socket")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(address)
            wanted = [name for name in modules if name.partition(".")[0] not in self.left_out]
            file = self._folder / "wanted.json"
            file.write_text(json.dumps([wanted, sorted(self._own)]), "utf-8")
            self._process = subprocess.Popen(
                [self._python, __file__, address, str(file)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self._environment,
                start_new_session=True,
            )
            assert self._process.stdout is not None
            answer = self._process.stdout.readline().decode().split()
            if answer[:1] == ["ready"]:
                self.modules = wanted
                break
            self.close()
            if answer[:1] != ["spoilt"]:
                raise OSError(f"{self._python} does not start: {answer}")
            self.left_out.add(answer[1])
        program = Path(self.program)
        program.write_text(
            _PROGRAM.format(python=sys.executable, folder=str(Path(__file__).parent), address=address), "utf-8"
        )
        program.chmod(0o755)

    def close(self) -> None:
        """End the server, and with it what it has forked."""
        if self._process is not None:
            self._process.communicate()  # closes its standard input, which is how it knows
            self._process = None

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Request(NamedTuple):
    """What a caller wants to run."""

    argv: list[str]
    cwd: str
    env: dict[str, str]
    files: list[int]


def _load(modules: Sequence[str], own: Collection[str]) -> str:
    """Import what can be imported; the package that initialised a backend or imported our `own`, "" if none did."""
    for name in modules:
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)
        bridge = sys.modules.get("jax._src.xla_bridge")
        initialised = bridge is not None and bridge.backends_are_initialized()
        if initialised or not sys.modules.keys().isdisjoint(own):
            return name.partition(".")[0]
    return ""


def _serve(address: str) -> _Request:
    """Fork a process for each caller, until standard input is closed; returns in each of these processes."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    ended, wake = os.pipe()
    for end in (ended, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    callers: dict[int, socket.socket] = {}
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        ready, _, _ = select.select([0, listener, ended, *callers.values()], [], [])
        if 0 in ready:
            for pid in callers:
                _kill(pid)
            os._exit(0)
        if ended in ready:
            os.read(ended, _CHUNK)
            _answer(callers)
        for pid, caller in list(callers.items()):
            if caller in ready:  # it says nothing more, so it has ended
                _kill(pid)
                callers.pop(pid).close()
        if listener in ready:
            caller, _ = listener.accept()
            request, files = _receive(caller)
            pid = os.fork()
            if not pid:
                os.setpgid(0, 0)
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (listener, caller, *callers.values()):
                    each.close()
                for number in (ended, wake):
                    os.close(number)
                _take_over(request, files)
                return request
            callers[pid] = caller
            for number in files:
                os.close(number)


def _answer(callers: dict[int, socket.socket]) -> None:
    """Tell the callers of processes that have ended how they ended."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            caller = callers.pop(pid, None)
            if caller is not None:
                with contextlib.suppress(OSError):
                    caller.sendall(str(os.waitstatus_to_exitcode(status)).encode())
                caller.close()


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _receive(caller: socket.socket) -> tuple[_Request, list[int]]:
    head, files, _, _ = socket.recv_fds(caller, _HEAD, _MOST)
    left, parts = int(head), []
    while left:
        part = caller.recv(min(left, _CHUNK))
        parts.append(part)
        left -= len(part)
    return _Request(**json.loads(b"".join(parts))), files


def _take_over(request: _Request, files: Sequence[int]) -> None:
    """The caller's open files, environment and working directory; the modules' own path stays."""
    high = [fcntl.fcntl(number, fcntl.F_DUPFD, _FREE) for number in files]
    for number in files:
        os.close(number)
    for number, place in zip(high, request.files, strict=True):
        os.dup2(number, place, inheritable=True)
        os.close(number)
    before = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    base = [p for p in sys.path[1:] if p not in before]
    os.environ.clear()
    os.environ.update(request.env)
    os.chdir(request.cwd)
    paths = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    sys.path[:] = [*paths, *base]
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process lasts
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    importlib.invalidate_caches()
    sys.path_importer_cache.clear()


def _run(argv: list[str]) -> None:
    """What the interpreter does with these arguments."""
    while argv[:1] in (["-X"], ["-W"]):
        del argv[:2]
    if argv[0] == "-m":
        sys.argv = argv[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
    elif argv[0] == "-c":
        sys.argv = ["-c", *argv[2:]]
        sys.path.insert(0, "")
        exec(compile(argv[1], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - as the interpreter does
    else:
        sys.argv = argv
        sys.path.insert(0, os.path.dirname(os.path.abspath(argv[0])))
        runpy.run_path(argv[0], run_name="__main__")


def _write_modules() -> None:
    """For who wants to know what a command imports."""
    file = os.environ.get(MODULES)
    if file:
        specs = [(name, getattr(module, "__spec__", None)) for name, module in list(sys.modules.items())]
        found: list[Any] = [
            (name, spec.origin) for name, spec in specs if spec is not None and spec.name == name and spec.origin
        ]
        temporary = f"{file}.{os.getpid()}"
        Path(temporary).write_text(json.dumps(found), "utf-8")
        os.replace(temporary, file)


def main() -> None:
    """The server, and in the processes that it forks, what was asked for."""
    address, wanted = sys.argv[1:]
    spoilt = _load(*json.loads(Path(wanted).read_text("utf-8")))
    if spoilt:
        sys.stdout.write(f"spoilt {spoilt}\n")
        return
    if os.environ.get(CLOCK) == "cpu":
        time.monotonic = time.process_time
    gc.collect()
    gc.freeze()  # collecting garbage in a forked process shall not copy all of the server's memory
    request = _serve(address)
    atexit.register(_write_modules)
    _run(request.argv)


if __name__ == "__main__":
    main()
