"""What users install: the wheel, in an environment of its own, runs the first command of the README.

It builds and installs with the real pip, which takes half a minute; it is skipped where pip reaches no index.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def pip(*args: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [python, "-m", "pip", "--disable-pip-version-check", "--retries", "1", *args]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    backend = pip("download", "--quiet", "--no-deps", "--dest", str(folder / "backend"), "hatchling>=1.24")
    if backend.returncode:
        pytest.skip(f"pip reaches no index: {backend.stderr.strip().splitlines()[-1]}")
    built = pip("wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    assert built.returncode == 0, built.stderr
    (found,) = folder.glob("jax_shapecheck-*.whl")
    return found


def test_the_installed_wheel_runs_the_first_command_of_the_readme(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False)
    programs = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    installed = pip("--python", str(programs / "python"), "install", "--quiet", str(wheel))
    assert installed.returncode == 0, installed.stderr
    readme = (ROOT / "README.md").read_text()
    shown = re.search(r"<!-- quickstart -->\n    \$ shapecheck (.*)\n((?:    .*\n|\n)+)<!--", readme)
    assert shown is not None
    # The models' environment is the active one: that of these tests, which has JAX, while the new one has not.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [programs / "shapecheck", *shlex.split(shown.group(1))],
        cwd=ROOT,
        env={**kept, "VIRTUAL_ENV": sys.prefix},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.rstrip("\n") == re.sub("^    ", "", shown.group(2), flags=re.MULTILINE).rstrip("\n"), done.stderr
    assert done.returncode == 1
