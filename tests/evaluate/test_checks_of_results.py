"""A check in the code of what it computed, which fails for all arguments as they are documented, is a shape error."""

from __future__ import annotations

import pytest

HEAD = """
import chex
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
"""

CASES = {
    "asserts.py": """
def twice(x: Float[Array, "n h d"]):
    y = jnp.concatenate([x, x], axis=0)
    assert y.shape == x.shape ~SC301
    return y

def kept(x: Float[Array, "n h d"]):
    shape = x.shape
    x = jnp.concatenate([x, x], axis=-1)
    assert x.shape == shape ~SC301
    return x

def rows(x: Float[Array, "n h d"]):
    y = jnp.concatenate([x, x], axis=0)
    if len(y) != x.shape[0]:
        raise ValueError("as many rows")  ~SC301
    return y

def axes(x: Float[Array, "n h d"]):
    y = x.sum(0)
    assert y.ndim == 3 ~SC301
    return y

def right(x: Float[Array, "n h d"]):
    y = jnp.concatenate([x[:1], x[1:]], axis=0)
    assert y.shape == x.shape and y.ndim == 3
    return y
""",
    "of_chex.py": """
def equal(x: Float[Array, "n h d"]):
    y = jnp.concatenate([x, x], axis=0)
    chex.assert_equal_shape([x, y]) ~SC301
    return y

def like(x: Float[Array, "n h d"]):
    y = jnp.concatenate([x, x], axis=0)
    chex.assert_shape(y, x.shape) ~SC301
    return y

def trees(x: Float[Array, "n h d"]):
    y = jnp.concatenate([x, x], axis=0)
    chex.assert_trees_all_equal_shapes(y, x) ~SC301
    return y

def ranks(x: Float[Array, "n h d"]):
    y = x.sum(0)
    chex.assert_rank([x, y], 3) ~SC301
    return y

def told_once(x: Float[Array, "n h d"]):
    n, h, d = x.shape
    y = jnp.concatenate([x, x], axis=0)
    chex.assert_shape(y, (n, h, d)) ~SC208
    return y

def right(x: Float[Array, "n h d"]):
    y = 2 * x
    chex.assert_equal_shape([x, y])
    chex.assert_rank([x, y], 3)
    return y
""",
    # sizes that meet a check are what it asks callers for: equal ones, multiples, what a constructor is given
    "met.py": """
def gram(x: Float[Array, "n d"], y: Float[Array, "m d"]):
    z = x @ y.T
    assert z.shape[1] == x.shape[0]
    return z

def fourths(x: Float[Array, "n d"]):
    y = x[::16]
    assert 16 * y.shape[0] == x.shape[0]
    return y

def points(x: Float[Array, "n d"]):
    y = 2 * x
    assert y.shape[-1] == 3
    return y

class Residual(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, in_size: int, out_size: int, *, key):
        self.linear = eqx.nn.Linear(in_size, out_size, key=key)

    def __call__(self, x: Float[Array, "n d"]):
        y = jax.vmap(self.linear)(x)
        assert y.shape == x.shape
        return x + y
""",
    # what nobody describes may have any shape
    "made_up.py": """
def beside(x: Float[Array, "n d"], y):
    z = jnp.add(x, 0 * y)
    assert z.shape == x.shape
    return z

def doubled(x: Float[Array, "n d"], mapping):
    z = mapping(x)
    assert z.shape[0] == 2 * x.shape[0]
    return z
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_a_check_that_nothing_meets_is_told(folder, name) -> None:
    case = folder.cases[name]
    errors = [mark for mark in case.actual if mark[1] not in ("unreached", "SC302")]
    assert errors == case.expected, case.details


def test_the_finding_has_what_was_checked(folder) -> None:
    finding = folder.cases["asserts.py"].findings[0]
    assert finding.message.startswith("what this checks does not fit: AssertionError: assert y.shape == x.shape")
