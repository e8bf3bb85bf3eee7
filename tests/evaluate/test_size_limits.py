"""Sizes that are at most a number: those of tables that are cut to the length of what they are added to."""

from __future__ import annotations

import pytest

HEAD = """
import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

"""

CASES = {
    # Code with a table runs with whatever is no longer than that.
    "held.py": """
class Block(eqx.Module):
    places: Array
    mask: Array

    def __init__(self, d: int = 32, most: int = 64):
        self.places = jnp.zeros((most, d))
        self.mask = jnp.tril(jnp.ones((most, most), bool))

    def __call__(self, x: Float[Array, "t d"]) -> Float[Array, "t d"]:
        t, d = x.shape
        x = x + self.places[:t]  # (t, d)
        a = jnp.where(self.mask[:t, :t], x @ x.T, -1e9)  # (t, t)
        return a @ x  # (d, t)  ~SC201
""",
    "written.py": """
TABLE = jnp.zeros((50, 8))

def sliced(x: Float[Array, "t 8"]) -> Float[Array, "t 8"]:
    y = x + TABLE[: x.shape[0]]  # (8, t)  ~SC201
    return y

def dynamic(x: Float[Array, "t 8"]) -> Float[Array, "t 8"]:
    return x + jax.lax.dynamic_slice(TABLE, (0, 0), (x.shape[0], 8))

def other_axis(x: Float[Array, "t d"]) -> Float[Array, "t d"]: ~unreached
    return x + TABLE[: x.shape[1], : x.shape[0]]  # ~SC301
""",
    # A check says itself what it refuses: by the number, by the model's integer, or by the one size that it takes.
    "refused.py": """
def asserted(dirs: Float[Array, "rows n"], x: Float[Array, "n"]) -> Float[Array, "rows"]:
    count = x.shape[-1]
    assert count <= 16
    y = dirs @ x  # (n,)  ~SC201
    return y

def over_lines(x: Float[Array, "n d"]) -> Float[Array, "d n"]: ~SC203
    assert (
        x.shape[0] <= 16
    ), f"at most 16, not {x.shape}"
    if x.shape[1] > 32:
        message = "too many"
        raise ValueError(
            message
        )
    return x

def with_words(x: Float[Array, "n d"]) -> Float[Array, "d n"]: ~SC203
    n = x.shape[0]
    assert n < 17, "too many"
    return x

def raised(x: Float[Array, "n d"]) -> Float[Array, "d n"]: ~SC203
    if x.shape[0] > 16:
        raise ValueError("too many")
    return x

def of_space(x: Float[Array, "n d"]) -> Float[Array, "d n"]: ~SC203
    if x.shape[1] != 3:
        raise ValueError("no points in space")
    return x

class Table(eqx.Module):
    rows: Array
    most: int

    def __init__(self, d: int, most: int = 16, *, key):
        self.rows = jax.random.normal(key, (most, d))
        self.most = most

    def __call__(self, x: Float[Array, "t d"]) -> Float[Array, "t d"]:
        if x.shape[0] > self.most:
            raise ValueError("too long")
        y = x + self.rows[: x.shape[0]]  # (d, t)  ~SC201
        return y

def never(x: Float[Array, "n d"]) -> Float[Array, "d n"]: ~unreached
    if x.shape[0] > x.shape[0] - 1:
        raise ValueError("no") ~SC302
    return x
""",
    # Where nothing has symbols, smaller sizes are tried.
    "given.py": """
@dataclasses.dataclass(frozen=True)
class Config:
    vocab: int = 128
    width: int = 48
    most: int = 64

class Model(eqx.Module):
    words: eqx.nn.Embedding
    places: Array

    def __init__(self, config: Config, *, key):
        self.words = eqx.nn.Embedding(config.vocab, config.width, key=key)
        self.places = jax.random.normal(key, (config.most, config.width))

    def __call__(self, tokens: Int[Array, "t"]) -> Float[Array, "t width"]:
        return jax.vmap(self.words)(tokens) + self.places[: tokens.shape[0]]

def loss(model: Model, tokens: Int[Array, "b t"]) -> Float[Array, ""]:
    return jax.vmap(model)(tokens[:, :-1]).mean()

def per_example(model: Model, tokens: Int[Array, "b t"]) -> Float[Array, "t"]: ~SC203
    return jax.vmap(model)(tokens[:, :-1]).mean((1, 2))
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_sizes_below_a_limit(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected
