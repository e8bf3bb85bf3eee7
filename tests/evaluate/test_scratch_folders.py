"""Temporary folders: those of processes that have ended go, those of others stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import shapecheck
from shapecheck.evaluate.scratch_folders import scratch_folder, sweep

SRC = str(Path(shapecheck.__file__).parent.parent)
SLEEPS = "import time\n\n\ndef test_sleeps():\n    open({sign!r}, 'w').close()\n    time.sleep(60)\n"
CLAIM = "from jaxtyping import Array, Float\n\n\ndef f(x: Float[Array, 'n']) -> Float[Array, 'n']:\n    return x\n"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "temporary"
    found.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(found))
    return found


def folder_of(temporary: Path, name: str) -> Path:
    found = temporary / name
    (found / "inside").mkdir(parents=True)
    return found


def test_only_what_ended_processes_left_is_removed(temporary: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = folder_of(temporary, f"shapecheck-{dead.pid}-1-deaddead")
    again = folder_of(temporary, f"shapecheck-{os.getpid()}-1-reusedid")  # another process had this number
    stay = [
        folder_of(temporary, "shapecheck-notours_"),
        folder_of(temporary, "shapecheck-nobody-1-nonumber"),
        folder_of(temporary, f"other-{dead.pid}-1-deaddead"),
    ]
    with scratch_folder() as own:
        assert sweep() == (2 if sys.platform == "linux" else 1)
        assert Path(own).is_dir()
    assert not Path(own).exists()
    assert not left.exists()
    assert again.exists() == (sys.platform != "linux")
    assert all(each.exists() for each in stay)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_that_has_ended_and_was_not_waited_for_owns_nothing(temporary: Path) -> None:
    code = "from shapecheck.evaluate.scratch_folders import lasting_folder; print(lasting_folder())"
    environment = {**os.environ, "PYTHONPATH": SRC, "TMPDIR": str(temporary)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    left = Path(process.stdout.read().strip())
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert left.parent == temporary
    assert sweep() == 1
    assert not left.exists()
    process.communicate()


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing_to_the_next(number: signal.Signals, tmp_path: Path) -> None:
    project, temporary, sign = tmp_path / "project", tmp_path / "temporary", tmp_path / "sign"
    (project / "tests").mkdir(parents=True)
    temporary.mkdir()
    (project / "pyproject.toml").write_text("[tool.shapecheck]\ncache = false\n")
    (project / "m.py").write_text(CLAIM)
    test = project / "tests" / "test_m.py"
    test.write_text(SLEEPS.format(sign=str(sign)))
    environment = {**os.environ, "PYTHONPATH": SRC, "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "shapecheck", "m.py", "--test-timeout", "60"]

    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # below `nohup` it is ignored, and we let it be
    process = subprocess.Popen(command, cwd=project, env=environment, stdout=-3, stderr=-3)
    signal.signal(signal.SIGHUP, before)
    end = time.monotonic() + 60
    while not (sign.exists() or list(temporary.glob("shapecheck-*"))):
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(60) == (-number if number == signal.SIGKILL else 128 + number)
    if number == signal.SIGKILL:
        assert list(temporary.glob("shapecheck-*"))
        test.write_text("def test_nothing(): pass\n")
        assert subprocess.run(command, cwd=project, env=environment, check=False, capture_output=True).returncode == 0
    assert not list(temporary.glob("shapecheck-*"))
