"""Comments of numbers alone may be an example's; where the value has its own whatever sizes are given, they are not."""

from __future__ import annotations

import pytest

HEAD = """
from typing import NamedTuple

import jax
import jax.numpy as jnp

"""
CASES = {
    "constant.py": """
class State(NamedTuple):
    pos: jax.Array  # (2,)
    vel: jax.Array  # (2,)
    t: jax.Array  # ()

def observe(s: State):
    return jnp.concatenate([s.pos, s.vel, s.t[None] / 100.0])  # (5,)

def observe_less(s: State):
    return jnp.concatenate([s.pos, s.vel, s.t[None] / 100.0])  # (4,)  ~SC201

def rotation(x):
    # x: (n, d)
    return jnp.eye(3) * x.sum()  # (4, 4)  ~SC201
""",
    "example.py": """
def classify(x):
    # x: (n, d)
    y = x @ jnp.ones((x.shape[1], 10))  # (32, 10)  ~tentative
    return y

def corners():
    return jnp.array([[1, 2], [3, 4], [5, 6]])  # (1, 2)

def third():
    return jnp.eye(3)[0]  # see (3)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_held_against_a_value_that_no_size_changes(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected
