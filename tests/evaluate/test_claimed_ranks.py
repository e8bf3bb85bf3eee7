"""What claims say of numbers of axes, where nothing else says how many an argument has."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

"""

CASES = {
    "made.py": """
def symmetric(a):
    s = (a + a.T) / 2  # (n, n)
    return s.sum(0)  # (n,)

def gram(x):
    return x @ x  # (n, n)

def laplacian(adj):
    deg = adj.sum(1)  # (n,)
    return jnp.diag(deg) - adj  # (n, n)

def quadratic(m, x):
    y = x @ m @ x  # ()
    z = m @ x  # (d,)
    return y + z.sum()

def scores(q, k):
    s = q @ k.T  # (t, s)
    return s / s.sum(axis=-1, keepdims=True)  # (t, s)
""",
    # two names for what the code needs equal hold of nothing, however many axes are made
    "square.py": """
def centred(x):
    x = x - x.mean(axis=1)  # (b, c)  ~unreached
    return x * 2  # (b, c)  ~unreached

def scores(q, k):
    s = q @ k.T  # (t, s)  ~unreached
    return s / s.sum(axis=-1)  # (t, s)  ~unreached
""",
    # of an annotated argument any number of axes counts
    "variadic.py": """
def mapped(x: Float[Array, "*batch d"], w) -> Float[Array, "b k"]:  ~unreached
    return x @ w
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_claims_say_how_many_axes_there_are(folder, name: str) -> None:
    assert folder.cases[name].as_marked()
