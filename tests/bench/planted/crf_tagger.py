"""Sequence tagger: character CNN and word embeddings, a bidirectional GRU and a linear-chain CRF."""
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax
from flax import nnx


@dataclass(frozen=True)
class TaggerConfig:
    n_words: int
    n_chars: int
    n_tags: int
    d_word: int = 100
    d_char: int = 30
    d_conv: int = 30
    d_hidden: int = 100
    dropout: float = 0.3


class CharCNN(nnx.Module):
    def __init__(self, cfg, rngs):
        self.embed = nnx.Embed(cfg.n_chars, cfg.d_char, rngs=rngs)
        self.conv = nnx.Conv(cfg.d_char, cfg.d_conv, (3,), rngs=rngs)

    def __call__(self, chars):
        """Args:
            chars: (batch, seq, word_len) character ids, zero for padding

        Returns:
            (batch, seq, d_conv)
        """
        b, s, l = chars.shape
        x = self.embed(chars.reshape(b * s, l))              # (batch*seq, word_len, d_char)
        x = nnx.relu(self.conv(x))                           # (batch*seq, word_len, d_conv)
        keep = (chars > 0).reshape(b * s, l, 1)
        pooled = jnp.where(keep, x, 0.0).max(axis=1)         # (batch*seq, d_conv)
        return pooled.reshape(b, s, -1)


class GRUCell(nnx.Module):
    def __init__(self, d_in, d_hidden, rngs):
        self.d_hidden = d_hidden
        self.inp = nnx.Linear(d_in, 3 * d_hidden, rngs=rngs)
        self.rec = nnx.Linear(d_hidden, 3 * d_hidden, use_bias=False, rngs=rngs)

    def __call__(self, h, x):
        # h: (batch, d_hidden), x: (batch, d_in)
        xr, xz, xn = jnp.split(self.inp(x), 3, axis=-1)      # each (batch, d_hidden)
        hr, hz, hn = jnp.split(self.rec(h), 3, axis=-1)      # each (batch, d_hidden)
        z = nnx.sigmoid(xz + hz)
        n = jnp.tanh(xn + nnx.sigmoid(xr + hr) * hn)
        return z * h + (1 - z) * n


def run_rnn(cell, x, mask, reverse=False):
    """Args:
        x: (batch, seq, d_in)
        mask: (batch, seq)

    Returns:
        (batch, seq, d_hidden)
    """

    def step(h, inp):
        x_t, m_t = inp                                       # (batch, d_in), (batch,)
        new = jnp.where(m_t[:, None], cell(h, x_t), h)       # (batch, d_hidden)
        return new, new

    h0 = jnp.zeros((x.shape[0], cell.d_hidden))              # (batch, d_hidden)
    _, hs = jax.lax.scan(step, h0, (x.swapaxes(0, 1), mask.T), reverse=reverse)
    # hs: (seq, batch, d_hidden)
    return hs.swapaxes(0, 1)


class CRF(nnx.Module):
    def __init__(self, n_tags, rngs):
        self.trans = nnx.Param(0.1 * jax.random.normal(rngs.params(), (n_tags, n_tags)))   # (n_tags, n_tags)
        self.start = nnx.Param(jnp.zeros(n_tags))
        self.stop = nnx.Param(jnp.zeros(n_tags))

    def log_z(self, emit, mask):
        """Args:
            emit: (batch, seq, n_tags)
            mask: (batch, seq)

        Returns:
            (batch,)
        """

        def step(alpha, inp):
            e, m = inp                                                     # (batch, n_tags), (batch,)
            scores = alpha[:, :, None] + self.trans[...] + e[:, None, :]   # (batch, n_tags, n_tags)
            new = jax.nn.logsumexp(scores, axis=1)                         # (batch, n_tags)
            return jnp.where(m[:, None], new, alpha), None

        alpha = self.start[...] + emit[:, 0]                               # (batch, n_tags)
        alpha, _ = jax.lax.scan(step, alpha, (emit[:, 1:].swapaxes(0, 1), mask[:, 1:].T))
        return jax.nn.logsumexp(alpha + self.stop[...], axis=-1)

    def score(self, emit, tags, mask):
        """Args:
            emit: (batch, seq, n_tags)
            tags: (batch, seq)
            mask: (batch, seq)

        Returns:
            (batch,)
        """
        em = jnp.take_along_axis(emit, tags[..., None], axis=2)[..., 0]    # (batch, seq)
        tr = self.trans[...][tags[:, :-1], tags[:, 1:]]                    # (batch, seq-1)
        last = mask.sum(axis=1) - 1
        end = jnp.take_along_axis(tags, last[:, None], axis=1)[:, 0]       # (batch,)
        path = (em * mask).sum(1) + (tr * mask[:, 1:]).sum(1)
        return path + self.start[...][tags[:, 0]] + self.stop[...][end]

    def viterbi(self, emit):
        """Best path of one sentence without padding. Args: emit (seq, n_tags). Returns: (seq,)"""

        def forward(delta, e):
            scores = delta[:, None] + self.trans[...]                      # (n_tags, n_tags)
            return scores.max(axis=0) + e, scores.argmax(axis=0)           # (n_tags,), (n_tags,)

        delta, back = jax.lax.scan(forward, self.start[...] + emit[0], emit[1:])   # (n_tags,), (seq-1, n_tags)
        last = (delta + self.stop[...]).argmax()                           # ()

        def backward(tag, ptr):
            return ptr[tag], ptr[tag]

        _, tags = jax.lax.scan(backward, last, back, reverse=True)         # (), (seq-1,)
        return jnp.append(tags, last)


class Tagger(nnx.Module):
    def __init__(self, cfg, rngs):
        d_in = cfg.d_word + cfg.d_conv
        self.words = nnx.Embed(cfg.n_words, cfg.d_word, rngs=rngs)
        self.chars = CharCNN(cfg, rngs)
        self.fwd = GRUCell(d_in, cfg.d_hidden, rngs)
        self.bwd = GRUCell(d_in, cfg.d_hidden, rngs)
        self.drop = nnx.Dropout(cfg.dropout, rngs=rngs)
        self.proj = nnx.Linear(2 * cfg.d_hidden, cfg.n_tags, rngs=rngs)
        self.crf = CRF(cfg.n_tags, rngs)

    def emissions(self, words, chars):
        # words: (batch, seq), chars: (batch, seq, word_len)
        x = jnp.concatenate([self.words(words), self.chars(chars)], axis=-1)    # (batch, seq, d_in)
        mask = words > 0                                                        # (batch, seq)
        x = self.drop(x)
        h = jnp.concatenate([run_rnn(self.fwd, x, mask), run_rnn(self.bwd, x, mask, True)], -1)  # (batch, seq, 2*d_hidden)
        return self.proj(self.drop(h)), mask                                    # (batch, seq, n_tags), (batch, seq)


def neg_log_likelihood(model, words, chars, tags):
    emit, mask = model.emissions(words, chars)
    nll = model.crf.log_z(emit, mask) - model.crf.score(emit, tags, mask)       # (batch,)
    return (nll / mask.sum(axis=1)).mean()


@nnx.jit
def train_step(model, optimizer, words, chars, tags):
    loss, grads = nnx.value_and_grad(neg_log_likelihood)(model, words, chars, tags)
    optimizer.update(model, grads)
    return loss


def make_optimizer(model, lr):
    return nnx.Optimizer(model, optax.chain(optax.clip_by_global_norm(5.0), optax.adam(lr)), wrt=nnx.Param)
