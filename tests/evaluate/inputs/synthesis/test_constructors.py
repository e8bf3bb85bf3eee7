"""What a constructor's own docstring says of what it takes: how instances are made, and that claims are met."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
"""

CASES = {
    # all may be left out, but not all at once; nobody names the sizes but the docstring
    "optional.py": '''
class Model:
    def __init__(self, num_states: int, num_dims: int = None, weights: jnp.ndarray = None, biases=None, seed=None):
        """A model.

        Args:
            num_states (int): how many there are.
            num_dims (int, optional): of an emission. Defaults to None.
            weights (jnp.ndarray, optional): with shape (num_states, emission_dim, 2 * emission_dim).
            biases (jnp.ndarray, optional): with shape (num_states, emission_dim).
        """
        if weights is None:
            assert seed is not None and num_dims is not None, "give weights, or a seed and their size"
            weights = jax.random.normal(seed, (num_states, num_dims, 2 * num_dims))
        if biases is None:
            assert seed is not None and num_dims is not None, "give biases, or a seed and their size"
            biases = jnp.zeros((num_states, num_dims))
        total = weights.sum(axis=-1) + biases  # (num_states, emission_dim)
        wrong = weights.sum(axis=0) + biases[0, :, None]  # (num_states, emission_dim) ~SC201
''',
    # an array that is not described has as many rows as the one that is, as the code demands; then it needs values
    "rows.py": '''
class Weighted:
    def __init__(self, samples: jax.Array, weights: jax.Array):
        """Weighted samples.

        Args:
            samples: Observed values. The first dimension indexes samples.
            weights: Sample weights with shape (N,).
        """
        if samples.shape[0] != weights.shape[0]:
            raise ValueError(f"{weights.shape[0]} weights for {samples.shape[0]} samples.")
        if jnp.any(weights < 0):
            raise ValueError("Weights cannot be negative.")
        self.weights = weights / weights.sum()  # (N,)
''',
    # what the instance is made with is what its methods have
    "methods.py": '''
class Affine:
    def __init__(self, matrix, offset):
        """An affine map.

        Args:
            matrix: array of shape (rows, columns).
            offset: array of shape (rows,).
        """
        self.matrix, self.offset = matrix, offset

    def __call__(self, x):
        # x: (columns,)
        y = self.matrix @ x + self.offset  # (rows,)
        wrong = x @ self.matrix.T  # (columns,) ~SC201
        return y
''',
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_instances_are_made_as_their_constructor_says(folder, name):
    marked = folder.cases[name]
    actual = [each for each in dict.fromkeys(marked.actual) if each[1] != "SC302"]
    assert actual == marked.expected, marked.details
