"""`shapecheck reproduce`: a finding as a test that fails alone, and passes once its cause is put right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shapecheck
from shapecheck.cli import main
from shapecheck.commands.reproduce import enclosing_function

ATTENTION = """\
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray


class Attention(eqx.Module):
    qkv: eqx.nn.Linear
    n_heads: int

    def __init__(self, d_model: int, n_heads: int, *, key: PRNGKeyArray):
        self.qkv = eqx.nn.Linear(d_model, 3 * d_model, key=key)
        self.n_heads = n_heads

    def __call__(self, x: Float[Array, "seq d_model"]) -> Float[Array, "seq 3*d_model"]:
        q = jax.vmap(self.qkv)(x).reshape(x.shape[0], self.n_heads, -1)
        scores = jnp.einsum("qhd,khd->qhk", q, q)  # (n_heads, seq, seq)
        return q.reshape(x.shape[0], -1)


def mix(a: Float[Array, "batch d"], b: Float[Array, "batch e"], *, labels: Int[Array, "batch"]) -> Array:
    return a + b
"""

BROKEN = """from jaxtyping import Array, Float
raise ValueError("not today")

def f(x: Float[Array, "b d"]) -> Float[Array, "b d"]:
    return x.T
"""
HIDDEN = """\
from jaxtyping import Array, Float


def inner(x: Float[Array, "n k"]):
    y = x.T  # (n, k)
    return y


def outer(x: Float[Array, "n k"]) -> Float[Array, "n k"]:
    return inner(x)
"""
SWITCHED = """\
import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class Scale(eqx.Module):
    weight: Float[Array, "d"]
    centred: bool = False

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        if self.centred:
            x = x - x.mean(1)
        return self.weight * x


def norm(x: Float[Array, "n d"], mask: Float[Array, "n"] | None = None, order: str = "l2") -> Float[Array, "n d"]:
    if mask is not None:
        x = x * mask
    if order == "l1":
        return x / jnp.abs(x).sum(1)
    return x
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("attention.py").write_text(ATTENTION)


def run_alone(file: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(shapecheck.__file__).parents[1])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", file]
    jax = {name: value for name, value in os.environ.items() if name.startswith("JAX_")}
    environment = {**jax, "PYTHONPATH": source, "PATH": "/usr/bin:/bin", "JAX_PLATFORMS": "cpu"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/", check=False)


def test_a_wrong_comment_fails_alone_until_it_is_right(tmp_path: Path) -> None:
    assert main(["reproduce", "attention.py:17", "--output", "test_it.py"]) == 0
    test = str(tmp_path / "test_it.py")
    failed = run_alone(test)
    assert failed.returncode == 1
    assert "ShapeMismatch" in failed.stdout
    assert "SC201 comment says (n_heads, seq, seq), but scores is" in failed.stdout
    Path("attention.py").write_text(ATTENTION.replace("# (n_heads, seq, seq)", "# (seq, n_heads, seq)"))
    assert run_alone(test).returncode == 0


def test_an_error_of_jax_needs_no_shapecheck_and_has_the_smallest_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--no-cache", "--output-format", "json", "attention.py"]) == 1
    report = json.loads(capsys.readouterr().out)
    report["findings"] = [each for each in report["findings"] if each["code"] == "SC305"]
    Path("report.json").write_text(json.dumps(report))
    assert main(["reproduce", "report.json"]) == 0
    text = capsys.readouterr().out
    assert "shapecheck" not in text
    body = text.partition("def test_attention_line_22():\n")[2]
    assert body.splitlines() == [
        "    a = jnp.ones((1, 3), 'float32')",
        "    b = jnp.ones((1, 2), 'float32')",
        "    labels = jnp.zeros((1,), 'int32')",
        "    mix(a, b, labels=labels)",
    ]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            "attention.py:2",
            "has no finding that a call can show. Findings are at: attention.py:17:SC201, attention.py:22:SC305",
        ),
        ("attention.py:17:SC203", "has no finding that a call can show"),
        ("nothing.py:3", "There is no file 'nothing.py'. The form is PATH:LINE"),
        ("broken.py:5", "No claim can be false there yet: the import failed: ValueError: not today"),
        ("attention.py", "attention.py is no report that `shapecheck --output-format json` wrote"),
    ],
)
def test_what_is_no_finding_is_an_error(where: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.py").write_text(BROKEN)
    assert main(["reproduce", where]) == 2
    assert message in capsys.readouterr().err


def test_what_another_mismatch_hides_is_reproduced_all_the_same(tmp_path: Path) -> None:
    Path("hidden.py").write_text(HIDDEN)
    assert main(["reproduce", "hidden.py:9", "--output", "test_it.py"]) == 0
    test = str(tmp_path / "test_it.py")
    assert "SC203 annotation says" in run_alone(test).stdout
    Path("hidden.py").write_text(HIDDEN.replace('-> Float[Array, "n k"]', '-> Float[Array, "k n"]'))
    assert run_alone(test).returncode == 0


@pytest.mark.parametrize(
    ("line", "call"),
    [(12, "centred=True"), (18, "norm(x, mask"), (20, "order='l1'")],
)
def test_what_a_switch_guards_is_called_with_it_set(line: int, call: str, tmp_path: Path) -> None:
    Path("switched.py").write_text(SWITCHED)
    assert main(["reproduce", f"switched.py:{line}", "--output", "test_it.py"]) == 0
    test = tmp_path / "test_it.py"
    assert call in test.read_text()
    assert "shapes for broadcasting" in run_alone(str(test)).stdout


def test_a_line_belongs_to_the_outermost_function() -> None:
    source = "class A:\n    @deco\n    def f(self):\n        def g():\n            pass\n\n\nx = 1\n"
    assert [enclosing_function(source, line) for line in (1, 2, 5, 8)] == [
        ("", "A"),
        ("A.f", "A"),
        ("A.f", "A"),
        ("", ""),
    ]
