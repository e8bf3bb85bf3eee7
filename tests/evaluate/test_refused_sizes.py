"""Checks of a function's own that refuse an argument as it is documented, for a size that both write."""

from __future__ import annotations

import pytest

HEAD = """
import jax.numpy as jnp

"""

CASES = {
    "axis.py": '''
def points(x):
    """x: array of shape (n, 4)"""  # ~SC207
    if x.shape[-1] != 3:
        raise ValueError(f"need 3 coordinates, got {x.shape[-1]}")
    return x
''',
    # The condition says it, whatever the error says.
    "silent.py": '''
def points(x):
    """x: array of shape (n, 4)"""  # ~SC207
    if x.shape[-1] != 3:
        raise ValueError("not in space, 7")
    return x
''',
    "whole.py": '''
def points(x):
    """x: array of shape (n, 4)"""  # ~unreached
    assert x.shape == (2, 3)  # ~SC208
    return x
''',
    "once.py": '''
def points(x):
    """x: array of shape (4,)"""  # ~unreached
    assert x.shape == (3,)  # ~SC208
    return x
''',
    # The check says for which meshes the method is; the number of coordinates stands in a claim.
    "guard.py": """
from typing import NamedTuple
from jaxtyping import Array, Float

class Mesh(NamedTuple):
    vertices: Float[Array, "count 3"]

    def top(self) -> Float[Array, "3"]:  # ~unreached
        assert self.vertices.shape == (6890, 3), "not the large one"  # ~unreached
        return self.vertices[0]

    def wrong(self) -> Float[Array, "3"]:  # ~unreached
        assert self.vertices.shape == (6890, 2), "not the large one"  # ~SC208
        return self.vertices[0]
""",
    # It has a type: the check narrows what the function takes, and its docstring says so.
    "good.py": '''
def points(x: jnp.ndarray):
    """x: array of shape (n, 3)"""
    assert x.shape[-1] == 3, f"need 3 coordinates, got {x.shape}"
    assert x.ndim == 2
    return x
''',
    # With three channels it runs, but then the weights do not fit, so that nobody knows which is wrong.
    "both.py": '''
def project(x, w):
    """
    Args:
        x: array of shape (n, 4)  ~unreached
        w: array of shape (4, m)  ~unreached
    """
    assert x.shape[1] == 3  # ~SC302
    return x @ w
''',
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_a_check_refuses(folder, name: str) -> None:
    case = folder.cases[name]
    assert [mark for mark in case.actual if name != "guard.py" or mark[1] != "SC302"] == case.expected
