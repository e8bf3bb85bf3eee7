"""Scripts that are given as examples: run as `__main__`, abstractly, and what they call again with free sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.model import Report

MODEL = """\
from jaxtyping import Array, Float


def attend(x, w):
    heads = x @ w  # (batch, heads)
    return heads


def flip(x: Float[Array, "batch heads"], settings):
    x = x * settings["scale"]
    y = x.T  # shape: (batch, heads)
    return y


def step(x):
    y = x + 1  # shape: (n,)
    return y
"""
SCRIPT = """\
import sys
from pathlib import Path

import jax.numpy as jnp
from pkg.model import attend, flip, step

if __name__ == "__main__":
    size = int(sys.argv[1])
    assert Path(sys.argv[0]).name == "train.py"
    x = jnp.ones((size, size))
    loss = attend(x, x).sum()
    flip(x, {"scale": 2.0})
    print(float(loss))
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text("results")
    while True:
        x = step(x)
"""
CONFIG = """\
[tool.shapecheck]
tests = []
test-timeout = 2

[[tool.shapecheck.example]]
script = "train.py"
argv = {argv}
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def check_script(*argv: str) -> Report:
        files = {"pkg/__init__.py": "", "pkg/model.py": MODEL, "train.py": SCRIPT}
        for name, text in {**files, "pyproject.toml": CONFIG.format(argv=list(argv))}.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        return check([Path("pkg")], load([Path("pkg")], flags={"cache": False}))

    return check_script


def lines(report: Report) -> list[int]:
    return [finding.span.line for finding in report.findings if finding.severity == "error"]


def test_a_script_shows_what_it_came_to_and_what_was_true_by_chance(run) -> None:
    report = run("4")
    # `x.T` of a square fits its comment for the sizes of the script alone; `step` runs in a loop without end.
    # What the script calls is evaluated alone besides, with sizes of its own.
    assert lines(report) == [11, 16]
    assert report.summary.verified_for_all_sizes == 2
    assert {(e.origin, e.status) for e in report.entries} >= {("script", "stopped"), ("seen", "ok")}


def test_a_script_cannot_write_into_the_project(run, tmp_path: Path) -> None:
    report = run("4", "pkg/results.txt")
    assert not (tmp_path / "pkg" / "results.txt").exists()
    assert 16 not in lines(report)
    (reason,) = {e.reason for e in report.entries if e.origin == "script"}
    assert "What is checked writes in temporary folders only" in reason


def test_the_arguments_are_the_scripts(run) -> None:
    (reason,) = {e.reason for e in run("many").entries if e.origin == "script"}
    assert "invalid literal for int() with base 10: 'many'" in reason
