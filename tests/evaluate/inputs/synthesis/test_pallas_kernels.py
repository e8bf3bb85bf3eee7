"""Kernels of Pallas are evaluated as such: with references that they read and write, in a grid, on any machine."""

from __future__ import annotations

import pytest

HEAD = """
import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
"""

CASES = {
    # whoever calls it or nobody: the references are what the comments say
    "alone.py": """
def softmax_kernel(
    x_ref,  # [rows, cols]
    o_ref,  # [rows, cols]
):
    i = pl.program_id(0)
    x = x_ref[...]
    m = jnp.max(x, axis=-1, keepdims=True)  # [rows, 1]
    e = jnp.exp(x - m)  # [cols, rows]  ~SC201
    o_ref[...] = e / e.sum(axis=-1)[:, None] * (i + 1)  # [rows, cols]

def add_kernel(left, right, out, *, scale: float):
    # left: (m, n), right: (n,), out: (m, n)
    a = left[...] * scale  # (m, n)
    out[...] = a + right[...]
    last = out[-1]  # (m,)  ~SC201
""",
    # a view of a block has its own shape
    "views.py": """
def copy_kernel(a_ref, o_ref, *, size: int, cols: int):
    # a_ref: (blocks, rows, cols), o_ref: (blocks, rows, cols)
    i = pl.program_id(0)
    view = a_ref.at[i, pl.ds(i * size, size), :]  # (size, cols)
    wrong = o_ref.at[i, pl.ds(i * size, size), :]  # (cols, size)  ~SC201
    wrong[...] = view[...]
""",
    # a kernel that is called: the call says what its references are
    "called.py": """
def matmul_kernel(x_ref, w_ref, o_ref, *, activation: bool):
    # x_ref: (bm, k), w_ref: (k, bn), o_ref: (bm, bn)
    x = x_ref[...]  # (bm, k)
    acc = jnp.dot(x, w_ref[...])  # (bn, bm)  ~SC201
    if activation:
        acc = jax.nn.gelu(acc)
    o_ref[...] = acc  # (bm, bn)

def matmul(x: jax.Array, w: jax.Array, bm: int = 128, bn: int = 128, activation: bool = False) -> jax.Array:
    \"\"\"Blocked product.

    Args:
        x: (m, k) left
        w: (k, n) right

    Returns:
        (m, n)
    \"\"\"
    m, k = x.shape
    _, n = w.shape
    return pl.pallas_call(
        functools.partial(matmul_kernel, activation=activation),
        grid=(m // bm, n // bn),
        in_specs=[pl.BlockSpec((bm, k), lambda i, j: (i, 0)), pl.BlockSpec((k, bn), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
    )(x, w)
""",
    # a function beside kernels is none, though its parameter is called so and it reads all of an array
    "beside.py": """
def relative(x_ref: jax.Array, y: jax.Array):
    # x_ref: (n, d), y: (m, d)
    distances = jnp.abs(x_ref[:, None] - y[None]).sum(-1)  # (n, m)
    return distances.argmin(0)  # (n,)  ~SC201

def everything(x: jax.Array):
    # x: (n, d)
    y = x[...].T  # (n, d)  ~SC201
    return y
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_kernels_are_given_references(folder, name: str) -> None:
    assert folder.cases[name].as_marked()
