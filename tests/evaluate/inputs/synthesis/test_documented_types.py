"""Parameters whose plain type stands in the docstring alone are made up as annotated ones are."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp
"""
CASES = {
    "google.py": '''
def render(rgb, weights, white, scale, n_bins, mode):
    """Composite.

    Args:
      rgb: [batch, num_samples, 3] colours.
      weights: [batch, num_samples].
      white: bool. Whether the background is white.
      scale (float, optional): a factor.
      n_bins: int, how many bins there are.
      mode (str): "mean" or "sum".
    """
    comp = (weights[..., None] * rgb).sum(axis=-2) * scale  # [batch, 3]
    hist = jnp.zeros((rgb.shape[0], n_bins))  # [n_bins, batch]  ~SC201
    if white:
        comp = comp + (1.0 - weights.sum(-1))[..., None]
    return comp if mode == "mean" else comp * 2
''',
    "numpy.py": '''
def shift(x, n):
    """Pad.

    Parameters
    ----------
    x : array of shape (batch, dim)
    n : int
        How much.
    """
    y = jnp.pad(x, ((0, 0), (n, 0)))  # (batch, dim + n)
    return y.T  # (batch, dim + n)  ~SC201
''',
    # A type of what an array holds is none of the array.
    "arrays.py": '''
def scale(x, gain, bias):
    """Scale.

    Args:
      x: (batch, dim) data.
      gain: float array with a factor for each.
      bias: int array (batch,).
    """
    return x * gain + bias[:, None]  # (batch, dim)
''',
    # What may be one number is tried as that, since an array of any rank need not fit.
    "numbers.py": '''
def coordinates(regular, wealth, point, other):
    """Where the points lie.

    Args:
      regular (jnp.ndarray): the grid, of shape (n_regular,).
      wealth (jnp.ndarray): a 2d array of shape (n_regular, n_wealth).
      point (jnp.ndarray | float): the regular point.
      other (float or jnp.ndarray): the wealth point.
    """
    i = jnp.searchsorted(regular, point)
    turned = wealth.T  # (n_regular, n_wealth)  ~SC201
    return jnp.searchsorted(wealth[i], other)
''',
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_arguments_have_the_type_that_the_docstring_says(folder, name: str) -> None:
    assert folder.cases[name].as_marked()
