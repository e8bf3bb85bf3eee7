"""Options of the test suite, and what its processes share, of which there are hundreds."""

from __future__ import annotations

import compileall
import contextlib
import importlib.util
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import hypothesis
import pytest

import shapecheck
from shapecheck.cli import main
from shapecheck.worker import spawn, worker_client
from shapecheck.worker.fork_server import ForkServers

_WITHOUT_PLUGINS = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
_NAMES_THE_TEST = "PYTEST_CURRENT_TEST"
_PACKAGE = Path(shapecheck.__file__).parent
# How long an example takes is the machine's doing, which the suite shares with other jobs.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")
_FOR_TESTS = ("pytest", "trio")  # what each worker with tests of the user's would import, and takes longest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-fixtures",
        action="store_true",
        help="write the findings of this run into fixtures/ as the expected ones (then read the diff)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Compile once what every process of the suite would compile for itself: our modules, and what XLA is given."""
    if hasattr(config, "workerinput"):  # a process of pytest-xdist, which has this from the one that started it
        return
    compileall.compile_dir(_PACKAGE, quiet=2)  # as pip does; processes that evaluate write no bytecode
    folder = tempfile.mkdtemp(prefix="shapecheck-compiled-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", folder)
    # Most of it are single operations, each of which compiles in some milliseconds.
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


@pytest.fixture(scope="session")
def load_script() -> Callable[[Path], ModuleType]:
    """Import a script by its file, under a name that no other module has."""

    def load(script: Path) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"script_{script.stem}", script)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session", autouse=True)
def _share_of_cores() -> Iterator[None]:
    """Let runs that do not say how many workers they want have this process's part of the cores: others use the rest.

    Each further worker imports the same modules again, which pays only where a core would idle.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes == 1 or not hasattr(os, "sched_getaffinity"):
        yield
        return
    cores = sorted(os.sched_getaffinity(0))
    part = set(cores[: max(1, len(cores) // processes)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda process: part)
        yield


@pytest.fixture(scope="session", autouse=True)
def _forked_workers() -> Iterator[None]:
    """Fork workers, as those of locks are, from few processes that have imported JAX.

    The user's pytest loads none of the plugins that are installed here, whose import is the longest part of many a run;
    tests of what they change ask for `installed_plugins`. As in the editor, equinox is imported before too, where the
    files that are checked mention it. Where a test gives the workers another environment or another interpreter, they
    are started by themselves.
    """
    servers: dict[tuple[str | None, bool], ForkServers] = {}

    def start(python: str, cwd: Path) -> spawn.Process:
        if not _is_ours(python) or _environment() != environment:
            return spawn.spawn_process(python, cwd)
        with_equinox = _mentions_equinox(cwd)
        kind = os.environ.get(_WITHOUT_PLUGINS), with_equinox
        new = ForkServers([*_FOR_TESTS, "equinox"] if with_equinox else _FOR_TESTS)  # which starts nothing yet
        return servers.setdefault(kind, new).start(python, cwd)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(_WITHOUT_PLUGINS, "1")
        environment = _environment()
        patch.setattr(worker_client, "spawn_process", start)
        yield
    for each in servers.values():
        each.close()


class CommandResult(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def command_line(_forked_workers: None) -> Callable[..., CommandResult]:
    """Run the command line in a folder, as `python -m shapecheck` does there, but in this process."""

    def run(folder: Path, *arguments: str) -> CommandResult:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(arguments)
        return CommandResult(status, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def spawned_workers(_forked_workers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers as the command does: for tests of the processes themselves."""
    monkeypatch.setattr(worker_client, "spawn_process", spawn.spawn_process)


@pytest.fixture(scope="module")
def installed_plugins(_forked_workers: None) -> Iterator[None]:
    """Let the user's pytest load all plugins that are installed, as it does where nobody says otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(_WITHOUT_PLUGINS)
        yield


def _is_ours(python: str) -> bool:
    """Whether it is this interpreter, in this virtual environment: `python` and `python3` are."""
    ours = Path(sys.executable)
    return Path(python).parent == ours.parent and Path(python).resolve() == ours.resolve()


def _mentions_equinox(folder: Path) -> bool:
    if folder == _PACKAGE.parents[1]:
        return False
    for path in folder.rglob("*.py"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            if b"equinox" in file.read():
                return True
    return False


def _environment() -> dict[str, str]:
    apart = (_NAMES_THE_TEST, _WITHOUT_PLUGINS)
    return {name: value for name, value in spawn.environment("").items() if name not in apart}
