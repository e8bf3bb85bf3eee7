"""`*batch` and `...` stand for any number of axes: code that takes one and not two does less than they say."""

from __future__ import annotations

import pytest

HEAD = """
from collections.abc import Callable
from typing import Generic, TypeVar
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray
"""

CASES = {
    # a name for how many axes there are is that number
    "counts_of_axes.py": """
def divergence(field: Float[Array, "ndim *space"]) -> Float[Array, "*space"]:
    return sum(jnp.roll(field[i], 1, axis=i) for i in range(field.shape[0]))

def wrong(field: Float[Array, "ndim *space"]) -> Float[Array, "*space"]: ~SC203
    return jnp.stack([jnp.roll(field[i], 1, axis=i) for i in range(field.shape[0])])

def features(field: Float[Array, "dim *space"]) -> Float[Array, "*space"]:
    return sum(jnp.roll(field[i], 1, axis=i) for i in range(field.shape[0]))  ~SC301
""",
    # an asterisk alone names no axes
    "of_no_name.py": """
def soft(x: Float[Array, "*"]) -> Float[Array, "*"]:
    return jnp.logaddexp(x, 0.0)

def summed(x: Float[Array, "*"]) -> Float[Array, ""]: ~SC203
    return x
""",
    # as many axes as the kernel has that was made up, and then the channels of the layer
    "kernels.py": """
class Conv(eqx.Module):
    weight: Array
    kernel_shape: tuple[int, ...]

    def __init__(self, n_in: int, n_out: int, kernel_shape: tuple[int, ...], *, key):
        self.weight = jax.random.normal(key, (*kernel_shape, n_in, n_out))
        self.kernel_shape = kernel_shape

    def __call__(self, x: Float[Array, "b ... i"]) -> Float[Array, "b ... o"]:
        n = len(self.kernel_shape)
        last = (0, n + 1, *range(1, n + 1))
        numbers = jax.lax.ConvDimensionNumbers(last, (n + 1, n, *range(n)), last)
        return jax.lax.conv_general_dilated(x, self.weight, (1,) * n, "SAME", dimension_numbers=numbers)
""",
    # fields of a record may have axes in front; who takes one record beside a plain array means none
    "records.py": """
class Chain(eqx.Module):
    \"\"\"A chain.

    Attributes:
        transition: probabilities of shape (..., s, s)
        ends: of shape (..., s)
    \"\"\"
    transition: Array
    ends: Array

def step(chain: Chain, mass: Float[Array, "s"]) -> Float[Array, "s"]:
    return jnp.einsum("ij,i,i->j", chain.transition, mass, 1 - chain.ends)

def wrong(chain: Chain, mass: Float[Array, "s"]) -> Float[Array, "s s"]: ~SC203
    return jnp.einsum("ij,i,i->j", chain.transition, mass, 1 - chain.ends)
""",
    # what goes on in pairs goes on in pairs: no one axis more, and no two that differ
    "pairs.py": """
def turned(x: Array):
    '''Turn.

    Args:
        x: array of shape `(b, h, h, w, w, ...)`.

    Returns:
        Array of shape `(b, new_w, new_w, new_h, new_h, ...)`.
    '''
    order = [axis for first in range(x.ndim - 2, 0, -2) for axis in (first, first + 1)]
    return x.transpose(0, *order)

def apart(x: Array):
    '''Take apart.

    Args:
        x: array of shape `(b, h, h, w, w, ...)`.

    Returns:
        Array of shape `(b, new_w, new_w, new_h, new_h, ...)`.  ~SC207
    '''
    return x.transpose(0, 1, 3, 2, 4)
""",
    # a text may speak of space, which has three axes
    "space.py": """
def turned(x: Array) -> Array:
    '''Turn.

    Args:
        x: array of shape (3, nx, ny, nz)

    Returns:
        array of shape (3, nx, ny, nz)
    '''
    return x[::-1]

def planar(x: Array) -> Array:
    '''Turn.

    Args:
        x: array of shape (nx, 4)  ~SC207
    '''
    return x + 1

def spectra(x: Array) -> Array:
    '''Split.

    Args:
        x: array of shape (num_freqs, 6, *spatial)
    '''
    return turned(x[:, :3]) + planar(x[:, 3:])
""",
    # an annotation leaves open how many more axes there are, and of what sizes
    "annotated_pairs.py": """
def first(x: Float[Array, "n n ..."]) -> Float[Array, "n ..."]:
    return x[0]

def rows(x: Float[Array, "n n ..."]) -> Float[Array, "n"]:  ~SC203
    return x.sum(axis=0)
""",
    # an axis of `...` that has as many differences as another has as many items
    "differences.py": """
def to_last(x: Float[Array, "..."], axis: int) -> Float[Array, "..."]:
    return jnp.moveaxis(x, axis, -1)

def slopes(x: Float[Array, "m"], y: Float[Array, "..."], *, axis: int) -> Float[Array, "..."]:
    h = jnp.diff(x)
    delta = jnp.diff(to_last(y, axis), axis=-1) / h
    ends = end(delta[..., 0], delta[..., 1], h[0], h[1])
    return jnp.moveaxis(jnp.concatenate([ends[..., None], delta[..., :-1]], axis=-1), -1, axis)

def end(d: Float[Array, "..."], e: Float[Array, "..."], h: Float[Array, ""], k: Float[Array, ""]):
    return (d * h - e * k) / (h + k)
""",
    "model.py": """
class Embed(eqx.Module):
    linear: eqx.nn.Linear
    def __init__(self, d: int, out: int, *, key: PRNGKeyArray):
        self.linear = eqx.nn.Linear(d, out, key=key)
    def __call__(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch out"]:
        return jax.vmap(self.linear)(x)  ~SC305
""",
    "anonymous.py": """
def paired(x: Float[Array, "... d"], w: Float[Array, "n d"]) -> Float[Array, "..."]:
    return x[:, None] * w[None]  ~SC305
""",
    # so it is with docstrings, and where the dims stand in an order that only lets arrays without them fit
    "docstring.py": """
def divergence(p: Array, q: Array):
    '''How far they are apart.

    Args:
        p: one distribution, of shape `[..., dim]`.
        q: another, of shape `[..., dim]`.
    '''
    gap = jnp.sum(p - q, axis=-1, keepdims=True)
    return gap + jnp.sum(p * q, axis=-1)  ~SC305

def right(p: Array, q: Array):
    '''How far they are apart.

    Args:
        p: one distribution, of shape `[..., dim]`.
        q: another, of shape `[..., dim]`.
    '''
    return jnp.sum(p - q, axis=-1) + jnp.sum(p * q, axis=-1)
""",
    "right.py": """
class Embed(eqx.Module):
    linear: eqx.nn.Linear
    def __init__(self, d: int, out: int, *, key: PRNGKeyArray):
        self.linear = eqx.nn.Linear(d, out, key=key)
    def __call__(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch out"]:
        return x @ self.linear.weight.T + self.linear.bias

def paired(x: Float[Array, "... d"], w: Float[Array, "n d"]) -> Float[Array, "..."]:
    return x[..., None, :] * w
""",
    # that there are no axes is nothing that anybody would try
    "none.py": """
def first(x: Float[Array, "*batch d"], w: Float[Array, "d"]) -> Float[Array, "*batch d"]:
    return jnp.concatenate([x[:1], x[1:]]) * x.shape[0]

def summed(x: Float[Array, "..."]) -> Float[Array, ""]:
    return x.sum()
""",
    # what is meant is said by a comment, a docstring, or the code itself
    "explained.py": '''
def comment(x: Float[Array, "... d"], w: Float[Array, "n d"]) -> Float[Array, "..."]:
    y = x[:, None] * w[None]  # (b, n, d)
    return y

def docstring(x: Float[Array, "... d"], w: Float[Array, "n d"]) -> Float[Array, "..."]:
    """Multiply.

    Args:
        x: array of shape (b, d)
    """
    return x[:, None] * w[None]

def asserted(x: Float[Array, "... d"], w: Float[Array, "n d"]) -> Float[Array, "..."]:
    assert x.ndim == 2
    return x[:, None] * w[None]

def guarded(x: Float[Array, "... d"], w: Float[Array, "n d"]) -> Float[Array, "..."]:
    if x.ndim != 2:
        raise ValueError("the shape is wrong")
    return x[:, None] * w[None]

def unpacked(x: Float[Array, "... d"], w: Float[Array, "n d"]) -> Float[Array, "..."]:
    b, d = x.shape
    return x[:, None] * w[None]
''',
    # nobody knows what the array is that has no annotation of its shape
    # Nobody says how long the axes of `...` are: they may be what a model has; so may N be its number of points.
    "grids.py": """
class Poisson:
    def __init__(self, num_spatial_dims: int, num_points: int):
        self.inverse = jnp.ones((1, *[num_points] * (num_spatial_dims - 1), num_points // 2 + 1))

    def step(self, f_hat: Float[Array, "C ... N//2+1"]):  ~SC101
        return -self.inverse * f_hat

    def moved(self, f_hat: Float[Array, "C ... N//2+1"]):
        return self.inverse * jnp.moveaxis(f_hat, 0, -1)  ~SC301

def rows(x: Float[Array, "... a"], y: Float[Array, "... b"]):
    return x * y  ~SC305
""",
    # the `...` of two arguments may be the same axes, but a sum that has dropped one is no such
    "of_two.py": """
def entropy(logits: Float[Array, "... c"], labels: Float[Array, "..."], c: int = 3) -> Float[Array, ""]:
    return (jax.nn.one_hot(labels.astype(int), c) * jax.nn.log_softmax(logits)).mean()

def weighted(x: Float[Array, "... d"], y: Float[Array, "... d"]) -> Float[Array, "... d"]:
    return x * y.sum(-1)  ~SC305
""",
    # with two axes for `*batch` the line before the last fails already
    "lines.py": """
def angles(x: Float[Array, "*batch 3"]) -> Float[Array, "*batch 3"]:
    r = jnp.linalg.norm(x, axis=-1, keepdims=True)
    p = x[..., 2] / r
    return jnp.stack((r, p, x[..., 0]), axis=-1)  ~SC301

def some(x: Float[Array, "... 3"]) -> Float[Array, "... 3"]:
    r = jnp.linalg.norm(x, axis=-1, keepdims=True)
    p = x[..., 2] / r
    return jnp.stack((r, p, x[..., 0]), axis=-1)  ~SC301
""",
    "no_axes.py": """
def lengths(x: Float[Array, "*batch 3"]) -> Float[Array, "*batch"]:
    return jnp.squeeze(jnp.linalg.norm(x, axis=0, keepdims=True), axis=-1)  ~SC305

def lengths_of_rows(x: Float[Array, "*batch 3"]) -> Float[Array, "*batch"]:
    return jnp.squeeze(jnp.linalg.norm(x, axis=-1, keepdims=True), axis=-1)

def lengths_of_one(x: Float[Array, "... 3"]) -> Float[Array, ""]:
    return jnp.squeeze(jnp.linalg.norm(x, axis=0, keepdims=True), axis=-1)

def weighed(x: Float[Array, "*shape"]) -> Float[Array, "3"]:
    return x * jnp.ones(3)
""",
    # a docstring says which axes they are, and under which condition they are others
    "said.py": """
def fixed(x: Float[Array, "batch time dim"]) -> Float[Array, "batch dim"]:
    return jnp.mean(x, axis=1)

def pooled(x: Float[Array, "... dim"], lengths: Float[Array, "n"] | None = None) -> Float[Array, "_ dim"]:
    '''Pool.

    Args:
        x: The input of shape `(batch, time, dim)`.
            If `lengths` is provided, the shape should be `(tokens, dim)`.
    '''
    if lengths is not None:
        return jnp.zeros((lengths.shape[0], x.shape[-1]))
    return fixed(x)
""",
    # a record has as many axes behind the others as its author had in mind: one; a type variable may be bound to that
    "behind.py": """
Values = TypeVar("Values", bound=Float[Array, "b t *c"])

class Masked(eqx.Module, Generic[Values]):
    values: Values
    mask: Float[Array, "b t"]

def zeroed(x: Masked) -> Array:
    mask = x.mask.reshape(x.mask.shape + (1,) * (x.values.ndim - 2))
    return x.values * mask  # (b, t, c)
""",
    # three dots of several arrays, of which one goes on, are as good as a name
    "dots.py": """
def picked(values, order):
    '''Pick one.

    Args:
        values: array of shape `[..., D]`.
        order: indices of shape `[...]`.
    '''
    return jnp.squeeze(jnp.take_along_axis(values, order[..., None], axis=-1), axis=0)  ~SC305

def picked_last(values, order):
    '''Pick one.

    Args:
        values: array of shape `[..., D]`.
        order: indices of shape `[...]`.
    '''
    return jnp.squeeze(jnp.take_along_axis(values, order[..., None], axis=-1), axis=-1)
""",
    # an annotated result has the same dots: then they are as good as a name, with a test of one vector as well
    "annotated_dots.py": """
class Norm(eqx.Module):
    weight: Float[Array, "dim"]

    def __init__(self, dim: int):
        self.weight = jnp.ones(dim)

    def __call__(self, x: Float[Array, "... dim"]) -> Float[Array, "... dim"]:
        moment = jnp.mean(x**2, axis=-1)
        return self.weight * x * jax.lax.rsqrt(moment + 1e-6)  ~SC305

class GoodNorm(eqx.Module):
    weight: Float[Array, "dim"]

    def __init__(self, dim: int):
        self.weight = jnp.ones(dim)

    def __call__(self, x: Float[Array, "... dim"]) -> Float[Array, "... dim"]:
        moment = jnp.mean(x**2, axis=-1, keepdims=True)
        return self.weight * x * jax.lax.rsqrt(moment + 1e-6)
""",
    # with one axis it runs for the size of another axis alone, which nothing explains
    "one_size.py": """
def perpendicular(u: Float[Array, "*batch 3"]) -> Float[Array, "*batch 3"]:
    taller = jnp.abs(u[..., 0]) > jnp.abs(u[..., 1])
    return jnp.where(taller, u, -u)  ~SC305

def perpendicular_each(u: Float[Array, "*batch 3"]) -> Float[Array, "*batch 3"]:
    taller = jnp.abs(u[..., 0]) > jnp.abs(u[..., 1])
    return jnp.where(taller[..., None], u, -u)

def counted_last(u: Float[Array, "3 *batch"]) -> Float[Array, "3 *batch"]:
    return u - jnp.sum(u, axis=-1)  ~SC305
""",
    # the model's own arrays have the axes of `*batch` already
    "fields.py": """
class Paths(eqx.Module):
    vertices: Float[Array, "*batch n 3"]
    mask: Float[Array, "*batch"]

    def reduce(self, fun: Callable[[Float[Array, "*batch n 3"]], Float[Array, "*batch"]]):
        return jnp.sum(fun(self.vertices) * self.mask)
""",
    # the argument has as many axes as the model's own arrays: with none it would go with any model
    "own_axes.py": """
class Gaussian(eqx.Module):
    mean: Float[Array, "*b dim"]

    def log_prob(self, x: Float[Array, "*b dim"]) -> Float[Array, "*b"]:
        return -0.5 * jnp.sum((x - self.mean) ** 2, axis=-1)

class Scaled(eqx.Module):
    scale: Float[Array, "*b"]

    def __call__(self, x: Float[Array, "*b"]) -> Float[Array, "*b"]:
        return x * self.scale

    def many(self, x: Float[Array, "n *b"]) -> Float[Array, "n *b"]:
        return x * self.scale

    def wrong(self, x: Float[Array, "*b n"]) -> Float[Array, "n *b"]: ~SC203
        return x * self.scale[..., None]
""",
    "invented.py": """
def scaled(x: Float[Array, "*batch d"], w: Array) -> Float[Array, "..."]:
    return x[:, None] * w[None]
""",
    # A variadic dim in front of features counts, also where it ends an array that may be left out.
    "counted.py": """
def weighed(
    seen: Float[Array, "V *pts 2"], rows: Float[Array, "V 3"], weights: Float[Array, "V *pts"] | None = None
) -> Float[Array, "*pts V 3"]:
    valid = jnp.isfinite(seen).all(axis=-1)
    a = jnp.moveaxis(seen[..., :1] * jnp.ones(3), 0, -2) * rows
    a = jnp.where(valid[..., None], a, 0.0)  ~SC305
    return a if weights is None else a * jnp.moveaxis(weights, 0, -1)[..., None]
""",
    # what a class says of batches, and a property of one mesh: its fields have no batch there
    "one_mesh.py": """
class Mesh(eqx.Module):
    origin: Float[Array, "*batch edges"]
    target: Float[Array, "*batch edges"]
    order: Float[Array, "*batch faces"]

    @property
    def faces(self) -> Float[Array, "faces 2"]:
        rows = self.order.astype(int)
        return jnp.stack([self.origin[rows], self.target[rows]], axis=1)

    @property
    def turned(self) -> Float[Array, "2 faces"]:  ~SC203
        rows = self.order.astype(int)
        return jnp.stack([self.origin[rows], self.target[rows]], axis=1)

    def lengths(self) -> Float[Array, "*batch edges"]:
        return jnp.abs(self.target - self.origin)

class Weights(eqx.Module):
    w: Float[Array, "*n"]

    def scaled(self, x: Float[Array, "n"]) -> Float[Array, "n"]:
        return self.w * x
""",
    # a layer takes one vector: with none of the axes in front it runs, once the features are its own
    "layers.py": """
class Layer(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, in_size: int, out_size: int, *, key: PRNGKeyArray):
        self.linear = eqx.nn.Linear(in_size, out_size, key=key)

    def __call__(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch out"]:
        return self.linear(x)  ~SC305

    def mapped(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch out"]:
        return x @ self.linear.weight.T

    def of_one(self, x: Float[Array, "... d"]) -> Float[Array, "... out"]:
        return self.linear(x)
""",
    # an axis beside any number of others has a name all the same, which the call's own may be
    "of_fields.py": """
class Scale(eqx.Module):
    weight: Float[Array, "time ..."]

    def __init__(self, m: int):
        self.weight = jnp.ones((m, 1))

    def __call__(self, x: Float[Array, "time n"]) -> Float[Array, "time n"]:
        return self.weight * x

    def turned(self, x: Float[Array, "time n"]) -> Float[Array, "time n"]: ~SC203
        return (self.weight * x).T
""",
    # a number was made up for what may be one for each axis
    "for_each_axis.py": """
from collections.abc import Iterable
import flax.linen as nn

def numbers(n):
    last = (0, n - 1, *range(1, n - 1))
    return jax.lax.ConvDimensionNumbers(last, (n - 1, n - 2, *range(n - 2)), last)

class Conv(nn.Module):
    features: int
    kernel_size: int | Iterable[int]

    @nn.compact
    def __call__(self, x: Float[Array, "batch *space d"]) -> Float[Array, "batch *space e"]:
        size = (self.kernel_size,) if isinstance(self.kernel_size, int) else tuple(self.kernel_size)
        kernel = jnp.ones((*size, x.shape[-1], self.features))
        n = x.ndim
        axes = numbers(n)
        return jax.lax.conv_general_dilated(x, kernel, (1,) * (n - 2), "SAME", dimension_numbers=axes)

class Line(nn.Module):
    features: int
    kernel_size: int

    @nn.compact
    def __call__(self, x: Float[Array, "batch *space d"]) -> Float[Array, "batch *space e"]:
        kernel = jnp.ones((self.kernel_size, x.shape[-1], self.features))
        n = x.ndim
        axes = numbers(n)
        return jax.lax.conv_general_dilated(x, kernel, (1,) * (n - 2), "SAME", dimension_numbers=axes)  ~SC305
""",
    # none or one, and no more
    "at_most_one.py": """
def centre(nodes: Float[Array, "*batch n m"], weights: Float[Array, "*batch n"]):
    if nodes.ndim == 2:
        return nodes.T @ weights
    return jax.vmap(lambda x, w: x.T @ w)(nodes, weights)

def shifted(
    few: Float[Array, "*batch r m"],
    weights_of_few: Float[Array, "*batch r"],
    nodes: Float[Array, "*batch n m"],
    weights: Float[Array, "*batch n"],
):
    first, second = centre(few, weights_of_few), centre(nodes, weights)
    return jnp.linalg.norm(first - second)  ~SC305
""",
    # three dots behind other axes may say no more than that there are axes
    "dots_at_end.py": """
def cross(a: Float[Array, "b ..."], c: Float[Array, "b ..."]) -> Float[Array, "b ..."]:
    return (a[..., 0] * c[..., 1] - a[..., 1] * c[..., 0])[..., None]

def crossed(a: Float[Array, "b ..."], c: Float[Array, "b ..."]) -> Float[Array, "b ..."]:  ~SC203
    return (a[..., 0] * c[..., 1] - a[..., 1] * c[..., 0])[None]

def dots_in_front(a: Float[Array, "... d"]) -> Float[Array, "... d"]:  ~SC203
    return a if a.ndim > 1 else a.sum(keepdims=True)
""",
    # an axis of `...` that is squeezed out is one of one
    "squeezed.py": """
def rotated(vector: Float[Array, "b ..."], angle: Float[Array, "b ..."]) -> Float[Array, "b ..."]:
    if angle.ndim == vector.ndim:
        angle = angle.squeeze(-1)  ~SC302
    return vector * jnp.cos(angle)[..., None]
""",
    # what fails with one axis as with none may be for a square
    "squares.py": """
def precision(mass: Float[Array, "..."], x: Float[Array, "d"]):
    return jnp.linalg.inv(mass).sum() + x

def whitened(mass: Float[Array, "..."], x: Float[Array, "d"]):
    return x @ jnp.ones((3, 4)) @ jnp.ones((3, 4)) + mass.sum()  ~SC301
""",
    # a comment may count the axes that the annotation of an argument leaves open
    "counted_by_comments.py": """
def noised(x: Float[Array, "b *data"]):
    y = x + 1  # (b, 3)
    return {"x": x, "y": y}  # (b, h, w, 3)

def summed(x: Float[Array, "b *data"], z: Float[Array, "c"]):
    w = x + z.sum()  # (c, b) ~SC201
    y = x.sum(-1)  # (b, 1) ~SC201
    return w, y
""",
    # a starred name takes several axes, or stands for one word
    "starred.py": """
def of_last(x: Float[Array, "b t d"]):
    *_, d = x.shape  # batch size, sequence length
    *_, t, d = x.shape  # (seq, dim)
    b, *rest = x.shape  # (b, rest)
    return x

def turned(x: Float[Array, "b t d"]):
    *_, t, d = x.shape  # (d, t) ~SC201
    return x
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_code_that_takes_one_axis_alone_is_narrower_than_claimed(folder, name) -> None:
    case = folder.cases[name]
    assert [mark for mark in case.actual if mark[1] != "unreached"] == case.expected, case.details


def test_the_finding_says_which_axes(folder) -> None:
    (finding,) = folder.cases["model.py"].findings
    assert finding.message.startswith("this runs only where *batch is one axis, which the claims leave open: vmap")
    assert finding.severity == "error"


def test_what_is_seen_without_axes_alone_is_not_verified(folder) -> None:
    (unreached,) = (each for each in folder.report.unreached if each.path == "no_axes.py")
    assert unreached.reason.startswith("the code runs only where `...` has no axes")


def test_the_finding_says_which_size_of_one_axis_goes(folder) -> None:
    finding, _ = folder.cases["one_size.py"].findings
    assert finding.message.startswith(
        "this runs only where *batch has no axes, or batch0 = 3, which the claims leave open"
    )


def test_a_layer_for_one_vector_is_said_to_have_no_axes_in_front(folder) -> None:
    (finding,) = folder.cases["layers.py"].findings
    assert finding.message.startswith("this runs only where *batch has no axes, which the claims leave open")


def test_the_finding_says_that_no_axis_goes_as_well(folder) -> None:
    (finding,) = folder.cases["at_most_one.py"].findings
    assert finding.message.startswith("this runs only where *batch is at most one axis, which the claims leave open")
