"""What is evaluated for a lock, and what is remembered."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shapecheck.commands.check import check
from shapecheck.commands.lock import lock_evaluation
from shapecheck.commands.target_request import TargetGoneError, TargetRequest, UnevaluatedError
from shapecheck.commands.template import EvaluatedTemplate
from shapecheck.config import ConfigError, load
from shapecheck.model import Report
from shapecheck.templates.format_value import text
from shapecheck.worker.fork_server import ForkServers
from shapecheck.worker.spawn import spawn_process


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets that are evaluated from now on."""
    asked: list[str] = []
    find = lock_evaluation.find

    def listen(wanted: TargetRequest, config: Any, start: Any) -> EvaluatedTemplate:
        asked.append(wanted.target)
        return find(wanted, config, start)

    monkeypatch.setattr(lock_evaluation, "find", listen)
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


SETS = "import jax\njax.config.update('jax_enable_x64', True)\nimport jax.numpy as jnp\nimport base\n"
TARGETS = {
    "sets.py": f"{SETS}base.OWN.append(5)\ndef f(x):\n    return jnp.zeros(2)\n",
    "reads.py": "import base\nimport jax.numpy as jnp\ndef f(x):\n    return jnp.zeros(2), jnp.zeros(base.OWN)\n",
    "base.py": "OWN = [3]\n",
    "one/same.py": "from name import N\nimport jax.numpy as jnp\ndef f(x):\n    return jnp.zeros(N)\n",
    "one/name.py": "N = 7\n",
    "two/same.py": "from name import N\nimport jax.numpy as jnp\ndef f(x):\n    return jnp.zeros(N)\n",
    "two/name.py": "N = 8\n",
    "ends.py": "import os, sys\nprint('so long', file=sys.stderr)\nos._exit(3)\n",
    "fails.py": "def f(x):\n    return x + x[1:]\n",
}


def test_each_target_has_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever others do to JAX's settings, to modules, or to their process."""
    monkeypatch.chdir(tmp_path)
    for name, source in TARGETS.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(source)
    names = ("sets.py", "reads.py", "one/same.py", "two/same.py", "ends.py", "fails.py", "gone.py")
    asked = [TargetRequest(target=f"{name}:f", args=("f32[3]",)) for name in names]
    evaluator = lock_evaluation.LockEvaluator(replace(load([Path()]), cache=False, jobs=2))
    together = list(evaluator.each(asked))
    assert list(map(output, together[:4])) == ["f64[2]", "(f32[2], f32[3])", "f32[7]", "f32[8]"]
    assert "ends.py:f ended the process with exit status 3\nso long" in str(together[4])
    assert [type(found) for found in together[4:7]] == [ConfigError, UnevaluatedError, TargetGoneError]
    monkeypatch.setattr(ForkServers, "start", lambda self, python, cwd: spawn_process(python, cwd))
    for found, alone in zip(together[2:6], evaluator.each(asked[2:6]), strict=True):
        assert found == alone or str(found) == str(alone) != ""


def output(found: EvaluatedTemplate | ConfigError) -> str:
    """What the only stage gives."""
    assert isinstance(found, EvaluatedTemplate), found
    (stage,) = found.template
    return text(stage.output)
