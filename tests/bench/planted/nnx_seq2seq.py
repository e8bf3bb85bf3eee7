"""GRU encoder-decoder with additive (Bahdanau) attention, in flax.nnx.

Notation: B batch, S source length, T target length, E embedding, H hidden, V target vocab.
"""
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import nnx

PAD, BOS, EOS = 0, 1, 2


class DecoderState(NamedTuple):
    hidden: jax.Array  # (B, H)
    token: jax.Array  # (B,)
    finished: jax.Array  # (B,)


class Encoder(nnx.Module):
    def __init__(self, vocab: int, emb: int, hidden: int, *, rngs: nnx.Rngs):
        self.embed = nnx.Embed(vocab, emb, rngs=rngs)
        self.fwd = nnx.GRUCell(emb, hidden, rngs=rngs)
        self.bwd = nnx.GRUCell(emb, hidden, rngs=rngs)
        self.proj = nnx.Linear(2 * hidden, hidden, rngs=rngs)
        self.hidden = hidden

    def _run(self, cell, xs, mask):
        """xs is time-major (S, B, E); returns all hidden states (S, B, H)."""
        carry = jnp.zeros((xs.shape[1], self.hidden))

        def step(h, inp):
            x, m = inp
            new, _ = cell(h, x)
            h = jnp.where(m[:, None], new, h)  # (B, H)
            return h, h

        _, hs = jax.lax.scan(step, carry, (xs, mask))
        return hs

    def __call__(self, src):
        """Encode source tokens.

        Args:
            src: int tokens, (B, S)

        Returns:
            memory: (B, S, 2*H)
            init: (B, H), first decoder state
        """
        mask = (src != PAD).T  # (S, B)
        xs = self.embed(src).transpose(1, 0, 2)  # (S, B, E)
        hf = self._run(self.fwd, xs, mask)  # (S, B, H)
        hb = self._run(self.bwd, xs[::-1], mask[::-1])[::-1]  # (S, B, H)
        memory = jnp.concatenate([hf, hb], axis=-1)  # (S, B, 2*H)
        last = jnp.concatenate([hf[-1], hb[0]], axis=-1)  # (B, 2*H)
        init = jnp.tanh(self.proj(last))
        return memory.transpose(1, 0, 2), init


class AdditiveAttention(nnx.Module):
    def __init__(self, hidden: int, *, rngs: nnx.Rngs):
        self.w_mem = nnx.Linear(2 * hidden, hidden, use_bias=False, rngs=rngs)
        self.w_query = nnx.Linear(hidden, hidden, rngs=rngs)
        self.v = nnx.Linear(hidden, 1, use_bias=False, rngs=rngs)

    def __call__(self, query, memory, mask):
        # query (B, H), memory (B, S, 2*H), mask (B, S)
        q = self.w_query(query)[:, None, :]  # (B, 1, H)
        k = self.w_mem(memory)  # (B, S, H)
        scores = self.v(jnp.tanh(q + k)).squeeze(-1)  # (B, S)
        scores = jnp.where(mask, scores, -1e9)
        alpha = nnx.softmax(scores, axis=-1)  # (B, S)
        context = jnp.einsum("bs,bsd->bd", alpha, memory)  # (B, 2*H)
        return context, alpha


class Decoder(nnx.Module):
    def __init__(self, vocab: int, emb: int, hidden: int, *, rngs: nnx.Rngs):
        self.embed = nnx.Embed(vocab, emb, rngs=rngs)
        self.attn = AdditiveAttention(hidden, rngs=rngs)
        self.cell = nnx.GRUCell(emb + 2 * hidden, hidden, rngs=rngs)
        self.out = nnx.Linear(3 * hidden, vocab, rngs=rngs)

    def step(self, hidden, token, memory, mask):
        """One decoding step; returns the new hidden (B, H), logits (B, V) and attention (B, S)."""
        emb = self.embed(token)  # (B, E)
        context, alpha = self.attn(hidden, memory, mask)
        hidden, _ = self.cell(hidden, jnp.concatenate([emb, context], axis=-1))
        logits = self.out(jnp.concatenate([hidden, context], axis=-1))  # (B, V)
        return hidden, logits, alpha


class Seq2Seq(nnx.Module):
    def __init__(self, src_vocab: int, tgt_vocab: int, emb: int, hidden: int, *, rngs: nnx.Rngs):
        self.encoder = Encoder(src_vocab, emb, hidden, rngs=rngs)
        self.decoder = Decoder(tgt_vocab, emb, hidden, rngs=rngs)

    def __call__(self, src, tgt_in):
        """Teacher forcing.

        Args:
            src: (B, S)
            tgt_in: (B, T)

        Returns:
            logits: (B, T, V)
            attention: (B, T, S)
        """
        memory, hidden = self.encoder(src)
        mask = src != PAD  # (B, S)

        def step(h, tok):
            h, logits, alpha = self.decoder.step(h, tok, memory, mask)
            return h, (logits, alpha)

        _, (logits, alphas) = jax.lax.scan(step, hidden, tgt_in.T)
        # logits (T, B, V), alphas (T, B, S)
        return jnp.swapaxes(logits, 0, 1), jnp.swapaxes(alphas, 0, 1)

    def greedy(self, src, max_len: int):
        memory, hidden = self.encoder(src)
        mask = src != PAD
        b = src.shape[0]
        state = DecoderState(hidden, jnp.full((b,), BOS), jnp.zeros((b,), bool))

        def step(state, _):
            h, logits, _ = self.decoder.step(state.hidden, state.token, memory, mask)
            nxt = jnp.where(state.finished, PAD, logits.argmax(axis=-1))  # (B,)
            return DecoderState(h, nxt, state.finished | (nxt == EOS)), nxt

        _, tokens = jax.lax.scan(step, state, None, length=max_len)  # tokens: (max_len, B)
        return tokens.T  # (B, max_len)


def loss_fn(model: Seq2Seq, src, tgt):
    """Masked cross entropy; tgt is (B, T+1) including BOS and EOS."""
    tgt_in, tgt_out = tgt[:, :-1], tgt[:, 1:]  # both (B, T)
    logits, _ = model(src, tgt_in)
    ce = optax.softmax_cross_entropy_with_integer_labels(logits, tgt_out)  # (B, T)
    weights = (tgt_out != PAD).astype(ce.dtype)  # (B, T)
    return (ce * weights).sum() / weights.sum()


@nnx.jit
def train_step(model, optimizer, src, tgt):
    loss, grads = nnx.value_and_grad(loss_fn)(model, src, tgt)
    optimizer.update(model, grads)
    return loss  # scalar


if __name__ == "__main__":
    model = Seq2Seq(20, 23, emb=8, hidden=12, rngs=nnx.Rngs(0))
    opt = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    src = jax.random.randint(jax.random.key(0), (3, 7), 1, 20)
    tgt = jax.random.randint(jax.random.key(1), (3, 6), 1, 23)
    print(train_step(model, opt, src, tgt), model.greedy(src, 5).shape)
