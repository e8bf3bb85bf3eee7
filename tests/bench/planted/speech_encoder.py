"""Speech encoder (Flax linen): conv subsampling, masked self-attention blocks, CTC head.

Dimension names used below
    B  utterances in the batch
    T  input frames, T4 = ceil(ceil(T / 2) / 2) frames after subsampling
    F  mel bins
    D  model width
"""
from typing import Any, Sequence

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
import optax


@flax.struct.dataclass
class Batch:
    mels: jax.Array  # (B, T, F)
    mel_lengths: jax.Array  # (B,)
    labels: jax.Array  # (B, U)
    label_lengths: jax.Array  # (B,)


@flax.struct.dataclass
class EncoderOutput:
    frames: jax.Array  # (B, T4, D)
    mask: jax.Array  # (B, T4), True on real frames
    pooled: jax.Array  # (B, D)


def length_mask(lengths, max_len):
    """Boolean mask (B, max_len) that is True for positions before each length."""
    return jnp.arange(max_len)[None, :] < lengths[:, None]


def subsampled_length(n, times=2):
    for _ in range(times):
        n = (n + 1) // 2
    return n


def spec_augment(key, mels, max_width=4):
    """Zero one random band of mel bins per utterance."""
    b, _, f = mels.shape
    k0, k1 = jax.random.split(key)
    start = jax.random.randint(k0, (b,), 0, f)
    width = jax.random.randint(k1, (b,), 0, max_width)
    bins = jnp.arange(f)
    hit = (bins[None, :] >= start[:, None]) & (bins[None, :] < (start + width)[:, None])  # (B, F)
    return jnp.where(hit[:, None, :], 0.0, mels)


class ConvSubsample(nn.Module):
    """Two stride-2 convolutions over time and frequency."""

    width: int
    channels: int = 8

    @nn.compact
    def __call__(self, mels, lengths):
        x = mels[..., None]  # (B, T, F, 1)
        for i in range(2):
            x = nn.Conv(self.channels, (3, 3), strides=(2, 2), padding="SAME", name=f"conv_{i}")(x)
            x = nn.relu(x)
        b, t, f, c = x.shape
        x = x.reshape(b, t, f * c)
        return nn.Dense(self.width)(x), subsampled_length(lengths)  # (B, T4, D), (B,)


class RelPosBias(nn.Module):
    heads: int
    max_dist: int = 8

    @nn.compact
    def __call__(self, n):
        table = self.param("table", nn.initializers.normal(0.02), (2 * self.max_dist + 1, self.heads))
        pos = jnp.arange(n)
        rel = jnp.clip(pos[:, None] - pos[None, :], -self.max_dist, self.max_dist)  # (n, n)
        bias = table[rel + self.max_dist]  # (n, n, heads)
        return bias.transpose(2, 0, 1)


class EncoderBlock(nn.Module):
    heads: int
    ff: int
    kernel: int = 5

    @nn.compact
    def __call__(self, x, mask):
        n, d = x.shape[1], x.shape[2]
        hd = d // self.heads
        y = nn.LayerNorm()(x)
        q = nn.DenseGeneral((self.heads, hd), name="q")(y)  # (B, T4, heads, D // heads)
        k = nn.DenseGeneral((self.heads, hd), name="k")(y)
        v = nn.DenseGeneral((self.heads, hd), name="v")(y)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(hd)
        scores = scores + RelPosBias(self.heads)(n)
        scores = jnp.where(mask[:, None, None, :], scores, -1e9)  # (B, heads, T4, T4)
        ctx = jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v)
        x = x + nn.DenseGeneral(d, axis=(-2, -1), name="o")(ctx)  # (B, T4, D)

        y = nn.LayerNorm()(x) * mask[..., None]
        y = nn.Conv(d, (self.kernel,), padding="SAME", feature_group_count=d, name="depthwise")(y)
        x = x + nn.silu(y)

        y = nn.Dense(self.ff)(nn.LayerNorm()(x))  # (B, T4, ff)
        return x + nn.Dense(d)(nn.silu(y))


class SpeechEncoder(nn.Module):
    width: int = 32
    heads: int = 4
    layers: int = 2
    vocab: int = 30

    def setup(self):
        self.front = ConvSubsample(self.width)
        self.blocks = [EncoderBlock(self.heads, 2 * self.width) for _ in range(self.layers)]
        self.ctc = nn.Dense(self.vocab)

    def encode(self, mels, lengths):
        x, lengths = self.front(mels, lengths)
        mask = length_mask(lengths, x.shape[1])  # (B, T4)
        for block in self.blocks:
            x = block(x, mask)
        w = mask[..., None].astype(x.dtype)  # (B, T4, 1)
        pooled = jnp.sum(x * w, axis=1) / jnp.maximum(w.sum(axis=1), 1.0)  # (B, D)
        return EncoderOutput(frames=x, mask=mask, pooled=pooled)

    def __call__(self, mels, lengths):
        """CTC log probabilities.

        Args:
            mels: log-mel features, (B, T, F).
            lengths: frames of each utterance, (B,).

        Returns:
            Pair of log probabilities (B, T4, vocab) and the frame mask (B, T4).
        """
        out = self.encode(mels, lengths)
        return nn.log_softmax(self.ctc(out.frames)), out.mask


def ctc_objective(model, params, batch: Batch):
    logp, mask = model.apply({"params": params}, batch.mels, batch.mel_lengths)
    n_labels = batch.labels.shape[1]
    label_pad = 1.0 - length_mask(batch.label_lengths, n_labels)  # (B, U)
    per_utt = optax.ctc_loss(logp, 1.0 - mask, batch.labels, label_pad)  # (B,)
    return jnp.mean(per_utt / jnp.maximum(batch.label_lengths, 1))


def greedy_decode(logp, mask, blank=0):
    """Collapse repeats; returns (ids, keep), both (B, T4)."""
    ids = jnp.argmax(logp, axis=-1)
    prev = jnp.concatenate([jnp.full_like(ids[:, :1], blank), ids[:, :-1]], axis=1)  # (B, T4)
    keep = (ids != prev) & (ids != blank) & mask
    return ids, keep


def make_train_step(model: nn.Module, tx: Any):
    @jax.jit
    def step(params, opt_state, key, batch: Batch):
        batch = batch.replace(mels=spec_augment(key, batch.mels))
        loss, grads = jax.value_and_grad(lambda p: ctc_objective(model, p, batch))(params)
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return step
