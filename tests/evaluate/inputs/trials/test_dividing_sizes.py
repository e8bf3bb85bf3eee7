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
    # a quotient that is written has no rest, whatever it is called; what fails all the same is shown so
    "repeats.py": """
def attend(qkv: jax.Array, state: jax.Array, *, n_kq: int, n_v: int, d_k: int, d_v: int):
    \"\"\"Attend.

    Args:
        qkv: of shape [t, n_kq * d_k + n_v * d_v]
        state: of shape [n_v, d_k, d_v]
    \"\"\"
    query = qkv[:, : n_kq * d_k].reshape(-1, n_kq, d_k)
    value = qkv[:, n_kq * d_k :].reshape(-1, n_v, d_v)  # (t, n_v, d_v)
    query = jnp.repeat(query, n_v // n_kq, axis=1)  # (t, n_v, d_k)
    return jnp.einsum("thk,hkv->thv", query, state) + value  # (t, n_v, d_v)

def tilt(q: jax.Array, state: jax.Array, n_kq: int, n_v: int):
    \"\"\"Tilt.

    Args:
        q: of shape [t, n_kq, d_k]  ~unreached
        state: of shape [n_v, d_k, d_v]  ~unreached
    \"\"\"
    query = jnp.repeat(q, n_v // n_kq, axis=1)  # (t, n_v, d_k)  ~unreached
    return jnp.einsum("thk,hvk->thv", query, state)  ~SC305
""",
    # blocks of which only the size is known: rows are a multiple of it, in the order that integers stand in too
    "blocks.py": """
from dataclasses import dataclass

@dataclass(frozen=True)
class Dims:
    block: int
    rows: int

def total(x: jax.Array, unit: int):
    \"\"\"Sums.

    Args:
        x: of shape [m, n]
    \"\"\"
    y = x.reshape(x.shape[0] // unit, unit, x.shape[1]).sum(1)  # (m // unit, n)
    return x.reshape(-1, unit, x.shape[1])  # (m // unit, n, unit)  ~SC201

def of_dims(x: jax.Array, y: jax.Array, *, dims: Dims):
    \"\"\"Joins.

    Args:
        x: of shape [rows, n]
        y: of shape [rows, k]
    \"\"\"
    a = x.reshape(-1, dims.block, x.shape[1])  # (rows // block, block, n)
    b = y.reshape(-1, dims.block, y.shape[1])
    return jnp.einsum("rbn,rbk->rnk", a, b)  # (rows // block, k, n)  ~SC201
""",
    # what all rows are flattened to is how long they are, unless claims say otherwise
    "columns.py": """
def flatten(x: jax.Array, size: int):
    \"\"\"Flattens.

    Args:
        x: of shape (b, t, d)
    \"\"\"
    return x.reshape(-1, size)  # (b * t, d)

def regroup(x: jax.Array, size: int):
    \"\"\"Flattens.

    Args:
        x: of shape (b, t, d)
    \"\"\"
    y = x.reshape(-1, size)  # (b * t, d)  ~SC201
    return y.mean(0)  # (size,)

def to_knots(x: Float[Array, "m values"], knots: int, dims: int) -> Float[Array, "m k d"]:
    return jnp.sqrt(x).reshape(-1, knots, dims)

def to_named_knots(x: Float[Array, "m values"], knots: int, dims: int) -> Float[Array, "m knots d"]:
    return jnp.sqrt(x).reshape(-1, knots, dims)

def to_turned_knots(x: Float[Array, "m values"], knots: int, dims: int) -> Float[Array, "k m d"]:  ~SC203
    return x.reshape(-1, knots, dims) + x.shape[0] * jnp.zeros((x.shape[0], 1, 1))
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


EVEN = """
class Coupling(eqx.Module):
    net: eqx.nn.Linear
    half: int = eqx.field(static=True)

    def __init__(self, dim: int, *, key):
        self.half = dim // 2
        self.net = eqx.nn.Linear(self.half, self.half, key=key)

    def __call__(self, z: Float[Array, "dim"]) -> Float[Array, "dim"]:
        a, b = z[: self.half], z[self.half :]
        return jnp.concatenate([a, b + self.net(a)])

class Scaled(eqx.Module):
    net: eqx.nn.Linear

    def __init__(self, dim: int, *, key):
        self.net = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, z: Float[Array, "dim"]) -> Float[Array, "dim"]:
        return self.net(z)

def smooth(x):
    # x: (n_chan, n_time)
    f = jnp.fft.rfft(x, axis=-1)  # (n_chan, n_time//2 + 1)
    return jnp.fft.irfft(f, axis=-1)  # (n_chan, n_time)
"""


def test_what_holds_for_even_sizes_alone_is_not_for_all(check_folder) -> None:
    report = check_folder({"even.py": HEAD + EVEN}).report
    lines = (HEAD + EVEN).lstrip("\n").splitlines()
    found = {lines[each.line - 1].strip()[:30]: each.how for each in report.verified}
    assert found["return jnp.fft.irfft(f, axis=-"] == "seen sizes"
    assert found["f = jnp.fft.rfft(x, axis=-1)  "] == "all sizes"
    resting = [(lines[each.line - 2].strip(), [a.value for a in each.assumptions]) for each in report.resting]
    assert [values for _, values in resting if "even" in values]
    assert all("even" not in values for above, values in resting if "dim, dim" in above)
