"""A run on a Dask cluster: the report of a local run, whatever becomes of the cluster's workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shapecheck.cli import main
from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.report import FORMATS

FILES = {
    "pyproject.toml": "[tool.shapecheck]\n",
    "pkg/__init__.py": "",
    "pkg/layers.py": """\
from jaxtyping import Array, Float


def scale(x: Float[Array, "batch d"], w: Float[Array, " d"]) -> Float[Array, "batch d"]:
    y = x * w  # (batch, d)
    return y


def swap(x: Float[Array, "batch d"]):
    y = x.T  # (batch, d)
    return y
""",
    "pkg/leaves.py": "import os\n\nos._exit(4)\n\n\ndef f(x):\n    return x  # shape: (n,)\n",
    "tests/test_layers.py": """\
import os

import jax.numpy as jnp
import pytest
from pkg.layers import scale


@pytest.mark.parametrize("size", range(2, 30))
def test_scale(size, tmp_path):
    (tmp_path / "x").write_text("x")
    scale(jnp.ones((3, size)), jnp.ones(size))


def test_leave():
    os._exit(3)
""",
}
KILLER = """\
import os
import signal

from pkg.layers import scale


def test_kill():
    with open(f"/proc/{os.getppid()}/cmdline") as stream:
        assert "shapecheck" not in stream.read()
    os.kill(os.getppid(), signal.SIGKILL)
    while True:
        pass
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        memory_limit=0,
    ) as found:
        yield found


def report(**flags: object) -> str:
    config = load([Path("pkg")], flags={"cache": False, "jobs": 1, **flags})
    return FORMATS["json"](check([Path("pkg")], config))


def address(cluster: Any) -> str:
    return str(cluster.scheduler_address).replace("tcp://", "dask://")


def test_a_lost_worker_changes_nothing_and_the_cluster_stays(project: Path, cluster: Any) -> None:
    expected = report()
    begun = threading.Event()

    def kill() -> None:
        begun.wait(120)
        time.sleep(0.2)
        os.kill(cluster.workers[0].process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()

    def progress(label: str, done: int, total: int) -> None:
        if "test_scale[9]" in label or "test_scale[20]" in label:
            begun.set()

    config = load([Path("pkg")], flags={"cache": False, "executor": address(cluster)})
    assert FORMATS["json"](check([Path("pkg")], config, progress=progress)) == expected
    assert begun.is_set()
    killer.join()

    def names_of_ours(dask_worker: Any) -> list[str]:  # in here: a worker may not find the module of this file
        return [name for name in dask_worker.plugins if name.startswith("shapecheck")]

    with cluster.get_client() as client:
        client.wait_for_workers(2, timeout=60)
        assert all(not names for names in client.run(names_of_ours).values())


def test_what_ends_two_workers_is_not_tried_on_a_third(project: Path, cluster: Any) -> None:
    (project / "tests" / "test_kill.py").write_text(KILLER)
    found = check([Path("pkg")], load([Path("pkg")], flags={"cache": False, "executor": address(cluster)}))
    assert found.tests is not None
    assert "tests/test_kill.py::test_kill ended two workers of the cluster" in found.tests.problems
    assert found.tests.ok == 28, "what was done beside it is done again"


def test_what_waited_where_a_worker_ended_is_not_given_up(project: Path, cluster: Any) -> None:
    """Dask counts for each task how often it was on a worker that ended, whether or not it was begun there."""
    (project / "tests" / "test_kill.py").write_text(KILLER)
    cluster.scheduler.allowed_failures = 0
    found = check([Path("pkg")], load([Path("pkg")], flags={"cache": False, "executor": address(cluster)}))
    assert found.tests is not None
    assert [each for each in found.tests.problems if "two workers" in each] == [
        "tests/test_kill.py::test_kill ended two workers of the cluster"
    ]
    assert found.tests.ok == 28


def test_code_sees_the_environment_of_a_local_run(project: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask gives its own workers variables, such as one that makes malloc slow."""
    for name in ("OMP_NUM_THREADS", "MALLOC_TRIM_THRESHOLD_"):
        monkeypatch.delenv(name, raising=False)
    (project / "tests" / "test_environment.py").write_text(
        "import os\n\n\ndef test_environment():\n"
        '    raise RuntimeError(sorted({"MALLOC_TRIM_THRESHOLD_", "OMP_NUM_THREADS"} & set(os.environ)))\n'
    )
    found = report(executor=address(cluster))
    assert found == report()
    assert "OMP_NUM_THREADS" not in found


def test_a_cluster_that_all_workers_leave_is_waited_for_once(
    project: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shapecheck.worker import dask_cluster

    monkeypatch.setattr(dask_cluster, "_NO_WORKERS", 8.0)
    left: list[float] = []

    def progress(label: str, done: int, total: int) -> None:
        if "test_scale[9]" in label and not left:
            left.append(time.monotonic())
            cluster.scale(0)

    config = load([Path("pkg")], flags={"cache": False, "executor": address(cluster)})
    found = check([Path("pkg")], config, progress=progress)
    assert time.monotonic() - left[0] < 8 + 8
    assert found.broken == ("the cluster has had no worker for 8 s: start some, and try again",)
    assert found.tests is not None
    assert found.tests.ok > 0, "what was done before counts"


def test_limits_are_those_of_a_local_run(project: Path) -> None:
    pytest.importorskip("distributed")
    (project / "pkg" / "leaves.py").unlink()
    (project / "tests" / "test_layers.py").write_text(
        "import jax.numpy as jnp\nfrom pkg.layers import scale, swap\n\n\n"
        "def test_loop():\n    scale(jnp.ones((3, 4)), jnp.ones(4))\n    while True:\n        pass\n\n\n"
        "def test_swap():\n    swap(jnp.ones((3, 4)))\n"
    )
    (project / "pkg" / "loops.py").write_text(
        "from jaxtyping import Array, Float\n\n\n"
        'def wait(x: Float[Array, "n"]):\n    y = x  # (n,)\n    while True:\n        pass\n'
    )
    expected = report(timeout=4.0, test_timeout=4.0)
    assert "took longer than 4 s" in expected
    assert '"SC304"' in expected
    assert report(timeout=4.0, test_timeout=4.0, executor="dask://local:1") == expected


def test_a_local_cluster_ends_with_the_run_and_on_an_interrupt(project: Path) -> None:
    pytest.importorskip("distributed")
    (project / "tests" / "test_slow.py").write_text("def test_slow():\n    while True:\n        pass\n")
    command = [sys.executable, "-m", "shapecheck", "check", "pkg", "--no-cache", "--executor", "dask://local:1"]
    # A cluster of an earlier test has left its own configuration in the environment.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DASK")}
    environment.update({"TMPDIR": str(project / "temporary"), "SHAPECHECK_TEST_MARK": str(project)})
    (project / "temporary").mkdir()
    process = subprocess.Popen(
        [*command, "--test-timeout", "60"], env=environment, stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while not any("bootstrap" in line for line in processes(project)) and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(3)
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors.decode()
    assert b"Traceback" not in errors, errors.decode()
    deadline = time.monotonic() + 20
    while processes(project) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert processes(project) == []
    assert [each.name for each in (project / "temporary").rglob("*")] == []


def processes(project: Path) -> list[str]:
    """The command lines of what has the mark of this test."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if f"SHAPECHECK_TEST_MARK={project}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except (OSError, ValueError):
            continue
    return found


def test_without_dask_or_a_scheduler_the_error_says_what_to_do(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("host:8786", "dask://", "dask://local:0", "dask://host"):
        assert main(["check", "pkg", "--executor", text]) == 2
        assert "dask://host:8786" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["check", "pkg", "--no-cache", "--executor", "dask://127.0.0.1:1"]) == 2
    assert "pip install 'jax-shapecheck[dask]'" in capsys.readouterr().err


def test_a_local_cluster_that_does_not_start_is_no_bug(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    distributed = pytest.importorskip("distributed")

    def refuse(**_: object) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", refuse)
    assert main(["check", "pkg", "--no-cache", "--executor", "dask://local:2"]) == 2
    shown = capsys.readouterr().err
    assert "no local Dask cluster could be started (Nanny failed to start.): --jobs needs none" in shown
    assert "Traceback" not in shown


def test_an_address_where_nobody_answers_is_said_to_be_so(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed")
    from shapecheck.worker import dask_cluster

    monkeypatch.setattr(dask_cluster, "_CONNECTING", 1.0)
    assert main(["check", "pkg", "--no-cache", "--executor", "dask://127.0.0.1:1"]) == 2
    assert "nobody answers there" in capsys.readouterr().err
