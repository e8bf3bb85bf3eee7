"""A check changes no file: what is imported, or called with arguments that are made up, finds disks read-only."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapecheck import check

TOP = """
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import jax.numpy as jnp

"""
SAVES = '''
def save(x, path="results/x.txt"):
    """Keeps the sums.

    x: (n, d)
    """
    sums = x.sum(1)     # (n,)
    {body}
    return sums.T       # (n,)
'''
MODEL = '''
def double(x):
    """Twice.

    x: (n, d)
    """
    return x * 2        # (n, d)
'''


def files(folder: Path) -> dict[str, tuple[str, int]]:
    found = (each for each in folder.rglob("*") if each.is_file())
    return {
        str(each.relative_to(folder)): (each.read_text(), each.stat().st_mode)
        for each in found
        if each.suffix != ".pyc"
    }


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = tmp_path / "home"
    outside = tmp_path / "outside"
    for each in (home / "results", home / "__pycache__", outside):
        each.mkdir(parents=True)
        (each / "kept.txt").write_text("precious")
    (home / "kept.txt").write_text("precious")
    (home / "kept.db").write_text("")
    monkeypatch.chdir(home)

    def run(text: str):
        (home / "code.py").write_text(TOP + text.replace("OUTSIDE", str(outside)))
        before = files(tmp_path)
        report = check(["code.py"], cache=False)
        assert files(tmp_path) == before
        return report

    return run


@pytest.mark.parametrize(
    "body",
    [
        'shutil.rmtree("results")',
        "shutil.rmtree(os.path.dirname(path))",
        'os.remove("results/kept.txt")',
        'Path("results/kept.txt").write_text("lost")',
        'open("OUTSIDE/kept.txt", "a").write("more")',
        'shutil.rmtree("OUTSIDE")',
        'os.rename("OUTSIDE/kept.txt", "OUTSIDE/lost.txt")',
        'os.chmod("kept.txt", 0)',
        'os.truncate("kept.txt", 0)',
        'Path("kept.txt").touch()',
        'shutil.rmtree("__pycache__")',
        'open("__pycache__/kept.txt", "w").write("lost")',
        'os.link("OUTSIDE/kept.txt", "own.txt"); open("own.txt", "w").write("lost")',
        'import sqlite3; sqlite3.connect("kept.db").execute("create table t(a)")',
        'import sqlite3; sqlite3.connect("file:kept.db", uri=True).execute("create table t(a)")',
        'import sqlite3; sqlite3.connect("file:OUTSIDE/kept.txt?mode=rwc", uri=True).execute("create table t(a)")',
        'os.unlink("kept.txt", dir_fd=os.open("results", os.O_RDONLY))',
        'shutil.move("results/kept.txt", "results/moved.txt")',
        'subprocess.run(["touch", "made.txt"])',
    ],
)
def test_a_function_that_is_called_with_made_up_arguments_cannot_harm(body: str, checked) -> None:
    report = checked(SAVES.format(body=body))
    assert report.unreached
    assert not any(each.severity == "error" for each in report.findings)


@pytest.mark.parametrize(
    "body",
    [
        'Path("log.txt").write_text("sums")',
        'os.rename("results", "elsewhere")',
        'os.makedirs("new/results", exist_ok=True); Path("new/results/log.txt").write_text("sums")',
        'Path(tempfile.mkdtemp(), "log.txt").write_text("sums")',
        "with tempfile.TemporaryDirectory() as new: Path(new, 'log.txt').write_text('sums')",
        'tempfile.NamedTemporaryFile("w").write("sums")',
        'tempfile.TemporaryFile("w").write("sums")',
        'import sqlite3; sqlite3.connect("file:kept.db?mode=ro", uri=True).execute("select 1")',
        'import sqlite3; sqlite3.connect("file::memory:?cache=shared", uri=True).execute("create table t(a)")',
        'import sqlite3; sqlite3.connect(os.path.join(tempfile.mkdtemp(), "new.db")).execute("create table t(a)")',
    ],
)
def test_what_it_writes_of_its_own_is_written_elsewhere(body: str, checked) -> None:
    report = checked(SAVES.format(body=body))
    assert not report.unreached
    assert not report.findings


def test_a_module_makes_its_folders_elsewhere(checked) -> None:
    report = checked(
        'os.makedirs("runs/latest", exist_ok=True)\nopen("runs/latest/log.txt", "w").write("now")\n' + MODEL
    )
    assert not report.unreached


def test_a_module_that_would_remove_a_folder_is_not_imported(checked) -> None:
    report = checked('shutil.rmtree("OUTSIDE")\n' + MODEL)
    assert all("What is checked changes only what it has made itself" in each.reason for each in report.unreached)
    assert report.unreached


def test_nothing_of_it_is_left_behind(checked) -> None:
    says_where = 'Path("log.txt").write_text("sums"); raise RuntimeError("at " + os.getcwd().replace("/", "|"))'
    report = checked(SAVES.format(body=says_where))
    (folder,) = {each.reason.rpartition("at ")[2].replace("|", "/") for each in report.unreached}
    assert Path(folder).parent.name.startswith("shapecheck-")
    assert not Path(folder).exists()
