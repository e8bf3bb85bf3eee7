"""Which environment is taken for a file's own, where none is active."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from shapecheck.files.interpreter import candidates


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory, beside one for temporary files."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    for name in ("home", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "home"


def made(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def first(path: Path) -> Path:
    return Path(candidates(None, [path])[0])


@pytest.mark.parametrize("name", [".venv", "venv"])
@pytest.mark.parametrize("marks", [(), ("pyproject.toml",), ("pkg/pyproject.toml", ".git/HEAD")])
def test_that_of_the_project_is_taken(home: Path, name: str, marks: tuple[str, ...]) -> None:
    project = home / "work" / "project"
    python, script = project / name / "bin" / "python", project / "pkg" / "deep" / "train.py"
    made(python, script, *(project / mark for mark in marks))
    assert first(script) == first(script.parent) == python


def test_the_nearest_is_taken(home: Path) -> None:
    outer, inner = (home / folder / ".venv" / "bin" / "python" for folder in ("a", "a/b"))
    made(outer, inner, home / "a/.git/HEAD", home / "a/b/c/train.py")
    assert candidates(None, [home / "a/b/c/train.py"]) == [str(inner), str(outer), sys.executable]


@pytest.mark.parametrize("mark", ["pyproject.toml", ".git/HEAD"])
def test_that_above_the_project_is_another_s(home: Path, mark: str) -> None:
    made(home / "a/venv/bin/python", home / "a/project" / mark, home / "a/project/train.py")
    assert first(home / "a/project/train.py") == Path(sys.executable)


@pytest.mark.parametrize("mark", [None, ".git/HEAD"])
@pytest.mark.parametrize("folder", ["home", "temporary", "."])
def test_that_in_a_folder_of_many_projects_is_nobody_s(home: Path, folder: str, mark: str | None) -> None:
    shared = home.parent / folder
    script = (home if folder == "." else shared) / "x" / "y" / "train.py"
    made(shared / "venv" / "bin" / "python", script, *([shared / mark] if mark else []))  # a repository of dotfiles
    assert first(script) == Path(sys.executable)


def test_that_beside_a_script_is_taken_wherever_it_lies(home: Path) -> None:
    made(home / "venv/bin/python", home / "train.py")
    assert first(home / "train.py") == home / "venv/bin/python"


def test_that_of_an_installed_package_is_taken(home: Path) -> None:
    package = home / "env/lib/python3.11/site-packages/pkg/model.py"
    made(home / "env/pyvenv.cfg", home / "env/bin/python", package)
    assert first(package) == home / "env/bin/python"


def test_the_active_one_comes_first_and_the_named_one_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(home / "active/bin/python", home / "p/.venv/bin/python", home / "p/train.py")
    monkeypatch.setenv("VIRTUAL_ENV", str(home / "active"))
    assert first(home / "p/train.py") == home / "active/bin/python"
    assert candidates("/named", [home / "p/train.py"]) == ["/named"]
