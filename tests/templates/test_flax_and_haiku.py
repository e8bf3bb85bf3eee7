"""Stages of models of Flax (linen, nnx) and Haiku, under the names that these frameworks give them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float

import shapecheck
from shapecheck.cli import main
from shapecheck.templates import Template

Rows = Callable[[Template], dict[str, str]]
X = Float[Array, "batch 4"]
FLAX = """\
import flax.linen as nn
import jax
from flax import nnx
from jaxtyping import Array, Float


class Mlp(nn.Module):
    width: int = 5

    @nn.compact
    def __call__(self, x: Float[Array, "batch 4"]):
        x = nn.Dropout(0.1, deterministic=False)(nn.relu(nn.Dense(self.width, name="up")(x)))
        heads = nn.vmap(nn.Dense, {"params": 0}, {"params": True}, in_axes=None, axis_size=3)
        return heads(2)(x)


class Net(nnx.Module):
    def __init__(self, width: int, *, rngs: nnx.Rngs):
        self.up = nnx.Linear(4, width, rngs=rngs)
        self.norm = nnx.BatchNorm(width, rngs=rngs)
        self.layers = nnx.List([nnx.Linear(width, width, rngs=rngs) for _ in range(2)])

    def __call__(self, x: Float[Array, "batch 4"]):
        x = self.norm(self.up(x))
        for layer in self.layers:
            x = nnx.jit(lambda m, x: m(x))(layer, x)
        return x
"""
HAIKU = """\
import haiku as hk


def forward(x):
    return hk.nets.MLP([5, 2])(hk.LayerNorm(-1, True, True)(x))


model = hk.transform(forward)
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What `shapecheck template` prints."""
    monkeypatch.chdir(tmp_path)
    Path("flaxes.py").write_text(FLAX)
    Path("haikus.py").write_text(HAIKU)

    def run(*args: str) -> str:
        assert main(["template", *args, "--format", "markdown"]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return run


def test_linen_modules_are_initialised_and_called(told: Callable[..., str]) -> None:
    pytest.importorskip("flax")
    table = told("flaxes.py:Mlp", "--init", "width=5")
    assert "| `Mlp` | Mlp | `f32[batch,4]` | `f32[3,batch,2]` | 61 |" in table
    assert "| `up` | Dense | `f32[batch,4]` | `f32[batch,5]` | 25 |" in table
    # All three layers' parameters, and what each of them sees.
    assert "| `VmapDense_0 vmap(3)` | Dense | `f32[batch,5]` | `f32[batch,2]` | 36 |" in table


def test_nnx_modules_may_change_while_they_run(told: Callable[..., str]) -> None:
    pytest.importorskip("flax")
    table = told("flaxes.py:Net", "--init", "width=5")
    assert "| `Net` | Net | `f32[batch,4]` | `f32[batch,5]` | 95 |" in table
    assert "| `norm` | BatchNorm | `f32[batch,5]` | `f32[batch,5]` | 10 |" in table
    assert "| `layers[1]` | Linear | `f32[batch,5]` | `f32[batch,5]` | 30 |" in table


def test_haiku_transforms_are_initialised_and_applied(told: Callable[..., str]) -> None:
    pytest.importorskip("haiku")
    table = told("haikus.py:model", "--arg", "f32[batch 4]")
    assert "| `layer_norm` | LayerNorm | `f32[batch,4]` | `f32[batch,4]` | 8 |" in table
    assert "| `mlp/~/linear_1` | Linear | `f32[batch,5]` | `f32[batch,2]` | 12 |" in table
    assert table.count("| MLP |") == 1  # and not once more for its initialisation


def test_what_changes_in_hand_is_as_before_afterwards() -> None:
    nnx, haiku = pytest.importorskip("flax.nnx"), pytest.importorskip("haiku")
    norm = nnx.BatchNorm(4, rngs=nnx.Rngs(0))
    norm.mean[...] = jnp.ones(4)
    assert shapecheck.template(norm, X).params == 8
    assert norm.mean[...].tolist() == [1.0] * 4
    stateful = haiku.transform_with_state(lambda x: haiku.BatchNorm(True, True, 0.9)(x, is_training=True))
    assert shapecheck.template(stateful, X)["batch_norm"].params == 8


def test_a_haiku_transform_needs_arguments(told: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("haiku")
    assert main(["template", "haikus.py:model"]) == 2
    assert "say what it takes, with --arg" in capsys.readouterr().err


def test_they_are_stages_of_plain_functions_too(shown: Rows) -> None:
    linen = pytest.importorskip("flax.linen")

    def loss(x: Array) -> Array:
        model = linen.Dense(3)
        return model.apply(model.init(jax.random.PRNGKey(0), x), x).sum()

    template = shapecheck.template(loss, X)
    assert shown(template) == {"Dense: Dense": "f32[batch,4] -> f32[batch,3]"}
    assert template.params == 15


def test_calls_and_interceptors_are_as_before_afterwards() -> None:
    nnx = pytest.importorskip("flax.nnx")
    before = vars(nnx.Linear)["__call__"]
    shapecheck.template(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), jnp.zeros((3, 4)))
    assert vars(nnx.Linear)["__call__"] is before
