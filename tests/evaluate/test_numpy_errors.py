"""NumPy's own shape errors, where no value of an argument has to do with them, are errors of the code."""

from __future__ import annotations

import pytest

HEAD = """
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

"""

CASES = {
    "wrong.py": '''
def centred(samples: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Centre.

    Args:
        samples: (n_samples, n_nodes) values ~unreached
        ids: (n_edges,) source node of each edge ~unreached

    Returns:
        (n_samples, n_edges) values ~unreached
    """
    found = np.asarray(samples)[:, np.asarray(ids, int)]
    return found - found.mean(axis=1) ~SC305

def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply.

    Args:
        a: (n, 3) points ~unreached
        b: (m, 3) others ~unreached

    Returns:
        (n, m) products ~unreached
    """
    return np.asarray(a) @ np.asarray(b) ~SC305
''',
    "right.py": '''
def centred(samples: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Centre.

    Args:
        samples: (n_samples, n_nodes) values
        ids: (n_edges,) source node of each edge

    Returns:
        (n_samples, n_edges) values
    """
    found = np.asarray(samples)[:, np.asarray(ids, int)]
    return found - found.mean(axis=0)
''',
    # how many labels differ is no size of an argument, and what is raised by the code's own checks is none of NumPy's
    "values.py": '''
def counted(labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Scale.

    Args:
        labels: (n,) of which m differ ~unreached
        rows: (m, d) one for each label ~unreached

    Returns:
        (m, d) rows ~unreached
    """
    return np.asarray(rows) * np.unique(np.asarray(labels))[:, None] ~SC302

def distinct(ids: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Choose.

    Args:
        ids: (n,) places, each once
        rows: (m, d) rows

    Returns:
        (n, d) rows ~unreached
    """
    found = np.unique(np.asarray(ids)) ~SC302
    return np.asarray(rows)[found]

def refused(rows: np.ndarray, width: int) -> np.ndarray:
    """Keep.

    Args:
        rows: (m, d) rows ~unreached

    Returns:
        (m, d) rows ~unreached
    """
    rows = np.asarray(rows) ~SC302
    if rows.sum() != width:
        raise ValueError("operands could not be broadcast together with what is asked for")
    return rows
''',
    "unpacked.py": """
def sums(x: Float[Array, "3"]) -> Float[Array, ""]: ~unreached
    a, b, c, d = x ~SC301
    return a + b + c + d

def row(x: Float[Array, "n 3"], i: int): ~unreached
    a, b = x[i] ~SC301
    return a + b

def picked(x: Float[Array, "n 3"], rows: Int[Array, "k"]): ~unreached
    a, b, c = x[rows] ~SC305
    return a + b + c

def columns(x: Float[Array, "n 3"], rows: Int[Array, "k"]) -> Float[Array, "k"]:
    a, b, c = x[rows].astype(float).T
    return a + b + c

def listed(xs: list[Float[Array, "n 3"]]): ~unreached
    a, b, c = xs[:3] ~SC302
    return a + b + c

def pair(x: Float[Array, "2 n"]) -> Float[Array, "n"]:
    a, b = x
    return a + b

class Normal:
    def __repr__(self):
        return "Normal(batch_shape=[3])"

def of_no_array(x: Float[Array, "n"]) -> Float[Array, "n"]: ~unreached
    return x + jnp.sin(Normal()) ~SC302

def lower(x: Float[Array, "b n"]) -> Float[Array, "b n n"]: ~unreached
    return jnp.tril(jnp.einsum("bn->b", x)) ~SC301
""",
}


@pytest.fixture(scope="module")
def checked(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()}).cases


@pytest.mark.parametrize("name", CASES)
def test_what_fits_no_size_is_found_and_what_values_decide_is_not(checked, name: str) -> None:
    assert checked[name].expected == checked[name].actual, checked[name].details
