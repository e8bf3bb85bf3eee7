"""Words of descriptions beside which a shape is still that of the value: what is read, and held against it."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp
from jax import Array

"""

CASES = {
    # A transformation is a thing; what transforms says that a shape was another one before.
    "transforms.py": '''
def adjoint(vec6: Array) -> Array:
    """Adjoint of a screw.

    Args:
        vec6 (Array): array-like, shape (6, 1)
            A 6-dimensional vector.

    Returns:
        Array: shape (4, 4)  ~SC207
            The adjoint transformation of the vector.
    """
    return jnp.diag(vec6.reshape(-1))

def frames(q: jnp.ndarray):
    """
    Args:
        q: (N, 4)
    Returns:
        u: (N, 3) - Tangent vector (transformed local X)
        v: (N, 3) - Normal vector (transformed local Z)  ~SC207
    """
    x, y, z = q[:, 1], q[:, 2], q[:, 3]
    return jnp.stack([x, y, z], axis=-1), jnp.stack([z, y, x], axis=0)

def turned(points: jnp.ndarray):
    """
    Args:
        points: of shape (n, 3), transformed to (3, n).
    """
    return points.T
''',
    "depends.py": '''
def colors(coeffs: jnp.ndarray):
    """
    Args:
        coeffs: SH coefficients of shape (N, K, 3).
    Returns:
        colors: View-dependent colors, shape (N, 3).  ~SC207
    """
    return coeffs[:, 0].T
''',
    # A matrix that a value is, not one that it is multiplied with.
    "vectors.py": '''
def parts(vec: jnp.ndarray):
    """
    Args:
        vec: array-like, shape (3, 1)
    """
    flat = vec.reshape(-1)
    linear = flat[1:].reshape((2, 1))  # Linear as a (3,1) vector  ~SC201
    other = flat[1:].reshape((2, 1))  # (2, 1) vector
    both = linear * jnp.ones((2, 2))  # multiply with a (3, 3) matrix
    return other, both
''',
    # `[n_neighbors]` alone may be a unit, but for the other lists with that name.
    "lists.py": '''
def unit(r_ijs, r_abs):
    """
    Unit vectors.

    Args:
        r_ijs: Relative position vectors [n_neighbors, 3]
        r_abs: Distance values [n_neighbors]  ~SC207

    Returns:
        Scaled vectors [n_neighbors, 3]
    """
    return r_ijs * r_abs  # ~SC305

def caller(r_ijs, w):
    """
    Args:
        r_ijs: Relative position vectors [n_neighbors, 3]
        w: Weights [n_neighbors, 3]
    """
    return unit(r_ijs, w)
''',
    "values.py": '''
def tensors(r_ijs, r_abs, rb_values):
    """
    Args:
        r_ijs: Relative position vectors [n_neighbors, 3]
        r_abs: Distance values [n_neighbors]
        rb_values: Radial basis values [n_neighbors]
    """
    return jnp.dot(rb_values, r_ijs / r_abs)  # ~SC305
''',
    "tuples.py": '''
def drawn(plan, count: int):
    """Draw pairs.

    Parameters
    ----------
    plan : numpy array, shape (bs, bs)

    Returns
    -------
    (i_s, i_j) : tuple of numpy arrays, shape (bs, bs)  ~SC207
        the pairs
    """
    return jnp.divmod(jnp.arange(count), plan.shape[1])
''',
    "pairs.py": '''
def accumulate(pair_forces, all_js, natoms):
    """
    Args:
        pair_forces: Forces on each neighbor pair [max_atoms, max_neighbors, 3]
        all_js: Neighbor indices [max_atoms, max_neighbors]
        natoms: Number of real atoms (not padded count)

    Returns:
        Total forces on each atom [max_atoms, 3]  ~SC207
    """
    real = jnp.where((jnp.arange(pair_forces.shape[0]) < natoms)[:, None, None], pair_forces, 0.0)
    return jnp.sum(real, axis=0) + jnp.sum(all_js)
''',
    # In NumPy's style, with a colon and no type.
    "columns.py": '''
def step(x, weights, bias):
    """One step.

    Parameters
    ----------
    x:
        Initial state, shape ``(n,)``.
    weights:
        Coupling matrix, shape ``(n, m)``, zero diagonal.
    bias:
        Bias vector, shape ``(m,)``, or ``None`` for no bias.

    Returns
    -------
    The final state (shape ``(n,)``) is always returned.  ~SC207
    """
    return x @ weights + bias
''',
    # Without a bracket, if the names are those of axes.
    "names.py": '''
def product(x, y):
    """Weigh.

    Args:
        x (jax.numpy.array): Array of shape n_obs, n_mixtures, n_states.
        y: Array with shape n_obs, n_mixtures that holds weights.

    Returns:
        jax.numpy.array: Array of shape n_obs, n_states, n_mixtures  ~SC207
    """
    return x * y[..., None]

def other(x):
    """
    Args:
        x: an array whose shape is n_obs, and of shape batch, then time.
    """
    return x
''',
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_words_of_descriptions(folder, name: str) -> None:
    case = folder.cases[name]
    assert [each for each in case.actual if each[1] not in ("tentative", "unreached")] == case.expected
