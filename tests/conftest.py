"""Options of the test suite, and the processes of its workers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shapecheck.worker import spawn, worker_client
from shapecheck.worker.fork_server import ForkServers

_NAMES_THE_TEST = "PYTEST_CURRENT_TEST"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-fixtures",
        action="store_true",
        help="write the findings of this run into fixtures/ as the expected ones (then read the diff)",
    )


@pytest.fixture(scope="session", autouse=True)
def _forked_workers() -> Iterator[None]:
    """Fork workers, as those of locks are, from one process that has imported JAX: they are hundreds.

    Where a test gives them another environment or another interpreter, they are started by themselves.
    """
    with ForkServers() as servers, pytest.MonkeyPatch.context() as patch:
        environment = _environment()

        def start(python: str, cwd: Path) -> spawn.Process:
            alike = _is_ours(python) and _environment() == environment
            return (servers.start if alike else spawn.spawn_process)(python, cwd)

        patch.setattr(worker_client, "spawn_process", start)
        yield


@pytest.fixture
def spawned_workers(_forked_workers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers as the command does: for tests of the processes themselves."""
    monkeypatch.setattr(worker_client, "spawn_process", spawn.spawn_process)


def _is_ours(python: str) -> bool:
    """Whether it is this interpreter, in this virtual environment: `python` and `python3` are."""
    ours = Path(sys.executable)
    return Path(python).parent == ours.parent and Path(python).resolve() == ours.resolve()


def _environment() -> dict[str, str]:
    return {name: value for name, value in spawn.environment("").items() if name != _NAMES_THE_TEST}
