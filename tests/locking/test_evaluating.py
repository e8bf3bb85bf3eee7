"""What is evaluated for a lock, and what is remembered."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shapecheck.config import load
from shapecheck.facts import Report
from shapecheck.locking import evaluating
from shapecheck.pipeline import check
from shapecheck.templating import Found, Wanted


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets that are evaluated from now on."""
    asked: list[str] = []
    find = evaluating.find

    def listen(wanted: Wanted, config: Any) -> Found:
        asked.append(wanted.target)
        return find(wanted, config)

    monkeypatch.setattr(evaluating, "find", listen)
    return asked


def told(*, cache: bool) -> Report:
    return check([Path()], replace(load([Path()]), cache=cache, jobs=1))


def test_an_edit_elsewhere_evaluates_no_template(project: Any, evaluated: list[str]) -> None:
    Path("other.py").write_text("X = 1\n")
    first = told(cache=True)
    assert first.lock is not None and evaluated == ["src/pkg/model.py:GPT"]
    Path("other.py").write_text("X = 2\n")
    assert told(cache=True).lock == first.lock
    assert evaluated == ["src/pkg/model.py:GPT"]
    project.edit("d_model, width, key", "d_model, 2 * width, key")
    assert told(cache=True).findings == told(cache=True).findings == told(cache=False).findings != ()
    assert len(evaluated) == 3
    project.edit("2 * width, key", "width, key")
    assert told(cache=True).findings == told(cache=False).findings == ()


def test_an_edited_lock_is_seen(project: Any, evaluated: list[str]) -> None:
    assert told(cache=True).findings == ()
    project.edit('"f32[batch,3]"', '"f32[batch,4]"', "shapes.lock")
    assert [f.observed for f in told(cache=True).findings] == ["f32[batch,3]"]
    Path("shapes.lock").unlink()
    assert told(cache=True).lock is None
    assert len(evaluated) == 1


@pytest.mark.parametrize("claim", ["", ": Float[Array, 'batch d_model']"])
def test_an_unchanged_run_loads_nothing_and_starts_no_process(claim: str, project: Any) -> None:
    project.edit("__call__(self, x):\n        for", f"__call__(self, x{claim}):\n        for")
    told(cache=True)
    program = (
        "import subprocess, sys\n"
        "def refuse(*a, **k): raise SystemExit('a process was started')\n"
        "subprocess.Popen.__init__ = refuse\n"
        "from shapecheck.cli import main\n"
        "status = main(['.', '--jobs', '1'])\n"
        "assert not {'jax', 'libcst'} & set(sys.modules)\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, "14 stages, no difference" in done.stderr) == (0, True), done.stderr
