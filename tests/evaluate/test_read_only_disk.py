"""A check changes no file: what is imported, or called with arguments that are made up, finds disks read-only."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from shapecheck import check

TOP = """
import os
import shutil
import subprocess
import os
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
    (home / "linked").symlink_to(outside)
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
        'shutil.rmtree("OUTSIDE")',
        'open("OUTSIDE/kept.txt", "a").write("more")',
        'os.rename("OUTSIDE/kept.txt", "OUTSIDE/lost.txt")',
        'os.link("OUTSIDE/kept.txt", "own.txt"); open("own.txt", "w").write("lost")',
        'import sqlite3; sqlite3.connect("file:OUTSIDE/kept.txt?mode=rwc", uri=True).execute("create table t(a)")',
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
        'shutil.rmtree("results")',
        "shutil.rmtree(os.path.dirname(path))",
        'os.remove("results/kept.txt")',
        'Path("results/kept.txt").write_text("lost")',
        'open("results/kept.txt", "a").write("more")',
        'Path("results/new.txt").write_text("more")',
        'Path("linked/kept.txt").write_text("more")',
        'os.chmod("kept.txt", 0)',
        'os.truncate("kept.txt", 0)',
        'Path("kept.txt").touch()',
        'shutil.rmtree("__pycache__")',
        'open("__pycache__/kept.txt", "w").write("lost")',
        'import sqlite3; sqlite3.connect("kept.db").execute("create table t(a)")',
        'import sqlite3; sqlite3.connect("file:kept.db", uri=True).execute("create table t(a)")',
        'os.unlink("kept.txt", dir_fd=os.open("results", os.O_RDONLY))',
        'shutil.move("results/kept.txt", "results/moved.txt")',
        'os.makedirs("results", exist_ok=True)',
    ],
)
def test_what_it_changes_where_the_user_is_are_copies(body: str, checked) -> None:
    report = checked(SAVES.format(body=body))
    assert not report.unreached
    assert not report.findings


def test_what_one_function_writes_the_next_does_not_read(checked) -> None:
    writes = SAVES.format(body='Path("kept.txt").write_text("lost")')
    reads = SAVES.replace("save", "then").format(body='assert Path("kept.txt").read_text() == "precious"')
    report = checked(writes + reads)
    assert not report.unreached


@pytest.mark.parametrize(
    "first",
    [
        'import logging; logging.getLogger("own").addHandler(logging.FileHandler("kept.txt"))',
        'open("kept.txt", "a").write("now")',
        'os.makedirs("results", exist_ok=True); open("results/kept.txt", "w").write("now")',
        'import sqlite3; sqlite3.connect("kept.db").execute("create table t(a)")',
        'open("kept.txt", "a").close(); open("results/kept.txt", "a").close(); open("linked/kept.txt", "a").close()',
    ],
)
def test_a_module_that_writes_to_a_file_that_exists_is_imported(first: str, checked) -> None:
    report = checked(first + "\n" + MODEL)
    assert not report.unreached


def test_a_file_of_all_is_still_its_own_in_the_next_function(checked, tmp_path: Path) -> None:
    name = f"{tempfile.gettempdir()}/shapecheck-test-{tmp_path.name}-{os.getpid()}.log"
    try:
        save = f'open("{name}", "a").write("sums")'
        report = checked(SAVES.format(body=save) + SAVES.replace("save", "then").format(body=save))
    finally:
        Path(name).unlink(missing_ok=True)
    assert not report.unreached


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


def test_a_module_that_makes_a_folder_elsewhere_is_imported_without_it(checked, tmp_path: Path) -> None:
    elsewhere = Path.home() / f".shapecheck-test-{tmp_path.name}-{os.getpid()}"
    report = checked(f'Path("{elsewhere}", "cache").mkdir(parents=True, exist_ok=True)\n' + MODEL)
    assert not elsewhere.exists()
    assert not report.unreached


def test_a_module_that_would_remove_a_folder_is_not_imported(checked) -> None:
    report = checked('shutil.rmtree("OUTSIDE")\n' + MODEL)
    assert all("What is checked changes only what it has made itself" in each.reason for each in report.unreached)
    assert report.unreached


@pytest.mark.parametrize(
    "first",
    [
        'os.open("kept.txt", os.O_WRONLY | os.O_TRUNC, dir_fd=os.open("OUTSIDE", os.O_RDONLY))',
        'os.fchmod(os.open("OUTSIDE/kept.txt", os.O_RDONLY), 0)',
        'os.utime(os.open("OUTSIDE/kept.txt", os.O_RDONLY), (1, 1))',
    ],
)
def test_a_module_changes_nothing_by_descriptors(first: str, checked) -> None:
    report = checked(first + "\n" + MODEL)
    assert report.unreached


def test_a_module_makes_its_pipes_elsewhere(checked, tmp_path: Path) -> None:
    report = checked('os.mkfifo("results/pipe")\n' + MODEL)
    assert not report.unreached
    assert not (tmp_path / "home" / "results" / "pipe").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines processes")
@pytest.mark.parametrize(
    "first",
    [
        'os.system("echo lost > OUTSIDE/kept.txt")',
        'subprocess.run(["sh", "-c", "echo lost > kept.txt; rm OUTSIDE/kept.txt"])',
        'if os.fork() == 0: os.execlp("touch", "touch", "OUTSIDE/made.txt")\nos.wait()',
        'assert subprocess.run(["uname"], capture_output=True).stdout',
        "import pickle; pickle.dumps([os.open, os.system])",
    ],
)
def test_a_process_that_an_import_starts_runs_and_changes_nothing(first: str, checked) -> None:
    report = checked(first + "\n" + MODEL)
    assert not report.unreached


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines threads")
@pytest.mark.parametrize(
    "first",
    [
        'import ctypes; ctypes.CDLL(None).unlink(b"kept.txt")',
        'import ctypes; ctypes.CDLL(None).truncate(b"OUTSIDE/kept.txt", ctypes.c_long(0))',
        'import ctypes; ctypes.CDLL(None).rmdir(b"empty")',
        "import threading, time\n"
        'def later():\n    time.sleep(0.2)\n    Path("OUTSIDE/kept.txt").write_text("lost")\n'
        "threading.Thread(target=later).start()",
        'import atexit; atexit.register(Path("OUTSIDE/kept.txt").write_text, "lost")',
    ],
)
def test_outside_of_temporary_folders_nothing_else_changes_files_either(
    first: str, checked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (tmp_path / "home" / "empty").mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    report = checked(first + "\n" + MODEL)
    assert not report.unreached
    assert (tmp_path / "home" / "empty").is_dir()


def test_nothing_of_it_is_left_behind(checked) -> None:
    says_where = 'Path("log.txt").write_text("sums"); raise RuntimeError("at " + os.getcwd().replace("/", "|"))'
    report = checked(SAVES.format(body=says_where))
    (folder,) = {each.reason.rpartition("at ")[2].replace("|", "/") for each in report.unreached}
    assert Path(folder).parent.name.startswith("shapecheck-")
    assert not Path(folder).exists()
