"""Fields of records of which nothing is said: what is guessed of them accuses no function that they are handed to."""

from __future__ import annotations

import pytest

HEAD = """
import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Num

"""

CASES = {
    # That an array is an index in one place makes no integers of those beside it.
    "dtypes.py": """
class Input(eqx.Module):
    substrates: Array
    products: Array
    constants: Array

def ratio(
    substrates: Float[Array, "n_substrate"], products: Float[Array, "n_product"], constants: Float[Array, "n_substrate"]
) -> Float[Array, ""]:
    return jnp.prod(substrates / constants) + jnp.prod(products)

def rate(conc: Float[Array, "n"], given: Input) -> Float[Array, ""]:
    return ratio(conc[given.substrates], conc[given.products], given.constants)
""",
    # Whoever takes one says how many axes it has, if only behind `...`.
    "axes.py": '''
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Tree:
    left: jax.Array
    boxes: jax.Array

def hits(origin: jax.Array, box: jax.Array):
    """
    Args:
        origin: of shape (..., 3)
        box: of shape (..., 2, 3)
    """
    return ((origin >= box[..., 0, :]) & (origin <= box[..., 1, :])).all(axis=-1)

def found(tree: Tree, points: jax.Array):
    """
    Args:
        points: of shape (n, 3)
    """
    at = jnp.zeros(points.shape[0], dtype=int)
    return hits(points, tree.boxes[tree.left[at]])  # (n,)
''',
    # A number that a called function writes says nothing of what was computed of the caller's array.
    "numbers.py": """
def hat(x: Num[Array, "6"]) -> Num[Array, "3 2"]:  ~SC202
    return x.reshape(3, 2)

def moved(state: Num[Array, "6"]) -> Num[Array, "6"]:
    return 2 * state

def mean(samples: Num[Array, "n 6"]) -> Num[Array, "3 2"]:
    return hat(samples.mean(axis=0))

def wrong(samples: Num[Array, "n 6"]) -> Num[Array, "3 2"]:  ~unreached
    return hat(samples.mean(axis=1))

def each(states: Num[Array, "time k"]) -> Num[Array, "time k"]:
    return jnp.stack([moved(state) for state in states])
""",
    # Two blocks whose static parts cannot be compared are two.
    "static.py": """
class Block(eqx.Module):
    scale: jax.Array
    mask: jax.Array = eqx.field(static=True)

    def __init__(self, width: int, length: int):
        self.scale = jnp.ones(width)
        self.mask = jnp.tril(jnp.ones((length, length)))

    def __call__(self, x: Float[Array, "t width"]) -> Float[Array, "t width"]:
        t, _ = x.shape
        return self.mask[:t, :t] @ (x * self.scale)

class Model(eqx.Module):
    blocks: list

    def __init__(self, width: int, length: int, layers: int):
        self.blocks = [Block(width, length) for _ in range(layers)]

    def __call__(self, x: Float[Array, "t width"]) -> Float[Array, "t width"]:
        for block in self.blocks:
            x = block(x)
        return x

def test_model():
    assert Model(4, 8, 3)(jnp.ones((5, 4))).shape == (5, 4)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_a_guess_accuses_nobody_and_hides_nothing(folder, name: str) -> None:
    case = folder.cases[name]
    assert not folder.report.bugs
    assert case.actual == case.expected, case.details
