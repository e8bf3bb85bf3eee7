"""Branches that code takes for some sizes alone: where the usual ones pass them by, others are tried."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

"""

CASES = {
    "divided.py": """
def divided(x: Float[Array, "b t d"], heads: int) -> Float[Array, "b t d"]:
    b, t, d = x.shape
    if d % heads == 0:
        y = x.reshape(b, t, heads, d // heads)  # (b, t, d // heads, heads)  ~SC201
        return y.reshape(b, t, d)
    return x

def good(x: Float[Array, "b t d"], heads: int) -> Float[Array, "b t d"]:
    b, t, d = x.shape
    if d % heads == 0:
        y = x.reshape(b, t, heads, d // heads)  # (b, t, heads, d // heads)
        return y.reshape(b, t, d)
    return x
""",
    "raises.py": """
class Pooling(nn.Module):
    num_heads: int = 4

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        # x: (B, T, D)
        batch, time, features = x.shape
        w = jax.nn.sigmoid(nn.Dense(self.num_heads)(x))  # (B, T, H)
        if features % self.num_heads == 0:
            head_dim = features // self.num_heads
            parts = x.reshape(batch, time, head_dim, self.num_heads)
            wide = w[..., None]  # (B, T, H, 1)  ~unreached
            mean = jnp.sum(wide * parts, axis=1)  # (B, H, head_dim)  ~SC201
            return mean.reshape(batch, features)  # ~SC301
        return jnp.einsum("bth,btd->bhd", w, x).reshape(batch, -1)
""",
    "long.py": """
def long(x: Float[Array, "t d"]) -> Float[Array, "t d"]:
    if x.shape[0] > 2048:
        y = x[:2048] @ x[:2048].T  # (t, t)  ~SC201
        return x.at[:2048].add(y.sum(0)[:, None])
    return x
""",
    # That a table has no more rows than so many is no error, and another branch is for longer ones.
    "table.py": """
TABLE = jnp.zeros((4000, 16))

def placed(x: Float[Array, "t 16"]) -> Float[Array, "t 16"]:
    if x.shape[0] > 2048:
        y = 2 * x  # (t, 16)  ~unreached
        x = y - x
    return x + TABLE[: x.shape[0]]
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_branches_of_sizes(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected
