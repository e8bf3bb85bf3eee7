"""`check --watch`: a real process, edits beside it, and Ctrl-C."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes as Linux lists them")

GOOD = """\
import jax.numpy as jnp
from jaxtyping import Array, Float

def mean(x: Float[Array, "b d"]):
    return x.mean(-1)  # (b,)
"""
BAD = GOOD.replace("(b,)", "(d,)")
READY = "Watching for changes; Ctrl-C ends it."


class Watch:
    """The command, with what it writes line by line."""

    def __init__(self, folder: Path, *args: str) -> None:
        command = [sys.executable, "-m", "shapecheck", "check", ".", "--watch", *args]
        self.folder = folder
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.lines.put(line.rstrip("\n"))

    def until_ready(self) -> str:
        found: list[str] = []
        deadline = time.monotonic() + 60
        while not (found and found[-1] == READY):
            found.append(self.lines.get(timeout=deadline - time.monotonic()))
        return "\n".join(found)


def processes_in(folder: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "cwd") == str(folder):
                found.append(int(entry.name))
        except OSError:  # ended meanwhile
            continue
    return found


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    folder = tmp_path.resolve()
    (folder / "pyproject.toml").write_text("[tool.shapecheck]\n")
    (folder / "model.py").write_text(GOOD)
    (folder / "README").write_text("")
    watch = Watch(folder)
    try:
        yield watch
    finally:
        watch.process.kill()
        watch.process.wait()
        watch.reader.join()


def test_each_edit_is_checked_until_ctrl_c(watch: Watch) -> None:
    assert "No problems in 2 verified claims" in watch.until_ready()
    (watch.folder / "model.py").write_text(BAD)
    shown = watch.until_ready()
    assert "Changed: model.py" in shown
    assert "model.py:5:26: SC201 comment says (d,)" in shown
    assert "\x1b" not in shown  # no terminal, no screen to clear
    fresh = subprocess.run(
        [sys.executable, "-m", "shapecheck", "check", ".", "--no-cache"],
        cwd=watch.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert fresh.stdout.strip() in shown

    (watch.folder / "README").write_text("nothing that is checked")
    (watch.folder / "pyproject.toml").write_text('[tool.shapecheck]\nignore = ["SC2O1"]\n')
    shown = watch.until_ready()
    assert "Changed: pyproject.toml" in shown
    assert "there is no rule 'SC2O1'" in shown
    (watch.folder / "pyproject.toml").write_text('[tool.shapecheck]\nignore = ["SC201"]\n')
    assert "SC201" not in watch.until_ready()

    watch.process.send_signal(signal.SIGINT)
    assert watch.process.wait(timeout=20) == 0
    deadline = time.monotonic() + 10
    while processes_in(watch.folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_in(watch.folder) == []


def test_it_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(GOOD)
    code = (
        "import sys; sys.modules['watchfiles'] = None; from shapecheck.cli import main;"
        "sys.exit(main(['check', 'model.py', '--watch']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'jax-shapecheck[watch]'" in done.stderr


@pytest.mark.parametrize("other", ["--fix", "--diff"])
def test_it_does_not_go_with_what_writes(tmp_path: Path, other: str) -> None:
    (tmp_path / "model.py").write_text(GOOD)
    command = [sys.executable, "-m", "shapecheck", "check", "model.py", "--watch", other]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, f"--watch and {other} exclude each other" in done.stderr) == (2, True)
