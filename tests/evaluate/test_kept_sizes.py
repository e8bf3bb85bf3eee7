"""What a test gives an instance, or hands over as it is, has sizes that other arguments have to follow."""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

"""

CASES = {
    # What is cut and joined again is as long as the instance was made for, of whatever it is cut.
    "test_joined.py": """
class Parts(eqx.Module):
    dims: tuple[int, ...] = eqx.field(static=True)

    def doubled(self, x: Float[Array, "... D"]) -> Float[Array, "... D"]:
        n, m = self.dims
        return jnp.concatenate([2 * x[..., :n], x[..., n : n + m]], axis=-1)

    def turned(self, x: Float[Array, "n D"]) -> Float[Array, "n D"]:  # ~SC203
        n, m = self.dims
        return jnp.concatenate([2 * x[..., :n], x[..., n : n + m]], axis=-1).T

def test_parts():
    parts = Parts((4, 8))
    parts.doubled(jnp.ones(12))
    parts.turned(jnp.ones((5, 12)))
""",
    # There are as many nodes as the edges speak of.
    "test_edges.py": """
class Graph(eqx.Module):
    features: Float[Array, "n d"]
    incidence: Float[Array, "n m"]

def graph(edges, features: Float[Array, "n d"]) -> Graph:
    number = max(v for e in edges for v in e) + 1
    return Graph(features, jnp.zeros((number, len(edges))))

def test_graph():
    graph([(0, 1, 2), (3, 4), (4, 5)], jnp.ones((6, 2)))
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_follows_sizes_that_stay(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected, case.details
