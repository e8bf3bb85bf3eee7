"""Texts may mean the constants of a module from which their file imports something else."""

from __future__ import annotations

import pytest

CASES = {
    "lattice.py": """
import numpy as np

Q = 9
step = 5
MOVES = np.ones((Q, 2))
""",
    "streaming.py": """
import jax.numpy as jnp
from lattice import MOVES

def moments(f):
    '''
    Args:
        f: distribution, shape (Q, n).

    Returns:
        moments of shape (2, n)
    '''
    return MOVES.T @ f

def wrong(f):
    '''
    Args:
        f: distribution, shape (Q, n).

    Returns:
        density of shape (Q, n)  ~SC207
    '''
    return f.sum(0)
""",
    # No capitals, or no import from there: then it is any size.
    "others.py": """
import jax.numpy as jnp

def moments(f):
    '''
    Args:
        f: distribution, shape (Q, n).

    Returns:
        moments of shape (9, n)  ~SC207
    '''
    return f * 2
""",
    "steps.py": """
from lattice import MOVES

def moments(f):
    '''
    Args:
        f: distribution, shape (step, n).

    Returns:
        moments of shape (5, n)  ~SC207
    '''
    return f * MOVES.sum()
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_constant_beside_what_is_imported_has_its_size(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected, case.details
