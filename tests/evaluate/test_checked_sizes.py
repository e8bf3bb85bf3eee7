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
    # heads of an odd width end before, where their halves do not fit
    "halves.py": """
def turned(x_HxTxC, angles_TxC):
    x1, x2 = x_HxTxC[..., ::2], x_HxTxC[..., 1::2]
    both = jnp.stack([-x2, x1], axis=-1).reshape(*x_HxTxC.shape[:-1], -1)
    return x_HxTxC * jnp.cos(angles_TxC) + both * jnp.sin(angles_TxC)

class Attention(eqx.Module):
    heads: int
    width: int
    qk: eqx.nn.Linear
    drop: eqx.nn.Dropout

    def __init__(self, width, heads, dropout, key):
        assert width % heads == 0
        self.heads, self.width = heads, width
        self.qk = eqx.nn.Linear(width, 2 * width, use_bias=False, key=key)
        self.drop = eqx.nn.Dropout(dropout)

    def __call__(self, x_TxD, inference=False, key=None):
        T, D = x_TxD.shape
        Q_TxD, K_TxD = jnp.split(jax.vmap(self.qk)(x_TxD), 2, axis=-1)
        C = self.width // self.heads
        Q_HxTxC = jnp.transpose(jnp.reshape(Q_TxD, (T, self.heads, C)), (1, 0, 2))
        K_HxTxC = jnp.transpose(jnp.reshape(K_TxD, (T, self.heads, C)), (1, 0, 2))
        angles_TxP = jnp.outer(jnp.arange(T), jnp.arange(0, C, 2))
        angles_TxC = jnp.stack([angles_TxP, angles_TxP], axis=-1).reshape(T, -1)
        Q_HxTxC = turned(Q_HxTxC, angles_TxC)
        A_HxTxT = jnp.transpose(Q_HxTxC, (0, 2, 1)) @ K_HxTxC
        causal = jnp.tril(jnp.ones((1, T, T))) == 0
        A_HxTxT = jnp.where(causal, -jnp.inf, A_HxTxT) ~SC305
        return self.drop(A_HxTxT, inference=inference, key=key)
""",
    # what takes a number makes no size of an untyped parameter
    "rates.py": """
class Dense(eqx.Module):
    linear: eqx.nn.Linear
    drop: eqx.nn.Dropout

    def __init__(self, width, p, key):
        self.linear = eqx.nn.Linear(width, width, key=key)
        self.drop = eqx.nn.Dropout(p)

    def __call__(self, x: Float[Array, "n width"], key=None) -> Float[Array, "width n"]: ~SC203
        return self.drop(jax.vmap(self.linear)(x), inference=key is None, key=key)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_instances_are_made_that_their_constructor_takes(folder, name) -> None:
    case = folder.cases[name]
    assert [mark for mark in case.actual if mark[1] != "unreached"] == case.expected, case.details
