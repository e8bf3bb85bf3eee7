"""How the process of a worker is started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import IO, Any, Protocol

from shapecheck.evaluate.framework_protocol import framework_facts
from shapecheck.evaluate.leftover_processes import end_leftovers, marked_environment, new_mark

DEVICES = 8
"""The devices that the worker's CPU pretends to be. Each has two threads; they are made when JAX first computes."""

_DEVICES = "xla_force_host_platform_device_count"
BOOTSTRAP = Path(__file__).parents[1] / "evaluate" / "session" / "bootstrap.py"


class Process(Protocol):
    """What a worker's process has; `subprocess.Popen` is one."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None
    pid: int
    mark: str

    @property
    def returncode(self) -> int | Any:
        """Its exit status, None before its end."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status, when it has ended; raises subprocess.TimeoutExpired."""


Start = Callable[[str, Path], Process]
"""Starts the process of a worker: of an interpreter, in a folder. Raises OSError."""


class SpawnedProcess(subprocess.Popen[bytes]):
    """A process with a mark, which what it starts has too."""

    mark = ""


def spawn_process(
    python: str, cwd: Path, variables: Mapping[str, str] | None = None, without: Container[str] = ()
) -> Process:
    """A process that is started by itself.

    `variables` of the environment are as whoever asks has them elsewhere; it is `without` those that this process alone
    was given.
    """
    pipe, mark = subprocess.PIPE, new_mark()
    command = [python, "-X", "faulthandler", str(BOOTSTRAP)]
    process = SpawnedProcess(
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        cwd=cwd,
        env=environment(mark, variables, without),
        start_new_session=True,
    )
    process.mark = mark
    return process


def kill_group(process: Process) -> None:
    """End a process, and all that it started, in other sessions too."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            os.kill(process.pid, signal.SIGTERM)
    end_leftovers(process.mark)


def environment(mark: str, variables: Mapping[str, str] | None = None, without: Container[str] = ()) -> dict[str, str]:
    """The user's environment, with JAX on a CPU of several devices, and runtime checks off."""
    base = {**{name: value for name, value in os.environ.items() if name not in without}, **(variables or {})}
    settings = (each.partition("=") for each in sorted(framework_facts("device_settings")))
    return {
        **{name: value for name, _, value in settings},
        **base,
        **marked_environment(mark),
        "JAX_PLATFORMS": "cpu",
        "SHAPECHECK_DEBUG": "",
        "SHAPECHECK_CACHE_KEY": "",  # no secret for the code that is checked
        "JAXTYPING_DISABLE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "XLA_FLAGS": _with_devices(base.get("XLA_FLAGS", "")),
    }


def _with_devices(flags: str) -> str:
    """XLA's flags, with as many devices as the user says there, else as many as most meshes want.

    JAX heeds `jax_num_cpu_devices` more, and code that sets the whole variable before JAX begins is heard.
    """
    return flags if _DEVICES in flags else f"{flags} --{_DEVICES}={DEVICES}".lstrip()
