"""No test of the user's can end a run, or leave anything behind."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.model import Report, TestCounts

pytestmark = pytest.mark.usefixtures("spawned_workers")

HEAD = """
import contextlib
import ctypes
import os
import pathlib
import shutil
import sys
import tempfile
import time
import jax.numpy as jnp
import pytest
import m

VECTOR = jnp.ones(3)
"""
DISASTERS = """
def test_endless():
    m.endless(VECTOR)
    while True:
        pass

@pytest.fixture
def endless():
    yield
    while True:
        pass

def test_endless_fixture(endless):
    m.endless_fixture(VECTOR)

def test_catches_all():
    while True:
        try:
            time.sleep(1)
        except BaseException:
            pass

def test_stubborn():
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(1)

def test_exit():
    m.exits(VECTOR)
    sys.exit(3)

def test_pytest_exit():
    m.pytest_exits(VECTOR)
    pytest.exit("enough")

def test_interrupt():
    m.interrupts(VECTOR)
    raise KeyboardInterrupt

def test_end():
    os._exit(3)

def test_crash():
    ctypes.string_at(0)
"""
HARMLESS = """
def test_noise():
    print("noise")
    os.write(1, b"more noise")
    sys.__stdout__.write("noise again")
    sys.stdout.close()
    m.noise(VECTOR)

def test_files(tmp_path):
    number = int(open("data/number.txt").read())
    os.makedirs("results/deep")
    tempfile.TemporaryFile().write(b"x")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "left").touch()
    open("left", "w").write("x")
    open("results/deep/left", "w").write("x")
    os.chdir(tmp_path)
    open("left", "w").write("x")
    if number == 7:
        m.files(VECTOR)

def test_overwrites():
    m.overwrites(VECTOR)
    open("data/number.txt", "w").write("8")

def test_adds():
    m.adds(VECTOR)
    open(os.path.join(os.path.dirname(__file__), "left"), "a").write("x")

def test_removes():
    m.removes(VECTOR)
    os.remove("data/number.txt")

def test_removes_all():
    m.removes_all(VECTOR)
    shutil.rmtree(pathlib.Path(__file__).parent)

@pytest.mark.parametrize("number", range(6))  # enough tests for two workers
def test_back_again(number):
    if os.path.exists("data/number.txt"):
        m.back_again(VECTOR)
"""
REACHED = ["endless", "endless_fixture", "exits", "pytest_exits", "interrupts", "noise", "files", "back_again"]
REACHED += ["overwrites", "adds", "removes", "removes_all"]
MODULE = "".join(f"def {name}(x):\n    y = x + 1  # shape: (n, m)\n    return y\n" for name in REACHED)


def run(folder: Path, tests: dict[str, str], **flags: object) -> Report:
    files = {"pyproject.toml": "", "m.py": MODULE, "data/number.txt": "7", **tests}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    with contextlib.chdir(folder):
        report = check([folder], load([folder], flags={"cache": False, "jobs": 2, **flags}))
    left = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert left == files
    return report


def found(report: Report) -> list[str]:
    """The functions whose wrong comments were found."""
    assert {finding.code for finding in report.findings} <= {"SC201"}
    return [REACHED[finding.span.line // 3] for finding in report.findings]


def test_tests_that_end_the_process_or_never_end_cost_no_other_and_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tests = {"tests/test_a.py": HEAD + DISASTERS, "tests/test_b.py": HEAD + HARMLESS}
    report = run(tmp_path, tests, test_timeout=1.0)
    assert found(report) == REACHED
    assert report.tests is not None
    assert replace(report.tests, problems=()) == TestCounts(collected=21, ok=8, stopped=13)
    told = {problem.partition(" ")[0].rpartition("::")[2]: problem for problem in report.tests.problems}
    assert {"test_end", "test_crash", "test_stubborn"} <= told.keys()
    assert "exit status 3" in told["test_end"]
    assert "longer than" in told["test_stubborn"]
    assert capfd.readouterr().out == ""


def test_tests_for_which_there_is_no_time_are_told(tmp_path: Path) -> None:
    report = run(tmp_path, {"tests/test_b.py": HEAD + HARMLESS}, budget=0.01)
    assert report.tests == TestCounts(collected=12, cut=12)
    assert {each.reason for each in report.unreached} == {"the time for the whole run was over (--budget)"}


def test_a_file_of_tests_that_computes_for_long_on_import_costs_no_more_than_there_is_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shapecheck.worker.test_phase._LEAST", 1.0)
    hurry = tmp_path / "hurry"
    one = "import m\nimport jax.numpy as jnp\n\ndef test_it():\n    m.{}(jnp.ones(3))\n"
    slow = f"import os\nimport time\n\nif not os.path.exists({str(hurry)!r}):\n    time.sleep(600)\n"
    files = {
        "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']\n",
        "m.py": "def f(x):\n    return x * 2  # shape: (3,)\n\ndef g(x):\n    return x * 2  # shape: (4,)\n",
        "tests/test_a.py": one.format("f"),
        "tests/test_b.py": slow + one.format("g"),
        "tests/test_c.py": one.format("f"),
    }
    folder = tmp_path / "project"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    def tests(budget: float) -> TestCounts | None:
        with contextlib.chdir(folder):
            return check([folder / "m.py"], load([folder], flags={"budget": budget})).tests

    cut = tests(12.0)
    assert cut is not None
    late = "tests/test_b.py and 1 more: not collected, for the time for the whole run was over (--budget)"
    assert (cut.collected, cut.ok, cut.problems) == (1, 1, (late,))
    hurry.touch()
    assert tests(120.0) == TestCounts(collected=3, ok=3)  # what was cut is not taken for all that there is


def test_a_program_that_computes_for_long_on_import_leaves_time_for_what_libraries_hold(tmp_path: Path) -> None:
    claimed = "def f(x):  # x: (n,)\n    return x * 2  # (n,)\n"
    files = {
        "pyproject.toml": "",
        "zoo.py": claimed,
        "demos/long.py": f"import time\n\ntime.sleep(600)\n\n{claimed}",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with contextlib.chdir(tmp_path):
        report = check([tmp_path], load([tmp_path], flags={"cache": False, "jobs": 1, "budget": 30.0, "tests": []}))
    assert {each.path for each in report.unreached} == {"demos/long.py"}
    share = "importing it took more than its share of the time for the whole run (--budget)"
    assert {each.reason for each in report.unreached} == {share}


def test_an_entry_that_takes_long_leaves_time_for_those_behind_it(tmp_path: Path) -> None:
    slow = "import time\n\ndef slow(x):  # x: (n,)\n    time.sleep(600)\n    return x  # (n,)\n"
    quick = "".join(f"\n\ndef f{number}(x):  # x: (n,)\n    return x * 2  # (n,)\n" for number in range(30))
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "m.py").write_text(slow + quick)
    with contextlib.chdir(tmp_path):
        report = check([tmp_path], load([tmp_path], flags={"cache": False, "jobs": 1, "budget": 24.0}))
    assert {each.line for each in report.unreached} == {3, 5}
