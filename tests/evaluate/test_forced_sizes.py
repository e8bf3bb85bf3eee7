"""Sizes that the code forces to be equal, which what is written tells apart: two names of a result, axes of a batch."""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray
"""

CASES = {
    # the bias fits where there are as many places as words, of which the result has a name for each
    "names_of_result.py": """
class Unembed(nn.Module):
    d_model: int = 48
    d_vocab: int = 50257

    def setup(self):
        init = jax.nn.initializers.normal()
        self.kernel = self.param("kernel", init, (self.d_model, self.d_vocab))
        self.bias = self.param("bias", init, (self.d_vocab,))

    def __call__(self, x: Float[Array, "b p m"]) -> Float[Array, "b p v"]:
        return jnp.einsum("bpm,mv->bvp", x, self.kernel) + self.bias ~SC305

class Places(nn.Module):
    d_model: int = 48
    n_rows: int = 77

    def setup(self):
        self.table = self.param("table", jax.nn.initializers.normal(), (self.n_rows, self.d_model))

    def __call__(self, x: Float[Array, "b p m"]) -> Float[Array, "b p m"]:
        return x + self.table
""",
    # a helper has two names for what its callers have one of
    "told_apart_inside.py": """
def scaled(x: Float[Array, "head seq dim"], scale: Float[Array, "seq"]) -> Float[Array, "head seq dim"]:
    return x * scale[:, None]

class Attention(eqx.Module):
    qkv: eqx.nn.Linear
    head_dim: int

    def __init__(self, dim: int, num_heads: int, *, key: PRNGKeyArray):
        self.qkv = eqx.nn.Linear(dim, dim, key=key)
        self.head_dim = dim // num_heads

    def __call__(self, x: Float[Array, "n dim"]) -> Float[Array, "n dim"]:
        v = jax.vmap(self.qkv)(x).reshape(x.shape[0], -1, self.head_dim).transpose(1, 0, 2)
        v = scaled(v, jnp.ones(x.shape[0]))
        return x + v.reshape(v.shape[0], -1) ~SC305

class Right(eqx.Module):
    attention: Attention
    qkv: eqx.nn.Linear
    head_dim: int

    def __init__(self, dim: int, num_heads: int, *, key: PRNGKeyArray):
        self.attention = Attention(dim, num_heads, key=key)
        self.qkv = eqx.nn.Linear(dim, dim, key=key)
        self.head_dim = dim // num_heads

    def __call__(self, x: Float[Array, "n dim"]) -> Float[Array, "n dim"]:
        v = jax.vmap(self.qkv)(x).reshape(x.shape[0], -1, self.head_dim).transpose(1, 0, 2)
        v = scaled(v, jnp.ones(x.shape[0]))
        return x + v.transpose(1, 0, 2).reshape(v.shape[1], -1)
""",
    # as many items of a mask are true as its maker knows
    "counted.py": """
import numpy as np

class Tree:
    def __init__(self, depth: int):
        self.is_leaf = np.arange(11) >= 4
        self.data = jnp.zeros((11, 2))

def with_leaves(tree: Tree, leaves: Float[Array, "n_leaves 2"]) -> Float[Array, "11 2"]:
    return tree.data.at[tree.is_leaf].set(leaves)

def wrong(tree: Tree, leaves: Float[Array, "n_leaves 2"]) -> Float[Array, "n_leaves 2"]: ~SC203
    return tree.data.at[tree.is_leaf].set(leaves)

def turned(tree: Tree, leaves: Float[Array, "2 n_leaves"]) -> Float[Array, "11 2"]:
    return tree.data.at[tree.is_leaf].set(leaves) ~SC301
""",
    # a number of blocks is no size of a block, though both have that word
    "blocks.py": """
import dataclasses

@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Blocks:
    diagonal: Float[Array, "num_blocks block_size block_size"]

    @property
    def num_blocks(self) -> int:
        return self.diagonal.shape[0]

    def turned(self, v: Float[Array, "num_blocks block_size"]) -> Float[Array, "num_blocks block_size"]:
        return jnp.einsum("nij,jn->ni", self.diagonal, v) ~SC301

    def right(self, v: Float[Array, "num_blocks block_size"]) -> Float[Array, "num_blocks block_size"]:
        return jnp.einsum("nij,nj->ni", self.diagonal, v)
""",
    # what is summed over is no axis of a batch; what is added to all of one may be
    "batches.py": """
class Basis(eqx.Module):
    centers: Array
    readout: eqx.nn.Linear

    def __init__(self, input_size: int, output_size: int, network_size: int, *, key):
        self.centers = jax.random.uniform(key, (network_size, input_size))
        self.readout = eqx.nn.Linear(network_size, output_size, key=key)

    def __call__(self, x):
        '''
        Args:
            x: Input vector of shape (..., input_size).
        Returns:
            Array: Output vector of shape (..., output_size).
        '''
        distance = jax.vmap(lambda c, y: jnp.exp(-jnp.sum((c - y) ** 2)), in_axes=(None, 0))
        return self.readout(distance(self.centers, x)) ~SC305

class Noise(eqx.Module):
    rows: Array

    def __init__(self, n_envs: int, size: int, *, key):
        self.rows = jax.random.uniform(key, (n_envs, size))

    def __call__(self, x):
        '''
        Args:
            x: States of shape (..., size).
        Returns:
            Array: Noisy states of shape (..., size).
        '''
        return x + self.rows
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_sizes_that_are_told_apart_are_not_taken_for_one(folder, name) -> None:
    case = folder.cases[name]
    assert [mark for mark in case.actual if mark[1] != "unreached"] == case.expected, case.details


def test_an_axis_of_three_dots_is_said_to_be_one(folder) -> None:
    (finding,) = folder.cases["batches.py"].findings
    assert finding.message.startswith("this runs only where axis 0 of ... = network_size, which the claims leave open")
