"""DDPM on vectors: noise schedule, residual MLP denoiser, loss and ancestral sampler."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, PRNGKeyArray


class Schedule(eqx.Module):
    betas: Float[Array, " steps"]
    abar: Float[Array, " steps"]

    def __init__(self, steps: int, lo: float = 1e-4, hi: float = 2e-2):
        self.betas = jnp.linspace(lo, hi, steps)
        self.abar = jnp.cumprod(1.0 - self.betas)

    def diffuse(
        self,
        x0: Float[Array, "batch data"],
        t: Int[Array, " batch"],
        eps: Float[Array, "batch data"],
    ) -> Float[Array, "batch data"]:
        a = self.abar[t][:, None]  # (batch, 1)
        return jnp.sqrt(a) * x0 + jnp.sqrt(1.0 - a) * eps


def time_embedding(t: Int[Array, ""], n_freq: int) -> Float[Array, "2*{n_freq}"]:
    freqs = jnp.exp(-jnp.log(1e4) * jnp.arange(n_freq) / n_freq)  # (n_freq,)
    ang = t * freqs
    return jnp.concatenate([jnp.sin(ang), jnp.cos(ang)])  # (2*n_freq,)


class ResBlock(eqx.Module):
    norm: eqx.nn.LayerNorm
    fc1: eqx.nn.Linear
    fc2: eqx.nn.Linear
    film: eqx.nn.Linear

    def __init__(self, width: int, hidden: int, cond: int, *, key: PRNGKeyArray):
        k1, k2, k3 = jr.split(key, 3)
        self.norm = eqx.nn.LayerNorm(width)
        self.fc1 = eqx.nn.Linear(width, hidden, key=k1)
        self.fc2 = eqx.nn.Linear(hidden, width, key=k2)
        self.film = eqx.nn.Linear(cond, 2 * hidden, key=k3)

    def __call__(self, h: Float[Array, " width"], c: Float[Array, " cond"]) -> Float[Array, " width"]:
        scale, shift = jnp.split(self.film(c), 2)  # (hidden,), (hidden,)
        z = self.fc1(self.norm(h)) * (1.0 + scale) + shift  # (hidden,)
        return h + self.fc2(jax.nn.silu(z))


class Denoiser(eqx.Module):
    inp: eqx.nn.Linear
    out: eqx.nn.Linear
    blocks: list[ResBlock]
    n_freq: int = eqx.field(static=True)

    def __init__(self, data: int, width: int, hidden: int, n_freq: int, depth: int, *, key: PRNGKeyArray):
        k1, k2, *ks = jr.split(key, depth + 2)
        self.inp = eqx.nn.Linear(data, width, key=k1)
        self.out = eqx.nn.Linear(width, data, key=k2)
        self.blocks = [ResBlock(width, hidden, 2 * n_freq, key=k) for k in ks]
        self.n_freq = n_freq

    def __call__(self, x: Float[Array, " data"], t: Int[Array, ""]) -> Float[Array, " data"]:
        c = time_embedding(t, self.n_freq)  # (2*n_freq,)
        h = self.inp(x)  # (width,)
        for block in self.blocks:
            h = block(h, c)
        return self.out(h)


def loss_fn(net: Denoiser, sched: Schedule, x0: Float[Array, "batch data"], key: PRNGKeyArray) -> Float[Array, ""]:
    kt, ke = jr.split(key)
    t = jr.randint(kt, (x0.shape[0],), 0, sched.betas.shape[0])  # (batch,)
    eps = jr.normal(ke, x0.shape)  # (batch, data)
    pred: Float[Array, "batch data"] = jax.vmap(net)(sched.diffuse(x0, t, eps), t)
    per_item = jnp.sum((pred - eps) ** 2, axis=-1)  # (batch,)
    return per_item.mean()


def sample(net: Denoiser, sched: Schedule, xT: Float[Array, "batch data"], key: PRNGKeyArray) -> Float[Array, "batch data"]:
    steps = sched.betas.shape[0]

    def back(x, inp):
        t, k = inp
        eps = jax.vmap(net, in_axes=(0, None))(x, t)  # (batch, data)
        beta, ab = sched.betas[t], sched.abar[t]
        mean = (x - beta / jnp.sqrt(1.0 - ab) * eps) / jnp.sqrt(1.0 - beta)
        noise = jnp.where(t > 0, jnp.sqrt(beta), 0.0) * jr.normal(k, x.shape)
        return mean + noise, None

    x, _ = jax.lax.scan(back, xT, (jnp.arange(steps)[::-1], jr.split(key, steps)))
    return x
