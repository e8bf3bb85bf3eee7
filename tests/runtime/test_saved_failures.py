"""`shapecheck run --save-failure`, and the test that `shapecheck reproduce` makes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shapecheck
from shapecheck.cli import main

SOURCE = str(Path(shapecheck.__file__).parents[1])
JAX = {name: value for name, value in os.environ.items() if name.startswith("JAX_")}
ENVIRONMENT = {**JAX, "PYTHONPATH": SOURCE, "PATH": "/usr/bin:/bin", "JAX_PLATFORMS": "cpu"}
ENVIRONMENT["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
TRAINING = """\
from dataclasses import dataclass

import jax
import jax.numpy as jnp


@jax.tree_util.register_dataclass
@dataclass
class Params:
    scale: jax.Array


@jax.jit
def step(params, batch, *, power):
    return jnp.sqrt(params.scale * batch["x"]) ** power


def train():
    batch = {"x": jnp.arange(1.0, 17.0).at[11].set(-1.0)}
    params, power = Params(jnp.full(1, 3.0)), 2
    return step(params, batch, power=power).sum().block_until_ready()


if __name__ == "__main__":
    train()
"""
MODEL = """\
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def root(x: Float[Array, " n"]) -> Float[Array, " n"]:
    return jnp.sqrt(x)


class Net(eqx.Module):
    scale: jax.Array

    def __call__(self, x):
        return self.scale * root(x)


compiled = jax.jit(root)
"""
CLAIM = """\
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def total(x: Float[Array, "n k"], table) -> Float[Array, "k"]:
    return (x @ table["w"]).sum(1)


@jax.jit
def step(x):
    return total(x, {"w": jnp.ones((5, 7))})


if __name__ == "__main__":
    step(jnp.ones((32, 5)))
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, env=ENVIRONMENT, check=False)


def run_test(file: str) -> subprocess.CompletedProcess[str]:
    return run("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", file)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").touch()


def test_a_stage_that_is_not_finite_is_reproduced_with_the_smallest_batch() -> None:
    model = TRAINING.replace("import jax\n", "import equinox as eqx\nimport jax\n", 1).replace(
        "@jax.jit\n", "class Root(eqx.Module):\n    def __call__(self, x):\n        return jnp.sqrt(x)\n\n\n@jax.jit\n"
    )
    Path("train.py").write_text(model.replace("jnp.sqrt(params.scale * batch", "Root()(params.scale * batch"))
    assert run("shapecheck", "run", "--numerics", "outputs", "--save-failure", "out", "train.py").returncode == 1
    assert main(["reproduce", "out/failure.json", "--output", "test_it.py"]) == 0
    with np.load("test_it.npz", allow_pickle=False) as arrays:
        assert [arrays[name].tolist() for name in arrays.files] == [[3.0], [-1.0]]
    assert "shapecheck" not in Path("test_it.py").read_text()
    assert run_test("test_it.py").returncode == 1
    Path("train.py").write_text(Path("train.py").read_text().replace("jnp.sqrt(x)", "jnp.sqrt(jnp.maximum(x, 0))"))
    assert run_test("test_it.py").returncode == 0


@pytest.mark.parametrize("call", ["compiled(x)", "eqx.filter_jit(net)(x)"])
def test_what_is_compiled_where_it_is_called_is_reproduced(call: str) -> None:
    Path("model.py").write_text(MODEL)
    Path("train.py").write_text(
        "import equinox as eqx, jax, jax.numpy as jnp\nfrom model import Net, compiled\n"
        f"net, x = Net(jnp.ones(1)), jnp.array([1.0, -1.0])\nprint({call})\n"
    )
    assert run("shapecheck", "run", "--numerics", "outputs", "--save-failure", "out", "train.py").returncode == 1
    assert main(["reproduce", "out/failure.json", "--output", "test_it.py"]) == 0
    assert run_test("test_it.py").returncode == 1
    Path("model.py").write_text(MODEL.replace("jnp.sqrt(x)", "jnp.sqrt(jnp.abs(x))"))
    assert run_test("test_it.py").returncode == 0


def test_what_an_operation_gives_is_reproduced_under_the_setting_of_jax_that_found_it() -> None:
    Path("train.py").write_text(TRAINING)
    assert run("shapecheck", "run", "--numerics", "ops", "--save-failure", "out", "train.py").returncode == 1
    assert main(["reproduce", "out/failure.json", "--output", "test_it.py"]) == 0
    with np.load("test_it.npz", allow_pickle=False) as arrays:
        assert [arrays[name].tolist() for name in arrays.files] == [[3.0], [-1.0]]
    assert "with jax.debug_nans(True):" in Path("test_it.py").read_text()
    assert run_test("test_it.py").returncode == 1
    Path("train.py").write_text(TRAINING.replace("jnp.sqrt(", "jnp.sqrt(0 * "))
    assert run_test("test_it.py").returncode == 0


def test_a_mismatch_needs_no_values() -> None:
    Path("claim.py").write_text(CLAIM)
    assert run("shapecheck", "run", "--save-failure", "out", "claim.py").returncode == 1
    assert main(["reproduce", "out/failure.json", "--output", "test_it.py"]) == 0
    assert not Path("test_it.npz").exists()
    text = Path("test_it.py").read_text()
    assert "x = jnp.ones((1, 5), 'float32')" in text
    failed = run_test("test_it.py")
    assert failed.returncode == 1
    assert "ShapeMismatch" in failed.stdout
    Path("claim.py").write_text(CLAIM.replace("sum(1)", "sum(0)").replace('"k"]:', '"_"]:'))
    assert run_test("test_it.py").returncode == 0


@pytest.mark.parametrize("name", ["os; import sys", "a b", "f()"])
def test_no_text_of_a_file_becomes_code(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = {"module": "os", "path": name, "args": [], "kwargs": {}, "names": []}
    record = {"version": 1, "error": "E", "text": "", "code": "", "path": "x.py", "line": 1, "calls": [call]}
    Path("failure.json").write_text(json.dumps(record))
    assert main(["reproduce", "failure.json"]) == 2
    assert "is no name: this file was not written by" in capsys.readouterr().err
