"""Stages of models in hand: where they lie, what they run under, what they take and give."""

# ruff: noqa: F722, UP037 - dims are no types

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float, Int

import shapecheck
from shapecheck.model import ArrayValue
from shapecheck.templates import Template
from shapecheck.templates.template_views import FORMATS

KEY = jax.random.PRNGKey(0)


def linear(inside: int, out: int) -> eqx.nn.Linear:
    return eqx.nn.Linear(inside, out, key=KEY)


def stages(template: Template) -> dict[str, str]:
    """Place -> input and output, as the tree shows them."""
    lines = [line.split("|") for line in FORMATS["markdown"](template).splitlines() if line.startswith("| `")]
    return {cells[1].strip(" `"): f"{cells[3].strip(' `')} -> {cells[4].strip(' `')}" for cells in lines}


class Containers(eqx.Module):
    layers: list[eqx.nn.Linear]
    heads: dict[str, tuple[eqx.nn.Linear, eqx.nn.Linear]]

    def __call__(self, x: Float[Array, "4"]) -> Float[Array, "2"]:
        for layer in self.layers:
            x = layer(x)
        first, second = self.heads["out"]
        return second(first(x))


def test_paths_go_through_containers() -> None:
    model = Containers([linear(4, 5), linear(5, 6)], {"out": (linear(6, 3), linear(3, 2))})
    assert stages(shapecheck.template(model, jnp.zeros(4))) == {
        "Containers": "f32[4] -> f32[2]",
        "layers[0]": "f32[4] -> f32[5]",
        "layers[1]": "f32[5] -> f32[6]",
        "heads['out'][0]": "f32[6] -> f32[3]",
        "heads['out'][1]": "f32[3] -> f32[2]",
    }


class Transformed(eqx.Module):
    mapped: eqx.nn.Linear
    stacked: eqx.nn.Linear
    jitted: eqx.nn.Linear
    remat: eqx.nn.Linear
    cell: eqx.nn.GRUCell

    def __init__(self) -> None:
        self.mapped, self.jitted, self.remat = linear(4, 4), linear(4, 4), linear(4, 4)
        self.stacked = eqx.filter_vmap(lambda key: eqx.nn.Linear(4, 4, key=key))(jax.random.split(KEY, 3))
        self.cell = eqx.nn.GRUCell(4, 6, key=KEY)

    def __call__(self, x: Float[Array, "n 4"]) -> Float[Array, "6"]:
        x = jax.vmap(self.mapped)(x)
        arrays, static = eqx.partition(self.stacked, eqx.is_array)

        def body(x: Array, part: eqx.nn.Linear) -> tuple[Array, None]:
            return jax.vmap(eqx.combine(part, static))(x), None

        x, _ = jax.lax.scan(body, x, arrays)
        x = eqx.filter_jit(lambda layer, rows: jax.vmap(layer)(rows))(self.jitted, x)
        x = eqx.filter_checkpoint(eqx.filter_vmap(self.remat))(x)
        return jax.lax.scan(lambda h, row: (self.cell(row, h), None), jnp.zeros(6), x)[0]


def test_transformations_are_named_with_their_sizes() -> None:
    template = shapecheck.template(Transformed(), Float[Array, "n 4"])
    assert stages(template) == {
        "Transformed": "f32[n,4] -> f32[6]",
        "mapped vmap(n)": "f32[4] -> f32[4]",
        "stacked scan(3) vmap(n)": "f32[4] -> f32[4]",
        "jitted vmap(n)": "f32[4] -> f32[4]",
        "remat checkpoint vmap(n)": "f32[4] -> f32[4]",
        "cell scan(n)": "input=f32[4], hidden=f32[6] -> f32[6]",
    }
    assert template.dims == (("n", "n"),)
    # The stack has the parameters of three layers.
    assert (template["stacked"].params, template["mapped"].params) == (60, 20)


class Branches(eqx.Module):
    first: eqx.nn.Linear
    second: eqx.nn.Linear

    def __call__(self, x: Float[Array, "4"]) -> Float[Array, "4"]:
        x = jax.lax.cond(x[0] > 0, lambda y: self.first(y), lambda y: self.second(self.second(y)), x)  # noqa: PLW0108
        return jax.lax.switch(0, [lambda y: self.first(y), lambda y: self.second(y)], x)  # noqa: PLW0108


def test_all_branches_are_shown() -> None:
    template = shapecheck.template(Branches(linear(4, 4), linear(4, 4)), jnp.zeros(4))
    assert list(stages(template)) == [
        "Branches",
        "first cond",
        "second cond",
        "second #2 cond",
        "first #2 switch",
        "second #3 switch",
    ]


class Shared(eqx.Module):
    embed: eqx.nn.Embedding
    head: eqx.nn.Linear
    twice: eqx.nn.Linear

    def __init__(self) -> None:
        self.embed = eqx.nn.Embedding(7, 4, key=KEY)
        head = eqx.nn.Linear(4, 7, use_bias=False, key=KEY)
        self.head = eqx.tree_at(lambda m: m.weight, head, self.embed.weight)
        self.twice = linear(4, 4)

    def __call__(self, token: Int[Array, ""]) -> Float[Array, "7"]:
        return self.head(self.twice(self.twice(self.embed(token))))


def test_calls_are_counted_and_shared_parameters_once() -> None:
    template = shapecheck.template(Shared(), jnp.zeros((), int))
    assert list(stages(template)) == ["Shared", "embed", "twice", "twice #2", "head"]
    assert template.params == 7 * 4 + 4 * 4 + 4
    assert template.param_bytes == 4 * template.params


class Stateful(eqx.Module):
    norm: eqx.nn.BatchNorm

    def __call__(self, x: Float[Array, "4"], state: eqx.nn.State) -> tuple[Array, eqx.nn.State]:
        return self.norm(x, state)


def test_a_state_stands_apart() -> None:
    model = Stateful(eqx.nn.BatchNorm(4, axis_name="batch", mode="batch"))
    stage = shapecheck.template(model, jnp.zeros(4))["norm"]
    assert [name for name, _ in stage.input] == ["x"]
    assert [name for name, _ in stage.state] == ["state"]


def test_what_was_traced_before_is_seen_again() -> None:
    class Jitted(eqx.Module):
        layer: eqx.nn.Linear

        @eqx.filter_jit
        def __call__(self, x: Array) -> Array:
            return self.layer(x)

    model = Jitted(linear(4, 4))
    model(jnp.zeros(4))
    before = [list(stages(shapecheck.template(model, jnp.zeros(4)))) for _ in range(2)]
    assert before == [["Jitted", "layer"]] * 2


def test_models_that_a_function_is_given_have_the_names_of_its_parameters() -> None:
    def loss(encoder: eqx.nn.Linear, decoder: eqx.nn.Linear, x: Array) -> Array:
        return decoder(encoder(x)).sum()

    template = shapecheck.template(loss, linear(4, 2), linear(2, 4), jnp.zeros(4))
    assert list(stages(template)) == ["encoder", "decoder"]


class Silent(eqx.Module):
    def __call__(self, x):
        return x


def test_what_does_not_fit_is_told() -> None:
    with pytest.raises(ValueError, match=r"got \(5,\) and \(4,\)|\(4,\).*\(5,\)|must have"):
        shapecheck.template(linear(4, 3), jnp.zeros(5))
    with pytest.raises(ValueError, match="do not fit"):
        shapecheck.template(linear(4, 3), jnp.zeros(4), jnp.zeros(4), jnp.zeros(4), jnp.zeros(4))
    with pytest.raises(ValueError, match="`x` has no annotation"):
        shapecheck.template(Silent())


def test_calls_are_as_before_afterwards() -> None:
    before = vars(eqx.nn.Linear)["__call__"]
    shapecheck.template(linear(4, 3), jnp.zeros(4))
    assert vars(eqx.nn.Linear)["__call__"] is before


def test_functions_among_layers_are_stages_though_their_class_is_asked_for() -> None:
    class Sequence(eqx.Module):
        layers: list[Callable[..., Any]]

        def __call__(self, x: Array) -> Array:
            for layer in self.layers:
                x = layer(x) if isinstance(layer, eqx.Module | FunctionType | jax.custom_jvp) else x[:1]
            return x

    found = shapecheck.template(Sequence([eqx.nn.Linear(3, 4, key=KEY), jax.nn.relu, jnp.ravel]), jnp.zeros(3))
    assert [(stage.path, stage.type) for stage in found][1:] == [
        ("layers[0]", "Linear"),
        ("layers[1]", "relu"),
    ]
    assert found.stages[0].output == ArrayValue("float32", ("1",))


def test_a_part_whose_wrapped_arrays_were_unwrapped_has_its_place() -> None:
    class Masked(eqx.Module):
        weight: Array
        mask: Array

    class Net(eqx.Module):
        layers: list[eqx.nn.Linear]

        def __call__(self, x: Array) -> Array:
            for layer in self.layers:
                whole = jax.tree.map(
                    lambda part: part.weight * part.mask if isinstance(part, Masked) else part,
                    layer,
                    is_leaf=lambda part: isinstance(part, Masked),
                )
                x = whole(x)
            return x

    def masked(layer: eqx.nn.Linear) -> eqx.nn.Linear:
        return eqx.tree_at(lambda own: own.weight, layer, Masked(layer.weight, jnp.ones(layer.weight.shape, bool)))

    found = shapecheck.template(Net([masked(linear(3, 4)), masked(linear(4, 5))]), jnp.zeros(3))
    assert [(stage.path, stage.params) for stage in found] == [("", 41), ("layers[0]", 16), ("layers[1]", 25)]
