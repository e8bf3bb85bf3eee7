"""Connectionist temporal classification: forward recursion and best-path decoding.

B = batch, T = frames, V = symbols (0 is blank), L = label length, S = 2*L + 1.
"""

import jax
import jax.numpy as jnp
from jax import lax

try:
    from shapecheck import example
except ImportError:
    example = lambda f: f

NEG = -1e30


def interleave(labels):
    """Put blanks around every label.

    :param labels: label ids, shape (L,)
    :returns: extended labels, shape (2*L + 1,)
    """
    L = labels.shape[0]
    ext = jnp.zeros(2 * L + 1, labels.dtype)  # [2*L + 1]
    return ext.at[1::2].set(labels)


def skip_allowed(ext):
    prev2 = jnp.concatenate([jnp.full(2, -1), ext[:-2]])  # [S]
    return (ext != 0) & (ext != prev2)  # [S]


def shift(alpha, by):
    pad = jnp.full(by, NEG)  # [by]
    return jnp.concatenate([pad, alpha[:-by]])


def ctc_single(logits, labels, n_frames):
    """Negative log likelihood of one utterance.

    :param logits: unnormalised scores, shape (T, V)
    :param labels: label ids without blanks, shape (L,)
    :param n_frames: number of real frames, a scalar
    :returns: scalar loss
    """
    logp = jax.nn.log_softmax(logits, axis=-1)  # [T, V]
    ext = interleave(labels)
    allowed = skip_allowed(ext)
    emit = logp[:, ext]  # [T, S]
    S = ext.shape[0]

    alpha0 = jnp.full(S, NEG).at[:2].set(emit[0, :2])  # [S]

    def step(alpha, inp):
        e, t = inp  # [S], []
        stay = alpha
        one = shift(alpha, 1)  # [S]
        two = jnp.where(allowed, shift(alpha, 2), NEG)  # [S]
        best = jnp.stack([stay, one, two])  # [3, S]
        new = jax.nn.logsumexp(best, axis=0) + e  # [S]
        alpha = jnp.where(t < n_frames, new, alpha)
        return alpha, alpha

    times = jnp.arange(1, logits.shape[0])
    final, trellis = lax.scan(step, alpha0, (emit[1:], times))
    # trellis: [T - 1, S]
    return -jnp.logaddexp(final[-1], final[-2])


def ctc_batch(logits, labels, n_frames):
    # logits: [B, T, V]
    # labels: [B, L]
    # n_frames: [B]
    losses = jax.vmap(ctc_single)(logits, labels, n_frames)  # [B]
    return losses.mean()


def best_path(logits):
    ids = jnp.argmax(logits, axis=-1)  # [B, T]
    before = jnp.pad(ids[:, :-1], ((0, 0), (1, 0)), constant_values=-1)  # [B, T]
    keep = (ids != before) & (ids != 0)
    return jnp.where(keep, ids, -1)


def encoder(params, feats):
    h = feats
    for w, b in params[:-1]:
        h = jax.nn.relu(h @ w + b)
    w, b = params[-1]
    return h @ w + b


def loss(params, feats, labels, n_frames):
    # feats: [B, T, F]
    logits = encoder(params, feats)  # [B, T, V]
    return ctc_batch(logits, labels, n_frames)


@example
def grad_example():
    sizes = [8, 17, 29]
    params = [(jnp.zeros((a, b)), jnp.zeros(b)) for a, b in zip(sizes[:-1], sizes[1:])]
    feats = jnp.zeros((3, 23, 8))
    return loss, params, feats, jnp.ones((3, 5), jnp.int32), jnp.array([23, 19, 20])


@example
def decode_example():
    return best_path, jnp.zeros((3, 23, 29))
