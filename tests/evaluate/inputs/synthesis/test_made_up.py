"""What the checker makes up itself (a callable, a module, sizes that happen to fit) must not accuse the user's code."""

from __future__ import annotations

import pytest

HEAD = """
from __future__ import annotations
import dataclasses
import functools
from collections.abc import Callable
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, PyTree
"""

CASES = {
    # how many rows a table has nobody says, and who slices it may never ask for more; a number stays it
    "tables.py": """
class Positions(eqx.Module):
    table: jax.Array

    def __init__(self, n_positions: int, width: int):
        self.table = jnp.zeros((n_positions, width))

    def __call__(self, tokens: Int[Array, "time"]) -> Float[Array, "time width"]:  ~unreached
        return self.table[: tokens.shape[0]]

    def turned(self, tokens: Int[Array, "time"]) -> Float[Array, "width time"]:  ~SC203
        return self.table[: tokens.shape[0]]

    def of_more(self, tokens: Int[Array, "... time"]) -> Float[Array, "... time width"]:  ~unreached
        return self.table[: tokens.shape[-1]]

def cut(x: Float[Array, "time d"]) -> Float[Array, "time d"]:  ~SC203
    return x[:48]
""",
    # two integers of one kind are no one size
    "kinds.py": """
def grid(height: int, width: int):
    y = jnp.arange(height)[:, None] * jnp.ones(width)  # (height, width)
    x = jnp.arange(width)[:, None] * jnp.ones(height)  # (height, width)  ~SC201
    return x.T + y

def split(num_heads: int, kv_heads: int, n_groups: int):
    shared = num_heads // kv_heads
    a = jnp.zeros((kv_heads, shared))  # (shared, kv_heads)  ~SC201
    b = jnp.zeros((kv_heads, n_groups))  # (n_groups, kv_heads)  ~SC201
    return a, b
""",
    # whoever makes it with other integers may have the number that is claimed
    "numbers.py": """
def padded(x: Float[Array, "d"], dim: int, padding: tuple[int, int]) -> Float[Array, "3"]:  ~unreached
    return jnp.pad(jnp.zeros(dim), padding)

class Embed(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, width: int, key: jax.Array):
        self.linear = eqx.nn.Linear(width, width, key=key)

    def __call__(self, x: Float[Array, "d=2"]) -> Float[Array, "d=2"]:  ~unreached
        return self.linear(x)

class Encoder(eqx.Module):
    embed: Embed

    def __init__(self, width: int, *, key: jax.Array):
        self.embed = Embed(width, key)

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "d"]:
        return self.embed(x)

def of_argument(x: Float[Array, "n d"], dim: int) -> Float[Array, "n 3"]:  ~SC203
    return x * dim

def of_code(x: Float[Array, "n d"], dim: int) -> Float[Array, "3"]:  ~SC203
    return jnp.zeros(4) * dim

def turned(left: int, right: int) -> Float[Array, "n 2"]:  ~SC203
    return jnp.stack([jnp.arange(left * right), jnp.zeros(left * right)])

def grid(left: int, right: int) -> Float[Array, "n 2"]:  ~unreached
    return jnp.zeros((left, right))
""",
    "callable.py": """
def pooled(x: Float[Array, "n d"], reduce: Callable) -> Float[Array, "n"]:
    return jax.vmap(reduce)(x)

def activated(x: Float[Array, "n d"], activation: Callable) -> Float[Array, "n"]: ~SC203
    return activation(x)

def promised(
    x: Float[Array, "n d"],
    score: Callable[[Float[Array, "d"]], Float[Array, ""]],
) -> Float[Array, "n"]:
    return jax.vmap(score)(x)
""",
    # a callable gives what it is given to any of the arrays that a union has, if that is of one shape
    "callable_of_unions.py": """
Feature = Float[ArrayLike, "d"]

def gated(gate: Callable[[Feature], Feature], x: Float[Array, "n k"]) -> Float[Array, "n k"]:
    return jax.vmap(gate)(x) * x

def turned(gate: Callable[[Feature], Feature], x: Float[Array, "n k"]) -> Float[Array, "k n"]:  ~SC203
    return jax.vmap(gate)(x) * x
""",
    # numbers of which one would be a made-up integer are those of some run; what is written stays
    "numbers_of_a_run.py": """
class Heads(eqx.Module):
    n_heads: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)

    def split(self, x: Float[Array, "b l d"]):
        q = jnp.ones((*x.shape[:2], self.n_heads, self.depth))
        v = q.swapaxes(1, 2)  # [b 4 7 15]  ~unreached
        return q, v  # [b 7 4 15]  ~unreached

    def wrong(self, x: Float[Array, "b l d"]):
        q = jnp.ones((*x.shape[:2], 4, 15))  # [b 7 4 16]  ~SC201
        return q
""",
    # as many indices as an axis is long are for an array of so many axes
    "indices.py": """
class State(eqx.Module):
    spins: Float[Array, "n"]

def spins_at(state: State, places: Int[Array, "a b"]) -> Float[Array, "a"]:  ~unreached
    return jnp.asarray([state.spins[tuple(place)] for place in places])  ~SC302

def wrong(x: Float[Array, "n"]) -> Float[Array, ""]:  ~unreached
    return x[0, 1]  ~SC301
""",
    # what a made-up callable gives is not what it is to give; what is wrong beside it is wrong
    "callable_of_numbers.py": """
def solved(diagonal: Callable, rhs: Float[Array, "n"], last: int) -> Float[Array, "n"]:
    factor = jax.scipy.linalg.lu_factor(diagonal(last))
    return jax.scipy.linalg.lu_solve(factor, rhs)

def wrong(score: Callable, x: Float[Array, "n k"], last: int) -> Float[Array, "n"]:  ~unreached
    mixed = x @ x  ~SC305
    return mixed.sum(1) + score(last)
""",
    # where `head_dim // 4` of one claim does not come out even, nothing is shown of what else has `head_dim`
    "uneven.py": """
class Rope(eqx.Module):
    inv_freq: Array  # (head_dim // 4,)  ~unreached
    head_dim: int = eqx.field(static=True)

    def __init__(self, hidden: int, heads: int):
        self.head_dim = hidden // heads
        self.inv_freq = 100.0 ** jnp.arange(0, 1, 4 / self.head_dim)

    def __call__(self, grid: Float[Array, "n 2"]):
        angles = (grid[:, :, None] * self.inv_freq).reshape(grid.shape[0], -1)
        angles = jnp.tile(angles, (1, 2))  # (n, head_dim)  ~unreached
        return angles
""",
    # of odd sizes, which do not divide, nothing follows: other even ones show it
    "halves.py": """
class Gate(eqx.Module):
    lin: eqx.nn.Linear
    def __init__(self, d: int, h: int, *, key: jax.Array):
        self.lin = eqx.nn.Linear(d, h, key=key)
    def __call__(self, x):
        a, b = jnp.split(self.lin(x), 2)
        return a * b

def run(net: Gate, xs: Float[Array, "batch d"]):
    y = jax.vmap(net)(xs)  # (batch, k)
    z = y.sum(0)  # (batch,)  ~SC201
    return z

class Film(eqx.Module):
    film: eqx.nn.Linear
    def __init__(self, cond: int, hidden: int, *, key: jax.Array):
        self.film = eqx.nn.Linear(cond, hidden, key=key)
    def __call__(self, h: Float[Array, "hidden"], c: Float[Array, "cond"]) -> Float[Array, "hidden"]: ~unreached
        scale, shift = jnp.split(self.film(c), 2)
        return h * scale + shift  ~SC301
""",
    # what fits what inside of an argument is known to who makes it
    "inside.py": """
class Velocity(eqx.Module):
    lin: eqx.nn.Linear
    n_in: int
    def __init__(self, n_in: int, n_out: int, *, key: jax.Array):
        self.lin, self.n_in = eqx.nn.Linear(n_in, n_out, key=key), n_in
    def __call__(self, x):
        return self.lin(x)

class Solver(eqx.Module):
    model: Velocity
    def __init__(self, model: Velocity):
        self.model = model
    def sample(self, key: jax.Array, n: int) -> Float[Array, "n d"]: ~unreached
        x = jax.random.normal(key, (n, self.model.n_in - 1))
        return x + jax.vmap(self.model)(jnp.concatenate([x, jnp.ones((n, 1))], axis=1))  ~SC302
""",
    # a model may have as many classes as an array has features, and not as many as a batch has examples
    "counts.py": """
class Net(eqx.Module):
    lin: eqx.nn.Linear
    def __init__(self, d: int, classes: int, *, key: jax.Array):
        self.lin = eqx.nn.Linear(d, classes, key=key)
    def __call__(self, x):
        return self.lin(x)

def scores(net: Net, imgs: Float[Array, "n h w d"]):
    logits: Float[Array, "classes n"] = jax.vmap(jax.vmap(jax.vmap(net)))(imgs)[:, 0, 0]  ~SC204
    return logits

def features(net: Net, x: Float[Array, "n d"], w: Float[Array, "d k"]):
    y: Float[Array, "n k"] = jax.vmap(net)(x)  ~unreached
    return y
""",
    # the axis in front comes from `vmap`, whatever the function does; what it does alone may be what is meant
    # arrays inside of an instance follow those beside it, and have two sizes where their own class says two
    "beside.py": """
class Primitives(eqx.Module):
    centres: Float[Array, "*batch 3"]
    exponents: Float[Array, "*batch"]

    def __call__(self, r: Float[Array, "3"]) -> Float[Array, "*batch"]:
        return jnp.exp(-self.exponents * jnp.sum((r - self.centres) ** 2, -1))

class Contracted(eqx.Module):
    primitives: Primitives
    factors: Float[Array, "*n"]
    segments: Int[Array, "n"]

    def terms(self, r: Float[Array, "3"]) -> Float[Array, "n"]:
        return self.factors * self.primitives(r)

    def summed(self, r: Float[Array, "3"]) -> Float[Array, "10"]:
        return jax.ops.segment_sum(self.factors * self.primitives(r), self.segments, 10)

    def mixed_up(self, r: Float[Array, "3"]):
        y = self.factors[:, None] * self.primitives.centres  # (3, n)  ~unreached
        return y

class Pair(eqx.Module):
    left: Float[Array, "rows columns"]
    scale: Float[Array, "rows"]

class OfPair(eqx.Module):
    pair: Pair
    shift: Float[Array, "n"]

    def squared(self) -> Float[Array, "n n"]: ~unreached
        return self.pair.left @ self.pair.left  ~SC301

    def further(self) -> Float[Array, "n"]: ~unreached
        shifted = self.pair.scale + self.shift  # (n,) ~unreached
        return self.pair.left @ shifted ~SC302
""",
    "outside.py": """
def pooled(x: Float[Array, "n d"], reduce: Callable) -> Float[Array, "1 k"]: ~SC203
    return jax.vmap(reduce)(x)

def given(x: Float[Array, "n d"], reduce: Callable) -> Float[Array, "1 d"]: ~unreached
    return reduce(x)
""",
    # the code says what two axes are, of whatever array it was given
    "computed.py": """
def rotations(x, base=10.0):
    B, T, _, D = x.shape
    steps = jnp.arange(D // 2)  # [D/2]
    angles = jnp.ones((B, T, 1)) * base**steps  # [B, T, D/2]
    wide = angles[..., None, :]  # [B, T, 1, D/2]
    long = angles[..., :, None]  # [B, T, 1, D/2]  ~SC201
    return jnp.cos(wide) + jnp.cos(long)
""",
    # `j|k` says of no two axes that they differ
    "either.py": '''
def core(
    q: jnp.ndarray,  # [b, queries, d]
    k: jnp.ndarray,  # [b, keys, d]
    v: jnp.ndarray,  # [b, keys, d]
    bias: jnp.ndarray,  # [b, queries, keys]
):
    return jnp.einsum("bqk,bkd->bqd", jnp.einsum("bqd,bkd->bqk", q, k) + bias, v) ~SC302

def attend(q, k, v, bias):
    """Attend.

    q, k, v  : [b, j|k, d]  ~unreached
    bias     : [b, N, N]  ~unreached
    """
    return core(q, k, v, bias)
''',
    "leaves.py": """
def product(field: PyTree[Float[Array, "?*field"], "T"], control: PyTree[Float[Array, "?*control"], "T"]): ~unreached
    return jax.tree.map(lambda a, b: a @ b, field, control) ~SC302
""",
    # the arrays of its fields may be numbers
    "fields.py": """
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Mean:
    total: jax.Array
    count: jax.Array

    def compute(self) -> Float[Array, ""]: ~unreached
        return self.total / jnp.clip(self.count, min=1e-8)

    def both(self) -> Float[Array, ""]: ~SC203
        return jnp.stack([self.total.sum(), self.count.sum()])
""",
    "flags.py": """
def dropped(x: Float[Array, "n d"], train, *, deterministic):
    y = x.sum(-1) if train else x.mean(0)  # (d,)  ~unreached
    return y if deterministic else 0 * y  # (d,)  ~unreached

def halves(x: Float[Array, "n d"], train):
    y = x if train else x.mean(0)  # (n, d)  ~unreached
    return y
""",
    "records.py": """
from typing import NamedTuple

class Batch(NamedTuple):
    inputs: Array  # (time, batch, width)
    weights: Array  # (batch,)

def weighted(data: Batch):
    means = data.inputs.mean(-1)  # (time, batch)
    return means * data.weights  # (time, batch)

@dataclasses.dataclass
class ByName:
    rows: Array  # (time, width)

def _by_name(init):
    @functools.wraps(init)
    def wrapped(self, *args, **kwargs):
        if args:
            raise TypeError("by name alone")
        init(self, **kwargs)
    return wrapped

ByName.__init__ = _by_name(ByName.__init__)

def doubled(data: ByName):
    return 2 * data.rows  # (time, width)

class Step(NamedTuple):
    observation: Array  # (width,)
    reward: Array  # ()

def of_a_stack(steps: Step):
    return 2 * steps.observation  # (time, width)
""",
    "module.py": """
class Residual(eqx.Module):
    body: eqx.nn.Linear
    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "d"]: ~unreached
        return self.body(x)

class Telling(eqx.Module):
    body: eqx.nn.Linear
    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "k"]:
        y = self.body(x)  # (k,)
        z = self.body(x)  # (d,)  ~SC201
        return y + z

def stacked(body: eqx.nn.Linear, x: Float[Array, "d"]):
    y = body(x)  # (d,)  ~unreached
    return jnp.concatenate([y, y])

@dataclasses.dataclass
class Config:
    width: int
    hidden: int

class Block(eqx.Module):
    body: eqx.nn.Linear
    def __init__(self, config: Config, key: Array):
        self.body = eqx.nn.Linear(config.width, config.hidden, key=key)
    def __call__(self, x: Float[Array, "width"]) -> Float[Array, "width"]: ~SC203
        return self.body(x)
""",
    "integers.py": """
class Linear(eqx.Module):
    weight: Float[Array, "out_dim in_dim"]
    out_dim: int
    def __call__(self, x: Float[Array, "in_dim"]) -> Float[Array, "out_dim"]:
        return self.weight @ x

def repeated(x: Float[Array, "d"], n: int) -> Float[Array, "n d"]:
    return jnp.tile(x, (n, 1))

def taken(x: Float[Array, "n d"], n: int) -> Float[Array, "n d"]:
    return x + jnp.arange(n)[:, None]
""",
    "classwide.py": """
class Process(eqx.Module):
    points: Float[Array, "m d"]
    def distances(self, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
        return jnp.zeros((x.shape[0], y.shape[0]))
    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n m"]:
        wrong = self.points.mean(axis=1)  # (n,)  ~SC201
        return self.distances(x, self.points)
""",
    "bare.py": """
def weighted(x: Float[Array, "n d"], weights: Array) -> Float[Array, "n d"]:
    return x * weights

def discounted(rewards: Float[Array, "t"], discount: float | Array) -> Float[Array, "t"]:
    return rewards * discount

def summed(x: Array) -> Float[Array, "n"]:
    return x.sum(axis=-1)
""",
    "union.py": """
def kernel(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return 2 * x

def predict(x: Int[Array, "n"] | Float[Array, "n"]) -> Float[Array, "n"]:
    return kernel(x)

CovMat = float | Float[Array, "dim"] | Float[Array, "dim dim"]

def spread(mean: Float[Array, "state"], cov: CovMat) -> Float[Array, "state state"]: ~unreached
    moved = jnp.outer(mean, mean)
    return moved @ cov @ moved.T ~SC302

def of_one_rank(mean: Float[Array, "state"], cov: Float[Array, "dim dim"]) -> Float[Array, "state state"]: ~unreached
    moved = jnp.outer(mean, mean)
    return moved @ cov @ moved.T ~SC305

def of_no_member(x: Float[Array, "3"] | Float[Array, "n 3"], y: Float[Array, "4"]) -> Float[Array, "..."]: ~unreached
    return x + y ~SC301

def of_the_second(x: Float[Array, "n 3 4"] | Float[Array, "n"], y: Float[Array, "n"]) -> Float[Array, "n"]:
    return jnp.diag(x) @ y
""",
    "chance.py": '''
def cells(x: Array, size: int) -> Array:
    """Average over cells.

    Args:
        x: An array of shape `[T, H, W]`.
        size: The size of each cell.

    Returns:
        An array of shape `[T, rows, columns]`.
    """
    h, w = x.shape[1] // size, x.shape[2] // size
    return x.reshape(-1, h, size, w, size).mean(axis=(2, 4))

def scanned(x: Float[Array, "l d"], y: Float[Array, "d n"]) -> Float[Array, "l n"]:
    summed = jax.lax.associative_scan(jnp.add, x)  # (l, d)
    return summed @ y
''',
    "constructed.py": '''
class Block:
    def __init__(self, num_heads: int, embed_dim: int, key_size: int | None = None):
        if key_size is None:
            key_size = embed_dim // num_heads
        self.scale = jnp.zeros(())

    def mlp(self, x: Array) -> Array:
        """Apply the last layer.

        Args:
            x: Embeddings of shape (batch_size, seq_len, key_size * num_heads).  ~unreached

        Returns:
            Embeddings of shape (batch_size, seq_len).
        """
        return x.sum(-1) * self.scale

def contradicting(x: Float[Array, "b t d"]) -> Float[Array, "b"]:
    """Sum.

    Args:
        x: an array of shape (b, t).  ~SC207
    """
    return x.sum((1, 2))

def calls(x: Float[Array, "b t d"]) -> Float[Array, "b t"]:
    return called(x)

def called(x: Array) -> Float[Array, "b t"]:
    """Sum.

    Args:
        x: an array of shape (b, t).  ~SC207
    """
    return x.sum(-1) if x.ndim == 3 else x
''',
    "hostile.py": """
class Everything:
    def __getattr__(self, name):
        return self
everything = Everything()

class Lazy:
    def __init__(self, d: int):
        self.d = d
    @functools.cached_property
    def table(self) -> Float[Array, "d d"]:
        return jnp.eye(self.d)

def largest(x: Float[Array, "n"], y: Float[Array, "m"], z: Float[Array, "max(n,m)"]) -> Float[Array, "max(n,m)"]:
    return z + 1
""",
    "told_elsewhere.py": """
class Likelihood(eqx.Module):
    num_outputs: int

    def flat(self, y: Float[Array, "N P"], m: Float[Array, "N 1"]) -> tuple[Float[Array, "NP 1"], Float[Array, "NP 1"]]:
        P = self.num_outputs
        return y.T.reshape(-1, 1), jnp.tile(m, (P, 1))

    def wrong(self, y: Float[Array, "N P"], m: Float[Array, "N 1"]) -> Float[Array, "N P"]:  # ~SC203
        P = self.num_outputs
        return jnp.tile(m, (P, 1))

def join(vertices, faces):
    \"\"\"Join.

    Args:
      vertices: array of shape [v, 3]
      faces: list of faces of length [n]. Each face i may have shape [k].
    \"\"\"
    return jnp.take(vertices, faces, axis=0)

def mesh(vertices: Float[Array, "v 3"], faces: Int[Array, "n 3"]):
    return join(vertices, faces)
""",
    # what a made-up function gives has the axes that the next made-up one takes; and so has what is named after it
    "samplers.py": """
class Cloud(eqx.Module):
    points: Float[Array, "n d"]  ~unreached
    weights: Float[Array, "n"]  ~unreached

def drawn(sampler: Callable, weigh: Callable, y: Float[Array, "time k"], n: int):
    points = sampler(jax.random.key(0), n)
    weights = jax.vmap(lambda p: weigh(y[0], p))(points)
    return Cloud(points, weights - jax.nn.logsumexp(weights))

def begun(key, sampler: Callable, other: Callable, weigh: Callable, y: Array, n: int):
    first, second = jax.random.split(key)
    points = sampler(first, n)
    params = other(second, n)
    return jax.vmap(lambda p, q: weigh(y, p, q))(points, params)  ~SC302

def filtered(sampler: Callable, other: Callable, weigh: Callable, y: Float[Array, "time k"], n: int):  ~unreached
    return begun(jax.random.key(0), sampler, other, weigh, y[0], n)

def mixed(sampler: Callable, y: Float[Array, "time k"], z: Float[Array, "k time"]):  ~unreached
    points = sampler(jax.random.key(0))
    total = y + z  ~SC305
    return points, total
""",
    # a module with nothing in it is none that anybody passes
    "empty_module.py": """
def counted(model: eqx.Module) -> Int[Array, ""]:  ~unreached
    sizes = [jnp.prod(jnp.array(leaf.shape)) for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array))]
    return jnp.sum(jnp.array(sizes))

def norms(model: eqx.Module, x: Float[Array, "n d"]) -> Float[Array, "d"]:  ~SC203
    return jnp.sum(x, axis=1)
""",
    # how many rows and columns a table of integers has is data
    "tables_of_integers.py": """
class Descriptor:
    def __init__(self, basis: list[list[list[int]]]):
        pairs = len(basis[0][0])
        atoms = int((1 + (1 + 8 * pairs) ** 0.5) / 2)
        self.powers = jnp.array([row for part in basis for row in part], dtype=float)
        self.left, self.right = jnp.triu_indices(atoms, k=1)

    def __call__(self, xyz: Float[Array, "n 3"]) -> Float[Array, "k"]:  ~unreached
        distances = jnp.linalg.norm(xyz[self.left] - xyz[self.right], axis=-1)
        return self.powers @ distances  ~SC302
""",
    # a lower number is made less than an upper one
    "limits.py": """
import math

def kept(x: Float[Array, "*dims"], axis: int) -> Float[Array, "*dims"]:
    inner = jnp.moveaxis(x, axis, -1)[..., 1:-1]
    return jnp.moveaxis(jnp.pad(inner, [(0, 0)] * (inner.ndim - 1) + [(1, 1)]), -1, axis)

def pitch(x: Float[Array, "*rows size n"], fmin: float, fmax: float, rate: float) -> Float[Array, "*rows n"]:
    least, most = math.floor(rate / fmax), min(math.ceil(rate / fmin), x.shape[-2] - 1)
    return jnp.argmin(kept(x[..., least : most + 1, :], -2), axis=-2) * 1.0
""",
    # an image of given sides is as long as these, which are multiples of what cuts it into windows
    "windows.py": """
import flax.linen as nn

def windows(x, size):
    b, h, w, c = x.shape
    return jnp.reshape(x, (b, h // size, size, w // size, size, c))

class Block(nn.Module):
    dim: int
    sides: tuple[int, int]
    size: int = 7

    @nn.compact
    def __call__(self, x: Float[Array, "b l c"]) -> Float[Array, "b l c"]:  ~unreached
        y = jnp.reshape(x, (x.shape[0], *self.sides, x.shape[2]))  ~SC302
        y = jnp.reshape(windows(y, self.size), (-1, self.size * self.size, x.shape[2]))
        return x + nn.Dense(self.dim)(y).sum((0, 1))

class Folded(nn.Module):
    sides: tuple[int, int]

    def __call__(self, x: Float[Array, "b l c"]) -> Float[Array, "b l c"]:  ~unreached
        return jnp.reshape(x, (x.shape[0], *self.sides, x.shape[2])).mean((1, 2), keepdims=True)[:, 0] + x
""",
    # of an abstract class of numbers one is made with which arrays are computed
    "number_classes.py": """
import numbers
import numpy as np

def limited(x: Float[Array, "n d"], step: numbers.Real) -> Float[Array, "n d"]:  ~SC203
    return jnp.where(x < step, x, step).T

def cut(x: Float[Array, "n d"], step: np.floating, k: numbers.Integral) -> Float[Array, "n k"]:
    return (x * step)[:, :1] * jnp.ones(k)
""",
    # a made-up number of an axis is one that the array may lack
    "axes.py": """
class Slice(eqx.Module):
    dim: int
    end: int

    def __init__(self, dim, end):
        self.dim, self.end = dim, end

    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "k"]:  ~unreached
        return jax.lax.slice_in_dim(x, 0, self.end + 1, 1, self.dim)  ~SC302

    def first(self, x: Float[Array, "n"]) -> Float[Array, ""]:  ~unreached
        return x.mean(axis=1)  ~SC301
""",
    # what the only made-up function gives has the axes that the code needs, and a forgotten transpose is one
    "one_function.py": """
def moments(
    u,
    etas: Float[Array, "n_samples n_eta"],
    sigma: Float[Array, "n_obs n_obs"],
) -> tuple[Float[Array, "n_eta n_obs"], Float[Array, "n_eta n_eta"]]:  ~SC203
    j_bar = jnp.mean(jax.vmap(jax.jacfwd(u))(etas), axis=0)
    return j_bar, j_bar.T @ jnp.linalg.solve(sigma, j_bar)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_is_made_up_accuses_nobody(folder, name):
    assert folder.cases[name].as_marked()


def test_an_operation_without_symbolic_sizes_leaves_the_others_free(folder):
    scanned = [e for e in folder.report.entries if e.target == "chance:scanned"]
    assert [e.mode for e in scanned] == ["sized", "sized"]


def test_where_annotation_and_docstring_contradict_each_other_both_are_named(folder):
    contradicting, called = folder.cases["constructed.py"].findings
    assert contradicting.message == (
        """docstring says (b, t), but x is annotated Float[Array, "b t d"] on line 27: one of the two is wrong"""
    )
    assert called.message == "docstring says (b, t), but x is (b, t, d)"


HOLDS_NOTHING = """
import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float


class Data(eqx.Module):
    values: Array

    def __init__(self):
        self.values = jnp.array([])


class Detector(eqx.Module):
    data: Data

    def __init__(self):
        self.data = Data()

    def raw(self) -> Complex[Array, "n"]:  ~unreached
        return self.data.values

    def whiten(self, x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
        return x / self.data.values

    def pair(self, x: Float[Array, "n"]) -> Float[Array, "n"]:  ~SC203
        return jnp.stack([x, x])


class Blocks(eqx.Module):
    blocks: tuple

    def __init__(self, *blocks):
        self.blocks = blocks


def joined(operator: Blocks, x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
    return jnp.concatenate([block @ x for block in operator.blocks])
"""


BELOW_ZERO = """
import jax.numpy as jnp
from jaxtyping import Array, Float

levels: int = -1


def prepare(depth: int) -> None:
    global levels
    levels = depth


def allocate(columns: int):
    state = jnp.full((columns, levels), jnp.nan)  # shape: (columns, levels)  ~unreached
    return state


def pad(x: Float[Array, "short"], y: Float[Array, "long"]) -> Float[Array, "long"]:
    return jnp.concatenate([x, jnp.zeros((y.shape[0] - x.shape[0],))])


def pad_other(y: Float[Array, "long"], x: Float[Array, "short"]) -> Float[Array, "long"]:
    return jnp.concatenate([x, jnp.zeros((y.shape[0] - x.shape[0],))])


def join(x: Float[Array, "b n"], y: Float[Array, "m"]) -> Float[Array, "b n"]:  ~unreached
    return x + jnp.full((y.shape[0],), 0.0)  ~SC305
"""


def test_a_size_below_zero_is_about_an_order_that_nobody_gave(check_folder) -> None:
    marked = check_folder({"below_zero.py": BELOW_ZERO}).cases["below_zero.py"]
    assert [each for each in dict.fromkeys(marked.actual) if each[1] != "SC302"] == marked.expected, marked.details


def test_an_instance_that_holds_no_data_yet_proves_nothing(check_folder) -> None:
    marked = check_folder({"holds_nothing.py": HOLDS_NOTHING}).cases["holds_nothing.py"]
    assert [each for each in dict.fromkeys(marked.actual) if each[1] != "SC302"] == marked.expected, marked.details
