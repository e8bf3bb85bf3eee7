"""Check a small project with a fault in one function of the worker, and tell what that changes in the report."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

import shapecheck
from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.model import Report
from shapecheck.worker import fork_server, worker_client
from shapecheck.worker.fork_server import ForkServers

PACKAGE = str(Path(shapecheck.__file__).parent)
ERRORS = ("RuntimeError", "RecursionError", "MemoryError")

_WRONG_AND_RIGHT = """
import functools
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

def wrong(x: Float[Array, "b d"]) -> Float[Array, "b d"]:
    y = x.T  # (d, b)
    return y

def right(x: Float[Array, "b d"], w: Float[Array, "d k"]) -> Float[Array, "b k"]:
    return x @ w
"""
_OTHERS = """
def fails(x: Float[Array, "b d"], w: Float[Array, "k b"]) -> Float[Array, "b"]:
    return x @ w

def decides(x: Float[Array, "b"]) -> Float[Array, "b"]:
    if x[0] > 0:
        return x
    return -x

def sized(x: Float[Array, "b d"]) -> Float[Array, "b half"]:
    half = x.shape[1] // 2
    return x[:, :half]

def mapped(x: Float[Array, "b t d"]) -> Float[Array, "b t"]:
    def one(row):
        return row.sum(-1)  # (t,)
    return jax.vmap(one)(x)
"""
_MODEL = """
import equinox as eqx
import jax
from jaxtyping import Array, Float

class Block(eqx.Module):
    inner: eqx.nn.Linear

    def __init__(self, width: int, *, key):
        self.inner = eqx.nn.Linear(width, 2 * width, key=key)

    def __call__(self, x: Float[Array, "width"]) -> Float[Array, "width"]:
        return self.inner(x)

class Net(eqx.Module):
    blocks: list[Block]

    def __init__(self, width: int, n_blocks: int, *, key):
        self.blocks = [Block(width, key=k) for k in jax.random.split(key, n_blocks)]

    def __call__(self, x: Float[Array, "width"]) -> Float[Array, "2*width"]:
        for block in self.blocks:
            x = block(x)
        return x
"""
_TEST = """
import jax.numpy as jnp
from {name} import right, wrong

def test_right():
    assert right(jnp.zeros((3, 4)), jnp.zeros((4, 5))).shape == (3, 5)

def test_wrong():
    wrong(jnp.zeros((3, 4)))
"""


_SETTINGS = "[tool.shapecheck]\ncache = false\njobs = 1\nbudget = 600\ntimeout = 300\n"
PROJECT = {
    "first.py": _WRONG_AND_RIGHT + _OTHERS,
    "model.py": _MODEL,
    "second.py": _WRONG_AND_RIGHT,
    "tests/test_second.py": _TEST.format(name="second"),
}


class Place(NamedTuple):
    """A function of the worker's, by where its code stands, and a request of the parent's for which it runs."""

    file: str
    line: int
    name: str
    request: str

    def __str__(self) -> str:
        return f"{os.path.relpath(self.file, PACKAGE)}:{self.line} {self.name} ({self.request})"


Line = tuple[str, int, str]


@dataclass(frozen=True)
class Outcome:
    """What a run says of each line of the project, and the tracebacks of our own bugs."""

    lines: frozenset[Line]
    bugs: tuple[str, ...]
    hit: bool = True
    stack: str = ""

    def way(self) -> list[str]:
        """The functions that the fault was raised in, innermost first."""
        return re.findall(r", in (\S+)", self.stack)[-1:-6:-1]

    def wrong_files(self, before: Outcome) -> set[str]:
        """The files of which it says something else."""
        return {path for path, _, _ in self.lines ^ before.lines}

    def new_errors(self, before: Outcome) -> set[Line]:
        """Errors and verified claims that are not true."""
        return {each for each in self.lines - before.lines if not each[2].startswith(("unreached", "note"))}


@dataclass(frozen=True)
class FaultRuns:
    """Runs over one project, whose workers heed `plan`."""

    folder: Path
    plan: Path

    def run(self, **plan: object) -> Outcome:
        """Check the project, with this plan."""
        self.plan.write_text(json.dumps(plan)) if plan else self.plan.unlink(missing_ok=True)
        stack = self.plan.with_suffix(".stack")
        stack.unlink(missing_ok=True)
        with contextlib.chdir(self.folder):
            report = check([self.folder], load([self.folder]))
        way = stack.read_text() if stack.exists() else ""
        return Outcome(frozenset(_lines(report)), report.bugs, hit=not self.plan.exists(), stack=way)

    def functions(self) -> list[Place]:
        """All functions of ours that run in the worker while the project is checked."""
        record = self.plan.with_name("functions.jsonl")
        record.write_text("")
        self.run(record=str(record))
        found = {Place(*json.loads(line)) for line in record.read_text().splitlines()}
        return sorted(place for place in found if not place.name.startswith("<"))

    def with_fault(self, place: Place, error: str) -> Outcome:
        """Check it while this function raises, once."""
        return self.run(function=[place.file, place.line, place.request], error=error)


@contextlib.contextmanager
def fault_runs(folder: Path, files: Mapping[str, str] = PROJECT) -> Iterator[FaultRuns]:
    """Write a project, and start the server of its workers."""
    project = folder / "project"
    for name, text in {**files, "pyproject.toml": _SETTINGS}.items():
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    plan = folder / "fault.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHAPECHECK_FAULT", str(plan))
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # their import is the longest part of a run
        patch.setenv("PYTHONPATH", str(Path(PACKAGE).parent))
        patch.setattr(fork_server, "BOOTSTRAP", Path(__file__).with_name("fault_worker.py"))
        with ForkServers() as servers:
            patch.setattr(worker_client, "spawn_process", servers.start)
            yield FaultRuns(project, plan)


def _lines(report: Report) -> Iterator[Line]:
    for finding in report.findings:
        kind = "note" if finding.severity == "note" else finding.code
        yield finding.path, finding.span.line, kind
    for claim in report.verified:
        yield claim.path, claim.line, "verified"
    for each in report.unreached:
        yield each.path, each.line, "unreached"


def verdict(after: Outcome, before: Outcome, error: str) -> str:
    """What a fault did to the report; what it must not do is told with a colon and the particulars."""
    if not after.hit:
        return "did not happen"
    untrue = after.new_errors(before)
    if untrue:
        return f"made the report say what is not true: {sorted(untrue)}"
    files = after.wrong_files(before)
    if len(files) > 1:
        return f"changed the report of several files: {sorted(after.lines ^ before.lines)}"
    if not after.bugs and error == "RuntimeError":
        said = "the report is the same" if not files else ", ".join(sorted(files))
        return f"was not shown as a bug of ours: {said}; it was raised in {' < '.join(after.way())}"
    return "is one entry's reason" if files else "left the report as it was"
