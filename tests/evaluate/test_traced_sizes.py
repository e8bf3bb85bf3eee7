"""Arrays in the place of sizes: JAX wants a value there, and no other shape."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

"""

CASES = {
    # So many keys as an array says: with a value there it goes on.
    "keys.py": """
def added(x: Float[Array, "n d"], layers: Int[Array, ""]) -> Float[Array, "n d"]:
    keys = jax.random.split(jax.random.key(0), layers)
    return x + keys.shape[0]

def turned(x: Float[Array, "n d"], layers: Int[Array, ""]) -> Float[Array, "n d"]:  ~SC203
    keys = jax.random.split(jax.random.key(0), layers)
    return (x + keys.shape[0]).T
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_needs_a_value_is_no_shape_error(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected, case.details
