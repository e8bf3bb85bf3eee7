"""A relation of sizes that no name says, but every caller of a function keeps to."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

"""
INTERIOR = """
def smooth(delta: Float[Array, "T d"], metric: Float[Array, "Tin Tin"]) -> Float[Array, "T d"]:
    interior = delta[1:-1]  # [Tin, d]
    return jnp.concatenate([delta[:1], jnp.linalg.solve(metric, interior), delta[-1:]], axis=0)
"""

CASES = {
    # Whoever calls it gives a metric of two steps less.
    "called.py": INTERIOR
    + """
def metric_of(n: int, reg: float) -> Float[Array, "Tin Tin"]:
    return (1.0 + reg) * jnp.eye(n - 2)

def update(delta: Float[Array, "T d"]) -> Float[Array, "T d"]:
    return smooth(delta, metric_of(delta.shape[0], 0.1))
""",
    # Of a function that nobody calls the comment says so.
    "alone.py": INTERIOR,
    # Nobody says so: a note tells of the relation.
    "unsaid.py": """
def smooth(delta: Float[Array, "T d"], metric: Float[Array, "Tin Tin"]) -> Float[Array, "T d"]:  # ~unreached
    return jnp.concatenate([delta[:1], jnp.linalg.solve(metric, delta[1:-1]), delta[-1:]], axis=0)  # ~SC305
""",
    # A caller with one size for both names does not show that they may differ.
    "equal.py": """
def weights(q: Float[Array, "q d"], k: Float[Array, "k d"]) -> Float[Array, "q k"]:
    return (q @ k.T) * (k @ q.T)  # ~SC305

def attend(x: Float[Array, "t d"]) -> Float[Array, "t t"]:
    return weights(x, x)
""",
    # No name tells which of any number of axes an argument goes along; that two names are apart is told.
    "along.py": """
def permuted(x: Float[Array, "n"], order: Int[Array, "n"]) -> Float[Array, "n"]:
    return x[order]

def permute(x: Float[Array, "*shape"], order: Int[Array, "n"], axis: int) -> Float[Array, "*shape"]:
    return jnp.apply_along_axis(lambda row: permuted(row, order), axis, x)
""",
    "apart.py": """
def permuted(x: Float[Array, "n"], order: Int[Array, "n"]) -> Float[Array, "n"]:  # ~SC202
    return x[order]

def permute(x: Float[Array, "k"], order: Int[Array, "n"]) -> Float[Array, "k"]:  # ~SC203
    return permuted(x, order)
""",
    # Who calls it gives an axis of one, which stands for none; an integer that was made up does not come to its end.
    "of_one.py": """
def _scaled(x: Float[Array, "n"], rows: Float[Array, "out_ch in_ch width"], factor: int, of: int):
    grid = jnp.broadcast_to(x[:, None], (x.shape[0], 4))
    y = jax.lax.conv_general_dilated(grid[:, None, :], rows, (1,), "SAME")
    return y[..., 0] * (factor % (factor // of))

def scaled(x: Float[Array, "n"], weights: Float[Array, "m width"]):
    return _scaled(x[: int(x.shape[0])], weights[:, None], 4, 2)
""",
    # Nobody does: it runs with one alone, also if what was made up ends it later.
    "alone_of_one.py": """
def _scaled(x: Float[Array, "n"], rows: Float[Array, "out_ch in_ch width"], factor: int, of: int):  # ~unreached
    grid = jnp.broadcast_to(x[:, None], (x.shape[0], 4))
    y = jax.lax.conv_general_dilated(grid[:, None, :], rows, (1,), "SAME")  # ~SC305
    return y[..., 0] * (factor % (factor // of))
""",
    # A default of a caller is no reason why it should be two.
    "default.py": """
def spread(x: Float[Array, "n k"]) -> Float[Array, "n k"]:
    return x * jnp.ones((x.shape[0], 2))  # ~SC305

def both(x: Float[Array, "n"], k: int = 2) -> Float[Array, "n k"]:
    return spread(jnp.stack([x] * k, axis=1))
""",
    # What is false of the result is false for a caller, too.
    "false.py": """
def late(delta: Float[Array, "T d"], metric: Float[Array, "Tin Tin"]) -> Float[Array, "T d"]:  # ~SC203
    return jnp.linalg.solve(metric, delta[1:-1])  # ~SC305

def update(delta: Float[Array, "T d"]) -> Float[Array, "T d"]:  # ~SC203
    return late(delta, jnp.eye(delta.shape[0] - 2))
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_how_it_is_called_says_which_sizes_belong_together(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected, case.details


SQUARE = '''
import jax.numpy as jnp


def documented(A, B):
    """Multiply.

    Args:
        A: Array of shape ``(m, k)``.
        B: Array of shape ``(k, n)``.

    Returns:
        Array of shape ``(m, n)``.
    """
    return A @ B.T  # ~SC305
'''
SQUARES_ALONE = """
import jax.numpy as jnp
from square import documented


def test_documented():
    assert documented(jnp.ones((3, 3)), jnp.ones((3, 3))).shape == (3, 3)
"""


def test_a_test_with_equal_sizes_hides_nothing(check_folder) -> None:
    folder = check_folder({"square.py": SQUARE, "test_square.py": SQUARES_ALONE})
    assert folder.cases["square.py"].actual == folder.cases["square.py"].expected
