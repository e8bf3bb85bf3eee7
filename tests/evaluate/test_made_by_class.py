"""Instances as their class makes them: `Attention.init(key, size)` knows which of its layers are stacks.

And stacks of records, which no class tells of.
"""

from __future__ import annotations

import pytest

HEAD = """
import dataclasses
from typing import Self

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Linear:
    weights: Float[Array, "n_in n_out"]

    @staticmethod
    def init(key: PRNGKeyArray, num_inputs: int, num_outputs: int) -> "Linear":
        return Linear(weights=jax.random.normal(key, (num_inputs, num_outputs)))

    def forward(w, x: Float[Array, "n_in"]) -> Float[Array, "n_out"]:
        return x @ w.weights

"""

CLASS = """
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Attention:
    qkv: Linear  # of three
    out: Linear

    def forward(self, x: Float[Array, "t embed_size"]) -> Float[Array, "t embed_size"]:
        f = jax.vmap(jax.vmap(type(self.qkv).forward, in_axes=(None, 0)), in_axes=(0, None))
        q, k, v = f(self.qkv, x)
        p = jax.nn.softmax(q @ k.T, axis=-1)
        return jax.vmap(self.out.forward)(p @ v)

    def turned(self, x: Float[Array, "t embed_size"]) -> Float[Array, "t embed_size"]:{mark}
        f = jax.vmap(jax.vmap(type(self.qkv).forward, in_axes=(None, 0)), in_axes=(0, None))
        q, k, v = f(self.qkv, x)
        return (q * k * v).T

    {decorator}
    def {name}({first}key: PRNGKeyArray, embed_size: int) -> {given}:
        one, other = jax.random.split(key)
        return Attention(
            qkv=jax.vmap(Linear.init, in_axes=(0, None, None))(jax.random.split(one, 3), embed_size, embed_size),
            out=Linear.init(other, embed_size, embed_size),
        )
"""

MAPPED = """
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Environment:
    hero: Int[Array, "2"]
    walls: Bool[Array, "size size"]

    def render(self) -> Float[Array, "size size 3"]:
        size = self.walls.shape[0]
        return jnp.zeros((size, size, 3)).at[self.hero[0], self.hero[1]].set(1.0)


def animated(states: Environment):
    return jnp.pad(jax.vmap(jax.vmap(Environment.render))(states), ((0, 0), (0, 0), (0, 1), (0, 1), (0, 0)))  ~SC302


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Board:
    cells: Int[Array, "3 3"]
    turn: Int[Array, ""]

    def value(self) -> Int[Array, ""]:
        return self.cells.sum() * self.turn


def values(boards: Board):
    return jax.vmap(Board.value)(boards)  ~SC302


def twice(x: Float[Array, "n"]):  ~unreached
    return jax.vmap(jax.vmap(jnp.sin))(x)  ~SC301
"""

# Annotations of what `vmap` decorates may tell of all that callers give; of which axis is mapped they know.
DECORATED = """
import functools


def predicted(coefs: Float[Array, "n_sum"], x: Float[Array, "n_sum"]) -> Float[Array, ""]:
    return jnp.dot(coefs, x)


@functools.partial(jax.vmap, in_axes=(0, None))
def of_one(coefs: Float[Array, "n_sum"], x: Float[Array, "n_sum"]) -> Float[Array, ""]:
    return predicted(coefs, x)


@functools.partial(jax.vmap, in_axes=(0, None))
def of_many(coefs: Float[Array, "n n_sum"], x: Float[Array, "n_sum"]) -> Float[Array, "n"]:
    return predicted(coefs, x)


def taken(
    coefs: Float[Array, "n_sum"],  ~SC202
    x: Float[Array, "n_sum"],
) -> Float[Array, ""]:  ~SC203
    return jnp.dot(coefs, x)


@functools.partial(jax.vmap, in_axes=(1, None))
def of_other_axis(coefs: Float[Array, "n n_sum"], x: Float[Array, "n_sum"]) -> Float[Array, "n"]:
    return taken(coefs, x)


@functools.partial(jax.vmap, in_axes=(0, None))
def turned(coefs: Float[Array, "n_sum k"], x: Float[Array, "n_sum"]) -> Float[Array, "n_sum"]:  ~SC203
    return x @ coefs
"""

CASES = {
    "decorated.py": DECORATED,
    "static.py": CLASS.format(decorator="@staticmethod", name="init", first="", given='"Attention"', mark="  ~SC203"),
    "own.py": CLASS.format(decorator="@classmethod", name="create", first="cls, ", given="Self", mark="  ~SC203"),
    "mapped.py": MAPPED,
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_false_of_what_the_class_itself_makes(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected
