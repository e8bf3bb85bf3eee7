"""What is said of some arguments is not held against others: of other ranks, of parts, of made-up instances."""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from typing import Union
from jaxtyping import Array, Bool, Float

"""

CASES = {
    # What stands behind an arrow is what becomes of that in front of it.
    "arrows.py": '''
def mask(query, key, extra: int = 0):
    """A `[batch, 1, len_q, len_k]` shaped mask for 1d attention."""
    both = jnp.multiply(
        # [batch, len_q] -> [batch, len_q, 1]
        jnp.expand_dims(query, axis=-1),
        # [batch, len_k] -> [batch, 1, len_k]
        jnp.expand_dims(key, axis=-2))
    return jnp.expand_dims(both, axis=(-3, *range(extra)))

def wrong(query, len_q):
    """query: (batch, len_q)"""
    # [batch, len_q] -> [batch, len_q, 1]  ~SC201
    return jnp.expand_dims(query, axis=1)

def planes():
    x = jnp.ones((3, 3, 5))
    return mask(x, x, extra=2)

if __name__ == "__main__":
    planes()
''',
    # What a docstring says for arrays of one rank, its function's comments say as well.
    "ranks.py": '''
def causal(x, extra: int = 0):
    """In case of 1d inputs (i.e. `[batch, len]`), the mask is of shape `[batch, 1, len, len]`.

    Args:
        x: input array of shape `[batch, len]`
    """
    # [batch, len, len]
    both = x[..., :, None] * x[..., None, :]
    return jnp.expand_dims(both, axis=(-3, *range(extra)))

def transposed(x):
    """In case of 1d inputs, `x` is of shape `[batch, len]`."""
    # [batch, len]  ~SC201
    y = x.T
    return y

if __name__ == "__main__":
    causal(jnp.ones((3, 3, 5)), extra=2)
    transposed(jnp.ones((3, 5)))
''',
    # The carry of a scan goes by the name of the parameter that it begins as.
    "carries.py": '''
def rollout(x0, us):
    """
    x0: (6,)
    us: (t, 2)
    """
    def body(x, u):
        x = x + jnp.tile(u, 3) * 0.1
        return x, x
    return jax.lax.scan(body, x0, us)[1]

def plan(x0, us):
    def improve(carry, _):
        xs, us = carry
        us = us + xs.T  # ~SC301
        return (rollout(xs[0], us), us), None

    (xs, us), _ = jax.lax.scan(improve, (rollout(x0, us), us), None, length=3)
    return xs  # (t, 6)  ~unreached
''',
    # That a scan refuses integers says nothing of what stands behind it.
    "kinds.py": '''
def rollout(x0, us):
    """
    x0: (6,)
    us: (t, 2)
    """
    def body(x, u):
        x = x + jnp.tile(u, 3) * 0.1
        return x, x
    return jax.lax.scan(body, x0, us)[1]

def plan(key, x0, us, samples: int = 32):
    # x0: (6,), us: (t, 2)  ~unreached
    each = us + jax.random.normal(key, (samples, *us.shape))
    xs = jax.vmap(rollout, in_axes=(None, 1))(x0, each)  # (samples, t, 6)  ~SC201
    return jax.vmap(jnp.dot)(xs[..., :2], each.swapaxes(1, 2))
''',
    # An array that nobody gives has no shape that could be wrong.
    "nothing.py": '''
def project(x, points=None, m=None):
    """
    Args:
        x: array of shape (n, d)  ~unreached
    """
    if points is not None:
        m = points.T
    return jnp.einsum("nd,dk->nk", x, m)  # ~SC302
''',
    # A word for all spatial axes, of which images and volumes have different numbers.
    "spatial.py": '''
def to_last(image):
    """
    Args:
        image: array of shape (batch, channels, spatial)

    Returns:
        array of shape (batch, spatial, channels)
    """
    return jnp.moveaxis(image, 1, -1)

def to_last_of_rows(rows):
    """
    Args:
        rows: array of shape (batch, channels, length)

    Returns:
        array of shape (batch, length, channels)  ~SC207
    """
    return jnp.moveaxis(rows, 1, 0)

def test_to_last():
    assert to_last(jnp.ones((5, 3, 8, 8))).shape == (5, 8, 8, 3)
''',
    # Of a union the member with the right shape is told, with what else is wrong.
    "unions.py": """
def attend(
    q: Float[Array, "n d"],
    mask: Union[None, Bool[Array, "n n"], Bool[Array, "heads n n"]] = None,  # ~SC206
) -> Float[Array, "n n"]:
    logits = q @ q.T
    return logits if mask is None else jnp.where(mask, logits, -1e9)

def causal(x: Float[Array, "t d"]) -> Float[Array, "t t"]:
    return attend(x, jnp.tril(jnp.ones((x.shape[0], x.shape[0]))))
""",
    # A dim may be named after what a part of the model holds.
    "parts.py": '''
def rotate(x, angles):
    """
    x: (..., t, head_dim)
    angles: (t, head_dim // 2)
    """
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    turned = pairs[..., 0] * jnp.broadcast_to(angles, pairs.shape[:-1])
    return jnp.stack([turned, pairs[..., 1]], -1).reshape(x.shape)

class Attention(eqx.Module):
    heads: int
    head_dim: int
    proj: eqx.nn.Linear

    def __init__(self, dim: int, heads: int, key):
        self.heads, self.head_dim = heads, dim // heads
        self.proj = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x, angles):
        """
        x: (t, dim)
        angles: (t, head_dim // 2)
        """
        t, _ = x.shape
        q = jax.vmap(self.proj)(x).reshape(t, self.heads, self.head_dim)
        return rotate(q.swapaxes(0, 1), angles)

class Block(eqx.Module):
    attention: Attention

    def __init__(self, dim: int, heads: int, key):
        self.attention = Attention(dim, heads, key)

    def __call__(self, x, angles):
        """
        x: (s, dim)
        angles: (s, head_dim // 2)
        """
        return self.attention(x, angles)  # (heads, s, head_dim)
''',
    # Who gives a model and sizes gives such as fit.
    "integers.py": '''
class Net(eqx.Module):
    conv: eqx.nn.Conv2d

    def __init__(self, channels: int = 3, key=None):
        self.conv = eqx.nn.Conv2d(channels, channels, 3, padding=1, key=key)

    def __call__(self, x):
        """
        x: (channels, h, w)
        """
        y = self.conv(x) ~SC302
        return y  # (channels, h, w)

def sample(model: Net, key, shape: tuple[int, int, int]):
    x = jax.random.normal(key, shape)
    y = model(x)  # (channels, h, w)  ~unreached
    return y

def sample_square(model: Net, key, n: int, side: int):
    x = jax.random.normal(key, (n, side, side))
    y = model(x)  # (n, side, side)  ~unreached
    return y
''',
    # The code itself writes what comes behind.
    "leading.py": """
def tile(experience, b: int, t: int):
    # Broadcast to [b, t]
    tiled = jax.tree.map(lambda x: jnp.broadcast_to(x, (b, t, *x.shape)), experience)
    return tiled

def test_tile():
    tile({"x": jnp.zeros(3), "y": jnp.zeros((4, 5))}, 6, 7)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_other_arguments(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected
