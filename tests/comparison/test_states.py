"""What a model keeps for its next run, running averages above all: each framework has a place of its own for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import shapecheck

Function = Callable[[jax.Array], object]

SIZE = 3
NUMBERS = np.random.default_rng(0)
W, SCALE, BIAS, MEAN = (jnp.asarray(NUMBERS.normal(size=s), jnp.float32) for s in ((SIZE, SIZE), SIZE, SIZE, SIZE))
VAR = jnp.abs(MEAN) + 1
X = jnp.asarray(NUMBERS.normal(size=(5, SIZE)), jnp.float32)


class Linen(nn.Module):
    momentum: float

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.Dense(SIZE, use_bias=False, name="fc")(x)
        return nn.BatchNorm(use_running_average=False, momentum=self.momentum, name="bn")(x)


def linen(momentum: float) -> Function:
    variables = {
        "params": {"fc": {"kernel": W}, "bn": {"scale": SCALE, "bias": BIAS}},
        "batch_stats": {"bn": {"mean": MEAN, "var": VAR}},
    }
    return lambda x: Linen(momentum).apply(variables, x, mutable=["batch_stats"])


class Nnx(nnx.Module):
    def __init__(self, momentum: float):
        rngs = nnx.Rngs(0)
        self.fc = nnx.Linear(SIZE, SIZE, use_bias=False, rngs=rngs)
        self.bn = nnx.BatchNorm(SIZE, momentum=momentum, rngs=rngs)
        values = {"fc": {"kernel": W}, "bn": {"scale": SCALE, "bias": BIAS, "mean": MEAN, "var": VAR}}
        nnx.update(self, values)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.bn(self.fc(x))


class Equinox(eqx.Module):
    fc: eqx.nn.Linear
    bn: eqx.nn.BatchNorm

    def __init__(self, momentum: float):
        self.fc = eqx.nn.Linear(SIZE, SIZE, use_bias=False, key=jax.random.PRNGKey(0))
        self.bn = eqx.nn.BatchNorm(SIZE, "batch", momentum=momentum, mode="batch")

    def __call__(self, x: jax.Array, state: eqx.nn.State) -> tuple[jax.Array, eqx.nn.State]:
        return self.bn(self.fc(x), state)


def equinox(momentum: float, *, is_stale: bool = False) -> Function:
    model, state = eqx.nn.make_with_state(Equinox)(momentum)
    model = eqx.tree_at(lambda m: (m.fc.weight, m.bn.weight, m.bn.bias), model, (W.T, SCALE, BIAS))
    state = state.set(model.bn.batch_state_index, (MEAN, VAR))
    leaves, structure = jax.tree_util.tree_flatten(state)

    def call(x: jax.Array) -> Any:
        own = jax.tree_util.tree_unflatten(structure, leaves)
        y, after = jax.vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, own)
        return y, jax.tree_util.tree_unflatten(structure, leaves) if is_stale else after

    return call


def haiku(momentum: float) -> Function:
    def net(x: jax.Array) -> jax.Array:
        norm = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=momentum, name="bn")
        return norm(hk.Linear(SIZE, with_bias=False, name="fc")(x), is_training=True)

    def average(value: jax.Array) -> dict[str, jax.Array]:
        return {"counter": jnp.asarray(0), "hidden": value[None], "average": value[None]}

    params = {"fc": {"w": W}, "bn": {"scale": SCALE[None], "offset": BIAS[None]}}
    state = {"bn/~/mean_ema": average(MEAN), "bn/~/var_ema": average(VAR)}
    return lambda x: hk.transform_with_state(net).apply(params, state, None, x)


def eager(function: Function) -> Function:
    return function


@pytest.mark.parametrize(("port", "wrapped"), [(Nnx, eager), (equinox, jax.jit), (haiku, eager)])
def test_running_averages_are_compared_in_whatever_place_they_are(
    port: Callable[[float], Any], wrapped: Callable[[Any], Any]
) -> None:
    right = shapecheck.compare(wrapped(port(0.9)), linen(0.9), X)
    assert (right.equal, right.stages[0].states, len(right.stages)) == (True, True, 3)
    wrong = shapecheck.compare(wrapped(port(0.99)), linen(0.9), X)
    assert (wrong.equal, wrong.first) == (False, "bn")
    text = str(wrong)
    assert "differs, keeps other ['batch_stats']['mean']" in text
    assert "what it gives is equal; but not what it keeps for its next run: ['batch_stats']['mean']" in text


def test_a_state_that_is_handed_on_as_it_came_is_found() -> None:
    found = shapecheck.compare(equinox(0.9, is_stale=True), linen(0.9), X)
    assert (found.equal, found.first) == (False, "")


def test_a_stack_keeps_what_its_like_written_out_keeps() -> None:
    class Stack(nn.Module):
        momentum: float
        is_scanned: bool

        @nn.compact
        def __call__(self, x: jax.Array) -> Any:
            if not self.is_scanned:
                for number in range(2):
                    x = Linen(self.momentum, name=f"layer_{number}")(x)
                return x
            kinds = {"params": 0, "batch_stats": 0}
            scan = nn.scan(lambda layer, x, _: (layer(x), None), variable_axes=kinds, split_rngs={}, length=2)
            return scan(Linen(self.momentum, name="layer"), x, None)[0]

    variables = Stack(0.9, is_scanned=False).init(jax.random.PRNGKey(0), X)
    layers = [{kind: held[f"layer_{number}"] for kind, held in variables.items()} for number in range(2)]
    stacked = jax.tree_util.tree_map(lambda *parts: jnp.stack(parts), *layers)

    def scanned(x: jax.Array) -> Any:
        own = {kind: {"layer": held} for kind, held in stacked.items()}
        return Stack(0.9, is_scanned=True).apply(own, x, mutable=["batch_stats"])

    def written(momentum: float) -> Function:
        return lambda x: Stack(momentum, is_scanned=False).apply(variables, x, mutable=["batch_stats"])

    assert shapecheck.compare(written(0.9), scanned, X).equal
    assert not shapecheck.compare(written(0.99), scanned, X).equal


def by_hand(x: jax.Array, momentum: float = 0.9) -> tuple[jax.Array, dict[str, jax.Array]]:
    h = x @ W
    mean, var = h.mean(0), h.var(0)
    kept = {"mean": momentum * MEAN + (1 - momentum) * mean, "var": momentum * VAR + (1 - momentum) * var}
    return (h - mean) / jnp.sqrt(var + 1e-5) * SCALE + BIAS, kept


def test_what_one_alone_keeps_is_told_not_to_be_compared() -> None:
    found = shapecheck.compare(lambda x: by_hand(x)[0], linen(0.9), X)
    assert found.equal
    assert "equal, what it keeps is not compared" in str(found)


def test_what_one_gives_by_hand_is_held_against_what_the_other_keeps() -> None:
    assert shapecheck.compare(by_hand, linen(0.9), X).equal
    assert shapecheck.compare(linen(0.9), by_hand, X).equal
    assert not shapecheck.compare(lambda x: by_hand(x, 0.99), linen(0.9), X).equal
