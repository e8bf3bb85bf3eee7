"""What tests call with one number of axes alone is evaluated with others, where its claims leave that open."""

from __future__ import annotations

import pytest

MODULE = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

class Norm(eqx.Module):
    weight: Float[Array, "dim"]

    def __init__(self, dim: int):
        self.weight = jnp.ones(dim)

    def __call__(self, x: Float[Array, "... dim"]) -> Float[Array, "... dim"]:
        return self.weight * x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1)) ~SC305

class Kept(eqx.Module):
    weight: Float[Array, "dim"]

    def __init__(self, dim: int):
        self.weight = jnp.ones(dim)

    def __call__(self, x: Float[Array, "... dim"]) -> Float[Array, "... dim"]:
        return self.weight * x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True))

def scaled(x: Float[Array, "*batch dim"]) -> Float[Array, "*batch dim"]:
    return x / x.sum(-1) ~SC305

def kept(x: Float[Array, "*batch dim"]) -> Float[Array, "*batch dim"]:
    return x / x.sum(-1, keepdims=True)

# its tests call it with none and with one: all that is left open was tried
def both(x: Float[Array, "*batch dim"]) -> Float[Array, "*batch dim"]:
    return x.reshape(-1, x.shape[-1]).reshape(x.shape)

# what a function is given that nobody describes may be for one vector alone
def helped(x: Float[Array, "*batch dim"], scale) -> Float[Array, "*batch dim"]:
    return x / scale(x)
"""
TESTS = """
import jax
import jax.numpy as jnp
import ranks as m

def test_vectors():
    for norm in (m.Norm(5), m.Kept(5)):
        assert jax.vmap(norm)(jnp.ones((3, 5))).shape == (3, 5)
        norm(jnp.ones((1, 5)))  # one example broadcasts, whatever is wrong

def test_functions():
    for function in (m.scaled, m.kept):
        assert function(jnp.ones(5)).shape == (5,)
    m.both(jnp.ones(5))
    m.both(jnp.ones((3, 5)))
    m.helped(jnp.ones(5), lambda x: x.sum(-1))
"""


@pytest.fixture(scope="module")
def checked(check_folder):
    config = '[tool.pytest.ini_options]\npythonpath = ["."]\n'
    return check_folder({"ranks.py": MODULE, "tests/test_ranks.py": TESTS}, config)


def test_other_numbers_of_axes_are_tried(checked) -> None:
    assert checked.cases["ranks.py"].expected == checked.cases["ranks.py"].actual, checked.cases["ranks.py"].details
