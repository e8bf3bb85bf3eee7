"""Loops that Python runs as often as a made-up integer says: that is small, wherever the loop is."""

from __future__ import annotations

import pytest

from shapecheck.evaluate.inputs.synthesis.real_values import TooExpensiveError
from shapecheck.evaluate.search.long_loops import LongLoops

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

"""

CASES = {
    # The loop is in a function that is handed the integer on.
    "trees.py": """
def edges(depth, width):
    return jnp.concatenate([jnp.arange(width) + i for i in range(2**depth)])

def smooth(depth: int, x: Float[Array, "width"]) -> Float[Array, "width"]:
    return x + edges(depth, x.shape[0])[: x.shape[0]]

def rough(depth: int, x: Float[Array, "width"]) -> Array:  ~unreached
    return x + edges(depth, x.shape[0])  ~SC301
""",
    # Or it is a function that calls itself, in the constructor of what a function takes.
    "domains.py": """
def leaves(level, place):
    if level == 0:
        return [jnp.full(3, place)]
    return leaves(level - 1, 2 * place) + leaves(level - 1, 2 * place + 1)

class Domain(eqx.Module):
    level: int
    points: Array

    def __init__(self, level: int):
        self.level = level
        self.points = jnp.stack(leaves(level, 0.0))

    def centre(self) -> Float[Array, "3"]:
        return self.points.mean(0)

    def lengths(self) -> Float[Array, "3"]:  ~SC203
        return jnp.linalg.norm(self.points, axis=0)[None]
""",
    # A default of thousands is kept as other defaults are, but for what takes so long.
    "trained.py": """
def step(x):
    for _ in range(20):
        x = jnp.tanh(x @ x)
    return x

def trained(x: Float[Array, "n n"], n_steps: int = 100_000) -> Float[Array, "n n"]:
    for _ in range(n_steps):
        x = step(x)
    return x
""",
    "splines.py": """
def basis(x: Float[Array, "n"], degree: int) -> Float[Array, "n"]:
    for d in range(1, degree + 1):
        for i in range(d * d):
            x = jnp.where(x > i, x * d, x)
    return x
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_a_loop_takes_long_for_is_evaluated_with_few_turns(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected, case.details


def test_what_comes_to_no_end_is_ended_where_it_was() -> None:
    def turn() -> None:
        while True:
            pass

    with pytest.raises(TooExpensiveError) as caught, LongLoops({__file__}).limit(0.2):
        turn()
    assert "turn" in [each.name for each in caught.traceback]  # which calls did not end is told by that
