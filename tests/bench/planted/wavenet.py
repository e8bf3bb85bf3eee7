"""Autoregressive audio model built from dilated causal convolutions."""
import dataclasses
from typing import Tuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax


@dataclasses.dataclass(frozen=True)
class WaveNetConfig:
    n_quant: int = 256
    residual: int = 32
    skip: int = 64
    mel: int = 80
    hop: int = 4
    kernel: int = 2
    dilations: Tuple[int, ...] = (1, 2, 4, 8)

    @property
    def receptive_field(self):
        return (self.kernel - 1) * sum(self.dilations) + 1


def mu_law_encode(audio, n_quant):
    """Compands a waveform and quantizes it.

    Args:
      audio: float array of shape [B, T], in [-1, 1].
      n_quant: number of quantisation levels.

    Returns:
      int32 array of shape [B, T].
    """
    mu = n_quant - 1
    y = jnp.sign(audio) * jnp.log1p(mu * jnp.abs(audio)) / jnp.log1p(mu)  # [B, T]
    return ((y + 1) / 2 * mu + 0.5).astype(jnp.int32)


def shift_right(x):
    # x: [B, T, C]
    head = x[:, :-1]                                      # [B, T-1, C]
    return jnp.pad(head, ((0, 0), (1, 0), (0, 0)))


def upsample(mel, hop):
    # mel: [B, F, M]
    return jnp.repeat(mel, hop, axis=1)                   # [B, F*hop, M]


class CausalConv(nn.Module):
    features: int
    kernel: int
    dilation: int = 1

    @nn.compact
    def __call__(self, x):
        pad = (self.kernel - 1) * self.dilation
        padded = jnp.pad(x, ((0, 0), (pad, 0), (0, 0)))   # [B, T + pad, C]
        conv = nn.Conv(self.features, (self.kernel,), kernel_dilation=self.dilation, padding="VALID")
        return conv(padded)                               # [B, T, features]


class ResidualBlock(nn.Module):
    cfg: WaveNetConfig
    dilation: int

    @nn.compact
    def __call__(self, x, cond):
        """One gated layer.

        Args:
          x: [B, T, R] residual stream.
          cond: [B, T, M] conditioning at the sample rate.

        Returns:
          The next residual stream [B, T, R] and the skip output [B, T, S].
        """
        c = self.cfg
        h = CausalConv(2 * c.residual, c.kernel, self.dilation)(x)     # [B, T, 2*R]
        h = h + nn.Dense(2 * c.residual, use_bias=False)(cond)         # [B, T, 2*R]
        filt, gate = jnp.split(h, 2, axis=-1)                          # each [B, T, R]
        z = jnp.tanh(filt) * nn.sigmoid(gate)                          # [B, T, R]
        skip = nn.Dense(c.skip)(z)                                     # [B, T, S]
        res = nn.Dense(c.residual)(z)                                  # [B, T, R]
        return x + res, skip


class WaveNet(nn.Module):
    cfg: WaveNetConfig

    @nn.compact
    def __call__(self, tokens, mel):
        """Logits for every sample given the ones before it.

        Args:
          tokens: int array of shape [B, T].
          mel: float array of shape [B, F, M], where T = F * hop.

        Returns:
          Logits of shape [B, T, Q].
        """
        c = self.cfg
        x = nn.Embed(c.n_quant, c.residual)(tokens)       # [B, T, R]
        x = shift_right(x)
        cond = upsample(mel, c.hop)                       # [B, T, M]
        skips = []
        for d in c.dilations:
            x, s = ResidualBlock(c, d)(x, cond)           # [B, T, R], [B, T, S]
            skips.append(s)
        out = nn.relu(jnp.stack(skips).sum(axis=0))       # [B, T, S]
        out = nn.relu(nn.Dense(c.skip)(out))              # [B, T, S]
        return nn.Dense(c.n_quant)(out)


def nll_per_example(model, params, audio, mel):
    """Mean negative log likelihood of each clip, in nats.

    Args:
      audio: [B, T]
      mel: [B, F, M]

    Returns:
      [B]
    """
    tokens = mu_law_encode(audio, model.cfg.n_quant)                         # [B, T]
    logits = model.apply({"params": params}, tokens, mel)                    # [B, T, Q]
    logp = jax.nn.log_softmax(logits)
    picked = jnp.take_along_axis(logp, tokens[..., None], axis=-1)           # [B, T, 1]
    nll = -picked.squeeze(-1)                                                # [B, T]
    warm = min(model.cfg.receptive_field, audio.shape[1] - 1)
    return nll[:, warm:].mean(axis=1)


def make_train_step(model, tx):
    def loss_fn(params, audio, mel):
        per = nll_per_example(model, params, audio, mel)                     # [B]
        return per.mean()                                                    # []

    @jax.jit
    def train_step(params, opt_state, audio, mel):
        loss, grads = jax.value_and_grad(loss_fn)(params, audio, mel)
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return train_step


def generate(model, params, mel, key):
    """Ancestral sampling, one sample at a time.

    Returns:
      The samples [B, T] and the largest logit at each step [B, T].
    """
    n, frames, _ = mel.shape
    length = frames * model.cfg.hop

    def step(tokens, i):
        logits = model.apply({"params": params}, tokens, mel)[:, i]          # [B, Q]
        nxt = jax.random.categorical(jax.random.fold_in(key, i), logits)     # [B]
        tokens = tokens.at[:, i].set(nxt)                                    # [B, T]
        return tokens, logits.max(axis=-1)

    start = jnp.zeros((n, length), jnp.int32)                                # [B, T]
    tokens, peaks = jax.lax.scan(step, start, jnp.arange(length))            # [B, T], [T, B]
    return tokens, peaks.T
