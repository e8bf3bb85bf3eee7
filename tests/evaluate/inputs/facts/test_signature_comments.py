"""A comment at the beginning of a function may say what it takes and gives: `# x: (n, d), y: (m, d) -> (n, n)`."""

from __future__ import annotations

import pytest

HEAD = """
import jax.numpy as jnp
from jaxtyping import Array, Float
"""

CASES = {
    "returns.py": """
def summed(x: Float[Array, "b t"]):
    # returns: (b,)
    y = x * 2
    return y.sum(1)

def wrong(x: Float[Array, "b t"]):
    # returns: (b,)  ~SC201
    y = x * 2
    return y.sum(0)

def several(x: Float[Array, "b t"]):
    # returns: (b,), and the rest  ~tentative
    y = x * 2
    return y.sum(1), y

def several_wrong(x: Float[Array, "b t"]):
    # returns: (b,), and the rest  ~tentative
    y = x * 2
    return y.sum(0), y
""",
    "given.py": """
def gram(x: Float[Array, "n d"], y: Float[Array, "m d"]):
    # x: (n, d), y: (m, d) -> (n, n)
    d = x @ y.T

    e = d @ d.T
    scale = jnp.sum(x)
    return e * scale

def transposed(x: Float[Array, "n d"], y: Float[Array, "m d"]):
    # x: (n, d), y: (m, d) -> (m, n)  ~SC201
    d = x @ y.T

    scale = jnp.sum(x)
    return d * scale

def swapped(x: Float[Array, "n d"], y: Float[Array, "m d"]):
    # x: (n, d), y: (d, m) -> (n, m)  ~SC201
    d = x @ y.T
    return d

def of_the_statement(x: Float[Array, "n d"]):
    # x: (n, d) -> (n, d)  ~SC201
    x = x.T
    return jnp.sum(x)
""",
    "described.py": """
def distances(x, y):
    # x: (n, d), y: (m, d) -> (n, m)
    d = jnp.linalg.norm(x[:, None] - y[None], axis=-1)  # (n, m)
    return d

def by_position(x, y):
    # (n, d), (m, d) -> (n, m)
    d = jnp.linalg.norm(x[:, None] - y[None], axis=-1)  # (n, m)
    return d
""",
    # in another order it is nobody's mistake
    "order.py": """
def by_position(x: Float[Array, "n d"], y: Float[Array, "m k d"]):
    # (m, k, d), (n, d) -> (m, k, n)
    return jnp.einsum("mkd,nd->mkn", y, x)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", ["given.py", "described.py", "returns.py"])
def test_what_functions_take_and_give(folder, name):
    assert folder.cases[name].as_marked()


def test_an_order_that_nobody_says_accuses_nobody(folder):
    assert not folder.cases["order.py"].findings
