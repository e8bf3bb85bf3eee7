"""Functions that others return are called too: with what stands beside them in the result, or what that makes."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
"""

CASES = {
    # the parameters are returned beside the function, by the name that it has for them or by another
    "beside.py": """
def create_linear(d_in: int, d_out: int):
    params = {"w": jnp.zeros((d_in, d_out)), "b": jnp.zeros((d_out,))}

    def forward(params: dict, x: Float[Array, "batch d_in"]) -> Float[Array, "batch d_out"]:
        y = x @ params["w"]  # (batch, d_out)
        wrong = y.T  # (batch, d_out) ~SC201
        return y + params["b"]

    return forward, params

def create_embedding(vocab: int, width: int):
    table = {"emb": jnp.zeros((vocab, width))}

    def forward(params: dict, tokens) -> Float[Array, "seq width"]:
        # tokens: i32[seq]
        return params["emb"][tokens]

    def backward(params: dict, x: Float[Array, "seq width"]) -> Float[Array, "seq width"]: ~SC203
        return x @ params["emb"].T

    return jax.jit(forward), table, backward
""",
    # a function beside it makes them, and what shape its outputs have
    "initial.py": """
def dense(n_in: int, n_out: int):
    def init(key):
        return {"w": jax.random.normal(key, (n_in, n_out))}

    def apply(params, x: Float[Array, "batch n_in"]) -> Float[Array, "batch n_out"]:
        return x @ params["w"]

    return init, apply

def stacked(n_in: int, n_out: int):
    def init_fun(rng):
        weights = jax.random.normal(rng, (n_in, n_out))
        return (n_out,), weights

    def apply_fun(params, x: Float[Array, "batch n_in"]) -> Float[Array, "batch n_out"]: ~SC203
        return (x @ params).T

    return init_fun, jax.jit(apply_fun)
""",
    # it takes no more than its own arguments, and what is around it is known by its names
    "around.py": """
def make_step(scale: float, width: int):
    w = jnp.ones((width, 3))

    def step(carry: Float[Array, "n width"], t) -> Float[Array, "n 3"]:
        h = carry @ w  # (n, 3)
        turned = h.T  # (n, 3) ~SC201
        return h * scale

    return step
""",
    # a function that is no result is called where it is used, or not at all
    "inside.py": """
def outer(x: Float[Array, "n"]) -> Float[Array, "n"]:
    def unused(y: Float[Array, "m"]) -> Float[Array, "m"]: ~unreached
        return y

    return x + 1
""",
    # integers that follow from others, as the file writes it, whatever they are called where they are given
    "related.py": """
def create_attention(n_heads: int, d_model: int, d_k: int):
    params = {"q": jnp.zeros((d_model, n_heads * d_k)), "o": jnp.zeros((d_model, d_model))}

    def forward(params: dict, x: Float[Array, "seq d_model"]) -> Float[Array, "seq d_model"]:
        return x @ params["q"] @ params["o"]

    return forward, params

def create_heads(heads: int, d_model: int, d_k: int):
    params = {"q": jnp.zeros((d_model, heads * d_k))}

    def forward(params: dict, x: Float[Array, "seq d_model"]) -> Float[Array, "seq d_model"]:
        return x @ params["q"]

    def narrow(params: dict, x: Float[Array, "seq d_model"]) -> Float[Array, "seq d_model"]: ~SC203
        return (x @ params["q"])[:, :d_k]

    return forward, params, narrow

def create_model(n_heads: int, d_model: int):
    d_k = d_model // n_heads
    return create_attention(n_heads, d_model, d_k), create_heads(n_heads, d_model, d_k)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_a_returned_function_is_called_with_what_stands_beside_it(folder, name):
    assert folder.cases[name].as_marked()
