"""`shapecheck run --monitor`: what training is like every so many steps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shapecheck
from shapecheck.runtime.monitor_outputs import scalars, table
from shapecheck.runtime.monitor_statistics import RANGE, by_parameter, ratio, rows, summarize

ENVIRONMENT = {"PYTHONPATH": str(Path(shapecheck.__file__).parents[1]), "PATH": "/usr/bin:/bin", "JAX_PLATFORMS": "cpu"}
DATA = """\
import jax
import jax.numpy as jnp
import optax

x, y = jax.random.normal(jax.random.key(1), (16, 4)), jnp.ones((16, 2))
"""
EQUINOX = """\
import equinox as eqx

model = eqx.nn.MLP(4, 2, 8, 1, key=jax.random.key(0))
optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))
state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))
traces = []


@eqx.filter_jit
def step(model, state, x, y):
    traces.append(1)
    loss, grads = eqx.filter_value_and_grad(lambda m: ((jax.vmap(m)(x) - y) ** 2).mean())(model)
    updates, state = optimiser.update(grads, state)
    return eqx.apply_updates(model, updates), state, loss


for _ in range(23):
    model, state, loss = step(model, state, x, y)
print(f"{float(loss):.9f}", len(traces))
"""
FLAX = """\
import flax.linen as nn
from flax.training.train_state import TrainState

net = nn.Sequential([nn.Dense(8), nn.relu, nn.Dense(2)])
params = net.init(jax.random.key(0), x)["params"]
state = TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1, momentum=0.9))


@jax.jit
def step(state, x):
    grads = jax.grad(lambda p: ((state.apply_fn({"params": p}, x) - y) ** 2).mean())(state.params)
    return state.apply_gradients(grads=grads)


for _ in range(12):
    state = step(state, x)
"""
EAGER = """\
params = {"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}
optimiser = optax.sgd(0.5)
state = optimiser.init(params)
gradient = jax.jit(jax.grad(lambda p: ((x @ p["w"] + p["b"] - y) ** 2).mean()))
for _ in range(12):
    updates, state = optimiser.update(gradient(params), state, params)
    params = optax.apply_updates(params, updates)
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").touch()


def run(*words: str, source: str = "") -> subprocess.CompletedProcess[str]:
    Path("train.py").write_text(DATA + source)
    command = [sys.executable, *words, "train.py"]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)


def records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]


def test_a_compiled_step_is_looked_at_and_computes_the_same() -> None:
    watched = run("-m", "shapecheck", "run", "--monitor", "--monitor-file", "log.jsonl", source=EQUINOX)
    assert watched.returncode == 0, watched.stderr
    plain = run(source=EQUINOX)
    assert watched.stdout.split()[0] == plain.stdout.split()[0]
    assert watched.stdout.split()[1] == "2"  # traces: as it is, and with all that is looked at
    found = records()
    assert [each["step"] for each in found] == [10, 20]
    assert found[1]["optimizer"]["1.0.count"]["value"] == 20
    parameters = found[1]["parameters"]
    assert list(parameters) == [f"layers[{i}].{name}" for i in (0, 1) for name in ("weight", "bias")]
    row = parameters["layers[0].weight"]
    assert set(row) == {"norm", "min", "max", "gradient_norm", "update_norm", "update_ratio", "state"}
    assert row["update_ratio"] == pytest.approx(row["update_norm"] / row["norm"])
    assert set(row["state"]) == {"mu", "nu"}
    assert {"layers[0]", "layers[1]", "MLP"} <= set(found[1]["stages"])
    assert found[1]["memory"]["host"] > 2**20
    assert found[1]["seconds_per_step"] > 0
    assert "layers[0].weight" in watched.stderr  # the table, at the end


def test_a_glob_selects_and_flax_is_seen_through_its_train_state() -> None:
    options = ("--monitor", "layers_0*", "--monitor-every", "4", "--monitor-file", "log.jsonl")
    done = run("-m", "shapecheck", "run", *options, source=FLAX)
    assert done.returncode == 0, done.stderr
    found = records()
    assert [each["step"] for each in found] == [4, 8, 12]
    assert list(found[0]["parameters"]) == ["layers_0.bias", "layers_0.kernel"]
    assert list(found[0]["stages"]) == ["layers_0"]
    assert set(found[0]["parameters"]["layers_0.kernel"]["state"]) == {"trace"}


def test_steps_outside_of_compiled_functions_are_seen() -> None:
    options = ("--monitor", "--monitor-every", "5", "--monitor-file", "log.jsonl")
    assert run("-m", "shapecheck", "run", *options, source=EAGER).returncode == 0
    found = records()
    assert [each["step"] for each in found] == [5, 10]
    assert set(found[0]["parameters"]["w"]) >= {"norm", "gradient_norm", "update_ratio"}
    assert found[0]["functions"]["<lambda>"]["seconds"] > 0


def test_event_files_are_written_and_a_missing_writer_is_an_error_with_the_remedy() -> None:
    pytest.importorskip("tensorboardX")
    options = ("--monitor", "--monitor-tensorboard", "board")
    assert run("-m", "shapecheck", "run", *options, source=EQUINOX).returncode == 0
    (events,) = Path("board").iterdir()
    assert b"parameters/layers_0_.weight/gradient_norm" in events.read_bytes()
    Path("tensorboardX.py").write_text("raise ImportError('gone')")
    refused = subprocess.run(
        [sys.executable, "-m", "shapecheck", "run", *options, "train.py"],
        capture_output=True,
        text=True,
        env={**ENVIRONMENT, "PYTHONPATH": f"{ENVIRONMENT['PYTHONPATH']}:{Path.cwd()}"},
        check=False,
    )
    assert refused.returncode == 2
    assert "-m pip install tensorboardX (or 'jax-shapecheck[monitor]')" in refused.stderr


def test_a_program_without_steps_says_so() -> None:
    done = run("-m", "shapecheck", "run", "--monitor", source="print(jax.jit(jnp.sin)(x).shape)\n")
    assert done.returncode == 0
    assert "--monitor has seen 0 steps" in done.stderr


def test_numbers_of_arrays() -> None:
    found = rows(["a", "b"], RANGE, np.asarray(summarize([np.asarray([3.0, -4.0]), np.asarray([np.nan, 1.0])], RANGE)))
    assert found["a"] == {"norm": 5.0, "min": -4.0, "max": 3.0}
    assert np.isnan(found["b"]["norm"])
    assert [ratio(1.0, 4.0), ratio(1.0, 0.0), ratio(0.0, 0.0)] == [0.25, float("inf"), 0.0]


def test_a_state_lies_beside_its_parameter() -> None:
    state = {"[0].mu.a.w": {"norm": 1.0}, "[0].mu.w": {"norm": 2.0}, "scale": {"norm": 3.0}}
    assert by_parameter(state, ["w", "a.w"]) == ({"a.w": {"mu": 1.0}, "w": {"mu": 2.0}}, {"scale": {"norm": 3.0}})


def test_the_table_and_the_tags_have_all_numbers() -> None:
    row = {"norm": 2.0, "min": -1.0, "max": 1.0, "gradient_norm": float("nan"), "state": {"mu": 0.5}}
    record = {
        "step": 10,
        "time": 0.0,
        "seconds_per_step": 0.002,
        "functions": {"evaluate": {"calls": 10, "seconds": 0.001}},
        "parameters": {"w": row},
        "optimizer": {"count": {"value": 10.0}},
        "stages": {"net": {"norm": 1.0, "min": 0.0, "max": 1.0, "seconds": 0.5}},
        "memory": {"host": 2**20},
    }
    assert table(record) == [
        "step 10  2 ms a step  evaluate 1 ms  count 10  host 1 MiB",
        "parameter        norm  min  max  gradient norm   mu",
        "w  (not finite)     2   -1    1            nan  0.5",
        "",
        "stage  norm  min  max  seconds",
        "net       1    0    1      0.5",
    ]
    assert dict(scalars(record))["parameters/w/state/mu"] == 0.5
