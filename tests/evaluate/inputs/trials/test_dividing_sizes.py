"""Integers of which one divides the other, as groups of heads share keys: what is wrong with all sizes shows."""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
"""

CASES = {
    "method.py": """
class Attention(eqx.Module):
    wq: Float[Array, "d_model n_q*d_head"]
    wk: Float[Array, "d_model n_kv*d_head"]
    n_q: int = eqx.field(static=True)
    n_kv: int = eqx.field(static=True)
    d_head: int = eqx.field(static=True)

    def __init__(self, d_model: int, n_q: int, n_kv: int, d_head: int, *, key):
        self.wq = jax.random.normal(key, (d_model, n_q * d_head))
        self.wk = jax.random.normal(key, (d_model, n_kv * d_head))
        self.n_q, self.n_kv, self.d_head = n_q, n_kv, d_head

    def __call__(self, x: Float[Array, "t d_model"]) -> Float[Array, "n_kv t t"]:
        q = (x @ self.wq).reshape(x.shape[0], self.n_kv, -1, self.d_head)  # (t, n_kv, n_q // n_kv, d_head)
        k = (x @ self.wk).reshape(x.shape[0], self.n_kv, self.d_head)  # (t, d_head, n_kv)  ~SC201
        a, b = jnp.split(q, 2, axis=-1)  # (t, n_kv, n_q // n_kv, d_head / 2)
        return jnp.einsum("tkgd,skd->kts", q, k)
""",
    "function.py": """
def share(x: Float[Array, "t d"], n_q: int, n_kv: int) -> Float[Array, "n_kv g"]:  ~SC203
    scores = jnp.zeros((n_q, x.shape[0]))
    grouped = scores.reshape(n_kv, n_q // n_kv, -1)  # (n_kv, g, t)
    return grouped.sum(-1).T
""",
    # the first sizes do not divide; those that do all come to the same error
    "chunks.py": """
def sums(x: Float[Array, "h t d"], w: Float[Array, "h d"], chunk: int) -> Float[Array, "n h chunk"]:  ~unreached
    h, t, d = x.shape
    blocks = x.reshape(t // chunk, h, chunk, d)
    return jnp.einsum("nhcd,hd->nhc", blocks.swapaxes(0, 1), w)  ~SC305
""",
    # a limit that the claim itself names is none of what was made up
    "limits.py": """
def first(w: Float[Array, "a b"], rank: int) -> Float[Array, "a rank"]:  ~SC203
    u, s, vt = jnp.linalg.svd(w, full_matrices=False)
    return u[:rank]
""",
    # no single integer is the size of the axis that is split: their product is
    "product.py": """
def split(x, heads: int, width: int):
    # x: (b, t, d)
    b, t, d = x.shape
    y = x.reshape(b, t, heads, width)  # (b, t, heads, width)
    return y.swapaxes(1, 2)  # (b, t, heads, width)  ~SC201

def merge(x, heads, width):
    \"\"\"Merges.

    Args:
        x: shape (b, t, head, width)
        heads (int): how many
        width (int): of each
    \"\"\"
    return x.reshape(*x.shape[:2], heads * width)  # (b, d, t)  ~SC201
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_integers_divide_each_other_where_the_code_needs_it(folder, name: str) -> None:
    assert folder.cases[name].as_marked()
