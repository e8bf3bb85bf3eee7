"""Words of a description that say how many axes an array has."""

from __future__ import annotations

import pytest

from shapecheck.claims import read_module
from shapecheck.claims.axis_words import rank_of


@pytest.mark.parametrize(
    ("description", "axes"),
    [
        ("a scalar (0-dimensional array). It can be any number.", 0),
        ("The vector to project", 1),
        ("a symmetric matrix", 2),
        ("2D array of weights", 2),
        ("a three-dimensional tensor", 3),
        ("tensor of rank 4", 4),
        ("a 1-D tensor of indices, one per batch element", 1),
        ("a 1-D tensor of indices per batch element", None),
        # of any number, of several, or of something else
        ("a scalar or a vector", None),
        ("a batch of vectors", None),
        ("list of scalars", None),
        ("a vector-valued function", None),
        ("matrix multiplication precision", None),
        ("either a 1D or a 2D array", None),
        ("a 2D array, or None", None),
        ("the learning rate", None),
        ("Velocity vector in spectral space", None),
        ("the unit vectors, or the normal vector", None),
        ("the state vector", 1),
    ],
)
def test_the_number_of_axes_in_words(description: str, axes: int | None) -> None:
    assert rank_of(description) == axes


def test_docstrings_give_parameters_numbers_of_axes() -> None:
    text = '''
def f(x, y, z):
    """Do it.

    Args:
        x: a scalar.
        y: a vector of shape (n,).
        z: something.
    """

class C:
    """It is made of two.

    Args:
        w: a matrix.
    """

    def __init__(self, w):
        self.w = w
'''
    module = read_module("a.py", text.encode())
    found = [(module.scopes[each.scope].qualname, each.parameter, each.axes) for each in module.hints]
    assert found == [("f", "x", 0), ("C.__init__", "w", 2)]
