"""Both hooks, with the real pre-commit, on a small repository. They check the whole of it, whatever was edited."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import shapecheck

PROJECT = Path(__file__).parent.parent
PARTS = (".pre-commit-hooks.yaml", "LICENSE", "README.md", "pyproject.toml", "src")

LAYERS = """\
from jaxtyping import Array, Float


def project(x: Float[Array, "batch d"], w: Float[Array, "d hidden"]) -> Float[Array, "batch hidden"]:
    return x @ w
"""

MODEL = """\
from jaxtyping import Array, Float

from .layers import project


def mlp(x: Float[Array, "batch d"], w: Float[Array, "d hidden"], v: Float[Array, "hidden out"]):
    h = project(x, w)  # (batch, hidden)
    y = project(h, v)  # ({claim})
    return y
"""


def sh(*command: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=300)


def git(*args: str, cwd: Path, env: dict[str, str]) -> str:
    result = sh("git", *args, cwd=cwd, env=env)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables with which `shapecheck` is a command, and git and pre-commit touch nothing of the user's."""
    folder = tmp_path_factory.mktemp("environment")
    (folder / "bin").mkdir()
    program = folder / "bin" / "shapecheck"
    source = Path(shapecheck.__file__).parent.parent
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" -m shapecheck "$@"\n')
    program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT", "PYTHON"))}
    return {
        **kept,
        "PATH": os.pathsep.join((str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"])),
        "PRE_COMMIT_HOME": str(folder / "cache"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory, env: dict[str, str]) -> tuple[Path, str]:
    """A repository of shapecheck as it stands, and its revision."""
    folder = tmp_path_factory.mktemp("shapecheck")
    for name in PARTS:
        if (PROJECT / name).is_dir():
            shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(PROJECT / name, folder / name)
    git("init", "-q", cwd=folder, env=env)
    git("add", "--all", cwd=folder, env=env)
    git("commit", "-q", "-m", "shapecheck", cwd=folder, env=env)
    return folder, git("rev-parse", "HEAD", cwd=folder, env=env)


@pytest.fixture
def repository(tmp_path: Path, env: dict[str, str]) -> Path:
    """A user's repository with one wrong comment, and one in a file that the configuration leaves out."""
    (tmp_path / "pyproject.toml").write_text('[tool.shapecheck]\nexclude = ["old/"]\n')
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "model.py").write_text("def f(x):\n    y = x.T  # shape: (oops\n    return y\n")
    package = tmp_path / "src" / "pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "layers.py").write_text(LAYERS)
    (package / "model.py").write_text(MODEL.format(claim="out, batch"))
    git("init", "-q", cwd=tmp_path, env=env)
    return tmp_path


def run(repository: Path, hooks: tuple[Path, str], env: dict[str, str], hook: str, *args: str) -> tuple[int, str]:
    listed = ", ".join(f"'{arg}'" for arg in args)
    (repository / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks[0]}\n  rev: {hooks[1]}\n  hooks:\n  - id: {hook}\n    args: [{listed}]\n"
    )
    git("add", "--all", cwd=repository, env=env)
    command = (sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never")
    result = sh(*command, cwd=repository, env=env)
    return result.returncode, result.stdout + result.stderr


def test_pre_commit_ci_leaves_the_check_to_others(
    repository: Path, hooks: tuple[Path, str], env: dict[str, str]
) -> None:
    """With the README's recipe: pre-commit.ci runs the hooks with what it says to skip in the environment."""
    recipe = re.search(r"```yaml\n(ci:\n.*?)```", (PROJECT / "README.md").read_text(), re.DOTALL)
    assert recipe is not None
    run(repository, hooks, env, "shapecheck")
    config = repository / ".pre-commit-config.yaml"
    config.write_text(recipe[1] + config.read_text())
    git("add", "--all", cwd=repository, env=env)
    command = (sys.executable, "-m", "pre_commit")
    assert sh(*command, "validate-config", cwd=repository, env=env).returncode == 0
    skip = ",".join(yaml.safe_load(recipe[1])["ci"]["skip"])
    done = sh(*command, "run", "--all-files", "--color", "never", cwd=repository, env={**env, "SKIP": skip})
    assert done.returncode == 0, done.stdout
    assert re.search(r"^shapecheck\.+Skipped$", done.stdout, re.MULTILINE)


def complains_then_passes(
    repository: Path, hooks: tuple[Path, str], env: dict[str, str], hook: str, *args: str
) -> None:
    code, output = run(repository, hooks, env, hook, *args)
    assert code == 1, output
    assert "src/pkg/model.py:8:" in output
    assert "SC201 comment says (out, batch), but y is (batch, out)" in output
    assert "- exit code: 1" in output
    (repository / "src" / "pkg" / "model.py").write_text(MODEL.format(claim="batch, out"))
    code, output = run(repository, hooks, env, hook, *args, "--fail-on-unreached")
    assert code == 0, output
    assert "Passed" in output
    # What an edit makes false may stand in another file.
    (repository / "src" / "pkg" / "layers.py").write_text("def project(x, w):\n    return (x @ w)[:1]\n")
    git("add", "--all", cwd=repository, env=env)
    edited = sh(sys.executable, "-m", "pre_commit", "run", "--files", "src/pkg/layers.py", cwd=repository, env=env)
    assert "src/pkg/model.py:7:" in edited.stdout


def test_the_hook_that_runs_the_installed_command(
    repository: Path, hooks: tuple[Path, str], env: dict[str, str]
) -> None:
    complains_then_passes(repository, hooks, env, "shapecheck")


def test_the_hook_in_an_environment_of_its_own(
    repository: Path, hooks: tuple[Path, str], env: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("index")
    probe = sh(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "hatchling", cwd=folder, env=env)
    if probe.returncode != 0:
        pytest.skip(f"the package index cannot be reached, and pre-commit must install from it: {probe.stderr[-200:]}")
    complains_then_passes(repository, hooks, env, "shapecheck-isolated", "--python", sys.executable)


def test_nothing_runs_where_no_python_is_committed(
    repository: Path, hooks: tuple[Path, str], env: dict[str, str]
) -> None:
    shutil.rmtree(repository / "src")
    shutil.rmtree(repository / "old")
    (repository / "notes.md").write_text("x = y  # shape: (a, b)\n")
    code, output = run(repository, hooks, env, "shapecheck")
    assert code == 0, output
    assert "no files to check" in output
