"""Several instances of one class, made up for one call: each may have sizes of its own, as jaxtyping has it."""

from __future__ import annotations

import pytest

HEAD = """
from typing import NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Float

"""
RECORDS = """
class Affine(NamedTuple):
    w: Float[Array, "d_in d_out"]
    b: Float[Array, "d_out"]

class Params(NamedTuple):
    first: Affine
    second: Affine
"""
LAYER = (
    RECORDS
    + """
def affine(p: Affine, x: Float[Array, "n d_in"]) -> Float[Array, "n d_out"]:
    return x @ p.w + p.b
"""
)
CASES = {
    "chain.py": LAYER
    + """
def two(p: Params, x: Float[Array, "n d_in"]) -> Float[Array, "n d_out"]:
    hidden = affine(p.first, x)  # (n, hidden)
    return affine(p.second, jax.nn.relu(hidden))

def many(layers: list[Affine], x: Float[Array, "n d_in"]) -> Float[Array, "n d_out"]:
    for layer in layers:
        x = affine(layer, x)
    return x
""",
    "transposed.py": LAYER
    + """
def two(p: Params, x: Float[Array, "n d_in"]) -> Float[Array, "n d_out"]:  ~SC203
    hidden = affine(p.first, x)  # (n, hidden)
    return affine(p.second, hidden).T
""",
    "repeated.py": RECORDS
    + """
def affine(p: Affine, x: Float[Array, "n d_in"]) -> Float[Array, "n d_out"]:
    return x @ p.w + p.b  ~SC305

def two(p: Params, x: Float[Array, "n d_in"]):  ~unreached
    return affine(p.first, affine(p.first, x))
""",
    "model.py": """
class Layer(eqx.Module):
    w: Float[Array, "d_in d_out"]

    def __call__(self, x: Float[Array, "n d_in"]) -> Float[Array, "n d_out"]:
        return x @ self.w

class Model(eqx.Module):
    first: Layer
    second: Layer

    def __call__(self, x: Float[Array, "n d_in"]) -> Float[Array, "n d_out"]:
        hidden = self.first(x)  # (n, hidden)
        return self.second(hidden)
""",
    "alike.py": """
class Batch(NamedTuple):
    obs: Float[Array, "b d"]
    reward: Float[Array, "b"]

def gap(batch: Batch, target: Batch) -> Float[Array, "b"]:
    gain = batch.reward - target.reward  # (b,)
    return gain + (batch.obs - target.obs).sum(1)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_instances_of_one_class_fit_each_other_where_they_can(folder, name) -> None:
    assert folder.cases[name].as_marked()
