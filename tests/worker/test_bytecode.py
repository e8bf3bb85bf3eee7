"""A worker keeps the bytecode of our own modules, as any program does, and leaves none beside the user's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import shapecheck

MODEL = """\
import subprocess
import sys

import helper
from jaxtyping import Array, Float

subprocess.run([sys.executable, "-c", "import another"], check=True)


def f(x: Float[Array, "b d"]) -> Float[Array, "d b"]:
    return helper.turn(x)
"""


def test_bytecode_of_our_modules_alone_is_kept(tmp_path: Path) -> None:
    installed, project = tmp_path / "installed", tmp_path / "project"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(shapecheck.__file__).parent, installed / "shapecheck", ignore=ignored)
    project.mkdir()
    (project / "model.py").write_text(MODEL)
    (project / "helper.py").write_text("def turn(x):\n    return x.T\n")
    (project / "another.py").write_text("")
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "shapecheck", "check", "model.py", "--no-cache", "--fail-on-unreached"]
    done = subprocess.run(
        command,
        cwd=project,
        env={**variables, "PYTHONPATH": os.fspath(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [*(installed / "shapecheck" / "evaluate" / "session" / "__pycache__").glob("worker_session.*.pyc")]
    assert sorted(file.name for file in project.iterdir()) == ["another.py", "helper.py", "model.py"]
