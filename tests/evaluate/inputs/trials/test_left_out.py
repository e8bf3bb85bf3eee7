"""Arguments that may be left out: what stands in for them may fit some sizes alone, which is no error of the code."""

from __future__ import annotations

CASE = """
from typing import NamedTuple, Optional

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

def emit(
    h: Float[Array, "emissions states"],
    d: Float[Array, "emissions inputs"],
    x: Float[Array, "n states"],
    u: Optional[Float[Array, "n inputs"]] = None,
) -> Float[Array, "n emissions"]:
    u = jnp.zeros((x.shape[0], 0)) if u is None else u
    return x @ h.T + u @ d.T


def wrong(
    h: Float[Array, "emissions states"],
    x: Float[Array, "n states"],
    u: Optional[Float[Array, "n inputs"]] = None,
) -> Float[Array, "n emissions"]:
    y = x @ h  ~SC305
    return y if u is None else y + u
"""


def test_what_fits_only_where_an_argument_is_given_is_no_error(check_folder) -> None:
    marked = check_folder({"left_out.py": CASE}).cases["left_out.py"]
    assert [each for each in marked.actual if each[1] != "unreached"] == marked.expected, marked.details


CONSTRUCTORS = """
import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float
from jaxtyping import ArrayLike

class Filter(eqx.Module):
    amplitude: Float[Array, ""]
    widths: Float[Array, "k"]

    def __init__(
        self,
        amplitude: float | Float[Array, ""] = 1.0,
        widths: Float[ArrayLike, "k"] | None = None,
    ):
        self.amplitude = jnp.asarray(amplitude)
        self.widths = jnp.ones(3) if widths is None else widths

    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "n"]:
        return x * self.amplitude * self.widths.sum()
"""


def test_constructors_get_arrays_where_models_leave_defaults(check_folder) -> None:
    marked = check_folder({"constructors.py": CONSTRUCTORS}).cases["constructors.py"]
    assert marked.as_marked()


GIVEN = """
from jaxtyping import Array, Float

def scaled(x: Float[Array, "n d"], weights: Float[Array, "n"] | None = None) -> Float[Array, "n d"]:
    return times(x, weights)


def scaled_right(x: Float[Array, "n d"], weights: Float[Array, "d"] | None = None) -> Float[Array, "n d"]:
    return times(x, weights)


def times(x, weights):
    return x if weights is None else x * weights  ~SC305


# The second of them alone fits nothing, which nobody says that it must.
def affine(
    x: Float[Array, "n d"], w: Float[Array, "d k"] | None = None, b: Float[Array, "k"] | None = None
) -> Float[Array, "n _"]:
    return plus(x if w is None else x @ w, b)


def plus(y, b):
    return y if b is None else y + b
"""


def test_what_is_handed_on_is_given_with_all_that_may_be_left_out(check_folder) -> None:
    marked = check_folder({"given.py": GIVEN}).cases["given.py"]
    assert [each for each in marked.actual if each[1] != "unreached"] == marked.expected, marked.details
    (finding,) = marked.findings
    assert "with weights = given" in finding.details


DEFAULTS = '''
from dataclasses import dataclass, field

import jax.numpy as jnp
from jaxtyping import Array, Float

class Data:
    series: Float[Array, "time"]
    window: Float[Array, "time"]

    def __init__(self, series: Float[Array, "time"] = jnp.array([]), window: Float[Array, "time"] | None = None):
        self.series, self.window = series, jnp.ones(len(series)) if window is None else window

def scaled(
    x: Float[Array, "n d"], w: Float[Array, "d"] = jnp.ones(3), b: Float[Array, "d"] | None = None
) -> Float[Array, "n d"]:
    return x * w + (0 if b is None else b)

def wrong(x: Float[Array, "n d"], w: Float[Array, "d"] = jnp.ones(3)) -> Float[Array, "d n"]:  ~SC203
    return x * w

@dataclass
class Scaling:
    n_angles: int = 1
    contrast: Array = field(default_factory=lambda: jnp.ones(1))  # (n_angles,)
    offset: Array = field(default_factory=lambda: jnp.ones(2))  # (n_angles,)  ~SC201

    def both(self):
        return jnp.stack([self.contrast, self.contrast])  # (2, n_angles)

def described(x: Array, w: Array = jnp.array([1.0])) -> Array:
    """Scaled.

    Args:
        x: of shape (n,)
        w: of shape (n,), by default for one
    """
    return jnp.vectorize(lambda a, b: a * b, signature="(n),(n)->(n)")(x, w)

def wrong_default(x: Float[Array, "n d"], w: Float[Array, "d d"] = jnp.ones((3, 4))) -> Float[Array, "n d"]:  ~SC202
    return x * w.sum()
'''


def test_arrays_go_with_those_that_parameters_have_by_default(check_folder) -> None:
    marked = check_folder({"defaults.py": DEFAULTS}).cases["defaults.py"]
    assert [each for each in marked.actual if each[1] != "unreached"] == marked.expected, marked.details
