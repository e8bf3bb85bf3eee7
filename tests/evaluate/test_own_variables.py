"""What variables of the code, fields and a library's own checks say of shapes that nothing else describes."""

from __future__ import annotations

import pytest

HEAD = """
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp

"""

CASES = {
    # After `b, t, d = x.shape` it is no matter how x was made up.
    "unpacked.py": """
def joined(x):
    b, t, d = x.shape
    return jnp.concatenate([x, x], 1)  # (b, t, d)  ~SC201

def folded(x):
    h = x[:, ::2, ::2, None] * jnp.ones(5)
    b, t, f, c = h.shape
    return h.reshape(b, t * f, c)  # (b, t, f * c)  ~SC201

def right(x):
    h = x[:, ::2, ::2, None] * jnp.ones(5)
    b, t, f, c = h.shape
    return h.reshape(b, t, f * c)  # (b, t, f * c)

def beside(x, y):
    n, d = x.shape
    return x[:, None] - y[None]  # (n, n, d)
""",
    # What the names are may be written further down, of what is there already.
    "named_below.py": """
def averaged(x):
    \"\"\"x: (b, t, d)\"\"\"
    y = jnp.mean(x, axis=2)  # (batch, dim)  ~SC201
    z = jnp.mean(x, axis=1)  # (batch, dim)
    batch, time, dim = x.shape
    return y.sum() + z / time

def halved(x):
    \"\"\"x: (b, t, d)\"\"\"
    y = jnp.mean(x, axis=2)  # (batch, time)
    x = x[:, ::2]
    batch, time, dim = x.shape
    return y.sum() + dim

def letters(x, w):
    \"\"\"x: (b, t, d), w: (d, e)\"\"\"
    y = x @ w  # (b, t, h)
    n, _, h = x.shape
    return y.sum() + h
""",
    # An axis of one may be that of what a statement widens, and a table may be longer than what is taken of it.
    "parts_of_statements.py": """
def weighted(error, weight):
    \"\"\"error: (batch, h, w), weight: (batch,)\"\"\"
    # Broadcast (batch,) -> (batch, 1, 1)
    error = error * weight[:, None, None]
    # Broadcast (batch,) -> (batch, 1)  ~SC201
    return error * weight[:, None, None]
""",
    "tables.py": """
def attended(hidden_BxTxD, cos_TxK):
    _, T, _ = hidden_BxTxD.shape
    return hidden_BxTxD * cos_TxK[:T].mean()

def layer(hidden_BxTxD):
    cos_TxK = jnp.ones((8192, 10))  ~tentative
    out_BxTxD = attended(hidden_BxTxD, cos_TxK)
    out_TxBxD = attended(hidden_BxTxD, cos_TxK)  ~SC208
    return out_BxTxD, out_TxBxD
""",
    # The size of what a convolution leaves may begin with a sign: -floordiv(-frames, 2).
    "strided.py": """
class Fold(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x):
        # x: (batch, frames, mels)
        h = nn.Conv(self.features, (3, 3), strides=(2, 2))(x[..., None])
        b, t, f, c = h.shape
        h = h.reshape(b, t * f, c)  # (b, t, f * c)  ~SC201
        return h
""",
    # A function of one integer has no other integer that a size could follow from.
    "one_integer.py": """
def schedule(steps: int):
    s = jnp.linspace(0, 1, steps + 1)  # (steps + 1,)
    return jnp.cos(s) ** 2  # (steps,)  ~SC201

def both(left: int, right: int, total: int):
    return jnp.zeros(left + right)  # (total,)  ~unreached
""",
    # Several times what the name means in the fields.
    "fields.py": """
class State(NamedTuple):
    pos: jnp.ndarray  # [B, D]
    vel: jnp.ndarray  # [B, D]

def observe(state: State):
    return jnp.concatenate([state.pos, state.vel], axis=0)  # [B, 2*D]  ~SC201

def observe_well(state: State):
    return jnp.concatenate([state.pos, state.vel], axis=1)  # [B, 2*D]

def half(state: State):
    return state.pos[::2]  # [B, D]
""",
    # An `assert` of Flax on shapes is what a TypeError of JAX is.
    "asserted.py": '''
class Attention(nn.Module):
    heads: int = 4

    @nn.compact
    def __call__(self, q, k, v):
        """q: (b, t, heads, d), k: (b, s, heads, d), v: (b, s, heads, d)"""
        return nn.dot_product_attention(q, k, v)  # (b, t, heads, d)

class Turned(nn.Module):
    heads: int = 4

    @nn.compact
    def __call__(self, q, k, v):
        """
        q: (b, t, heads, d)  ~unreached
        k: (b, s, heads, d)  ~unreached
        v: (b, s, heads, d)  ~unreached
        """
        return nn.dot_product_attention(q, k.swapaxes(1, 2), v) ~SC305
''',
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_variables_and_fields_say(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected
