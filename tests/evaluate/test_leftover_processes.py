"""Processes in sessions of their own end with the run that started them, and nobody else's do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the environment of others")

MODULE = """
import os, subprocess
from jaxtyping import Array, Float

subprocess.Popen(["sleep", "NUMBER1"], start_new_session=True)
subprocess.Popen(["sh", "-c", "setsid sleep NUMBER2 &"])
if not os.fork():
    os.setsid()
    if not os.fork():
        os.execvp("sleep", ["sleep", "NUMBER3"])
    os._exit(0)

def f(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~SC203
    return x.T
"""
# What it started holds its pipes open, so that these tell nobody of its end.
CRASH = """
import os, subprocess, time
from jaxtyping import Array, Float

if NUMBER == 2971 and not os.fork():  # one without another program ends with the fork server
    os.setsid()
    time.sleep(NUMBER4)
subprocess.Popen(["sleep", "NUMBER5"], start_new_session=True)

def f(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~unreached
    os._exit(3)
"""


@pytest.fixture(params=["spawned", "forked"])
def number(request: pytest.FixtureRequest) -> str:
    """How the seconds begin that the processes of a test sleep; its workers are spawned or forked."""
    if request.param == "spawned":
        request.getfixturevalue("spawned_workers")
        return "2971"
    return "3971"


@pytest.fixture
def other(number: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is none of the run's."""
    with subprocess.Popen(["sleep", f"{number}9"], start_new_session=True) as process:
        yield process
        process.kill()


def sleeping(number: str) -> set[str]:
    found = set()
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().decode().split("\0")
        except OSError:
            continue
        found |= {word for word in words if word.startswith(number)}
    return found


def test_they_end_with_the_run(check_folder, other, number: str) -> None:
    files = {name: text.replace("NUMBER", number) for name, text in {"leaves.py": MODULE, "crashes.py": CRASH}.items()}
    folder = check_folder(files, "timeout = 100\nbudget = 200\njobs = 1\n")
    assert folder.cases["leaves.py"].as_marked()
    assert [each.reason for each in folder.report.unreached] == ["it ended the process with exit status 3"] * 2
    assert sleeping(number) == {f"{number}9"}
    assert other.poll() is None
