"""Sizes of a constructor are as its own checks want them, and what refuses odd ones says nothing of even ones."""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray
"""

CASES = {
    "rotations.py": """
class Rope(eqx.Module):
    d_head: int = eqx.field(static=True)
    periods: Array

    def __init__(self, embed_dim: int, *, num_heads: int, base: float = 100.0):
        assert embed_dim % (4 * num_heads) == 0
        self.d_head = embed_dim // num_heads
        self.periods = base ** (2 * jnp.arange(self.d_head // 4) / (self.d_head // 2))

    def wrong(self, angles: Float[Array, "hw n"]) -> Float[Array, "2 hw d_head"]: ~SC203
        angles = jnp.tile(angles[:, :1] / self.periods, 4)
        return jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=1)

    def right(self, angles: Float[Array, "hw n"]) -> Float[Array, "2 hw d_head"]:
        angles = jnp.tile(angles[:, :1] / self.periods, 4)
        return jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=0)
""",
    # each of two checks counts, in whatever form, and of each other they want no more than once
    "raises.py": """
class Groups(eqx.Module):
    width: int

    def __init__(self, width: int, n_slots: int, n_parts: int):
        if width % n_slots != 0 or width % (n_parts * 3):
            raise ValueError("the width does not fit")
        if n_slots % n_parts:
            raise ValueError("the slots do not fit")
        self.width = width

    def __call__(self, x: Float[Array, "n width"]) -> Float[Array, "width n"]: ~SC203
        return x
""",
    "odd_at_least.py": """
class Odd(eqx.Module):
    size: int

    def __init__(self, size: int, parts: int):
        assert size % parts != 0
        self.size = size

    def __call__(self, x: Float[Array, "n size"]) -> Float[Array, "size n"]: ~SC203
        return x
""",
    "even.py": """
class Layer(eqx.Module):
    rotary: eqx.nn.RotaryPositionalEmbedding
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, embed_size: int, hidden_size: int, key: PRNGKeyArray):
        self.rotary = eqx.nn.RotaryPositionalEmbedding(embed_size)
        self.up = eqx.nn.Linear(embed_size, hidden_size, key=key)
        self.down = eqx.nn.Linear(embed_size, hidden_size, key=key)

    def __call__(self, x: Float[Array, "length {self.rotary.embedding_size}"]) -> Float[Array, "length d"]:
        return jax.vmap(self.down)(jax.vmap(self.up)(self.rotary(x))) ~SC305
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_instances_are_made_that_their_constructor_takes(folder, name) -> None:
    case = folder.cases[name]
    assert [mark for mark in case.actual if mark[1] != "unreached"] == case.expected, case.details
