"""A tiny DDPM: two-level U-Net with FiLM time conditioning and mid attention (flax.nnx)."""
from typing import NamedTuple, Optional

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Schedule(NamedTuple):
    betas: jnp.ndarray  # (n_steps,)
    alphas: jnp.ndarray  # (n_steps,)
    alpha_bars: jnp.ndarray  # (n_steps,)


def cosine_schedule(n_steps: int, s: float = 0.008) -> Schedule:
    t = jnp.linspace(0, 1, n_steps + 1)  # (n_steps + 1,)
    f = jnp.cos((t + s) / (1 + s) * jnp.pi / 2) ** 2
    betas = jnp.clip(1 - f[1:] / f[:-1], 0, 0.999)  # (n_steps,)
    alphas = 1.0 - betas
    return Schedule(betas, alphas, jnp.cumprod(alphas))


def timestep_embedding(t, dim: int):
    """Sinusoidal embedding of t, shape (B,), into (B, dim); dim is even."""
    half = dim // 2
    freqs = jnp.exp(-jnp.log(10_000.0) * jnp.arange(half) / half)  # (dim//2,)
    args = t[:, None] * freqs[None, :]  # (B, dim//2)
    return jnp.concatenate([jnp.sin(args), jnp.cos(args)], axis=-1)


class ResBlock(nnx.Module):
    def __init__(self, cin: int, cout: int, t_dim: int, groups: int, *, rngs: nnx.Rngs):
        self.norm1 = nnx.GroupNorm(cin, num_groups=groups, rngs=rngs)
        self.conv1 = nnx.Conv(cin, cout, (3, 3), rngs=rngs)
        self.film = nnx.Linear(t_dim, 2 * cout, rngs=rngs)
        self.norm2 = nnx.GroupNorm(cout, num_groups=groups, rngs=rngs)
        self.conv2 = nnx.Conv(cout, cout, (3, 3), rngs=rngs)
        self.skip = nnx.Conv(cin, cout, (1, 1), rngs=rngs) if cin != cout else None

    def __call__(self, x, emb):
        """x: (B, H, W, cin), emb: (B, t_dim) -> (B, H, W, cout)"""
        h = self.conv1(nnx.silu(self.norm1(x)))  # (B, H, W, cout)
        scale, shift = jnp.split(self.film(emb), 2, axis=-1)  # each (B, cout)
        h = self.norm2(h) * (1 + scale[:, None, None, :]) + shift[:, None, None, :]
        h = self.conv2(nnx.silu(h))  # (B, H, W, cout)
        return h + (x if self.skip is None else self.skip(x))


class SelfAttention2D(nnx.Module):
    def __init__(self, channels: int, n_heads: int, *, rngs: nnx.Rngs):
        self.n_heads = n_heads
        self.qkv = nnx.Linear(channels, 3 * channels, use_bias=False, rngs=rngs)
        self.proj = nnx.Linear(channels, channels, rngs=rngs)

    def __call__(self, x):
        b, h, w, c = x.shape
        seq = x.reshape(b, h * w, c)  # (B, H*W, C)
        qkv = self.qkv(seq).reshape(b, h * w, 3, self.n_heads, c // self.n_heads)
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]  # (B, H*W, n_heads, C//n_heads)
        logits = jnp.einsum("bqnd,bknd->bnqk", q, k) * (c // self.n_heads) ** -0.5  # (B, n_heads, H*W, H*W)
        attn = nnx.softmax(logits, axis=-1)
        out = jnp.einsum("bnqk,bknd->bqnd", attn, v).reshape(b, h * w, c)  # (B, H*W, C)
        return x + self.proj(out).reshape(b, h, w, c)


def downsample(x):
    # (B, H, W, C) -> (B, H//2, W//2, C)
    return nnx.avg_pool(x, (2, 2), strides=(2, 2))


def upsample(x):
    b, h, w, c = x.shape
    return jax.image.resize(x, (b, 2 * h, 2 * w, c), method="nearest")  # (B, 2*H, 2*W, C)


class UNet(nnx.Module):
    def __init__(self, img_ch: int, base: int, t_dim: int, n_heads: int, n_classes: int = 0, groups: int = 2, *, rngs):
        self.t_dim = t_dim
        self.t_mlp1 = nnx.Linear(t_dim, 4 * t_dim, rngs=rngs)
        self.t_mlp2 = nnx.Linear(4 * t_dim, t_dim, rngs=rngs)
        self.cls = nnx.Embed(n_classes + 1, t_dim, rngs=rngs)
        self.stem = nnx.Conv(img_ch, base, (3, 3), rngs=rngs)
        self.down1 = ResBlock(base, base, t_dim, groups, rngs=rngs)
        self.down2 = ResBlock(base, 2 * base, t_dim, groups, rngs=rngs)
        self.mid1 = ResBlock(2 * base, 2 * base, t_dim, groups, rngs=rngs)
        self.attn = SelfAttention2D(2 * base, n_heads, rngs=rngs)
        self.mid2 = ResBlock(2 * base, 2 * base, t_dim, groups, rngs=rngs)
        self.up2 = ResBlock(4 * base, base, t_dim, groups, rngs=rngs)
        self.up1 = ResBlock(2 * base, base, t_dim, groups, rngs=rngs)
        self.out = nnx.Conv(base, img_ch, (3, 3), rngs=rngs)

    def __call__(self, x, t, labels: Optional[jax.Array] = None):
        """Predict the noise.

        Args:
            x: noisy images, (B, H, W, img_ch), H and W divisible by 4
            t: integer time steps, (B,)
            labels: class ids (B,) or None; class 0 is "unconditional"

        Returns:
            predicted noise, (B, H, W, img_ch)
        """
        emb = self.t_mlp1(timestep_embedding(t, self.t_dim))  # (B, 4*t_dim)
        emb = self.t_mlp2(nnx.silu(emb))  # (B, t_dim)
        if labels is not None:
            emb = emb + self.cls(labels)
        h = self.stem(x)  # (B, H, W, base)
        s1 = self.down1(h, emb)  # (B, H, W, base)
        s2 = self.down2(downsample(s1), emb)  # (B, H//2, W//2, 2*base)
        m = self.mid1(downsample(s2), emb)  # (B, H//4, W//4, 2*base)
        m = self.mid2(self.attn(m), emb)
        u = jnp.concatenate([upsample(m), s2], axis=-1)  # (B, H//2, W//2, 4*base)
        u = self.up2(u, emb)  # (B, H//2, W//2, base)
        u = jnp.concatenate([upsample(u), s1], axis=-1)  # (B, H, W, 2*base)
        return self.out(nnx.silu(self.up1(u, emb)))


def q_sample(sched: Schedule, x0, t, noise):
    """Diffuse x0 (B, H, W, C) to step t (B,)."""
    ab = sched.alpha_bars[t][:, None, None, None]  # (B, 1, 1, 1)
    return jnp.sqrt(ab) * x0 + jnp.sqrt(1 - ab) * noise  # (B, H, W, C)


def loss_fn(model, sched, key, x0):
    kt, kn = jax.random.split(key)
    t = jax.random.randint(kt, (x0.shape[0],), 0, sched.betas.shape[0])  # (B,)
    noise = jax.random.normal(kn, x0.shape)
    pred = model(q_sample(sched, x0, t, noise), t)  # (B, H, W, C)
    per_image = jnp.mean((pred - noise) ** 2, axis=(1, 2, 3))  # (B,)
    return per_image.mean()


@nnx.jit
def train_step(model, opt, sched, key, x0):
    loss, grads = nnx.value_and_grad(loss_fn)(model, sched, key, x0)
    opt.update(model, grads)
    return loss


def sample(model, sched: Schedule, key, shape):
    """Ancestral sampling; returns an array of the given (B, H, W, C) shape."""
    key, k0 = jax.random.split(key)
    x = jax.random.normal(k0, shape)
    for i in reversed(range(sched.betas.shape[0])):
        key, k = jax.random.split(key)
        t = jnp.full((shape[0],), i)  # (B,)
        eps = model(x, t)
        coef = sched.betas[i] / jnp.sqrt(1 - sched.alpha_bars[i])  # scalar
        x = (x - coef * eps) / jnp.sqrt(sched.alphas[i])
        if i > 0:
            x = x + jnp.sqrt(sched.betas[i]) * jax.random.normal(k, shape)
    return x
