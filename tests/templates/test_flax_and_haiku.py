"""Stages of models of Flax (linen, nnx) and Haiku, under the names that these frameworks give them."""

from __future__ import annotations

import re
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
    def __init__(self, width: int, *, rngs):
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


def test_parameters_that_are_made_to_measure_are_counted_for_numbers(told: Callable[..., str]) -> None:
    pytest.importorskip("flax")
    Path("open.py").write_text(
        "import flax.linen as nn\nfrom jaxtyping import Array, Float\n\nclass Open(nn.Module):\n    @nn.compact\n"
        "    def __call__(self, x: Float[Array, 'b d']):\n        return nn.Dense(5, use_bias=False)(x)\n"
    )
    table = told("open.py:Open")
    found = re.search(r"\| `Open` \| Open \| `f32\[(\d+),(\d+)\]` \| `f32\[(\d+),5\]` \| (\d+) \|", table)
    assert found is not None, table
    batch, width, same, count = map(int, found.groups())
    assert (batch, 5 * width) == (same, count)


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


def test_the_layers_of_a_haiku_stack_have_all_their_parameters() -> None:
    haiku = pytest.importorskip("haiku")
    stack = haiku.experimental.layer_stack

    def mlp(x: Array) -> Array:
        return haiku.nets.MLP([6, 4])(x)

    def linear(x: Array) -> Array:
        return haiku.Linear(4)(x)

    def forward(x: Array) -> Array:
        return linear(stack(2)(stack(3)(linear))(stack(5)(mlp)(linear(x))))

    model = haiku.transform(forward)
    template = shapecheck.template(model, X, flops=True)
    made = jax.eval_shape(model.init, jax.random.PRNGKey(0), jnp.zeros((1, 4)))
    assert template.params == sum(leaf.size for leaf in jax.tree_util.tree_leaves(made)) == 450
    name = "__layer_stack_no_per_layer"
    assert [(stage.path, stage.under, stage.params) for stage in template.stages] == [
        ("linear", (), 20),
        (f"{name}/mlp", ("scan(5)",), 290),
        (f"{name}_1/{name}/linear", ("scan(2)", "scan(3)"), 120),
        ("linear_1", (), 20),
    ]
    assert [stage.flops for stage in template.stages[1].children] == ["270*batch", "260*batch"]


@pytest.mark.parametrize("flops", [False, True])
def test_the_body_of_a_linen_scan_is_shown_once(flops: bool) -> None:
    """Though Flax runs it once before, to see what it gives."""
    linen = pytest.importorskip("flax.linen")

    class Turn(linen.Module):  # type: ignore[misc, name-defined]
        @linen.compact
        def __call__(self, x: Array) -> tuple[Array, None]:
            return linen.Dense(4)(x), None

    dense = linen.scan(Turn, variable_axes={"params": 0}, split_rngs={"params": True}, length=5)
    found = shapecheck.template(dense(), X, flops=flops)
    assert [(stage.path, stage.under, stage.params) for stage in found] == [
        ("", ("scan(5)",), 100),
        ("Dense_0", (), 100),
    ]
    rnn = shapecheck.template(linen.RNN(linen.SimpleCell(3)), Float[Array, "batch time 4"], flops=flops)
    assert [stage.under for stage in rnn] == [(), ("scan(time)",), (), ()]
    assert rnn.params == 24


def test_a_haiku_multi_transform_shows_the_function_that_uses_all_parts(shown: Rows) -> None:
    haiku = pytest.importorskip("haiku")

    def make() -> tuple[Callable[[Array], Array], tuple[Callable[[Array], Array], ...]]:
        encoder, decoder = haiku.Linear(2, name="encoder"), haiku.Linear(4, name="decoder")
        return (lambda x: decoder(encoder(x))), (encoder, decoder)

    for model in (haiku.multi_transform(make), haiku.multi_transform_with_state(make)):
        assert shown(shapecheck.template(model, X)) == {
            "encoder: Linear": "f32[batch,4] -> f32[batch,2]",
            "decoder: Linear": "f32[batch,2] -> f32[batch,4]",
        }


def test_functions_that_nnx_modules_hold_are_stages_and_remain_theirs() -> None:
    nnx = pytest.importorskip("flax.nnx")

    class Held(nnx.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.up = nnx.Linear(4, 6, rngs=nnx.Rngs(0))
            self.act, self.acts, self.calls = nnx.relu, [jnp.tanh, jnp.cos], 0

        def __call__(self, x: Array) -> Array:
            self.calls += 1
            x = self.act(self.up(x))
            for act in self.acts:
                x = act(x)
            return x

    class Outer(nnx.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.parts = nnx.List([Held(), Held()])

        def __call__(self, x: Array) -> Array:
            run = nnx.jit(lambda part, x: part(x))
            return sum((run(part, x) for part in self.parts), jnp.zeros(6))

    model = Outer()
    found = [(stage.path, stage.type) for stage in shapecheck.template(model, X)]
    inside = [("up", "Linear"), ("act", "relu"), ("acts[0]", "tanh"), ("acts[1]", "cos")]
    assert found[1:6] == [("parts[0]", "Held"), *((f"parts[0].{name}", kind) for name, kind in inside)]
    assert found[6:] == [("parts[1]", "Held"), *((f"parts[1].{name}", kind) for name, kind in inside)]
    part = model.parts[1]
    assert part.act is nnx.relu and part.acts == [jnp.tanh, jnp.cos]


def test_functions_in_the_containers_of_nnx_are_stages_and_remain_theirs(shown: Rows) -> None:
    nnx = pytest.importorskip("flax.nnx")
    rngs = nnx.Rngs(0)

    class Net(nnx.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.body = nnx.Sequential(nnx.Linear(4, 6, rngs=rngs), nnx.relu, nnx.Sequential(jnp.cos))
            self.acts = nnx.List([nnx.Linear(6, 2, rngs=rngs), jnp.sin])
            self.named = nnx.Dict(last=jnp.tanh)

        def __call__(self, x: Array) -> Array:
            x = nnx.jit(lambda body, x: body(x))(self.body, x)
            for act in self.acts:
                x = act(x)
            return self.named["last"](x)

    model = Net()
    assert shown(shapecheck.template(model, X)) == {
        "Net: Net": "f32[batch,4] -> f32[batch,2]",
        "body: Sequential": "f32[batch,4] -> f32[batch,6]",
        "body.layers[0]: Linear": "f32[batch,4] -> f32[batch,6]",
        "body.layers[1]: relu": "f32[batch,6] -> f32[batch,6]",
        "body.layers[2]: Sequential": "f32[batch,6] -> f32[batch,6]",
        "body.layers[2].layers[0]: cos": "f32[batch,6] -> f32[batch,6]",
        "acts[0]: Linear": "f32[batch,6] -> f32[batch,2]",
        "acts[1]: sin": "f32[batch,2] -> f32[batch,2]",
        "named.last: tanh": "f32[batch,2] -> f32[batch,2]",
    }
    assert model.body.layers[1] is nnx.relu and model.acts[1] is jnp.sin
    assert type(model.body.layers) is type(nnx.Sequential().layers) and type(model.acts) is nnx.List


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
