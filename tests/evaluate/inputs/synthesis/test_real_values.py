"""Code that Python steers by values runs with values that are made up: of two kinds, as one alone proves nothing."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from shapecheck.evaluate.inputs.synthesis.real_values import TooExpensiveError, with_values

HEAD = """
from __future__ import annotations
import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
"""

CASES = {
    "steered.py": """
def steered(x: Float[Array, "n d"]) -> Float[Array, "d"]:
    if (x > 0).any():
        y = x.sum(0)  # (d,)
    else:
        y = x.mean(0)  # (d,)
    return y

def looked_up(table: Int[Array, "h w"], x: Float[Array, "n d"]) -> Float[Array, "d"]:
    k = int(table[0, 1])
    return x[k]

class Layer(eqx.Module):
    weight: Float[Array, "k"]

    def __call__(self, x: Float[Array, "n k"]) -> Float[Array, "n"]:
        limit = float(x.max())
        return (x @ self.weight) * limit
""",
    "numpy_code.py": """
def scaled(x: Float[Array, "n d"]) -> Float[np.ndarray, "n d"]:
    z = np.asarray(x).T  # (n, d)  ~SC201
    return z.T / z.max()
""",
    # behind what abstract arrays would have ended at, nothing outside of the process is touched
    "reaches.py": """
import os
import socket
import subprocess
from pathlib import Path

def starts(x: Float[Array, "n"]) -> Float[Array, "n"]: ~unreached
    if float(x[0]) > -2: ~SC302
        subprocess.run(["touch", "started"])
    return x

def shell(x: Float[Array, "n"]) -> Float[Array, "n"]: ~unreached
    if float(x[0]) > -2: ~SC302
        os.system("touch shell")
    return x

def connects(x: Float[Array, "n"]) -> Float[Array, "n"]: ~unreached
    if float(x[0]) > -2: ~SC302
        socket.create_connection(("127.0.0.1", 9), timeout=0.1)
    return x

def writes(x: Float[Array, "n"]) -> Float[Array, "n"]: ~unreached
    if float(x[0]) > -2: ~SC302
        Path("written").write_text("x")
    return x
""",
    # a tuple may hold numbers as well as arrays
    "tuples.py": '''
def stacked(xs, ys):
    """Put positions side by side.

    Args:
        xs (tuple): The positions in x with shape (n,)
        ys (tuple): The positions in y with shape (n,)

    Returns:
        np.ndarray: Array of shape (n, 2) ~unreached
    """
    return np.stack([xs, ys], axis=1) ~SC302
''',
    # a constructor that computes with values is given some; what it makes has those sizes
    "constructed.py": '''
import dataclasses

class Vehicle:
    def __init__(self, agents: int, dt: float = 0.03):
        self.agents = agents
        self.gain = np.linalg.solve(np.asarray(jnp.eye(4) * dt), np.eye(4)[:, :2])

    def act(self, state):
        """Steer.

        Args:
            state: array of shape (agents, 4)
        """
        u = state @ self.gain  # (agents, 2)
        v = state.T  # (agents, 4)  ~SC201
        return u

@dataclasses.dataclass
class Field:
    """Data at points.

    Attributes:
        data: array of shape (time, points, 3)
        places: array of shape (points, 3)
    """

    data: np.ndarray
    places: np.ndarray

    def __post_init__(self):
        self.data, self.places = np.asarray(self.data), np.asarray(self.places)
        if self.data.shape[1:] != self.places.shape:
            raise ValueError("data and places do not fit")

    def near(self, queries):
        """Look at places.

        Args:
            queries: array of shape (queries, 3)
        """
        return queries[:, None] - self.places[None]  # (queries, points, 3)
''',
    # what is true for values of one kind alone proves nothing
    "kinds.py": """
def cut(x: Float[Array, "n"]) -> Float[Array, "n"]: ~unreached
    y = x[:3] if float(x[0]) > 0 else x ~SC302
    return y

def endless(x: Float[Array, "n"]) -> Float[Array, "n"]: ~unreached
    while float(x[0]) > -2: ~SC302
        x = x * 0.5
    return x
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_is_shown_with_values(folder, name):
    assert folder.cases[name].as_marked()


def test_files_beside_the_code_are_not_changed(check_folder):
    text = """
import pathlib

def written(x: Float[Array, "n"]) -> Float[Array, "n"]:
    if x.sum() > 0:
        pathlib.Path(__file__).with_name("written.py").write_text("")
    else:
        pathlib.Path(__file__).with_name("written.py").write_text("")
    return x
"""
    found = check_folder({"written.py": HEAD + text}).cases["written.py"]
    assert (9, "unreached") in found.actual, found.details


def test_arrays_of_more_elements_than_an_integer_of_numpy_can_count_are_too_large():
    huge = jax.ShapeDtypeStruct((2**20, 2**15, 2**15, 2**15), jnp.float32)
    with pytest.raises(TooExpensiveError):
        with_values(1, ())(lambda arrays: None, [huge])
