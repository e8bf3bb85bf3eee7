"""Sizes of a constructor that may be None are tried with numbers too: what fits only without them is told as a note."""

from __future__ import annotations

import pytest

MODULE = """
import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

class Swapped(eqx.Module):
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, width: int, hidden_size: int | None = None, *, key: PRNGKeyArray):
        self.up = eqx.nn.Linear(width, hidden_size or width, key=key)
        self.down = eqx.nn.Linear(width, width, key=key)

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        return jax.vmap(self.down)(jax.vmap(self.up)(x)) ~SC305

class Right(eqx.Module):
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, width: int, hidden_size: int | None = None, *, key: PRNGKeyArray):
        self.up = eqx.nn.Linear(width, hidden_size or width, key=key)
        self.down = eqx.nn.Linear(hidden_size or width, width, key=key)

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        return jax.vmap(self.down)(jax.vmap(self.up)(x))

class Heads(eqx.Module):
    proj: eqx.nn.Linear
    heads: int
    kv_heads: int

    def __init__(self, dim: int, heads: int, num_kv_heads: int | None = None, *, key: PRNGKeyArray):
        self.heads, self.kv_heads = heads, num_kv_heads or heads
        self.proj = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        q = jax.vmap(self.proj)(x).reshape(x.shape[0], self.kv_heads, self.heads // self.kv_heads, -1)
        return q.reshape(x.shape)
"""


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({"layers.py": MODULE})


def test_what_fits_only_without_a_size_is_told(folder) -> None:
    case = folder.cases["layers.py"]
    assert case.expected == case.actual, case.details
    (finding,) = case.findings
    assert finding.severity == "note"
    assert finding.message.startswith("this runs only where hidden_size is None, which the claims leave open")
