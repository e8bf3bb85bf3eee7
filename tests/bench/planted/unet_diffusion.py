"""A tiny U-Net that predicts noise, with DDPM training and DDIM sampling."""
from typing import Any, Sequence

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax


@flax.struct.dataclass
class Schedule:
    betas: Any       # (steps,)
    alpha_bar: Any   # (steps,)

    @classmethod
    def cosine(cls, steps, s=0.008):
        t = jnp.arange(steps + 1) / steps                              # (steps+1,)
        f = jnp.cos((t + s) / (1 + s) * np.pi / 2) ** 2                # (steps+1,)
        betas = jnp.clip(1 - f[1:] / f[:-1], 0.0, 0.999)               # (steps,)
        return cls(betas=betas, alpha_bar=jnp.cumprod(1 - betas))


def timestep_embedding(t, dim):
    """Sinusoids of the step.

    Args:
        t: (B,) integer steps
        dim: even width

    Returns: (B, dim)
    """
    freqs = jnp.exp(-np.log(10000.0) * jnp.arange(dim // 2) / (dim // 2))   # (dim//2,)
    args = t[:, None] * freqs[None]                                         # (B, dim//2)
    return jnp.concatenate([jnp.sin(args), jnp.cos(args)], axis=-1)


class ResBlock(nn.Module):
    ch: int
    groups: int = 2

    @nn.compact
    def __call__(self, x, emb):
        # x: (B, H, W, C)
        # emb: (B, E)
        h = nn.Conv(self.ch, (3, 3))(nn.swish(nn.GroupNorm(self.groups)(x)))    # (B, H, W, ch)
        shift = nn.Dense(self.ch)(nn.swish(emb))                                # (B, ch)
        h = h + shift[:, None, None, :]                                         # (B, H, W, ch)
        h = nn.Conv(self.ch, (3, 3))(nn.swish(nn.GroupNorm(self.groups)(h)))    # (B, H, W, ch)
        if x.shape[-1] != self.ch:
            x = nn.Conv(self.ch, (1, 1))(x)                                     # (B, H, W, ch)
        return x + h


class SpatialAttention(nn.Module):
    @nn.compact
    def __call__(self, x):
        """x: (B, H, W, C), returns (B, H, W, C)"""
        b, h, w, c = x.shape
        flat = nn.GroupNorm(2)(x).reshape(b, h * w, c)             # (B, H*W, C)
        q, k, v = jnp.split(nn.Dense(3 * c)(flat), 3, axis=-1)     # each (B, H*W, C)
        att = jnp.einsum("bic,bjc->bij", q, k) * c ** -0.5         # (B, H*W, H*W)
        out = jax.nn.softmax(att, axis=-1) @ v                     # (B, H*W, C)
        out = nn.Dense(c)(out).reshape(b, h, w, c)                 # (B, H, W, C)
        return x + out


def downsample(x):
    # (B, H, W, C) -> (B, H//2, W//2, C)
    return nn.avg_pool(x, (2, 2), strides=(2, 2))


def upsample(x):
    # x: (B, H, W, C)
    b, h, w, c = x.shape
    return jax.image.resize(x, (b, 2 * h, 2 * w, c), "nearest")    # (B, 2*H, 2*W, C)


class UNet(nn.Module):
    chan: int
    base: int = 32
    mults: Sequence[int] = (1, 2)
    emb_dim: int = 64

    @nn.compact
    def __call__(self, x, t):
        """Predicts the noise in x.

        Args:
            x: (B, H, W, chan) noisy images
            t: (B,) steps

        Returns: (B, H, W, chan)
        """
        emb = timestep_embedding(t, self.base)                     # (B, base)
        emb = nn.swish(nn.Dense(self.emb_dim)(emb))                # (B, emb_dim)
        emb = nn.Dense(self.emb_dim)(emb)                          # (B, emb_dim)

        h = nn.Conv(self.base, (3, 3))(x)                          # (B, H, W, base)
        skips = []
        for m in self.mults:
            h = ResBlock(m * self.base)(h, emb)
            skips.append(h)
            h = downsample(h)
        mid = self.base * self.mults[-1]
        h = ResBlock(mid)(h, emb)
        h = SpatialAttention()(h)
        h = ResBlock(mid)(h, emb)
        for m, skip in zip(reversed(self.mults), reversed(skips)):
            h = jnp.concatenate([upsample(h), skip], axis=-1)
            h = ResBlock(m * self.base)(h, emb)
        return nn.Conv(self.chan, (3, 3))(nn.swish(nn.GroupNorm(2)(h)))


def q_sample(sched, x0, t, noise):
    # x0: (B, H, W, chan), t: (B,), noise: (B, H, W, chan)
    ab = sched.alpha_bar[t][:, None, None, None]                   # (B, 1, 1, 1)
    return jnp.sqrt(ab) * x0 + jnp.sqrt(1 - ab) * noise            # (B, H, W, chan)


def snr_weight(sched, t, gamma=5.0):
    # t: (B,)
    ab = sched.alpha_bar[t]                                        # (B,)
    return jnp.minimum(ab / (1 - ab), gamma) * (1 - ab) / ab


def loss_fn(params, model, sched, x0, key):
    k_t, k_n = jax.random.split(key)
    t = jax.random.randint(k_t, (x0.shape[0],), 0, len(sched.betas))     # (B,)
    noise = jax.random.normal(k_n, x0.shape)                             # (B, H, W, chan)
    xt = q_sample(sched, x0, t, noise)                                   # (B, H, W, chan)
    pred = model.apply({"params": params}, xt, t)                        # (B, H, W, chan)
    per = jnp.square(pred - noise).mean(axis=(1, 2, 3))                  # (B,)
    return (snr_weight(sched, t) * per).mean()


def make_step(model, sched, tx, ema=0.999):
    @jax.jit
    def step(params, avg, opt_state, x0, key):
        loss, grads = jax.value_and_grad(loss_fn)(params, model, sched, x0, key)
        updates, opt_state = tx.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        avg = jax.tree_util.tree_map(lambda a, p: ema * a + (1 - ema) * p, avg, params)
        return params, avg, opt_state, loss

    return step


def ddim_sample(model, params, sched, key, shape, n_steps):
    """Deterministic sampler.

    Returns: images (B, H, W, chan), and their mean over pixels at each step (B, n_steps)
    """
    total = sched.betas.shape[0]
    ts = jnp.linspace(total - 1, 0, n_steps).astype(int)           # (n_steps,)
    ab = sched.alpha_bar[ts]                                       # (n_steps,)
    ab_next = jnp.append(ab[1:], 1.0)                              # (n_steps,)

    def body(x, inp):
        t, a, a_next = inp
        eps = model.apply({"params": params}, x, jnp.full(shape[:1], t))   # (B, H, W, chan)
        x0 = (x - jnp.sqrt(1 - a) * eps) / jnp.sqrt(a)                     # (B, H, W, chan)
        x0 = jnp.clip(x0, -1, 1)
        x = jnp.sqrt(a_next) * x0 + jnp.sqrt(1 - a_next) * eps             # (B, H, W, chan)
        return x, x0.mean(axis=(1, 2, 3))

    x, means = jax.lax.scan(body, jax.random.normal(key, shape), (ts, ab, ab_next))
    # x: (B, H, W, chan), means: (n_steps, B)
    return x, means.T
