"""Checks by which code says itself which sizes of its arguments are equal: what runs only so is evaluated so."""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import jax.numpy as jnp
import math
from jaxtyping import Array, Float

"""

CASES = {
    "shapes.py": '''
def parts(x, w):
    """
    Args:
        x: of shape (n, d).
        w: of shape (m, k).
    Returns:
        array of shape (n, k).  ~SC207
    """
    if x.shape[1:] != w.shape[:1]:
        raise ValueError("these do not go together")
    return (x @ w).T
''',
    "asserted.py": '''
def mask(x, mask):
    """
    Args:
        x: of shape (b, t, d).
        mask: of shape (n, s).
    Returns:
        array of shape (t, b, d).  ~SC207
    """
    assert mask.shape == x.shape[:2], "mask does not fit"
    return x * mask[..., None]
''',
    # One more, a product of integers, what is counted: the message of the error says none of the numbers.
    "computed.py": '''
def steps(points, values):
    """
    Args:
        points: of shape (n,).
        values: of shape (m, d).
    Returns:
        array of shape (m, d).  ~SC207
    """
    if values.shape[0] != points.shape[0] + 1:
        raise ValueError("there must be one value more")
    return (values[1:] - values[:-1]) / points[:, None]

def pixels(x, h: int = 4, w: int = 6):
    """
    Args:
        x: of shape (b, p).
    Returns:
        array of shape (b, w, h).  ~SC207
    """
    b, p = x.shape
    if p != h * w:
        raise ValueError("wrong number of pixels")
    return x.reshape(b, h, w)

def split(packed, num_keys: int = 4, key_dim: int = 32, value_dim: int = 128):
    """
    Args:
        packed: of shape `(..., M*(key_dim + value_dim))`.
    Returns:
        array of shape `(..., M, value_dim)`.  ~SC207
    """
    keys = num_keys * key_dim
    if packed.shape[-1] != keys + num_keys * value_dim:
        raise ValueError("last dim")
    return packed[..., keys:].reshape(*packed.shape[:-1], value_dim, num_keys)

def whole(x, y):
    """
    Args:
        x: of shape (n, d).
        y: of shape (k,).
    Returns:
        array of shape (d, n).  ~SC207
    """
    if math.prod(x.shape) != y.size:
        raise ValueError("as many")
    return x + y.reshape(x.shape)
''',
    # Parts of a condition, rows of comparisons, and what the argument is converted to.
    "several.py": """
def several(a: Float[Array, "n d"], b: Float[Array, "m d"], c: Float[Array, "k e"]):
    if not (a.shape[0] == b.shape[0] == c.shape[0]):
        raise ValueError("rows")
    return (a.T @ b) @ (a.T @ c)  # (e, d)  ~SC201

def converted(x: Float[Array, "n d"], y: Float[Array, "m"]):
    x = jnp.asarray(x)
    n, d = x.shape
    if y.ndim != 1 or len(y) != n:
        raise ValueError("shapes")
    return y @ x  # (n,)  ~SC201

def each(arrays: list[Float[Array, "n d"]], w: Float[Array, "m"]):
    for array in arrays:
        if array.shape[0] != w.shape[0]:
            raise ValueError("lengths")
    return jnp.stack([w @ array for array in arrays]).sum(0)  # (n,)  ~SC201
""",
    "helper.py": """
def _check(x, y):
    if x.shape[0] != y.shape[0]:
        raise ValueError("one label a row")

def checked(x: Float[Array, "n d"], y: Float[Array, "m"]):
    _check(x, y)
    return y @ x  # (n,)  ~SC201

class Layer(eqx.Module):
    weight: Float[Array, "out d"]

    def __call__(self, x: Float[Array, "b k"]) -> Float[Array, "out b"]:  # ~SC203
        if x.shape[-1] != self.weight.shape[-1]:
            raise ValueError("features")
        return x @ self.weight.T
""",
    # What was computed and does not fit may be a mistake: nobody says that the sizes are equal.
    "open.py": """
def made(q: Float[Array, "b t d"], k: Float[Array, "b s d"]):  # ~unreached ~unreached
    scores = jnp.einsum("btd,bsd->bst", q, k)
    if scores.shape[1] != q.shape[1]:
        raise ValueError("scores do not fit")  # ~SC302
    return scores

def rebound(x: Float[Array, "n d"], w: Float[Array, "m d"]) -> Float[Array, "n m"]:  # ~unreached ~unreached ~unreached
    x = x.T
    if x.shape[0] != w.shape[0]:
        raise ValueError("x and w do not fit")  # ~SC302
    return x.T @ w

def _check(x, y):
    if x.shape[0] != y.shape[0]:
        raise ValueError("one label a row")  # ~SC302

def handed_on(x: Float[Array, "n d"], y: Float[Array, "m"]) -> Float[Array, "n"]:  # ~unreached ~unreached ~unreached
    _check(x.T, y)
    return x @ y
""",
    # A check in words that are not read asks for equal sizes all the same: no other shape is meant than is written.
    "words.py": '''
def sets(a, b):
    """
    Args:
        a: of shape (n, d)  ~unreached
        b: of shape (m, e)  ~unreached
    """
    if len({a.shape[0], b.shape[0]}) != 1:
        raise ValueError("rows")  # ~SC302
    return a.T @ b
''',
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_checks_of_arguments(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected


def test_the_message_has_the_sizes_of_both_sides(folder) -> None:
    (made,) = (each for each in folder.cases["open.py"].findings if "open:made" in each.message)
    assert "scores do not fit (scores.shape[1] != q.shape[1], where scores.shape[1] = " in made.message
