"""Expressions whose value is plainly one JAX array, whatever goes in."""

from __future__ import annotations

import ast

from shapecheck.claims.annotation_names import Names
from shapecheck.claims.axis_words import words
from shapecheck.syntax.scopes import dotted_name

_FUNCTIONS = {
    "jax.numpy": words(
        """
        abs absolute add all any arange argmax argmin argsort array asarray broadcast_to clip concatenate convolve cos
        cosh cross cumprod cumsum diag diff divide dot einsum exp expand_dims expm1 eye full full_like hstack identity
        inner isfinite isnan kron linspace log log1p logaddexp matmul max maximum mean median min minimum moveaxis
        multiply ones ones_like outer pad power prod ravel reciprocal repeat reshape roll sign sin sinh sort sqrt
        square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh tensordot tile trace transpose
        tril triu var vdot vecdot vstack zeros zeros_like
        """
    ),
    "jax.nn": words("elu gelu leaky_relu log_sigmoid log_softmax one_hot relu sigmoid silu softmax softplus swish"),
    "jax.random": words("bernoulli categorical choice normal permutation randint truncated_normal uniform"),
}


def is_array(value: ast.expr, names: Names) -> bool:
    """Whether an expression is a call of one of JAX's functions that always return one array."""
    if not isinstance(value, ast.Call):
        return False
    first, _, rest = (dotted_name(value.func) or "").partition(".")
    if first not in names.imported:
        return False
    origin = ".".join(part for part in (*names.imported[first], rest) if part)
    module, _, function = origin.rpartition(".")
    if function == "where":
        return module == "jax.numpy" and len(value.args) == 3  # of one argument it gives a tuple
    return function in _FUNCTIONS.get(module, ())
