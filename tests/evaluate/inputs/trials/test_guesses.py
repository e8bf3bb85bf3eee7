"""What nobody describes is made up, and the code is still told its mistakes: those that no guess can be due to."""

from __future__ import annotations

import pytest

HEAD = """
import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

"""

CASES = {
    # an integer that was made up to be a size is no number of an axis; one that is written is
    "axes.py": """
class Swapped(eqx.Module):
    func: Callable
    first: int
    second: int

    def __init__(self, func: Callable, first: int, second: int):
        self.func, self.first, self.second = func, int(first), int(second)

    def __call__(self, x: Float[Array, "n d"]):  ~unreached
        return jnp.swapaxes(x, self.first, self.second)  ~SC302

class Turned(eqx.Module):
    scale: float

    def __call__(self, x: Float[Array, "n d"]):  ~unreached
        return jnp.swapaxes(self.scale * x, 1, 2)  ~SC301
""",
    # a number may be an array: that broadcasts, and changes no axis of several items
    "numbers.py": '''
class Rollout(NamedTuple):
    reward: jax.Array   # [T, E]
    value: jax.Array    # [T, E]
    done: jax.Array     # [T, E]

def gae(rollout, last_value, gamma, lam):
    """Advantages.

    last_value: [E]
    """
    values = jnp.concatenate([rollout.value, last_value[None]])     # [T+1, E]
    delta = rollout.reward + gamma * values[1:] - values[:-1]       # [T, E]

    def back(acc, d):
        acc = d + gamma * lam * acc     # [E]
        return acc, acc

    return jax.lax.scan(back, jnp.zeros_like(last_value), delta, reverse=True)[1]

def turned(rollout, last_value, gamma, lam):
    """Advantages.

    last_value: [E]
    """
    values = jnp.concatenate([rollout.value, last_value[None]])     # [E, T+1] ~SC201
    delta = rollout.reward + gamma * values[1:] - values[:-1]       # [T, E]

    def back(acc, d):
        acc = d + gamma * lam * acc     # [E]
        return acc, acc

    return jax.lax.scan(back, jnp.zeros_like(last_value), delta, reverse=True)[1]

def joined(rollout, last_value, gamma):
    """Advantages.

    last_value: [E] ~unreached
    """
    values = jnp.concatenate([rollout.value, last_value[:, None]]) ~SC301
    return rollout.reward + gamma * values[1:] - values[:-1]        # [T, E] ~unreached

def by_kind(kinds, amounts, chosen):
    """The amounts of each kind.

    kinds: an array of the kind of each
    chosen: (kinds,) those to be shown
    Returns: (kinds,)
    """
    return jax.vmap(lambda kind: jnp.sum(jnp.where(kinds == kind, amounts, 0.0)))(chosen)

def stretched(x, scale):
    """Of one vector, or of several, as the scales are.

    x: (D,)
    """
    return x * scale        # (N, D) ~unreached
''',
    # what is annotated as either is used for more than arithmetic
    "either.py": """
def joined(x: float | jax.Array, y: Float[Array, "d"]):
    return jnp.concatenate([jnp.ravel(x), y])       # (2*d,) ~unreached
""",
    # a quotient that comes to nothing, or to one, says nothing of another size
    "quotients.py": '''
def attend(q, k, mask):
    """
    q (B, T, H, K): queries
    k (B, S, G, K): keys, each shared by H // G query heads
    mask (T, S): which keys each query may see
    """
    B, T, H, K = q.shape
    G = k.shape[2]
    q = q.reshape(B, T, G, H // G, K)                               # (B, T, G, H // G, K)
    logits = jnp.einsum("btgrk,bsgk->bgrts", q, k)                  # (B, G, H // G, T, S)
    return jnp.where(mask, logits, -1e9)                            # (B, G, H // G, T, S)

def attend_turned(q, k, mask):
    """
    q (B, T, H, K): queries ~unreached
    k (B, S, G, K): keys, each shared by H // G query heads ~unreached
    mask (T, S): which keys each query may see ~unreached
    """
    B, T, H, K = q.shape
    G = k.shape[2]
    q = q.reshape(B, T, G, H // G, K)                               # (B, T, G, H // G, K) ~unreached
    logits = jnp.einsum("btgrk,bsgk->bgrst", q, k)                  # (B, G, H // G, T, S) ~SC201
    return jnp.where(mask, logits, -1e9)                            # (B, G, H // G, T, S) ~unreached
''',
    # a field's annotation is not that of the parameter of which it is made
    "constructors.py": """
class Basis(eqx.Module):
    centers: Float[Array, " k"]

    def __init__(self, low: float, high: float, k: int):
        self.centers = jnp.linspace(low, high, k)

    def __call__(self, x: Float[Array, " m"]) -> Float[Array, "m k"]:
        return x[:, None] - self.centers

class Net(eqx.Module):
    basis: Basis
    weight: Float[Array, "k d"]

    def __init__(self, basis, d, key):
        self.basis = Basis(0.0, 1.0, basis)
        self.weight = jax.random.normal(key, (basis, d))

    def __call__(self, x: Float[Array, " m"]) -> Float[Array, "m d"]:
        return self.basis(x) @ self.weight

class Given(eqx.Module):
    basis: Basis

    def __init__(self, basis):
        self.basis = basis

    def __call__(self, x: Float[Array, " m"]) -> Float[Array, "m"]:
        return self.basis(x).sum(-1)
""",
    # what a loop carries has one structure; where its body is made up, that may be what is wrong
    "carries.py": """
class State(NamedTuple):
    q: Float[Array, "d"]

def swapped(q: Float[Array, "d"], xs: Float[Array, "t"]) -> Float[Array, "t d"]: ~unreached
    def step(state, x):
        return state.q * x, State(state.q)

    return jax.lax.scan(step, State(q), xs)[1].q ~SC301

def by_callable(body: Callable, q: Float[Array, "d"], xs: Float[Array, "t"]) -> Float[Array, "t d"]: ~unreached
    return jax.lax.scan(body, State(q), xs)[1] ~SC302
""",
    "unpacked.py": """
def scaled(x: Float[Array, "t d"]) -> Float[Array, "t d"]: ~unreached
    batch, t, d = x.shape ~SC301
    return x / d

def paired(pair: tuple[int, ...], x: Float[Array, "t d"]) -> Float[Array, "t d"]: ~unreached
    a, b, c, d, e = pair ~SC302
    return x * a
""",
    # an axis is none of those that follow from another axis of its own array
    "beside.py": """
def pooled(x: Float[Array, "h t"], y: Float[Array, "h"]): ~unreached
    h, t = x.shape
    return x.reshape(h, t // 4, 4).mean(-1).sum(0) * y ~SC305

def pooled_apart(x: Float[Array, "h t"], y: Float[Array, "s"]) -> Float[Array, "s"]:
    h, t = x.shape
    return x.reshape(h, t // 4, 4).mean(-1).sum(0) * y    # (t // 4,)
""",
    # a record tells an integer of the function from another size that it has
    "records.py": """
class Cloud(NamedTuple):
    x: Float[Array, "n dx"]
    logw: Float[Array, "n"]

def moments(x, logw):
    w = jax.nn.softmax(logw)
    return jnp.sum(w[:, None] * x, axis=0)

def turned_moments(x, logw):
    w = jax.nn.softmax(logw)
    return jnp.sum(w[None, :] * x, axis=0) ~SC305

def start(a: Float[Array, "dx dx"], n: int) -> Cloud:
    cloud = Cloud(jnp.zeros((n, a.shape[0])), jnp.zeros(n))
    return cloud._replace(x=cloud.x + moments(*cloud))

def turned_start(a: Float[Array, "dx dx"], n: int) -> Cloud: ~unreached
    cloud = Cloud(jnp.zeros((n, a.shape[0])), jnp.zeros(n))
    return cloud._replace(x=cloud.x + turned_moments(*cloud))
""",
    # nobody says that a patch is larger than an image
    "slices.py": """
def corner(image: Float[Array, "h w"], patches: Float[Array, "n p p"]) -> Float[Array, "p p"]: ~unreached
    p = patches.shape[1]
    return image[:p, :p]
""",
    # half of an odd size is what the code makes of it
    "halves.py": """
def rotated(x: Float[Array, "t d"], part: int):
    angles = jnp.outer(jnp.arange(x.shape[0]), jnp.arange(part // 2))
    kept, rest = x[:, :part], x[:, part:]
    turned = jnp.stack([kept[:, ::2] * angles, kept[:, 1::2] * angles], axis=-1)
    y = jnp.concatenate([turned.reshape(kept.shape), rest], axis=-1)  # (t, d)
    return y.T  # (t, d) ~SC201

class Encoding(eqx.Module):
    embed_dim: int

    def __call__(self, x):
        # x: (batch, embed_dim) ~unreached
        rates = jnp.arange(0, self.embed_dim, 2) * 2.0      # (embed_dim/2,) ~unreached
        return x[:, ::2] * rates, jnp.zeros(3) + jnp.zeros((self.embed_dim, 4)) ~SC301
""",
    # the numbers of one patch are what the layer takes, and an image has the size that the model is made for
    "patches.py": """
class Tower(eqx.Module):
    proj: eqx.nn.Linear
    pos: Float[Array, "patches dim"]
    patch: int = eqx.field(static=True)

    def __init__(self, channels, size, patch, dim, key):
        self.patch = patch
        self.proj = eqx.nn.Linear(channels * patch * patch, dim, key=key)
        self.pos = jnp.zeros(((size // patch) ** 2, dim))

    def __call__(self, img: Float[Array, "c h w"]) -> Float[Array, "patches dim"]:
        c, h, w = img.shape
        p = self.patch
        x = img.reshape(c, h // p, p, w // p, p).transpose(1, 3, 0, 2, 4)   # (h//p, w//p, c, p, p)
        return jax.vmap(self.proj)(x.reshape((h // p) * (w // p), c * p * p)) + self.pos

class Pooled(eqx.Module):
    tower: Tower
    head: eqx.nn.Linear

    def __init__(self, channels, size, patch, dim, embed, key):
        self.tower = Tower(channels, size, patch, dim, key)
        self.head = eqx.nn.Linear(dim, embed, key=key)

    def __call__(self, img: Float[Array, "c h w"]) -> Float[Array, "embed"]: ~unreached
        pooled: Float[Array, "dim"] = self.tower(img).mean(axis=1) ~unreached
        return self.head(pooled) ~SC301
""",
    # the axis of an argument is as long as callers like, and may be what a text with names of its own calls it
    "words.py": '''
def scaled(inputs, emb_dim: int):
    b, t, d = inputs.shape
    return inputs * d ** -0.5       # (batch, seq, emb_dim) ~unreached

def told(inputs, emb_dim: int):
    """Of documents.

    inputs: (n, l, c)
    """
    return inputs + 1               # (batch, seq, emb_dim) ~unreached

def in_words_of_two(x, seq: int, dim: int):
    b, t = x.shape
    return jnp.exp(x)               # (seq, dim) ~unreached

def half_in_its_words(inputs, emb_dim: int):
    b, t, d = inputs.shape
    return inputs * d ** -0.5       # (b, t, emb_dim) ~SC201

def turned(inputs, emb_dim: int):
    b, t, d = inputs.shape
    y = inputs @ jnp.ones((d, emb_dim))     # (batch, seq, emb_dim)
    return y.swapaxes(1, 2)                 # (batch, seq, emb_dim) ~SC201

def turned_at_once(inputs, emb_dim: int):
    b, t, d = inputs.shape
    return inputs.transpose(2, 1, 0)        # (batch, seq, emb_dim) ~SC201

def of_two(left: Float[Array, "n d"], right: Float[Array, "m d"], rows: int, heads: int):
    return left @ right.T                   # (rows, heads) ~SC201

def about_what_comes_in(inputs, emb_dim: int):
    assert inputs.ndim == 3
    # inputs: (batch, seq, emb_dim)
    return jnp.exp(inputs).swapaxes(1, 2)   # (batch, seq, emb_dim) ~SC201
''',
    # what one integer is may follow from others; nothing else that the claim names tells otherwise
    "totals.py": '''
def all_of(left: int, right: int, total: int):
    return jnp.zeros(left + right)              # (total,) ~unreached

def for_each(x, left: int, right: int, total: int):
    """Nothing, for each.

    x: (n,)
    """
    return x[:, None] + jnp.zeros(left + right) # (n, total) ~unreached

def turned(x, left: int, right: int, total: int):
    """Nothing, for each.

    x: (n,)
    """
    return x[:, None] + jnp.zeros(left + right) # (total, n) ~SC201
''',
    # how many seeds there are is no seed: with none of them, whatever is made of them is empty, and fits everywhere
    "seeds.py": """
class Pooled(eqx.Module):
    seeds: Float[Array, "n_seeds d"]
    readout: eqx.nn.Linear

    def __init__(self, d, d_out, n_seeds, n_classes, key):
        self.seeds = jax.random.normal(key, (n_seeds, d))
        self.readout = eqx.nn.Linear(n_seeds * d_out, n_classes, key=key)

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n_classes"]: ~unreached
        pooled = jax.nn.softmax(self.seeds @ x.T) @ x   # (n_seeds, d) ~unreached
        return self.readout(pooled.ravel()) ~SC301
""",
    # one claim with both sides of a relation says that these are two axes, and no product of arguments is a feature
    "sides.py": """
class Masked(eqx.Module):
    series: int

    def features(self, x, mask):
        # x: (time, series), mask: (time, series)
        both = jnp.concatenate([x * mask, mask], axis=1)    # (time, 2*series)
        return both                                         # (2*series, time) ~SC201

    def __call__(self, x, mask):
        # x: (time, series), mask: (time, series)
        return self.features(x, mask)                       # (2*series, time) ~SC201

def spread(draws: Float[Array, "chains s d"]) -> Float[Array, " d"]: ~SC203
    return draws.reshape(-1, draws.shape[-1]).var(axis=1)

def sample(start: Float[Array, " d"], chains: int, steps: int): ~unreached
    draws: Float[Array, "chains steps d"] = jnp.zeros((chains, steps, 1)) + start ~unreached
    return draws / spread(draws) ~SC305
""",
    # a product of free sizes may be what a model was made for, unless one claim has both: then these are two axes
    # what is handed on to where it must be an array may be one: the error is about the guess
    "handed.py": """
class State(NamedTuple):
    deter: Float[Array, "deter"]
    stoch: Float[Array, "groups classes"]

class Cell(eqx.Module):
    lin: eqx.nn.Linear

    def __init__(self, deter: int, groups: int, classes: int, act: int, *, key):
        self.lin = eqx.nn.Linear(groups * classes + act, deter, key=key)

    def step(self, prev: State, act: Float[Array, "act"]) -> State:
        return State(self.lin(jnp.concatenate([prev.stoch.reshape(-1), act])), prev.stoch)  ~SC302

    def begin(self, prev, act, first):
        # first: ()  ~unreached
        prev = jax.tree.map(lambda a: a * (1.0 - first), prev)
        return self.step(prev, act * (1 - first))

class Flat(eqx.Module):
    lin: eqx.nn.Linear

    def __init__(self, deter: int, stoch: int, act: int, *, key):
        self.lin = eqx.nn.Linear(stoch + act, deter, key=key)

    def step(self, prev: State, act: Float[Array, "act"]) -> State:  ~unreached
        return State(self.lin(jnp.concatenate([prev.stoch.reshape(-1), act])), prev.stoch)  ~SC302
""",
    # what makes an argument has the integers of the call itself, where they have one name
    "heads.py": """
def init_params(key, d, n_heads):
    return {"w": jax.random.normal(key, (d, n_heads * 8)), "bias": jnp.zeros(n_heads)}

def apply(params, x, n_heads=4):
    # x: (n, d)
    q = (x @ params["w"]).reshape(x.shape[0], n_heads, -1)  # (n, n_heads, 8)
    return q.sum(-1) + params["bias"]  # (n, n_heads)
""",
    # a kernel gives another matrix for other points; a docstring names the class that it is of
    "kernels.py": """
class RBF:
    def __init__(self, variance=1.0):
        self.variance = variance

    def __call__(self, x, z):
        return self.variance * jnp.exp(-((x[:, None] - z) ** 2).sum(-1))

def posterior(kernel, x, y, z):
    '''Predict.

    Parameters
    ----------
    kernel : RBF
    x : (n, d) ndarray
    y : (n, p) ndarray
    z : (s, d) ndarray

    Returns
    -------
    mean : (s, p) ndarray
    '''
    k = kernel(x, x) + jnp.eye(x.shape[0])
    kz = kernel(x, z)  # (n, s)
    return kz.T @ jnp.linalg.solve(k, y)

def posterior_of_any(kernel, x, y, z):
    # x: (n, d), y: (n, p), z: (s, d)  ~unreached
    k = kernel(x, x) + jnp.eye(x.shape[0])  ~SC302
    kz = kernel(x, z)  # (n, s)  ~unreached
    return kz.T @ jnp.linalg.solve(k, y)  # (s, p)  ~unreached
""",
    # an integer is the axis that a docstring calls so, whatever the annotation calls it
    "described.py": '''
def scores(
    q: Float[Array, "b q h"], k: Float[Array, "b k h"], num_extra: int, extra: Float[Array, "b q s"] | None
) -> Float[Array, "b q k+{num_extra}"]:
    """Scores.

    Args:
      num_extra: The number of extra positions.
      extra: Scores of the extra positions [batch, query_time, num_extra].
    """
    out = jnp.einsum("bqh,bkh->bqk", q, k)
    return out if extra is None else jnp.concatenate([extra, out], axis=-1)
''',
    # what a function says of its parameter tells how many axes the argument has that is handed to it
    "handed_to_claims.py": """
from abc import abstractmethod

class Distribution(eqx.Module):
    def __call__(self, x: Array) -> Array:
        return self.log_prob(x)

    @abstractmethod
    def log_prob(self, x: Array) -> Array:
        raise NotImplementedError

class Gaussian(Distribution):
    centre: Float[Array, " n_dim"]

    def __init__(self, centre: Float[Array, " n_dim"]):
        self.centre = centre

    @property
    def mean(self) -> Float[Array, " n_dim"]:
        return self.centre

    def log_prob(self, x: Float[Array, " n_dim"]) -> Float[Array, ""]:
        return -jnp.sum((x - self.mean) ** 2)
""",
    # the rank of each of several arrays
    "each.py": """
def rope(x, pos):
    h = x.shape[-1]
    freq = 1.0 / 10000 ** (jnp.arange(0, h, 2) / h)  # (h/2,)
    ang = pos[:, None] * freq  # (T, h/2)
    x1, x2 = jnp.split(x, 2, -1)  # (B, T, N, h/2) each
    return x1 * jnp.cos(ang)[:, None] + x2
""",
    # of so many blocks there are enough, if the sequence is long enough
    "blocks.py": """
def chosen(keys: Float[Array, "b t d"], count: int = 16, size: int = 64) -> Array:
    b, t, d = keys.shape
    blocks = (t + size - 1) // size
    padded = jnp.pad(keys, ((0, 0), (0, blocks * size - t), (0, 0)))
    means = padded.reshape(b, blocks, size, d).mean(2)
    return jax.lax.top_k(means.sum(-1), count)[1]  # (b, count)

def chosen_features(keys: Float[Array, "b t d"], count: int = 16, size: int = 64) -> Array:
    b, t, d = keys.shape
    blocks = (t + size - 1) // size
    padded = jnp.pad(keys, ((0, 0), (0, blocks * size - t), (0, 0)))
    means = padded.reshape(b, blocks, size, d).mean(1)
    return jax.lax.top_k(means.sum(-1), count)[1]  # (b, d)  ~SC201
""",
    "flattened.py": """
class Codes(eqx.Module):
    book: Float[Array, "k z"]
    counts: Float[Array, "k"]

    def __init__(self, codes, width, key):
        self.book = jax.random.normal(key, (codes, width))
        self.counts = jnp.ones(codes)

    def counted(self, z: Float[Array, "b h w z"]) -> Float[Array, "k"]:
        flat: Float[Array, "b*h*w z"] = z.reshape(-1, z.shape[-1])
        near: Float[Array, "b*h*w k"] = flat @ self.book.T
        return self.counts + near.sum(axis=0)

    def counted_otherwise(self, z: Float[Array, "b h w z"]) -> Float[Array, "k"]: ~unreached
        flat: Float[Array, "b*h*w z"] = z.reshape(-1, z.shape[-1]) ~unreached
        near: Float[Array, "b*h*w k"] = flat @ self.book.T ~unreached
        return self.counts + near.sum(axis=1) ~SC301

    def turned(self, z: Float[Array, "b h w z"]) -> Float[Array, "k"]: ~unreached
        width = self.book.shape[1]
        flat: Float[Array, "b*h*w z"] = z.reshape(width, -1) ~SC204
        return self.counts + (flat @ self.book.T).sum(axis=0) ~SC301

class OfPixels(eqx.Module):
    layer: eqx.nn.Linear

    def __init__(self, pixels, classes, key):
        self.layer = eqx.nn.Linear(pixels, classes, key=key)

    def __call__(self, image: Float[Array, "h w c"]) -> Float[Array, "classes"]: ~unreached
        return self.layer(image.ravel()) ~SC302
""",
    # a size that is a power of others stays one that an axis can have
    "powers.py": '''
def along_the_grid(points):
    """Of the points of a grid.

    points: (n^d, d)
    """
    return points.sum(1)            # (n^d,)

def along_its_axes(points):
    """Of the points of a grid.

    points: (n^d, d)
    """
    return points.sum(0)            # (n^d,) ~SC201

def of_agents(joint, ratio):
    """Of all, by their numbers.

    joint (s, a^n, ..., a^1) ~unreached
    ratio (a^(i-1), ..., a^1): of those before ~unreached
    """
    return joint.sum(0) * ratio.reshape(-1)

def products(a, b):
    """The products of shape ``(n * m, p)`` of all in *a* of shape ``(n, p)`` with *b* of shape ``(m, p)``."""
    return (a[:, None] * b[None]).reshape(-1, a.shape[1])

def of_qubits(n: int = 1):
    """Of all of them.

    :return: array of shape (4^n, 3)
    """
    return functools.reduce(products, [jnp.ones((4, 3))] * n)

def beyond_all(x):
    """Of nothing.

    x: (a^b^c^d,) ~unreached
    """
    return x * 2
''',
    # how many axes an array has that a layer is mapped over shows with the sizes that the layer needs
    "mapped.py": """
class Head(eqx.Module):
    inner: eqx.nn.Linear
    norm: eqx.nn.LayerNorm
    outer: eqx.nn.Linear

    def __init__(self, width: int, *, key):
        self.inner = eqx.nn.Linear(width, width, key=key)
        self.norm = eqx.nn.LayerNorm(width)
        self.outer = eqx.nn.Linear(width, 23, key=key)

    def __call__(self, x: Array, mask: Array) -> Array:
        n = x.shape[0]
        x = jax.vmap(self.norm)(jax.nn.gelu(jax.vmap(self.inner)(x)))
        y = jax.vmap(self.outer)(x)                        # (n, 23)
        origin, axis, rest = jnp.split(y, [3, 6], axis=-1)  # (n, 3), (n, 3), (17, n) ~SC201
        return origin * mask[:, None]

class Images(eqx.Module):
    conv: eqx.nn.Conv2d

    def __init__(self, width: int, *, key):
        self.conv = eqx.nn.Conv2d(width, 2 * width, 3, padding=1, key=key)

    def __call__(self, images: Array) -> Array:
        return jax.vmap(self.conv)(images).mean((2, 3))    # (batch, 2*width)
""",
    # what another function calls by the same name may be another array
    "namesakes.py": """
class Head(eqx.Module):
    inner: eqx.nn.Linear
    outer: eqx.nn.Linear

    def __init__(self, width: int, *, key):
        self.inner = eqx.nn.Linear(width, width, key=key)
        self.outer = eqx.nn.Linear(width, 23, key=key)

    def __call__(self, x: Array) -> Array:
        n = x.shape[0]
        x = jax.vmap(self.inner)(x)
        return jax.vmap(self.outer)(x)  # (n, 24) ~SC201

class Sum(eqx.Module):
    outer: eqx.nn.Linear

    def __init__(self, width: int, *, key):
        self.outer = eqx.nn.Linear(width, 22, key=key)

    def __call__(self, y: Array) -> Array:
        n = y.shape[0]
        x = jax.vmap(self.outer)(y)  # (n, 22)
        return x.sum()
""",
    # what is joined along an axis has that axis, and what indexes a table are integers, all that is joined for it
    "joined.py": """
def rows(table, items):
    # items: (b, m)
    return table[items]

def scores(table, batch):
    # table: (n, d)
    items = jnp.concatenate([batch["first"][:, None], batch["others"]], axis=1)  # (b, 1 + k)
    found = rows(table, items)                                                   # (b, 1 + k, d)
    return found.sum(axis=1)                                                     # (b, 1 + k) ~SC201
""",
    # of two that give all keys that are looked up one takes such a dict itself, so that the other made it
    "made.py": """
def init_nets(key, width):
    nets = {
        "q": jax.random.normal(key, (width, 8)),
        "v": jax.random.normal(key, (width, 1)),
    }
    return nets, nets["q"]

def values(p, x):
    # x: (b, width)
    return x @ p  # (b, k)

def loss(nets, target, batch):
    # target: (width, 8), batch: (b, width)
    v = values(nets["v"], batch)                     # (b, 1)
    q = values(nets["q"], batch)                     # (b, 1) ~SC201
    t = values(target, batch)                        # (b, 8)
    return (q - t).sum() + v.mean(), {"q": q.mean(), "v": v.mean()}
""",
    # what a statement leaves the shape that it had is said of the argument; a text says how a size follows from others
    "kept.py": """
class Batch(NamedTuple):
    advantage: Array   # [N]
    goal: Array        # [N]

def flatten(rewards, advantage, goal):
    \'\'\'Joins time and environments: N = T * E.

    rewards: [T, E]
    \'\'\'
    T, E = rewards.shape
    n = T * E
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)  # [T, E]
    flat = rewards.reshape(n)                                              # [N]
    both = jnp.outer(flat, advantage[:, 0])                                # [T, N] ~SC201
    return Batch(advantage.reshape(n), goal.reshape(n)), both
""",
    # what nobody describes is an array by its name, of as many axes as the code takes
    "named.py": """
import optax

class Classifier(eqx.Module):
    readout: eqx.nn.Linear

    def __init__(self, width: int, classes: int, *, key):
        self.readout = eqx.nn.Linear(width, classes, key=key)

    def __call__(self, x):
        # x: (width,)
        return self.readout(x)  # (classes,)

def step(model: Classifier, x, labels):
    # x: (batch, width)
    def loss(m):
        logits = jax.vmap(m)(x)       # (batch, classes)
        highest = logits.max(axis=1)  # (batch,)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return losses.mean(), highest
    return eqx.filter_value_and_grad(loss, has_aux=True)(model)
""",
    # a name that only the body has may follow a size of the model, and a run for which it does shows what it shows
    "lengths.py": """
class Mixed(eqx.Module):
    table: jax.Array
    mix: jax.Array

    def __init__(self, *, dim, width, key):
        self.table = jax.random.normal(key, (40, dim))
        self.mix = jax.random.normal(key, (width, dim))

    def __call__(self, x):
        n = x.shape[-1]
        x = self.table[x]
        scores = x @ x.T                    # (n, n)
        return scores @ self.mix
""",
    # with as many turns as rows in one more run, other sizes still say that it holds for some alone
    "turns.py": """
def orthogonal(x: Float[Array, "m n"], turns: int) -> Float[Array, "m n"]: ~unreached
    for _ in range(turns + 1):
        x = jnp.linalg.qr(x)[1]
    return x
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_guesses_hide_no_mistake_and_are_none(folder, name):
    assert folder.cases[name].as_marked()


def test_an_axis_goes_by_the_name_that_the_record_has_for_it(folder):
    found = [each for each in folder.report.findings if each.code == "SC201" and "T+1" in each.message]
    assert [each.observed for each in found] == ["(T + 1, E)"]


def test_what_fails_for_other_sizes_of_one_guess_is_not_verified(folder):
    (unreached,) = (each for each in folder.report.unreached if each.path == "turns.py")
    assert unreached.reason.startswith("it holds for some sizes and fails for others: for m=68, n=76, but not for m=")
