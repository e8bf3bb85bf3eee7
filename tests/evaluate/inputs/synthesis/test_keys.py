"""Random keys that nobody gave: the code says whether it wants one, and of which kind."""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Key, PRNGKeyArray, UInt32
"""

CASES = {
    # None is legal, and a key is not.
    "left_out.py": """
def refused(x: Float[Array, "b d"], rng=None) -> Float[Array, "b"]:
    if rng is not None:
        raise NotImplementedError("no sampling yet")
    return x.sum(-1)  # (b,)

def column(table: Float[Array, "n d"], key=None) -> Float[Array, "d"]:  ~SC203
    if key is None:
        return table.sum(-1)
    return table[key + "x"]

def several(x: Float[Array, "b d"], keys=None) -> Float[Array, "b d"]:
    if keys is not None:
        x = x + jax.vmap(lambda k: jr.normal(k, x.shape[1:]))(keys)
    return x

def of_attention(query: Float[Array, "q d"], key=None) -> Float[Array, "q q"]:
    return query @ (query if key is None else key).T

class Plain(eqx.Module):
    w: Float[Array, "d"]
    def __init__(self, d: int, key=None):
        assert key is None
        self.w = jnp.ones(d)
    def __call__(self, x: Float[Array, "b d"], *, key: PRNGKeyArray | None = None) -> Float[Array, "b"]:
        return x @ self.w
""",
    # That a key is of one of two kinds leaves no shape of an array open.
    "annotated.py": """
def spread(key: PRNGKeyArray, near: Float[Array, "rays"], n: int) -> Float[Array, "rays n"]:  ~unreached
    return near + jr.uniform(key, (near.shape[0], n))  ~SC305

def spread_well(key: PRNGKeyArray, near: Float[Array, "rays"], n: int) -> Float[Array, "rays n"]:
    return near[:, None] + jr.uniform(key, (near.shape[0], n))
""",
    # What an annotation or docstring calls a key may be no random one.
    "no_random_key.py": """
def attend(query: Float[Array, "q d"], key: Float[Array, "k d"] | None = None) -> Float[Array, "q q"]:
    return query @ query.T

def named(x: Float[Array, "b d"], key: str | None = None) -> Float[Array, "b d"]:
    return x if key is None else x * len(key)

def in_docstring(x: Float[Array, "b d"], key=None):
    '''Multiply.

    Args:
        key: array of shape (k, d).
    '''
    return x if key is None else x @ key.T  # (b, d)  ~SC201
""",
    # With a key it runs, so that all of it is seen.
    "given.py": """
def noisy(x: Float[Array, "b d"], key: PRNGKeyArray | None = None) -> Float[Array, "b d"]:
    if key is not None:
        noise = jr.normal(key, x.shape)  # (d, b)  ~SC201
        x = x + noise
    return x

def broken(x: Float[Array, "b 4"], key=None) -> Float[Array, "b"]: ~unreached
    if key is not None:
        x = x @ jnp.ones((5, 2))  ~SC301
    return x.sum(-1)

class Dropped(eqx.Module):
    drop: eqx.nn.Dropout
    def __init__(self):
        self.drop = eqx.nn.Dropout(0.5)
    def __call__(self, x: Float[Array, "d"], *, key: PRNGKeyArray | None = None) -> Float[Array, "d"]:
        return self.drop(x, key=key)
""",
    "kinds.py": """
def new(x: Float[Array, "b d"], key=None) -> Float[Array, "b d"]:
    if key is not None:
        assert jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        noise = jr.normal(key, x.shape)  # (d, b)  ~SC201
    return x

def old(x: Float[Array, "b d"], key: PRNGKeyArray) -> Float[Array, "b"]:
    assert key.dtype == jnp.uint32
    return x.sum(-1)

def declared(x: Float[Array, "b d"], *, rng: Key[Array, ""] | None = None) -> Float[Array, "b d"]:
    return x + jr.normal(rng, x.shape)

def one_for_each(x: Float[Array, "b d"], keys: Key[Array, "b"] | None = None) -> Float[Array, "b d"]:
    return x + jax.vmap(lambda k: jr.normal(k, x.shape[1:]))(keys)

def split_new(x: Float[Array, "b d"], key: PRNGKeyArray):
    keys = jr.split(key, x.shape[0])  # (b,)

def split_old(x: Float[Array, "b d"], key):
    keys = jr.split(key, x.shape[0])  # (b, 2)

def split_optional(x: Float[Array, "b d"], key=None):
    keys = jr.split(key, x.shape[0])  # (b,)

def split_wrong(x: Float[Array, "b d"], key):
    keys = jr.split(key, x.shape[0])  # (d,)  ~SC201
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_keys_are_given_where_they_are_wanted(folder, name: str) -> None:
    assert folder.cases[name].as_marked()


ATTENTION = """
import jax
import jax.numpy as jnp


def attend(queries: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
    b, s, d = queries.shape
    b, t, d = keys.shape
    b, t, d = values.shape
    scores = jnp.einsum("bsd,btd->bst", queries, keys)  # (b, s, t)
    return scores @ values  # (b, s, d)


def attend_alike(queries, keys, values):
    assert queries.shape == keys.shape == values.shape
    b, s, d = queries.shape
    scores = jnp.einsum("bsd,btd->bst", queries, keys)  # (b, s, s)
    return scores @ values  # (b, s, d)


def attend_wrongly(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    b, s, d = query.shape
    b, t, d = key.shape
    b, t, d = value.shape
    scores = jnp.einsum("bsd,btd->bst", query, key)  # (b, t, s)  ~SC201
    return scores @ value  # (b, s, d)
"""


def test_keys_beside_queries_are_no_random_keys(check_folder) -> None:
    marked = check_folder({"attention.py": ATTENTION}).cases["attention.py"]
    assert marked.actual == marked.expected, marked.details


CACHE = """
from typing import NamedTuple
import jax
import jax.numpy as jnp


class Layer(NamedTuple):
    keys: jax.Array | None
    values: jax.Array | None


def extend(layer: Layer, *, keys: jax.Array, values: jax.Array):
    \"\"\"Args:
    keys: array of shape (batch, n, d)
    values: array of shape (batch, n, d)
    \"\"\"
    return _join(layer.keys, keys), _join(layer.values, values)


def _join(cached, new):
    return new if cached is None else jnp.concatenate([cached, new], axis=-2)
"""


def test_keys_beside_values_are_those_of_a_cache(check_folder) -> None:
    marked = check_folder({"cache.py": CACHE}).cases["cache.py"]
    assert "SC301" not in {code for _, code in marked.actual}, marked.details
