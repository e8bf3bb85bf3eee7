"""Two models in hand: where they part, eager and under JAX's transformations."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from flax import nnx

import shapecheck

WIDTH = 8
TOKENS = jnp.arange(6)


class Attention(eqx.Module):
    qkv: eqx.nn.Linear
    proj: eqx.nn.Linear
    scale: float = eqx.field(static=True)

    def __init__(self, scale: float, key: jax.Array):
        one, other = jax.random.split(key)
        self.qkv = eqx.nn.Linear(WIDTH, 3 * WIDTH, key=one)
        self.proj = eqx.nn.Linear(WIDTH, WIDTH, key=other)
        self.scale = scale

    def __call__(self, x: jax.Array) -> jax.Array:
        q, k, v = jnp.split(jax.vmap(self.qkv)(x), 3, axis=-1)
        return jax.vmap(self.proj)(jax.nn.softmax(self.scale * q @ k.T) @ v)


class Block(eqx.Module):
    norm: eqx.nn.LayerNorm
    attn: Attention

    def __init__(self, scale: float, key: jax.Array):
        self.norm = eqx.nn.LayerNorm(WIDTH)
        self.attn = Attention(scale, key)

    def __call__(self, x: jax.Array) -> jax.Array:
        return x + self.attn(jax.vmap(self.norm)(x))


class GPT(eqx.Module):
    embed: eqx.nn.Embedding
    blocks: list[Block]

    def __init__(self, *scales: float):
        first, *keys = jax.random.split(jax.random.PRNGKey(0), len(scales) + 1)
        self.embed = eqx.nn.Embedding(10, WIDTH, key=first)
        self.blocks = [Block(scale, key) for scale, key in zip(scales, keys, strict=True)]

    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = jax.vmap(self.embed)(tokens)
        for block in self.blocks:
            x = block(x)
        return x


class Scanned(eqx.Module):
    """The same with its blocks stacked."""

    embed: eqx.nn.Embedding
    layers: Block

    def __init__(self, gpt: GPT):
        self.embed = gpt.embed
        stack: Callable[..., Any] = lambda *parts: jnp.stack(parts) if eqx.is_array(parts[0]) else parts[0]  # noqa: E731
        self.layers = jax.tree_util.tree_map(stack, *gpt.blocks)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        arrays, rest = eqx.partition(self.layers, eqx.is_array)
        return jax.lax.scan(lambda x, layer: (eqx.combine(layer, rest)(x), None), jax.vmap(self.embed)(tokens), arrays)[
            0
        ]


@functools.cache
def right() -> GPT:
    return GPT(0.35, 0.35)


@functools.cache
def wrong() -> GPT:
    return GPT(0.35, 1.0)


def eager(model: Any) -> Any:
    return model


def closed_over(model: Any) -> Any:
    return jax.jit(lambda tokens: model(tokens))  # noqa: PLW0108 - a model is no function to JAX


@pytest.mark.parametrize("wrapped", [eager, eqx.filter_jit, closed_over])
def test_the_stage_whose_own_code_differs_is_named(wrapped: Callable[[Any], Any]) -> None:
    found = shapecheck.compare(wrapped(wrong()), wrapped(right()), TOKENS)
    assert (found.first, found.equal) == ("blocks[1].attn", False)
    equal = {stage.path: stage.equal for stage in found.stages}
    assert len(equal) == 12
    assert (equal["blocks[0]"], equal["blocks[1].attn.qkv"], equal["blocks[1].attn.proj"]) == (True, True, False)
    end = str(found).splitlines()[-1]
    assert end.startswith("First divergent stage: blocks[1].attn (")
    assert "test_stages.py:" in end
    assert end.endswith(
        "Its inputs and its parameters agree, so the cause lies in its own code, before blocks[1].attn.proj, "
        "the first inside of it that differs, as what it is given does (x by up to 0.327)."
    )


def test_equal_models_are_equal() -> None:
    found = shapecheck.compare(right(), GPT(0.35, 0.35), TOKENS)
    assert (found.first, found.equal) == (None, True)
    assert str(found).endswith("\nEqual: 12 stages within rounding.")


def test_other_parameters_are_told() -> None:
    other = eqx.tree_at(lambda model: model.blocks[1].norm.bias, right(), replace_fn=lambda bias: bias + 1)
    found = shapecheck.compare(other, right(), TOKENS)
    assert found.first == "blocks[1].norm"
    assert "Parameters differ in: blocks[1].norm\n" in str(found)
    assert str(found).endswith("Its inputs agree, and its parameters differ (bias).")


def test_parameters_that_one_has_and_the_other_has_not_are_named() -> None:
    one, other = (eqx.nn.Linear(3, 2, use_bias=bias, key=jax.random.PRNGKey(0)) for bias in (True, False))
    found = str(shapecheck.compare(one, other, jnp.ones(3)))
    assert found.endswith("its parameters differ (bias f32[2] in A only).")


def test_a_loop_is_compared_turn_by_turn_with_its_like_written_out() -> None:
    found = shapecheck.compare(wrong(), Scanned(right()), TOKENS, map={"blocks[*]": "layers"}, atol=1e-6)
    assert found.divergence is not None
    assert (found.first, found.divergence.call, found.divergence.a.path) == ("layers.attn", 1, "blocks[1].attn")
    assert not (found.only_a or found.only_b)
    assert "differs, from call 2 on" in str(found)


def test_mapped_models_are_compared_whole() -> None:
    batch = jnp.stack([TOKENS, TOKENS + 1])
    found = shapecheck.compare(closed_over(jax.vmap(wrong())), closed_over(jax.vmap(right())), batch, atol=1e-6)
    assert found.first == "blocks[1].attn"
    assert {stage.path: stage.b.output for stage in found.stages}["blocks[0].attn.qkv"] == "f32[2,6,24]"


def test_stages_of_other_names_are_listed_until_they_are_mapped() -> None:
    class Other(eqx.Module):
        table: eqx.nn.Embedding
        layers: list[Block]

        def __call__(self, tokens: jax.Array) -> jax.Array:
            x = jax.vmap(self.table)(tokens)
            for layer in self.layers:
                x = layer(x)
            return x

    other = Other(right().embed, right().blocks)
    found = shapecheck.compare(wrong(), other, TOKENS)
    assert found.first == ""
    assert "Only in A: embed, blocks[0], blocks[1]\nOnly in B: table, layers[0]" in str(found)
    assert "  --map embed=table --map blocks=layers\n  map={'embed': 'table', 'blocks': 'layers'}\n" in str(found)
    found = shapecheck.compare(wrong(), other, TOKENS, map=found.proposed)
    assert (found.first, found.only_a, found.only_b) == ("layers[1].attn", (), ())
    with pytest.raises(ValueError, match=r"^block=layers: the first model has no stage with such a path; it has embed"):
        shapecheck.compare(wrong(), other, TOKENS, map={"block": "layers"})


def test_modules_of_nnx() -> None:
    class Net(nnx.Module):
        def __init__(self, act: Callable[[jax.Array], jax.Array]):
            rngs = nnx.Rngs(0)
            self.up, self.down, self.act = nnx.Linear(4, 8, rngs=rngs), nnx.Linear(8, 3, rngs=rngs), act

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.down(self.act(self.up(x)))

    found = shapecheck.compare(Net(jax.nn.relu), Net(jax.nn.gelu), jnp.ones((2, 4)))
    assert (found.first, [stage.path for stage in found.stages if stage.equal]) == ("act", ["up"])


def test_an_outer_stage_is_named_if_all_inside_are_equal() -> None:
    class Twice(eqx.Module):
        inner: eqx.nn.Linear
        factor: float = eqx.field(static=True)

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.factor * self.inner(x)

    linear = eqx.nn.Linear(3, 3, key=jax.random.PRNGKey(0))
    found = shapecheck.compare(Twice(linear, 2.0), Twice(linear, 2.1), jnp.ones(3))
    assert found.first == ""
    assert str(found).endswith("so the cause lies in its own code: all stages inside of it are equal.")


def test_without_either_whole_nothing_is_known() -> None:
    found = shapecheck.compare(right(), right(), TOKENS, map={"": "elsewhere", "embed": "embed"})
    assert ([stage.path for stage in found.stages], found.equal) == (["embed"], False)
    assert str(found).endswith("Not known: 1 stage within rounding, but neither whole is among them.")


def test_json_tells_all() -> None:
    found = json.loads(shapecheck.compare(wrong(), right(), TOKENS).to_json())
    assert (found["version"], found["equal"], found["first"]) == (1, False, "blocks[1].attn")
    (stage,) = (each for each in found["stages"] if each["path"] == "blocks[1].attn")
    assert (stage["inputs_agree"], stage["parameters_agree"], stage["same_shapes"]) == (True, True, True)
    assert stage["a"]["output"] == "f32[6,8]"
    assert 0 < stage["max_absolute"] < 1
    proj = next(each for each in found["stages"] if each["path"] == "blocks[1].attn.proj")
    (x,) = proj["inputs_that_differ"]
    assert (x["a"], x["numbers"]) == ({"name": "x", "array": "f32[6,8]"}, 48)
    assert found["stages"][stage["inside"]]["path"] == "blocks[1]"
