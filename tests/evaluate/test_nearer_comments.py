"""Of two comments on one value the one behind the statement counts, where it holds: the other may tell of a step."""

from __future__ import annotations

CODE = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def convolved(patches: Float[Array, "b n k"], kernel: Float[Array, "k c"]):
    # Flatten the images: (b*n, k)
    flat = patches.reshape(-1, patches.shape[-1])
    # Linear: (k,) -> (c,)  ~unreached
    out = flat @ kernel  # (b*n, c)
    return out


def wrong(patches: Float[Array, "b n k"], kernel: Float[Array, "k c"]):
    # Linear: (k,) -> (c,)  ~SC201
    out = patches @ kernel  # (b, c, n)  ~SC201
    return out


def at_the_head(patches: Float[Array, "b n k"], kernel: Float[Array, "k c"]):
    # -> (b, c)  ~SC201
    flat = patches.sum(1)  # (b, k)
    return (flat @ kernel).T
"""


def test_the_nearer_comment_counts(check_folder) -> None:
    folder = check_folder({"nearer.py": CODE})
    assert folder.cases["nearer.py"].as_marked()
