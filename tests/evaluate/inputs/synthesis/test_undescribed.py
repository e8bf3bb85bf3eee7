"""Arguments that nothing describes: as the body takes them, as words have it, or else as the code runs with them."""

from __future__ import annotations

import pytest

HEAD = """
from collections.abc import Callable
import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

"""

CASES = {
    # what a comment makes a multiple of a name is one of the model's integer: so that is the name's size
    "multiples.py": """
class Modulated(eqx.Module):
    width: int
    weight: Array

    def __init__(self, width: int):
        self.width, self.weight = width, jnp.ones((1, 2 * width))

    def __call__(self, x: Float[Array, "n s d"], c):
        c = jax.nn.silu(c)  # [n, e]
        doubled = jnp.concatenate([c, c], 1) * self.weight  # [n, 2*e]
        tripled = jnp.concatenate([c, c, c], 1)  # [n, 2*e]  ~SC201
        return x, doubled

class Dense(eqx.Module):
    width: int

    def __call__(self, x: Float[Array, "n s d"], c):
        c = jax.nn.silu(c)  # [n, e]
        out = jnp.ones((c.shape[0], 2 * self.width))  # [n, 2*e]
        return x, out

class Wider(eqx.Module):
    width: int

    def __call__(self, x: Float[Array, "n s d"], c):
        c = jax.nn.silu(c)  # [n, e]
        out = jnp.ones((c.shape[0], 3 * self.width))  # [n, 2*e]  ~SC201
        return x, out
""",
    # what only an invention has reached is evaluated alone as well, where what it is given is described
    "alone.py": """
class Cache(eqx.Module):
    k: Array  # (layers, n, e)
    v: Array  # (layers, n, e)

class Inner(eqx.Module):
    w: Float[Array, "d e"]

    def __call__(self, x, k, v):
        '''x: (d,), k: (n, e), v: (n, e)'''
        scores = jnp.einsum("ne,d->e", k, x)  # (n,)  ~SC201
        return jnp.outer(scores, scores) @ self.w.T @ x  # (e,)

class Outer(eqx.Module):
    inner: Inner

    def __call__(self, x: Float[Array, "d"], cache: Cache):
        return self.inner(x, cache.k[0], cache.v[0])  # (e,)
""",
    # of alternatives all have two axes: that the fields have one each, with which all else holds, is a guess
    "either.py": """
class State(eqx.Module):
    rows: Array
    columns: Array

def product(state: State, chosen: Array | None = None) -> Array:
    '''The product.

    Returns:
        Array of shape (n, m) or (len(chosen), m). ~unreached
    '''
    rows = state.rows if chosen is None else state.rows[chosen]
    return rows @ state.columns.T

def rest(y: Array, state: State) -> Array:
    '''What is left.

    Args:
        y: Array of shape (n, m).

    Returns:
        Array of shape (n, m).
    '''
    return y - product(state)
""",
    # the integers of an instance are sizes of the dims of the same names, in whichever order the arguments come
    "behind.py": """
import dataclasses

@dataclasses.dataclass(frozen=True)
class Grid:
    nx: int
    ny: int
    edge: str = "open"

def laplacian(f, grid: Grid):
    '''f: (nx, ny)'''
    k = jnp.arange(grid.nx)[:, None] + jnp.arange(grid.ny)  # (nx, ny)
    return f * k  # (nx, ny)

def smooth(f, grid: Grid):
    '''f: (nx, ny)'''
    if grid.edge == "periodic":
        return f * jnp.ones((grid.nx, grid.ny))  # (nx, ny)
    flat = laplacian(f, grid).reshape(-1)  # (nx, ny)  ~SC201
    return flat
""",
    # what the code only decides by is a flag, and both of its values are tried
    "flags.py": """
def ready(x, fast):
    return x if fast else 2 * x

def told(x, full, fast, sel):
    '''x: (n, d)'''
    if sel is None:
        sel = jnp.arange(x.shape[0])
    gram = ready(x, fast)[sel] @ x.T  # (n, n)
    if full:
        return gram  # (n, n)
    return jnp.diag(gram)  # (n,)

def told_wrong(x, full):
    '''x: (n, d)'''
    gram = x @ x.T
    if not full:
        return jnp.diag(gram)  # (n,)
    return gram.sum(0)  # (n, n)  ~SC201

def no_flag(x, full):
    '''x: (n, d)'''  ~unreached
    return x if full else x + unknown(full)  # (d, n)  ~unreached
""",
    # texts that a base class looks up, and what is one number by its name wherever it is handed on to
    "looked_up.py": """
KINDS = {"narrow": 0, "wide": 1}

class Base(eqx.Module):
    kind: int

    def __init__(self, kind):
        self.kind = KINDS[kind]

    @staticmethod
    def scale(x, factor):
        '''factor: (k,)'''
        return x * factor

class Kernel(Base):
    d_out: int

    def __init__(self, d_out, kind):
        super().__init__(kind)
        self.d_out = d_out

    def project(self, x, rng_state, helper):
        '''x: (n, d)'''
        w = jax.random.normal(rng_state, (x.shape[1], self.d_out))
        return x @ w  # (n, d_out)

    def scaled(self, x):
        n, m = x.shape
        return super().scale(x, jnp.ones(m))  # (n, m)

    def gram(self, x, jitter):
        '''x: (n, d)'''
        return damped(x @ x.T, jitter)[0]  # (n, n)  ~SC201

def damped(gram, by):
    return inner(gram, by)

def inner(gram, by):
    return gram
""",
    # what a constructor refuses says how long axes are, also of an array of which nobody says how many it has
    "checked.py": """
class Kernel(eqx.Module):
    d_in: int
    d_out: int

    def __init__(self, d_in, d_out):
        self.d_in, self.d_out = d_in, d_out

class Process(eqx.Module):
    kernel: Kernel
    places: Array

    def __init__(self, kernel, at):
        if at.shape[2] != kernel.d_in:
            raise ValueError("other inputs")
        if at.shape[0] != kernel.d_out:
            raise ValueError("other outputs")
        self.kernel = kernel
        self.places = at

    def sample(self, x):
        '''x: (d_out, n, d_in)'''
        return x.sum((1, 2)) + self.places.sum((1, 2))  # (d_out,)
""",
    # of what a docstring's type calls an array, and no more, any may be given
    "typed.py": """
def shifted(x, shift):
    '''Move points.

    :param jnp.ndarray x: points of shape (n, d)
    :param jnp.ndarray shift: where to
    '''
    return move(x, shift).sum(1)  # (d,)  ~SC201

def move(x, shift):
    return x
""",
    # sizes that divide evenly stay so while other choices are tried, such as to give what has to be given after all
    "given_after_all.py": """
import dataclasses

@dataclasses.dataclass(frozen=True)
class Config:
    n_heads: int
    dtype: str | None = None

def attend(x, config: Config, training=None):
    n, d = x.shape
    assert d % config.n_heads == 0
    if training is None:
        raise ValueError("say whether it is training")
    if config.dtype is None:
        raise ValueError("no dtype")
    heads = x.astype(config.dtype).reshape(n, config.n_heads, -1)  # (n, n_heads, k)
    return heads.swapaxes(0, 1)  # (n, n_heads, k)  ~SC201
""",
    # what a layer is constructed with where that takes an integer, also if it is computed with
    "layers.py": """
def project(x, key, features, inner):
    '''x: (n, d)'''
    hidden = jax.vmap(eqx.nn.Linear(x.shape[1], 2 * inner, key=key))(x)  # (n, 2 * inner)
    return jax.vmap(eqx.nn.Linear(2 * inner, features, key=key))(hidden)  # (features, n)  ~SC201
""",
    # of two integers nobody says which one is larger
    "order.py": """
def keep(key, rows, cols, kept):
    noise = jax.random.uniform(key, (rows, cols))  # (rows, cols)
    _, index = jax.lax.top_k(noise, kept)  # index: (rows, kept)
    return index

def init(key, width, used, hidden):
    return jax.random.normal(key, (hidden, width - used))  # (hidden, width - used)

def wrong(key, rows, cols, kept):
    noise = jax.random.uniform(key, (rows, cols))
    _, index = jax.lax.top_k(noise, kept)  # index: (kept, rows)  ~SC201
    return index
""",
    # where an annotation says what a function is, a comment says what it takes and gives
    "signatures.py": """
from typing import NamedTuple

class System(NamedTuple):
    step: Callable  # transition, (nx,) -> (nx,)  ~unreached
    look: Callable  # observation, (nx,) -> (ny,)  ~unreached
    noise: Array  # (ny, ny)

def update(system: System, mean):
    '''mean: (nx,)'''
    jac = jax.jacfwd(system.look)(system.step(mean))  # (ny, nx)
    return jac @ jac.T + system.noise  # (ny, ny)

def swapped(system: System, mean):
    '''mean: (nx,)'''
    return jax.jacfwd(system.look)(mean)  # (nx, ny)  ~SC201
""",
    # what claims use as a dim is an integer, though the body only hands it on
    "dims.py": """
def frequencies(n, length=1.0):
    return jnp.fft.rfftfreq(n, d=length / n)  # (n//2 + 1,)

def wrong(n, length=1.0):
    return jnp.fft.fftfreq(n, d=length / n)  # (n//2 + 1,)  ~SC201
""",
    # numbers between which there are steps, and what is divided by beside sizes
    "scalars.py": """
def edges(near, far, steps):
    ends = jnp.linspace(near, far, steps + 1)  # (steps + 1,)
    return ends[1:] - ends[:-1]  # (steps,)

def rays(height, width, focal):
    x = (jnp.arange(width) - 0.5 * width) / focal  # (width,)
    return jnp.broadcast_to(x, (height, width))  # (height, width)
""",
    # trees of which nothing is said are alike
    "trees.py": """
from typing import Any, NamedTuple
from jaxtyping import PyTree

class State(NamedTuple):
    step: Float[Array, ""]
    mean: PyTree

def update(state: State, grads: PyTree[Float[Array, "..."]]) -> PyTree[Float[Array, "..."]]:
    count = state.step + 1  # ()
    return jax.tree_util.tree_map(lambda m, g: 0.9 * m + count * g, state.mean, grads)
""",
    # the names that a class gives the axes of its arrays are known in its methods
    "fields.py": """
class Bank(eqx.Module):
    w: Array  # (E, M, F)

    def __init__(self, experts, width, hidden):
        self.w = jnp.zeros((experts, width, hidden))

    def __call__(self, x):  # x: (E, C, M)
        return jnp.einsum("ecm,emf->ecf", x, self.w)  # (E, C, F)

    def wrong(self, x):  # x: (E, C, M)
        return jnp.einsum("ecm,emf->efc", x, self.w)  # (E, C, F)  ~SC201
""",
    # axes that a comment tells apart are not one size, though the code asks for their number as well
    "told_apart.py": """
def spread(samples):
    # samples: (draws, chains, dim)  ~unreached
    draws, chains, dim = samples.shape
    between = samples.mean(0).var(0)  # (dim,)  ~unreached
    within = samples.var(-1).mean(0)  # (dim,)  ~SC201
    return within + between  # (dim,)  ~unreached
""",
    # a parameter whose name begins with an underscore has axes that can follow others too
    "underscores.py": """
def attend(_q, _k, _v):
    weights = jnp.einsum("bshd,bthd->bhst", _q, _k)  # (b, h, s, t)
    masked = weights + jnp.triu(jnp.ones((128, 128)), 1)  # (b, h, s, t)
    return jnp.einsum("bhst,bthd->bshd", masked, _v)

def wrong(_q: Float[Array, "b s"], _k: Float[Array, "b t"]):  ~unreached
    return _q @ _k  ~SC305
""",
    # what is squeezed out has one element, should nobody say another number
    "squeezed.py": """
def points(mask):
    '''Points.

    Args:
        mask: 3-5 dim boolean ndarray

    Returns:
        array of shape (3, n)  ~unreached
    '''
    if mask.ndim == 5:
        mask = mask.squeeze(axis=(0, 4))  ~SC302
    elif mask.ndim == 4:
        mask = mask.squeeze(axis=3)
    return jnp.stack(jnp.where(mask, size=7))

def column(x):
    '''Column.

    Args:
        x: array of shape (b, n)  ~unreached
    '''
    return x.squeeze(1)  ~SC301
""",
    # arrays of another kind of numbers come further: what ends it there is the code's own error
    "further.py": """
TABLE = jnp.zeros((21, 8, 3))

def gather(values, indices):
    return jnp.take(values, indices, axis=0, mode="clip")

def frames(kind, mask):
    '''Frames.

    Args:
        kind: array of shape (n,)
        mask: array of shape (n, 3)
    '''
    rigid = gather(TABLE, kind)  # (n, 8, 3)
    exists = rigid.sum(-1)  # (n, 8)
    return (rigid.min(-1) * exists).T @ mask

def mixed(kind, mask):
    '''Mixed.

    Args:
        kind: array of shape (n,)  ~unreached
        mask: array of shape (n, 3)  ~unreached
    '''
    rigid = gather(TABLE, kind)  # (n, 3, 8)  ~SC201
    exists = rigid.sum(-1)  # (n, 8)  ~unreached
    return (rigid.min(1) * exists).T @ mask  ~SC301

def turned(points, angle):
    '''Turned.

    Args:
        points: array of shape (..., 2)  ~unreached
        angle: array of shape (...)  ~unreached
    '''
    angle = -jnp.array(angle)
    moved = jnp.stack([points, points], axis=-1)
    return jnp.concatenate([moved, points[..., None]], axis=-2) + angle  ~SC301
""",
    # of which kind an argument's numbers are nobody says: a loop that needs others is no error
    # what ends it is another thing than the array of which nothing says the rank; or it is of a size of that array
    "apart.py": """
class Sensor:
    def __init__(self, origin: Array, table: Array):
        self.origin, self.table = origin, table

    def gain(self, grid: Array, position: Array, yaw: Array):
        angles = jnp.linspace(yaw - 0.5, yaw + 0.5, 8)
        rows = (position[0] + jnp.cos(angles) - self.origin[0]).astype(int)
        columns = (position[1] + jnp.sin(angles) - self.origin[1]).astype(int)
        return grid[rows, columns].sum()

    def gains(self, grid: Array, positions: Array, yaws: Array):
        '''grid: (H, W), positions: (K, 2), yaws: (K,)'''
        return jax.vmap(self.gain, in_axes=(None, 0, 0))(grid, positions, yaws)

    def wrong_gains(self, grid: Array, positions: Array, yaws: Array):
        '''grid: (H, W), positions: (K, 2), yaws: (K,)'''  ~unreached
        return jax.vmap(self.gain, in_axes=(None, 1, 0))(grid, positions, yaws)  ~SC305

    def first(self, x: Array):
        '''x: (n, d)'''
        return x @ jnp.eye(self.table.shape[0])

    def joined(self, x: Array):
        '''x: (n, d)'''
        return jnp.concatenate([x, jnp.zeros((2, 2 * len(self.table)))])
""",
    # two ranks of an array inside of an argument, the second without a tie, show the same of what never meets it
    "inside.py": """
class Sensor:
    def __init__(self, origin: Array):
        self.origin = origin

    def gains(self, positions: Array):
        '''positions: (n, 2)'''
        return (positions - self.origin).sum(1)

def total(sensor: Sensor, path: Array, grid: Array):
    '''path: (horizon, 2), grid: (H, W)'''
    seen = jnp.zeros((path.shape[0], *grid.shape)) + grid
    count = seen.sum((1, 2), keepdims=True)  # (n,)  ~SC201
    right = seen.sum((1, 2))  # (n,)
    offsets = path - sensor.origin  # (horizon, 2)
    return sensor.gains(path), count, right, offsets
""",
    "kinds.py": """
def spread(seeds: Array, links: Array):
    '''Spread.

    Args:
        seeds: array of shape (b, n).
        links: array of shape (b, n).
    '''
    return jax.lax.while_loop(lambda s: s.any(), lambda s: jnp.logical_and(s, links > 0), seeds)

def told(seeds: Float[Array, "b n"]):  ~unreached
    return jax.lax.while_loop(lambda s: s.any(), lambda s: s > 0, seeds)  ~SC301
""",
    # an integer that is made up must not be what does not fit; where it is the size of an axis, 1 would broadcast
    "ones.py": """
def convolved(x: Array, weight: Array, groups: int):
    '''Convolve.

    Args:
        x: array of shape ``(c, n)``.  ~unreached
        weight: array of shape ``(out, c, k)``.  ~unreached
        groups: number of groups.
    '''
    return jax.lax.conv_general_dilated(x[None], weight, (1,), "SAME", feature_group_count=groups)  ~SC302

def crossed(x: Float[Array, "c n"], weight: Float[Array, "out k c"], groups: int):  ~unreached
    y = jax.lax.conv_general_dilated(x[None], weight, (1,), "SAME", feature_group_count=groups)  ~SC305
    return y

def grouped(x: Float[Array, "c n"], scale: Float[Array, "n"], groups: int):  ~unreached
    return jnp.broadcast_to(x, (groups, *x.shape)) * scale[:, None]  ~SC305
""",
    # The code says how many axes there are.
    "unpack.py": """
def split(x: Array):
    b, t, c = x.shape
    heads = x.reshape(b, t, 4, -1).swapaxes(1, 2)  # (b, 4, t, d)
    return heads.mean(2)  # (b, t, d)  ~SC201
""",
    # a comment and a docstring that say the same are one description: what was made as they say proves neither false
    "said_twice.py": """
def order(
    x: Array,  # (..., n, ...)  ~unreached
    axis: int | None = None,
):
    '''Sort.

    Args:
        x: Input Array of shape (..., n, ...).  ~unreached
        axis: None sorts all.
    '''
    if axis is None:
        x = jnp.ravel(x)
        axis = 0
    y = jnp.argsort(x, axis)  # (..., n, ...)
    z = y[None]  # (n,)  ~SC201
    return y
""",
    # `_` says nothing of a size, which may have to be that of another axis; beside it all is as it was
    "any_size.py": """
import jaxtyping

class Operator(eqx.Module):
    matrix: jaxtyping.Float[Array, "a b"]

    def apply(self, vector: jaxtyping.Float[Array, "_b"]) -> jaxtyping.Float[Array, "_a"]:
        return self.matrix @ vector

class Bands(eqx.Module):
    middle: jaxtyping.Float[Array, "size"]
    upper: jaxtyping.Float[Array, "size-1"]

    def apply(self, vector: jaxtyping.Float[Array, "_b"]) -> jaxtyping.Float[Array, "_a"]: ~unreached
        return self.middle[:-1] * vector[:-1] + self.upper * vector[1:]  ~SC302

def flipped(x: jaxtyping.Float[Array, "b d"], y: jaxtyping.Float[Array, "_"]) -> jaxtyping.Float[Array, "b d"]: ~SC203
    return x.T

def squared(x: jaxtyping.Float[Array, "b d"], y: Float[Array, "_ d"]) -> jaxtyping.Float[Array, "b"]: ~unreached
    return jnp.diag(x @ (x + y.sum(0))) ~SC305
""",
    "checks.py": """
def assert_rank(arrays, ranks):
    for array, rank in zip(arrays, ranks):
        if array.ndim != rank:
            raise AssertionError(f"rank {array.ndim}, not {rank}")

def loss(logits: Array, labels: Array) -> Float[Array, "b"]:
    assert_rank([logits, labels], [2, 1])
    return jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=-1)[:, 0]

def wrong(logits: Array) -> Float[Array, "b"]: ~SC203
    if logits.ndim != 3:
        raise ValueError("three axes, please")
    return logits.sum(-1)

def either(x):
    assert x.ndim in (1, 2)
    total = x.sum()  # ()
    return total + x.max(-1, keepdims=True)  # shape: ()  ~SC201

def several(a: Array, b: Array):
    if a.shape != b.shape:
        raise ValueError("alike, please")
    assert a.ndim == 2
    return (a * b).sum(-1)  # shape: (n,)
""",
    # What is false whatever such an array is is false, and what follows from it is nobody's error.
    "another.py": """
def push(stack: Float[Array, "batch depth cell"], value: Array):
    top = stack[:, 0] * 2 + value
    rest = stack[:, 1:]  # (batch, depth, cell)  ~SC201
    rest = stack[:, 1:]  # (batch, depth - 1, cell)
    return jnp.concatenate([top[:, None], rest], axis=1)

def widened(x: Float[Array, "n d"], scale: Array):
    y = x[:, :, None] * scale  # (n, d, 1)
    return y
""",
    # Sizes are nobody's, but the claims give them names: the code runs with two sizes for two names.
    "named.py": """
def embed(features: Array, action: Array, actions: int) -> Array:
    assert features.ndim == 2 and action.ndim == 1
    action = jax.nn.one_hot(action, actions)  # [B, A]
    return jnp.concatenate([features, action], axis=-1)  # [A, D+A]  ~SC201

def embed_well(features: Array, action: Array, actions: int) -> Array:
    assert features.ndim == 2 and action.ndim == 1
    action = jax.nn.one_hot(action, actions)  # [B, A]
    return jnp.concatenate([features, action], axis=-1)  # [B, D+A]
""",
    "operations.py": """
def scores(q: Array, k: Array):
    s = jnp.einsum("bqd,bkd->bqk", q, k)  # shape: (b, q, k)
    return s.max(-1)  # shape: (b, q, k)  ~SC201

def turned(x: Array):
    return x.transpose(0, 2, 1)  # shape: (a, b, c)

def outer(x: Array, y: Array):
    assert y.ndim == 1
    return x[:, None] + y[None, :]  # shape: (n, m)
""",
    # Sizes of such arrays are nobody's: they fit each other where the code needs it.
    "fit.py": """
def affine(x: Float[Array, "b d"], w: Array, bias: Array):
    assert w.ndim == 2 and bias.ndim == 1
    y = x @ w + bias  # (b, k)
    z = y.sum(0)  # (b,)  ~SC201
    return y.sum(1)  # shape: (b, k)  ~SC201

def alike(x: Array, y: Array) -> Float[Array, ""]:
    return jnp.sum(x * y)
""",
    # What fails for such a size alone proves nothing: it may be three.
    "sizes.py": """
def violation(positions: Array, mask: Array):
    assert len(positions.shape) == 3
    assert len(mask.shape) == 2
    this = positions[:-1, 1, :]  # (N - 1, 3)  ~unreached
    this_mask = mask[:-1, 1]  # (N - 1)
    both = this * this_mask[:, None]  # (N - 1, M)
    return both.sum(0)  # shape: ()  ~SC201
""",
    # So do words of a docstring.
    "words.py": """
def spline(x: Array, knots: Array) -> Float[Array, ""]:
    '''Evaluate a spline.

    Args:
        x: a scalar (0-dimensional array), where to evaluate it.
        knots: array of shape `(n,)`.
    '''
    return jnp.sum(jnp.where(x < knots, 1.0, 0.0))

def quadratic(a: Array, v: Array) -> Float[Array, ""]: ~SC203
    '''A quadratic form.

    Args:
        a: a symmetric matrix.
        v: a vector.
    '''
    return a @ v
""",
    # None is legal, and something has to be given.
    "given.py": """
class Bernoulli(eqx.Module):
    logits: Array | None
    probs: Array | None

    def __init__(self, logits: Array | None = None, probs: Array | None = None):
        if (logits is None) == (probs is None):
            raise ValueError("one of logits and probs, please")
        self.logits, self.probs = logits, probs

    def mean(self, weights: Float[Array, "n k"]) -> Float[Array, "k"]:
        return weights.sum(0)

    def sums(self, weights: Float[Array, "n k"]) -> Float[Array, "k"]: ~SC203
        return weights.sum(1)

class Normal(eqx.Module):
    loc: Array
    scale: Array

    def __init__(self, loc: Array, scale: Array):
        self.loc, self.scale = loc, loc * 0 + scale

    def log_prob(self, x: Float[Array, "n k"]) -> Float[Array, "n"]:
        jnp.square(self.loc / self.scale)
        return x.sum(-1)

class Linear(eqx.Module):
    matrix: Array

    def __init__(self, matrix: Array):
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"square, please, and not {matrix.shape}")
        self.matrix = matrix

    def scaled(self, x: Float[Array, "n k"]) -> Float[Array, "k"]: ~SC203
        return x.sum(-1)

class Range(eqx.Module):
    low: float

    def __init__(self, range_min: float, range_max: float, mode: str):
        if range_min >= range_max:
            raise ValueError("in order, please")
        if mode == "open":
            self.low = range_min
        elif mode == "closed":
            self.low = range_max
        else:
            raise ValueError(mode)

    def cut(self, x: Float[Array, "n k"]) -> Float[Array, "n"]: ~SC203
        return x.sum(0)
""",
    # Of several shapes that an argument may have each is tried.
    "alternatives.py": """
def solve(a: Array, b: Array) -> Array:
    '''Solve.

    Args:
        a: matrix of shape `(m, n)`.
        b: vector of shape `(m,)`, or matrix of shape `(m, k)`.

    Returns:
        vector of shape `(n,)`, or matrix of shape `(n, k)`.
    '''
    return a.T @ b

def solve_wrong(a: Array, b: Array) -> Array:
    '''Solve.

    Args:
        a: matrix of shape `(m, n)`.
        b: vector of shape `(m,)`, or matrix of shape `(m, k)`.

    Returns:
        vector of shape `(n,)`, or matrix of shape `(m, k)`.  ~SC207
    '''
    return a.T @ b

def never(a: Array, b: Array) -> Array:
    '''Solve.

    Args:
        a: matrix of shape `(m, n)`.  ~unreached
        b: vector of shape `(m,)`, or matrix of shape `(m, k)`.  ~unreached
    '''
    return a @ b  ~SC305
""",
    # What is left out is given, together with what one test asks of both.
    "optional.py": """
def interpolate(
    f: Float[Array, "n m"], sx: Float[Array, "s"] | None = None, sy: Float[Array, "s"] | None = None
) -> Float[Array, "n s"]: ~SC203
    if sx is not None and sy is not None:
        return (f[:, :1] * sx * sy).T
    return f

def mask(x: Float[Array, "b d"], keep: Float[Array, "b"] | None = None) -> Float[Array, "b d"]:
    return x if keep is None else x * keep[:, None]

class Settings(eqx.Module):
    causal: bool = False

class Block(eqx.Module):
    settings: Settings

    def __call__(self, x: Float[Array, "t d"]) -> Float[Array, "t d"]:
        y = x
        if self.settings.causal:
            y = x.T  # (t, d)  ~SC201
            y = y.T
        return y
""",
    # A tuple of arrays is as it is described, and as it is unpacked.
    "tuples.py": """
class Cell(eqx.Module):
    w: Float[Array, "h i"]

    def __call__(self, x: Float[Array, "i"], state):
        '''One step.

        Args:
            state: a 2-tuple of arrays, each of shape `(h,)`.
        '''
        h, c = state
        h = jnp.tanh(self.w @ x + h) * c  # (h,)
        return h[None]  # (h,)  ~SC201
""",
    # With sizes of nobody's a shape error is one of the code where nothing that may be chosen mends it.
    "persistent.py": """
def knots(x: Array, left: Array, right: Array) -> Array:
    '''Join.

    Args:
        x: a scalar.
        left: array of shape `(n,)`.  ~unreached
        right: array of shape `(n,)`.  ~unreached
    '''
    both = jnp.stack([left, right], axis=2)  ~SC301
    return both * x

def joined(a: Array, b: Array) -> Float[Array, "..."]: ~unreached
    assert a.ndim == 2 and b.ndim == 1
    return jnp.concatenate([a, b])  ~SC301

def iterate(f: Callable, low: Array, high: Array) -> Float[Array, ""]:
    assert low.ndim == 1 and high.ndim == 1
    return jax.lax.while_loop(lambda c: f(c) > 0, lambda c: c, low - high).sum()
""",
    # Equinox writes into a constructor what the converter of a field takes.
    "converter.py": """
def positive(x) -> Array:
    return jnp.asarray(x)

class Grid(eqx.Module):
    values: Float[Array, "dim dim"]
    size: Float[Array, ""] = eqx.field(converter=positive)

    def __init__(self, values: Float[Array, "dim dim"], size: Float[Array, ""] | float):
        self.values = values
        self.size = jnp.asarray(size)

    def scaled(self) -> Float[Array, "dim dim"]:
        return self.values * self.size
""",
    # Heads that share a key are a multiple of the keys' heads, as the code divides them: no claim makes them as many.
    "multiple.py": """
def attend(q: Float[Array, "b t h d"], k: Float[Array, "b t g d"]) -> Float[Array, "b t h d"]:
    k = jnp.repeat(k, q.shape[2] // k.shape[2], axis=2)
    return q + k

def attend_wrongly(q: Float[Array, "b t h d"], k: Float[Array, "b t g d"]) -> Float[Array, "b t h g"]: ~SC203
    heads, keys = q.shape[2], k.shape[2]
    return q + jnp.repeat(k, heads // keys, axis=2)
""",
    # What a constructor takes: a text that it compares what it keeps with, and more steps than its default; and what
    # stands for an array is as good as one.
    "constructors.py": """
class Model:
    def __init__(self, width: int, kind: str, steps: int = 0):
        assert steps > 0, "there must be some"
        self.kind = kind
        if self.kind == "mean":
            self.w = jnp.ones((width, width))
        elif self.kind == "last":
            self.w = jnp.zeros((width, width))
        else:
            raise ValueError(kind)

    def __call__(self, x: Float[Array, "n width"]) -> Float[Array, "n width"]:
        return x @ self.w

def begin(batch_size: int, like: jax.ShapeDtypeStruct) -> Array:
    '''Zeros.

    Args:
        like: (height, channels)
    '''
    y = jnp.zeros((3, *like.shape), like.dtype)  # (3, height, channels)
    return jnp.broadcast_to(y, (batch_size, *y.shape))
""",
    # What the code refuses as it is documented, and takes otherwise.
    "refused.py": """
def rewards(features: Array):
    '''Differences.

    Args:
        features: array of shape `(d,)`.  ~SC207
    '''
    assert features.ndim == 2
    return features[1:] - features[:-1]

def cells(images: Array, size: int):
    '''Averages, for sizes that are multiples.

    Args:
        images: array of shape `(h, w)`.  ~SC207
    '''
    assert images.ndim == 3
    h, w = images.shape[1] // size, images.shape[2] // size
    return images.reshape(-1, h, size, w, size).mean((2, 4))

def differences(x: Array, y: Array, scale: float):
    '''Differences.

    Args:
        x: array of shape `(m, n)`.  ~unreached
        y: array of shape `(n,)`.  ~unreached
    '''
    if y.ndim != x.ndim:
        raise ValueError("alike, please")  ~SC302
    return (x.sum() - y.sum()) * scale

def values(x: Array, n: int):
    '''It is the number that is refused.

    Args:
        x: array of shape `(d,)`.  ~unreached
    '''
    if x.ndim == 1 and n > 3:
        raise ValueError(f"no more than three of {x.shape}")  ~SC302
    return x * n
""",
    # Two descriptions of an argument may call an axis by two names; an order they do not share is another matter.
    "two_descriptions.py": """
def weigh(
    frames,  # shape (n_frames, 3)
    mask,  # shape (n_frames, n_targets)
    places,  # shape (n_places, 3)
):
    '''Weigh.

    Args:
        mask: a (n_frames, n_places) mask  ~unreached
    '''
    return frames.sum() + places.sum() + mask

def turned(
    frames,  # shape (n_frames, 3)
    mask,  # shape (n_frames, n_places)
    places,  # shape (n_places, 3)
):
    '''Weigh.

    Args:
        mask: a (n_places, n_frames) mask  ~SC207
    '''
    return frames @ places.T * mask
""",
    # What does not fit is computed of a size that nobody says; or of none.
    "of_a_vector.py": """
def skew(w):
    '''The matrix of a cross product.

    Args:
        w: array of shape (3,)
    '''
    w = jnp.reshape(w, (3,))  ~SC302
    return jnp.diag(w)

def of_half(twist):
    '''The matrix of a twist.

    Args:
        twist: a 6-vector, which has the rotation in front.

    Returns:
        an array of shape (3, 3)  ~unreached
    '''
    rotation, translation = jnp.split(twist, 2)
    return skew(rotation) * translation[0]

def of_another(twist):
    '''The matrix of a twist.

    Args:
        twist: a vector, however long it is.

    Returns:
        an array of shape (3, 3)  ~unreached
    '''
    return jnp.reshape(jnp.ones((4,)) * twist.sum(), (3, 3))  ~SC301
""",
    # Nobody says how long a sequence is, which was made for an argument or a field; nor how many axes `...` has.
    "lengths.py": """
class Mixture(eqx.Module):
    widths: tuple[int, ...]
    weights: Float[Array, "3 k"]

    def masked(self, x: Float[Array, "3"]) -> Float[Array, "3 k"]:  ~unreached
        return jnp.zeros((3, len(self.widths))) * self.weights * x[:, None]  ~SC302

    def mixed_up(self, x: Float[Array, "3"]) -> Float[Array, "3 k"]:  ~unreached
        return self.weights.T * x[:, None]  ~SC301

def bonds(positions, valency: tuple[int, ...]):
    '''Bonds.

    Args:
        positions: array of shape (n_atoms, 3)

    Returns:
        an array of shape (n_atoms,)
    '''
    return positions.sum(-1) + jnp.array(valency)

def encode(condition):
    '''Encode.

    Args:
        condition: array of shape (batch, set_size, dim).

    Returns:
        an array of shape (batch, dim)
    '''
    return condition.sum(-2)

def embed(condition: Array):
    '''Embed.

    Args:
        condition: array of shape [batch, ...].
    '''
    return encode(condition)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_nothing_describes_is_as_the_code_takes_it(folder, name: str) -> None:
    assert folder.cases[name].as_marked()


def test_of_a_class_that_is_built_in_it_says_which_parameter_has_it(check_folder) -> None:
    text = "import datetime\ndef f(x, when: datetime.datetime):\n    return x.sum(0)  # (d,)\n"
    (unreached,) = check_folder({"m.py": text}).report.unreached
    assert unreached.reason == "no value can be made for `when: datetime`"


WIDE = """
jax.config.update("jax_enable_x64", {})

def clipped(z):
    '''z: (n,)'''
    return jax.vmap(lambda x: jax.lax.cond(x < 0, lambda s: 0.0, lambda s: s, x))(z)  # (n,)

def narrow(z: Float[Array, "n"]) -> Float[Array, "n"]: {}
    x = jnp.float32(z[0])
    return jnp.zeros_like(z) + jax.lax.cond(x < 0, lambda s: 0.0, lambda s: s, x){}
"""


@pytest.mark.parametrize("wide", [True, False])
def test_numbers_have_as_many_bits_as_jax_takes(check_folder, wide: bool) -> None:
    text = WIDE.format(wide, *(["~unreached", "  ~SC301"] if wide else ["", ""]))  # the code itself makes it narrow
    assert check_folder({"m.py": HEAD + text}).cases["m.py"].as_marked()
