"""What explains a tie of two sizes, and what does not; and what a whole run says of it."""

from __future__ import annotations

import pytest

from shapecheck.evaluate.inputs.facts.namesakes import are_namesakes
from shapecheck.evaluate.inputs.trials.size_assignment import closes_circle
from shapecheck.evaluate.inputs.trials.ties import ArgumentSpec, CallSignature, Sizes, explain_tie

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray
"""

CASES = {
    # every self-attention calls it with two names of one size
    "reached_with_one_size.py": """
def weights(query: Float[Array, "q_seq d"], key: Float[Array, "kv_seq d"]) -> Float[Array, "q_seq kv_seq"]:  ~SC203
    return jax.nn.softmax(key @ query.T)

class Attention(eqx.Module):
    q: eqx.nn.Linear
    def __init__(self, d_model: int, *, key: PRNGKeyArray):
        self.q = eqx.nn.Linear(d_model, d_model, key=key)
    def __call__(self, x: Float[Array, "seq d_model"]) -> Float[Array, "seq d_model"]:
        y = jax.vmap(self.q)(x)  # (seq, d_model)
        return weights(y, y) @ x
""",
    # an array of the class tells its two axes apart, and so does what is called as one of them is
    "of_one_field.py": """
class Readout(eqx.Module):
    scores: Float[Array, "L Q"]
    def right(self, h: Float[Array, "C L"]) -> Array:
        return h @ self.scores
    def wrong(self, h: Float[Array, "C L"]) -> Array:
        return h @ self.scores.T  ~SC305
""",
    # what a called function says wrongly of its parameter is no reason for what does not fit behind the call
    "behind_a_call.py": """
def rate(v, q):
    '''Rate.

    Args:
        v (array): of shape (3,)
        q (array): of shape (3,)  ~SC207
    '''
    return v * q

def step(vs, qs):
    '''Step.

    Args:
        vs (array): of shape (N, 3)
        qs (array): of shape (N, 1)
    '''
    rates = jax.vmap(lambda v, q: rate(v, q))(vs, qs[:, 0])
    return rates + qs[:, 0] * vs  ~SC305
""",
    # what may be several axes was none wherever it is called
    "reached_without_axes.py": """
def log_density(z: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:  ~SC203
    return -0.5 * jnp.sum(z**2, axis=0)

def scaled(z: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
    doubled = 2 * z  # (d,)
    return doubled

def of_one_alone(z: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
    return z @ z  ~SC305

class Flow(eqx.Module):
    scale: Array
    def __init__(self, d: int):
        self.scale = jnp.ones(d)
    def __call__(self, x: Float[Array, "d"]) -> Float[Array, ""]:
        return log_density(scaled(x) * self.scale) + of_one_alone(x)
""",
    # the last of three axes is hidden, if no width stands beside it: a layer takes its own; a height is anything
    "hidden.py": """
class Layer(eqx.Module):
    scale: Array
    def __init__(self, model_dims: int):
        self.scale = jnp.ones(model_dims)
    def hidden(self, x: Float[Array, "B T H"]) -> Float[Array, "B T H"]:
        return x + jnp.zeros(x.shape) * self.scale
    def high(self, x: Float[Array, "C W H"]) -> Float[Array, "C W H"]:
        return x + jnp.zeros(x.shape) * self.scale  ~SC305
""",
    # a size that another argument has as a number is none of the vectors beside it
    "literals.py": """
def fit(x, c):
    # x: (n,), c: (3,)
    B = jnp.stack([x, x**2, x**3])
    return B @ c  # (n,)  ~SC305

def turned(points, R):
    # points: (n, d), R: (3, 3)
    return points @ R.T  # (n, d)
""",
    # what two texts call one axis is one size
    "two_texts.py": """
def scaled(
    x: Array,  # shape: (B, L, H, P)
    bias: Array,
) -> Array:
    '''Scaled.

    Args:
        x: of shape (batch, seq_len, num_heads, head_dim)
        bias: of shape (num_heads,)
    '''
    return x * bias[:, None]

def wrong(
    x: Array,  # shape: (B, L, H, P)
    bias: Array,
) -> Array:
    '''Scaled.

    Args:
        x: of shape (batch, seq_len, num_heads, head_dim)
        bias: of shape (num_heads,)
    '''
    return x.swapaxes(1, 2) * bias[:, None]  ~SC305
""",
    # that a plain name holds only so makes no relation of two sizes
    "plain_names.py": """
def bins_of(x: Float[Array, "n"], widths: Float[Array, "n bins"]) -> Float[Array, "n"]: ~unreached
    edges = jnp.pad(jnp.cumsum(widths, -1), ((0, 0), (1, 0)))  # (n, bins+1)
    idx = jnp.sum(x[:, None] >= edges[:, 1:-1], axis=0)  # (n,)  ~SC201
    return jnp.take_along_axis(edges, idx[:, None], axis=-1)[:, 0]
""",
    # features stand before one side too, where they are called so, and an M behind two axes is a width
    "widths.py": '''
from flax import nnx

class Signal(nnx.Module):
    def __init__(self, key: jax.Array, channels_in: int, channels_out: int):
        self.channels_in, self.channels_out = channels_in, channels_out
        self.weight = nnx.Param(jax.random.normal(key, (channels_out, channels_in)))
    def __call__(self, x: Float[Array, "batch in_features spatial"]) -> Float[Array, "batch out_features spatial"]:
        return jnp.einsum("ij,bjn->bin", self.weight, x)

class Sound(nnx.Conv):
    def __call__(self, x):
        """
        x: shape (batch_size, channels, time_steps)
        returns: shape (batch_size, features, time_steps)
        """
        return super().__call__(x.transpose(0, 2, 1)).transpose(0, 2, 1)

class Shifted(nnx.Module):
    def __init__(self, key: jax.Array, channels_in: int):
        self.channels_in = channels_in
        self.shift = nnx.Param(jax.random.normal(key, (channels_in, 1)))
    def __call__(self, x: Float[Array, "batch rows spatial"]) -> Float[Array, "batch rows spatial"]:
        return x + self.shift  ~SC305

class Block(eqx.Module):
    scale: Array
    def __init__(self, dim: int):
        self.scale = jnp.ones(dim)
    def __call__(self, x: Float[Array, "B T N M"]) -> Float[Array, "B T N M"]:
        return x * self.scale
''',
    # a record has words of its own; two of these are told apart as ever
    "records.py": """
import dataclasses

@dataclasses.dataclass
class Quantised:
    q: jax.Array  # (in_dim, out_dim)
    scale: jax.Array  # (out_dim,)

def product(x, w: Quantised):
    # x: (M, K)
    return (x @ w.q) * w.scale  # (M, N)

def turned(w: Quantised):
    return w.q.T * w.scale  # (out_dim, in_dim)  ~SC305
""",
    # how many coefficients there are the constructor alone says: who calls it gives as many rows
    "coefficients.py": """
class Steps:
    def __init__(self, order):
        self.order = order
        self.coef = jnp.ones(order)

    def step(self, hist, h):
        # hist: (k, n)
        return h * self.coef @ hist  # (n,)

    def added(self, hist):
        # hist: (k, n)
        return self.coef[:, None] + hist  # (k, n)  ~unreached

def combine(k, dt):
    # k: (s, n)
    b = jnp.array([1 / 6, 1 / 3, 1 / 3, 1 / 6])
    return dt * b @ k  # (n,)

def weighed(x, k):
    # x: (s, m), k: (s, n)
    b = jnp.array([1 / 6, 1 / 3, 1 / 3, 1 / 6])
    return b @ k  # (n,)  ~SC305
""",
    # where there is a cache, there are as many keys as it has places; turned, the mask fits neither
    "cached.py": """
class Cache(eqx.Module):
    k: Float[Array, "places dim"]

def scores(q: Float[Array, "q dim"], k: Float[Array, "k dim"], mask: Float[Array, "q k"]) -> Float[Array, "q k"]:
    return q @ k.T * mask

def cached(x: Float[Array, "seq dim"], mask: Float[Array, "seq keys"], cache: Cache | None = None): ~unreached
    return scores(x, x if cache is None else cache.k, mask)
""",
    "cached_turned.py": """
class Cache(eqx.Module):
    k: Float[Array, "places dim"]

def scores(q: Float[Array, "q dim"], k: Float[Array, "k dim"], mask) -> Float[Array, "q k"]:
    return q @ k.T * mask ~SC305

def turned(x: Float[Array, "seq dim"], mask: Float[Array, "seq keys"], cache: Cache | None = None): ~unreached
    return scores(x, x if cache is None else cache.k, mask.T)
""",
    # a number of steps is no size of each head, though the file computes that; half of the features may be called so
    "of_heads.py": """
class Attention(eqx.Module):
    proj: eqx.nn.Linear
    n_heads: int = eqx.field(static=True)
    head_dim: int = eqx.field(static=True)
    def __init__(self, width: int, n_heads: int, *, key: PRNGKeyArray):
        self.n_heads, self.head_dim = n_heads, width // n_heads
        self.proj = eqx.nn.Linear(width, width, key=key)
    def __call__(self, x: Float[Array, "s d"], y: Float[Array, "t d"]) -> Float[Array, "h s t"]: ~unreached
        q = jax.vmap(self.proj)(x).reshape(x.shape[0], self.n_heads, self.head_dim).transpose(1, 0, 2)
        k = jax.vmap(self.proj)(y).reshape(y.shape[0], self.n_heads, self.head_dim).transpose(1, 0, 2)
        return jnp.einsum("hqd,hdk->hqk", q, k) ~SC305

class Crossed(eqx.Module):
    proj: eqx.nn.Linear
    n_heads: int = eqx.field(static=True)
    head_dim: int = eqx.field(static=True)
    def __init__(self, embed_dim: int, n_heads: int, *, key: PRNGKeyArray):
        self.n_heads, self.head_dim = n_heads, embed_dim // n_heads
        self.proj = eqx.nn.Linear(embed_dim, embed_dim, key=key)
    def __call__(self, x: Float[Array, "s d"], y: Float[Array, "t d"] | None = None): ~unreached
        y = x if y is None else y
        q = jax.vmap(self.proj)(x).reshape(x.shape[0], self.n_heads, self.head_dim).transpose(1, 0, 2)
        k = jax.vmap(self.proj)(y).reshape(y.shape[0], self.n_heads, self.head_dim).transpose(1, 0, 2)
        return jnp.einsum("hqd,hdk->hqk", q, k) ~SC305

def scores(x: Float[Array, "s d"], y: Float[Array, "t d"], n_heads: int) -> Float[Array, "h s t"]: ~unreached
    size = x.shape[1] // n_heads
    q = x.reshape(x.shape[0], n_heads, size).transpose(1, 0, 2)
    k = y.reshape(y.shape[0], n_heads, size).transpose(1, 0, 2)
    return jnp.einsum("hqd,hdk->hqk", q, k) ~SC305
""",
    "heads.py": """
class Heads(eqx.Module):
    qkv: eqx.nn.Linear
    n_heads: int = eqx.field(static=True)
    def __init__(self, d_model: int, n_heads: int, *, key: PRNGKeyArray):
        self.qkv = eqx.nn.Linear(d_model, d_model, key=key)
        self.n_heads = n_heads
    def __call__(self, x: Float[Array, "time d_model"]) -> Float[Array, "n_heads time time"]:
        q = jax.vmap(self.qkv)(x).reshape(x.shape[0], self.n_heads, -1).transpose(1, 0, 2)
        k = jax.vmap(self.qkv)(x).reshape(x.shape[0], self.n_heads, -1)
        return jnp.einsum("htd,hsd->hts", q, k) ~SC305
""",
    # the height of a grid is not the number of its visits, though both begin with one letter
    "sides.py": """
def first_visits(path: Array, grid: Array):  # path: (horizon, 2), grid: (H, W)  ~unreached
    H, W = grid.shape
    seen = jnp.zeros((path.shape[0], H, W))
    return seen + seen.any(axis=1)  ~SC305

def all_visits(path: Array, grid: Array):  # path: (horizon, 2), grid: (H, W)
    H, W = grid.shape
    seen = jnp.zeros((path.shape[0], H, W))
    return seen + seen.any(axis=0)
""",
    # what stands in front of the two sides of an image are its channels, whatever they are called
    "channels.py": """
class Corrector(eqx.Module):
    conv: eqx.nn.Conv2d
    scale: Array
    def __init__(self, in_channels: int, *, key: PRNGKeyArray):
        self.conv = eqx.nn.Conv2d(in_channels, in_channels, kernel_size=3, padding=1, key=key)
        self.scale = jnp.ones(in_channels)
    def __call__(self, x: Float[Array, "num_fields h w"]) -> Float[Array, "num_fields h w"]:
        return x + self.conv(x)
    def turned(self, x: Float[Array, "num_fields h w"]) -> Float[Array, "num_fields w h"]: ~SC203
        return x + self.conv(x)
    def by_height(self, x: Float[Array, "num_fields h w"]) -> Float[Array, "h num_fields w"]:
        return x.swapaxes(0, 1) * self.scale[:, None, None] ~SC305
""",
    # of points that are said to stand in columns, each is taken as a row: that goes for two of them alone
    "columns.py": """
def headings(points: Array, yaws: Array):  # points: (2, n), yaws: (n,)  ~unreached
    return jax.vmap(lambda point, yaw: point.sum() + yaw)(points, yaws)  ~SC305

def rows(points: Array, yaws: Array):  # points: (n, 2), yaws: (n,)
    return jax.vmap(lambda point, yaw: point.sum() + yaw)(points, yaws)
""",
    # two integers of a constructor, which the claims name both
    "integers.py": """
class Skip(eqx.Module):
    linear: eqx.nn.Linear
    def __init__(self, d_in: int, d_out: int, *, key: PRNGKeyArray):
        self.linear = eqx.nn.Linear(d_in, d_out, key=key)
    def __call__(self, x: Float[Array, "d_in"]) -> Float[Array, "d_out"]:
        y = x + 1  # (d_out,)  ~SC201
        return x + self.linear(x) ~SC305
""",
    # a size that the constructor computes as it likes, and one that nobody computes
    "computed.py": """
class Gate(eqx.Module):
    index: Array
    def __init__(self, order: int):
        num_parts = 0
        for degree in range(order):
            num_parts += 2 * degree + 1
        self.index = jnp.zeros(num_parts, int)
    def __call__(self, gates: Float[Array, "nodes k"], x: Float[Array, "nodes num_parts k"]):
        return x * gates[:, None].repeat(len(self.index), axis=1)

class Fixed(eqx.Module):
    index: Array
    def __init__(self, order: int):
        self.index = jnp.zeros(45, int)
    def __call__(self, gates: Float[Array, "nodes k"], x: Float[Array, "nodes num_parts k"]):
        return x * gates[:, None].repeat(len(self.index), axis=1) ~SC305
""",
    # a misspelt name, and names of one size at two moments
    "spellings.py": """
def pairs(frames, positions, mask):
    '''Pairs.

    Args:
        frames: (num_frames,) array.
        positions: (num_positions,) array.
        mask: array of shape (num_frames, num_posiitons).  ~SC103
    '''
    return frames[:, None] * positions * mask

def turned(frames, positions, mask):
    '''Pairs.

    Args:
        frames: (num_frames,) array.
        positions: (num_positions,) array.
        mask: array of shape (num_frames, num_rotations).
    '''
    return frames[:, None] * positions * mask  ~SC305

def smooth(probs: Array, mats: Array):
    '''Smooth.

    Args:
        probs: array of shape (t, k).
        mats: array of shape (k_next, k_curr).
    '''
    t, k = probs.shape
    return jnp.broadcast_to(mats, (t - 1, k, k)) @ probs[1:, :, None]

def skewed(probs: Array, mats: Array):
    '''Smooth.

    Args:
        probs: array of shape (t, k).
        mats: array of shape (k_next, k_curr).
    '''
    t, k = probs.shape
    return jnp.broadcast_to(mats, (t - 1, t, k)) @ probs[1:, :, None] ~SC305
""",
    # the only axis of a vector is no feature where it counts the rows of another array
    "rows.py": """
class Weighted(eqx.Module):
    w: Array
    def __init__(self, width: int, *, key: PRNGKeyArray):
        self.w = jax.random.normal(key, (width, 3))
    def __call__(self, x: Float[Array, "n k"], mask: Float[Array, "n"]):
        return mask @ self.w ~SC305

class Scaled(eqx.Module):
    w: Array
    def __init__(self, width: int, *, key: PRNGKeyArray):
        self.w = jax.random.normal(key, (width, 3))
    def __call__(self, x: Float[Array, "n k"], scale: Float[Array, "k"]) -> Float[Array, "n 3"]:
        return (x * scale) @ self.w

class Shifted(eqx.Module):
    w: Array
    def __init__(self, width: int, *, key: PRNGKeyArray):
        self.w = jax.random.normal(key, (width, 3))
    def __call__(self, shift: Float[Array, "k"]) -> Float[Array, "3"]:
        return shift @ self.w
""",
    # one of them stands in no claim, or nothing makes it run
    "integers_unnamed.py": """
class Scaled(eqx.Module):
    n_heads: int = eqx.field(static=True)
    linear: eqx.nn.Linear
    def __init__(self, d_model: int, n_heads: int, *, key: PRNGKeyArray):
        self.linear = eqx.nn.Linear(d_model, d_model, key=key)
        self.n_heads = n_heads
    def __call__(self, x: Float[Array, "d_model"]) -> Float[Array, "d_model"]:
        return self.linear(x) * jnp.ones(self.n_heads) ~SC305

class Turned(eqx.Module):
    w: Float[Array, "d_in d_out"]
    def __init__(self, d_in: int, d_out: int, *, key: PRNGKeyArray):
        self.w = jax.random.normal(key, (d_in, d_out))
    def __call__(self, x: Float[Array, "d_in"]) -> Float[Array, "d_out"]:
        return x @ self.w[None, :, :1, None, None] @ jnp.ones(7) ~SC301
""",
    # JAX calls shapes that do not fit "types" here
    "matmul.py": """
def scores(q: Float[Array, "b h t d"], k: Float[Array, "b t h d"]) -> Float[Array, "b h t t"]:
    return q @ k.swapaxes(-1, -2) ~SC305
""",
    # what the rows come to is a number as well
    "every_seventh.py": """
def mixed(x: Float[Array, "n d"]) -> Float[Array, "m d"]:
    kept = x[::7]
    return kept.T + kept ~SC301
""",
    # the feature axis of an argument is the model's, whatever it is called
    "alias.py": """
class Embedded(eqx.Module):
    linear: eqx.nn.Linear
    def __init__(self, in_size: int, out_size: int, *, key: PRNGKeyArray):
        self.linear = eqx.nn.Linear(in_size, out_size, key=key)
    def __call__(self, x: Float[Array, "seq embed"]) -> Float[Array, "seq out"]:
        return jax.vmap(self.linear)(x)
""",
    # what a model takes of any number of axes has those that it was built for; what counts examples has not
    "variadic_features.py": """
class Block(eqx.Module):
    norm: eqx.nn.LayerNorm
    def __init__(self, d_model: int):
        self.norm = eqx.nn.LayerNorm(d_model)
    def __call__(self, x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return self.norm(x)

class Local(eqx.Module):
    w: Array
    def __init__(self, d_model: int):
        self.w = jnp.ones((d_model, d_model))
    def __call__(self, x):
        norm = eqx.nn.LayerNorm(self.w.shape[0])
        return norm(x) @ self.w  # (d_model,)

class Batched(eqx.Module):
    scale: Array
    def __init__(self, d_model: int):
        self.scale = jnp.ones((d_model, 3))
    def __call__(self, x: Float[Array, "*batch 3"]) -> Float[Array, "*batch 3"]: ~unreached
        return jax.lax.mul(self.scale, x)  ~SC305
""",
    "limit.py": """
class Positions(eqx.Module):
    table: Float[Array, "places d"]
    def __init__(self, d: int, *, key: PRNGKeyArray):
        self.table = jax.random.normal(key, (20, d))
    def __call__(self, x: Float[Array, "seq d"]) -> Float[Array, "seq d"]:
        return x + self.table[: x.shape[0]]
""",
    "variadic.py": """
def swapped(x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:  ~SC203
    return x.reshape(*x.shape[:-1][::-1], x.shape[-1])

def kept(x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
    return x - x.mean(axis=-1, keepdims=True)
""",
    "symbols_stop.py": """
def scaled(x: Float[Array, "n d"], w: Float[Array, "n m"]) -> Float[Array, "d m"]:  ~unreached
    return x @ w / float(x.shape[0]) ~SC305
""",
    "half_way.py": '''
def spread(q, grid):
    """Spread.

    Args:
      q: array of shape (b, n, c).
      grid: array of shape (b, t, h, w).  ~unreached
    """
    return jnp.einsum("bnc,bthwc->tbnhw", q, grid) ~SC301
''',
    # what an annotation leaves open, a docstring may say
    "open.py": '''
def projected(x: Float[Array, "..."], w: Float[Array, "d m"]) -> Float[Array, "..."]:
    """Project.

    Args:
      x: array of shape (b, t, d).
    """
    y = x @ w  # (b, t, m)
    z = x @ w  # (t, b, m)  ~SC201
    return y + z
''',
    "divisible.py": """
def chunks(x: Float[Array, "n d"]) -> Float[Array, "n//7 d"]:
    return x.reshape(-1, 7, x.shape[1]).sum(axis=1)
""",
    # one channel is what a kernel for more does not fit
    "one_channel.py": """
def resampled(wave: Float[Array, "*batch n"], kernel: Float[Array, "out_ch in_ch width"]):
    lhs = wave.reshape(-1, 1, wave.shape[-1])
    return jax.lax.conv_general_dilated(lhs, kernel, (1,), "VALID", dimension_numbers=("NCW", "OIW", "NCW"))  ~SC305
""",
    # two integers of a constructor have to be one, and no claim says which
    "embedded.py": """
class Embedder(eqx.Module):
    embedding: eqx.nn.Embedding
    norm: eqx.nn.LayerNorm

    def __init__(self, vocab: int, embedding_size: int, hidden_size: int, key: jax.Array):
        self.embedding = eqx.nn.Embedding(vocab, embedding_size, key=key)
        self.norm = eqx.nn.LayerNorm(hidden_size)

    def __call__(self, tokens: Int[Array, "s"]) -> Float[Array, "s e"]:
        return jax.vmap(self.norm)(jax.vmap(self.embedding)(tokens)) ~SC305
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_ties_are_explained_or_reported(folder, name) -> None:
    case = folder.cases[name]
    findings = [mark for mark in case.actual if mark[1] != "unreached"]
    assert findings == [mark for mark in case.expected if mark[1] != "unreached"], case.details
    if "~unreached" in CASES[name]:
        assert {mark for mark in case.expected if mark[1] == "unreached"} <= set(case.actual), case.details


def test_what_a_verified_claim_rests_on_is_told(folder) -> None:
    resting = {(each.path, str(assumption)) for each in folder.report.resting for assumption in each.assumptions}
    assert ("alias.py", "embed = in_size (alias)") in resting
    assert folder.report.summary.verified_on_alias > 0


@pytest.mark.parametrize(
    ("dim", "integer", "alike"),
    [
        ("embed", "embed_dim", True),
        ("t", "num_timesteps", True),
        ("seq", "max_len", True),
        ("time", "block_size", True),
        ("height", "image_size", True),
        ("n", "num_patches", True),
        ("time", "n_heads", False),
        ("n", "n_heads", False),
        ("batch", "d_model", False),
        ("b", "block_size", False),
        ("m", "n", False),
    ],
)
def test_namesakes_are_the_same_name_a_plain_abbreviation_or_of_one_kind(dim, integer, alike) -> None:
    assert are_namesakes(dim, integer) is alike


@pytest.mark.parametrize(
    ("tie", "provenance"),
    [
        (("embed", "48"), "alias"),
        (("time", "4"), "invented"),
        (("time", "1024"), "namesake"),
        (("time", "batch"), "invented"),
        (("embed", "2*half"), "written"),
        (("time", "2*batch"), "invented"),
    ],
)
def test_a_tie_is_explained_by_a_relation_a_namesake_or_as_an_alias(tie, provenance) -> None:
    signature = CallSignature((ArgumentSpec("x", "batch time embed"), ArgumentSpec("y", "batch half")))
    integers = {"d_model": 48, "n_heads": 4, "max_len": 1024}
    assert explain_tie(tie, signature, Sizes({"batch": "68", "time": "76"}, integers)).provenance == provenance


@pytest.mark.parametrize(
    ("first", "second", "provenance"),
    [
        ("x_dim", "y_dim", "invented"),
        ("h", "w", "invented"),
        ("s", "t", "invented"),
        ("t", "seq_len", "namesake"),
        ("n_points", "points", "namesake"),
    ],
)
def test_two_dims_are_one_only_by_words_that_may_mean_one(first, second, provenance) -> None:
    signature = CallSignature(tuple(ArgumentSpec(name, f"{name} 3", formal=False) for name in (first, second)))
    assert explain_tie((first, second), signature, Sizes({first: "68", second: "76"})).provenance == provenance


@pytest.mark.parametrize(
    ("image", "other", "provenance"),
    [
        ("H W", "horizon", "invented"),
        ("H W", "height", "namesake"),
        ("H D", "horizon", "namesake"),
        ("H W", "n_heads", "namesake"),
    ],
)
def test_the_side_of_an_image_abbreviates_nothing_else(image, other, provenance) -> None:
    arrays = (ArgumentSpec("grid", image, formal=False), ArgumentSpec("path", f"{other} 3", formal=False))
    assert explain_tie(("H", other), CallSignature(arrays), Sizes({"H": "68", other: "76"})).provenance == provenance


def test_a_number_that_nobody_describes_follows_one_dim_and_not_two_that_differ() -> None:
    arrays = tuple(ArgumentSpec(name, name, formal=False) for name in ("edges", "configs"))
    signature, number = CallSignature(arrays), {"num_factors": 80}
    free = Sizes({"edges": "68", "configs": "76"}, number, frozenset(number))
    tied = Sizes({"edges": "80", "configs": "76"}, number, frozenset(number))
    assert explain_tie(("configs", "80"), signature, free).provenance == "alias"
    assert explain_tie(("configs", "80"), signature, tied).provenance == "invented"


def test_a_size_that_the_same_array_has_already_is_no_alias() -> None:
    signature = CallSignature((ArgumentSpec("x", "rows embed"),))
    assert explain_tie(("embed", "48"), signature, Sizes({"rows": "48"}, {"d_model": 48})).provenance == "invented"
    points = CallSignature((ArgumentSpec("points", "2 embed"),))
    assert explain_tie(("embed", "2"), points, Sizes({"embed": "68"})).provenance == "invented"
    assert explain_tie(("embed", "3"), points, Sizes({"embed": "68"})).provenance == "alias"


def test_a_size_that_the_same_array_has_already_is_no_namesakes() -> None:
    """`steps = 3` is no number of points: `pos: (n, 3)` tells the two apart."""
    signature = CallSignature((ArgumentSpec("pos", "n 3"),))
    assert explain_tie(("n", "3"), signature, Sizes({"n": "68"}, {"steps": 3})).provenance == "invented"
    assert explain_tie(("n", "5"), signature, Sizes({"n": "68"}, {"steps": 5})).provenance == "namesake"


def test_no_name_is_tied_to_itself_by_way_of_others() -> None:
    assert closes_circle(("heads", "2*width"), {"width": "depth", "depth": "heads+1"})
    assert not closes_circle(("heads", "2*width"), {"width": "depth", "depth": "48"})


def test_an_axis_of_dots_is_any_size_but_that_of_a_dim_beside_it() -> None:
    signature = CallSignature((ArgumentSpec("x", "dim ..."), ArgumentSpec("y", "... other")))
    sizes = Sizes({"dim": "68", "other": "76", "dim0": "92"})
    assert explain_tie(("dim0", "dim"), signature, sizes).provenance == "invented"
    assert explain_tie(("other", "dim0"), signature, sizes).provenance == "invented"
    assert explain_tie(("dim0", "48"), signature, sizes).provenance == "alias"
