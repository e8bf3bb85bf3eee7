"""Of several arrays in a pytree, a list or a field each is as some member of a union in the annotation says."""

from __future__ import annotations

import pytest

HEAD = """
import dataclasses
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree
"""

CASES = {
    "trees.py": """
Data = Float[Array, "batch *#?data"] | Int[Array, "batch *#?seq"] | Float[Array, "batch *#?seq classes"]
Tree = PyTree[Data, "T"]
Times = PyTree[Float[Array, "batch"], "T"]

@dataclasses.dataclass
class State:
    x: Tree
    t: Times

def step(x: Tree, t: Times) -> tuple[Tree, Times]:
    state = State(x, t)
    return jax.tree.map(lambda a: a + 1, state.x), state.t

def test_step():
    x = {"image": jnp.zeros((4, 3, 8)), "text": jnp.zeros((4, 6), jnp.int32)}
    step(x, {"image": jnp.zeros(4), "text": jnp.zeros(4)})
""",
    "of_none.py": """
def kept(x: PyTree[Float[Array, "n"] | Int[Array, "n"]]): ~SC206
    return x

@dataclasses.dataclass
class State:
    x: PyTree[Float[Array, "n"] | Int[Array, "n"]] ~SC206

def test_kept():
    kept({"a": jnp.zeros(3), "b": jnp.zeros(3, bool)})
    State({"a": jnp.zeros(3), "b": jnp.zeros(3, bool)})
""",
    "lists.py": """
def listed(xs: list[Float[Array, "n"] | Int[Array, "n"]]):
    return xs

def of_two_sizes(xs: list[Float[Array, "n"] | Int[Array, "n"]]): ~SC202
    return xs

def test_lists():
    listed([jnp.zeros(3), jnp.zeros(3, jnp.int32)])
    of_two_sizes([jnp.zeros(3), jnp.zeros(4, jnp.int32)])
""",
    "structures.py": """
Tree = PyTree[Float[Array, "n"] | Int[Array, "n"], "T"]

def alike(x: Tree, y: Tree): ~SC209
    return x

def test_alike():
    x = {"a": jnp.zeros(3), "b": jnp.zeros(3, jnp.int32)}
    alike(x, {"a": x["a"], "c": x["b"]})
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({f"test_{name}": HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_each_array_is_as_some_member_says(folder, name):
    case = folder.cases[f"test_{name}"]
    assert [mark for mark in case.actual if mark[1] != "unreached"] == case.expected, case.details
