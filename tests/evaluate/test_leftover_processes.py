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

subprocess.Popen(["sleep", "29711"], start_new_session=True)
subprocess.Popen(["sh", "-c", "setsid sleep 29712 &"])
if not os.fork():
    os.setsid()
    if not os.fork():
        os.execvp("sleep", ["sleep", "29713"])
    os._exit(0)

def f(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~SC203
    return x.T
"""
# What it started holds its pipes open, so that these tell nobody of its end.
CRASH = """
import os, subprocess, time
from jaxtyping import Array, Float

def f(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~unreached
    if not os.fork():
        os.setsid()
        time.sleep(29714)
    subprocess.Popen(["sleep", "29715"], start_new_session=True)
    os._exit(3)
"""


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is none of the run's."""
    with subprocess.Popen(["sleep", "29719"], start_new_session=True) as process:
        yield process
        process.kill()


def sleeping() -> set[str]:
    found = set()
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().decode().split("\0")
        except OSError:
            continue
        found |= {word for word in words if word.startswith("2971")}
    return found


@pytest.mark.parametrize("way", ["spawned", "forked"])
def test_they_end_with_the_run(check_folder, other, request: pytest.FixtureRequest, way: str) -> None:
    if way == "spawned":
        request.getfixturevalue("spawned_workers")
    folder = check_folder({"leaves.py": MODULE, "crashes.py": CRASH}, "timeout = 100\nbudget = 200\njobs = 1\n")
    assert folder.cases["leaves.py"].as_marked()
    assert [each.reason for each in folder.report.unreached] == ["it ended the process with exit status 3"] * 2
    assert sleeping() == {"29719"}
    assert other.poll() is None
