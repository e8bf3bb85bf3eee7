"""Runs that repeat earlier ones: what the cache gives must be what a cold run gives, whatever was edited."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shapecheck.config import load
from shapecheck.facts import Report
from shapecheck.pipeline import check
from shapecheck.stage.process import client

FILES = {
    "pkg/__init__.py": "",
    "pkg/sizes.py": "WIDTH = 4\n\n\ndef double(n):\n    return 2 * n\n",
    "pkg/layers.py": """\
import jax
import jax.numpy as jnp
from pkg.sizes import WIDTH, double


def project(x, w):
    h = x @ w  # shape: (batch, hidden)
    return h


@jax.jit
def widen(x):
    y = jnp.concatenate([x] * double(1), axis=-1)  # shape: (batch, wide)
    return y
""",
    "pkg/model.py": """\
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from pkg.layers import project, widen


def mlp(x: Float[Array, "batch d"], w: Float[Array, "d hidden"]) -> Float[Array, "batch hidden"]:
    h = project(x, w)  # (batch, hidden)
    return h


def wide(x: Float[Array, "batch d"]):
    y = widen(x)  # (batch, 2*d)
    return y
""",
    "tests/conftest.py": "import jax.numpy as jnp\nimport pytest\n\n\n@pytest.fixture\ndef x():\n"
    "    return jnp.ones((4, 4))\n",
    "tests/test_model.py": """\
import jax.numpy as jnp
from pkg.model import mlp, wide


def test_mlp(x):
    assert float(mlp(x, jnp.ones((4, 6))).sum()) == 96


def test_wide(x):
    assert wide(x).shape == (4, 8)
""",
    "tests/test_layers.py": """\
import jax.numpy as jnp
from pkg.layers import project, widen


def test_widen(x):
    widen(x)


def test_project(x):
    project(x, x)
""",
    "pyproject.toml": "[tool.shapecheck]\n",
}

# file, what stands there, and what comes in its place; each may be done or undone at any time
EDITS = [
    ("pkg/layers.py", "h = x @ w  #", "h = (x @ w).T  #"),
    ("pkg/layers.py", "(batch, wide)", "(wide, batch)"),
    ("pkg/sizes.py", "return 2 * n", "return 3 * n"),
    ("pkg/sizes.py", "WIDTH = 4", "WIDTH = 5"),
    ("pkg/model.py", "(batch, 2*d)", "(batch, 3*d)"),
    ("pkg/model.py", "    return y\n", "    return y.T  # (wide, batch)\n"),
    ("tests/conftest.py", "(4, 4)", "(5, 4)"),
    ("tests/test_model.py", "def test_wide(x):", "def test_wider(x):\n    wide(x[:2])\n\n\ndef test_wide(x):"),
    ("tests/test_layers.py", "    widen(x)", "    widen(x.T[:3])"),
    (
        "tests/test_model.py",
        "    assert float(mlp(x",
        "    if float(x.sum()) > 0:\n        return\n    assert float(mlp(x",
    ),
]


SEED, ROUNDS = 20, 2


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    yield tmp_path


def run(*, cache: bool = True) -> Report:
    return check([Path("pkg")], replace(load([Path("pkg")]), cache=cache, jobs=2))


def told(report: Report) -> object:
    """All that a user sees of a report."""
    entries = sorted(set(report.entries), key=str)
    return report.findings, report.summary, report.unreached, report.tests, report.loose, entries


def test_any_sequence_of_edits_gives_what_a_cold_run_gives(project: Path) -> None:
    chance = random.Random(SEED)  # noqa: S311
    run()
    for _ in range(ROUNDS):
        for file, old, new in chance.sample(EDITS, chance.choice([1, 1, 2])):
            text = (project / file).read_text()
            (project / file).write_text(text.replace(new, old) if new in text else text.replace(old, new))
        assert told(run()) == told(run(cache=False))


def test_only_what_ran_through_the_edited_file_runs_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = client.Worker.ask

    def listen(self: client.Worker, operation: str, limit: float, **arguments: object) -> object:
        if operation in ("run_test", "evaluate"):
            asked.append(str(arguments["key"]))
        return ask(self, operation, limit, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(client.Worker, "ask", listen)
    first = run()
    assert {"tests/test_model.py::test_mlp", "tests/test_layers.py::test_widen"} <= set(asked)
    asked.clear()
    assert told(run()) == told(first)
    assert asked == []
    # Both tests of `widen` run again, though JAX had traced it in one of them only.
    file = project / "pkg" / "layers.py"
    file.write_text(file.read_text().replace("[x] * double(1)", "[x] * (double(1) + 0)"))
    run()
    assert {"tests/test_model.py::test_wide", "tests/test_layers.py::test_widen"} <= set(asked)
    asked.clear()
    file = project / "pkg" / "model.py"
    file.write_text(file.read_text().replace("    return y\n", "    y = y + 0\n    return y\n"))
    run()
    assert "tests/test_layers.py::test_project" not in asked
    assert "tests/test_model.py::test_wide" in asked


def test_what_took_too_long_is_tried_again_after_an_edit(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project / "pkg" / "slow.py"
    head = "from jaxtyping import Array, Float\n\n\n"
    file.write_text(f'{head}def slow(x: Float[Array, "n"]) -> Float[Array, "n"]:\n    while True:\n        x = x + 1\n')
    asked: list[str] = []
    ask = client.Worker.ask

    def listen(self: client.Worker, operation: str, limit: float, **arguments: object) -> object:
        asked.append(str(arguments.get("key")))
        return ask(self, operation, limit, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(client.Worker, "ask", listen)

    def evaluate() -> Report:
        return check([Path("pkg")], replace(load([Path("pkg")]), jobs=1, timeout=4.0, tests=()))

    first = evaluate()
    assert "took longer than 4 s" in next(f.message for f in first.findings if f.code == "SC304")
    asked.clear()
    assert told(evaluate()) == told(first)
    assert asked == []
    (project / "pkg" / "sizes.py").write_text(FILES["pkg/sizes.py"].replace("2 * n", "2 * n + 0"))
    evaluate()
    assert "function:pkg/slow.py:slow" in asked


def test_tests_that_run_again_find_what_the_others_have_set(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project / "pkg" / "precise.py"
    text = 'from jaxtyping import Array, Float64\n\n\ndef double(x: Float64[Array, "n"]):\n    return 2 * x\n'
    file.write_text(text)
    uses = "import jax.numpy as jnp\nfrom pkg.precise import double\n\n\ndef test_use():\n    double(jnp.ones(3))\n"
    (project / "tests" / "test_precise.py").write_text(uses)
    sets = 'import jax\n\njax.config.update("jax_enable_x64", True)\n'
    (project / "tests" / "test_sets.py").write_text(
        f"{sets}\n\ndef test_set():\n    assert jax.numpy.ones(2).sum() == 2\n"
    )
    (project / "tests" / "test_devices.py").write_text(
        "import os\n\nimport jax\n\n\ndef setup_module():\n"
        '    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=3"\n\n\n'
        "def test_devices():\n    if jax.device_count() != 3:\n        raise RuntimeError\n"
    )
    monkeypatch.setenv("XLA_FLAGS", "")
    first = run()
    assert (first.tests.ok, first.findings) == (first.tests.collected, ())
    collected: list[object] = []
    ask = client.Worker.ask

    def listen(self: client.Worker, operation: str, limit: float, **arguments: object) -> object:
        if operation == "collect_tests":
            collected.append(arguments["part"])
        return ask(self, operation, limit, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(client.Worker, "ask", listen)
    file.write_text(text.replace("2 * x", "3 * x"))
    assert told(run()) == told(first)
    (part,) = collected
    assert {Path(path).name for path in part.files} == {"test_precise.py", "test_devices.py"}


def test_an_unchanged_run_loads_neither_jax_nor_libcst_nor_starts_a_process(project: Path) -> None:
    run()
    program = (
        "import subprocess, sys\n"
        "def refuse(*a, **k): raise SystemExit('a process was started')\n"
        "subprocess.Popen.__init__ = refuse\n"
        "from shapecheck.cli import main\n"
        "status = main(['pkg', '--jobs', '2'])\n"
        "assert not {'jax', 'libcst'} & set(sys.modules)\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, "No problems" in done.stderr) == (0, True), done.stderr


def test_a_damaged_cache_is_as_good_as_none(project: Path) -> None:
    first = told(run())
    for number, file in enumerate(sorted((project / ".shapecheck_cache").glob("*.shapecheck"))):
        data = file.read_bytes()
        file.write_bytes((data[: len(data) // 2], data[::-1], b"")[number % 3])
    assert told(run()) == first


def test_what_is_edited_while_it_is_evaluated_is_not_remembered(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project / "pkg" / "layers.py"
    before = file.read_text()
    ask = client.Worker.ask

    def edit(self: client.Worker, operation: str, limit: float, **arguments: object) -> object:
        file.write_text(before.replace("(batch, wide)", "(wide, batch, wide)"))
        return ask(self, operation, limit, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(client.Worker, "ask", edit)
    run()
    monkeypatch.setattr(client.Worker, "ask", ask)
    file.write_text(before)
    assert not list((project / ".shapecheck_cache").glob("*.shapecheck"))
