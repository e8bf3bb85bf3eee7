"""Batched beam search over a GRU language model (pure functions, dict params)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

try:
    from shapecheck import example
except ImportError:
    example = lambda f: f


class Beam(NamedTuple):
    tokens: Array  # [B, K, N]
    scores: Array  # [B, K]
    hidden: Array  # [B, K, H]
    done: Array  # [B, K]


def init_lm(key, V, E, H):
    ks = jax.random.split(key, 4)
    nrm = jax.random.normal
    return {
        "emb": nrm(ks[0], (V, E)) * 0.1,  # [V, E]
        "wi": nrm(ks[1], (E, 3 * H)) * E**-0.5,  # [E, 3*H]
        "wh": nrm(ks[2], (H, 3 * H)) * H**-0.5,  # [H, 3*H]
        "out": nrm(ks[3], (H, V)) * H**-0.5,  # [H, V]
    }


def gru(p, h, x):
    xr, xz, xn = jnp.split(x @ p["wi"], 3, axis=-1)
    hr, hz, hn = jnp.split(h @ p["wh"], 3, axis=-1)
    r = jax.nn.sigmoid(xr + hr)
    z = jax.nn.sigmoid(xz + hz)
    n = jnp.tanh(xn + r * hn)
    return (1.0 - z) * n + z * h


def start(context, K, N, bos):
    # context: [B, H]
    B, H = context.shape
    tokens = jnp.zeros((B, K, N), jnp.int32).at[:, :, 0].set(bos)
    first = jnp.where(jnp.arange(K) == 0, 0.0, -jnp.inf)  # [K]
    scores = jnp.tile(first, (B, 1))  # [B, K]
    hidden = jnp.repeat(context[:, None], K, axis=1)  # [B, K, H]
    return Beam(tokens, scores, hidden, jnp.zeros((B, K), bool))


def pick(x, idx):
    """Reorder the beams of x (any trailing axes)."""
    return jax.vmap(lambda row, i: row[i])(x, idx)


def expand(p, beam, t, eos):
    B, K = beam.scores.shape
    last = lax.dynamic_index_in_dim(beam.tokens, t, axis=2, keepdims=False)  # [B, K]
    x = p["emb"][last]  # [B, K, E]
    h = gru(p, beam.hidden, x)  # [B, K, H]
    logp = jax.nn.log_softmax(h @ p["out"])  # [B, K, V]
    V = logp.shape[-1]
    only_eos = jnp.where(jnp.arange(V) == eos, 0.0, -jnp.inf)  # [V]
    logp = jnp.where(beam.done[:, :, None], only_eos, logp)  # [B, K, V]
    total = beam.scores[:, :, None] + logp
    scores, flat = lax.top_k(total.reshape(B, K * V), K)  # [B, K], [B, K]
    parent, token = flat // V, flat % V
    tokens = pick(beam.tokens, parent)  # [B, K, N]
    tokens = lax.dynamic_update_slice(tokens, token[:, :, None], (0, 0, t + 1))
    done = pick(beam.done, parent) | (token == eos)  # [B, K]
    return Beam(tokens, scores, pick(h, parent), done)


def search(p, context, K=4, N=12, bos=1, eos=2):
    # context: [B, H]
    def body(beam, t):
        beam = expand(p, beam, t, eos)
        return beam, beam.scores.max(axis=1)

    beam, best = lax.scan(body, start(context, K, N, bos), jnp.arange(N - 1))
    # best: [N - 1, B]
    lengths = (beam.tokens != 0).sum(axis=-1)  # [B, K]
    norm = beam.scores / lengths**0.6
    order = jnp.argsort(-norm, axis=-1)  # [B, K]
    top = pick(beam.tokens, order)[:, 0]  # [B, N]
    return top, best.T


@example
def search_example():
    p = init_lm(jax.random.key(0), V=37, E=10, H=14)
    return search, p, jnp.zeros((3, 14))
