"""Perceiver IO: latent cross attention, self-attention tower, query decoder."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, PRNGKeyArray


class CrossAttention(eqx.Module):
    to_q: eqx.nn.Linear
    to_kv: eqx.nn.Linear
    to_out: eqx.nn.Linear
    heads: int = eqx.field(static=True)

    def __init__(self, q_dim: int, kv_dim: int, heads: int, head_dim: int, *, key: PRNGKeyArray):
        k1, k2, k3 = jr.split(key, 3)
        inner = heads * head_dim
        self.to_q = eqx.nn.Linear(q_dim, inner, use_bias=False, key=k1)
        self.to_kv = eqx.nn.Linear(kv_dim, 2 * inner, use_bias=False, key=k2)
        self.to_out = eqx.nn.Linear(inner, q_dim, key=k3)
        self.heads = heads

    def split_heads(self, y: Float[Array, "s inner"]) -> Float[Array, "heads s head_dim"]:
        return y.reshape(y.shape[0], self.heads, -1).transpose(1, 0, 2)

    def __call__(
        self,
        x: Float[Array, "n q_dim"],
        ctx: Float[Array, "m kv_dim"],
        pad: Bool[Array, " m"] | None = None,
    ) -> Float[Array, "n q_dim"]:
        q = jax.vmap(self.to_q)(x)
        k, v = jnp.split(jax.vmap(self.to_kv)(ctx), 2, axis=-1)
        q = self.split_heads(q)  # (heads, n, head_dim)
        k = self.split_heads(k)  # (heads, m, head_dim)
        v = self.split_heads(v)  # (heads, m, head_dim)
        sim = q @ k.transpose(0, 2, 1) / jnp.sqrt(q.shape[-1])  # (heads, n, m)
        if pad is not None:
            sim = jnp.where(pad, -1e9, sim)  # (heads, n, m)
        out = jax.nn.softmax(sim, axis=-1) @ v  # (heads, n, head_dim)
        out = out.transpose(1, 0, 2).reshape(x.shape[0], -1)  # (n, heads*head_dim)
        return jax.vmap(self.to_out)(out)  # (n, q_dim)


class FeedForward(eqx.Module):
    norm: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, dim: int, mult: int, *, key: PRNGKeyArray):
        k1, k2 = jr.split(key)
        self.norm = eqx.nn.LayerNorm(dim)
        self.up = eqx.nn.Linear(dim, 2 * mult * dim, key=k1)
        self.down = eqx.nn.Linear(mult * dim, dim, key=k2)

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        a, gate = jnp.split(self.up(self.norm(x)), 2)  # (mult*dim,), (mult*dim,)
        return self.down(a * jax.nn.gelu(gate))


class Perceiver(eqx.Module):
    latents: Float[Array, "n_latents latent_dim"]
    read: CrossAttention
    tower: list[tuple[CrossAttention, FeedForward]]
    write: CrossAttention
    head: eqx.nn.Linear

    def __init__(
        self,
        in_dim: int,
        query_dim: int,
        out_dim: int,
        n_latents: int,
        latent_dim: int,
        heads: int,
        head_dim: int,
        depth: int,
        *,
        key: PRNGKeyArray,
    ):
        kl, kr, kw, kh, kt = jr.split(key, 5)
        self.latents = 0.02 * jr.normal(kl, (n_latents, latent_dim))
        self.read = CrossAttention(latent_dim, in_dim, heads, head_dim, key=kr)
        self.tower = [
            (CrossAttention(latent_dim, latent_dim, heads, head_dim, key=k), FeedForward(latent_dim, 2, key=k))
            for k in jr.split(kt, depth)
        ]
        self.write = CrossAttention(query_dim, latent_dim, heads, head_dim, key=kw)
        self.head = eqx.nn.Linear(query_dim, out_dim, key=kh)

    def __call__(
        self,
        inputs: Float[Array, "n_in in_dim"],
        pad: Bool[Array, " n_in"],
        queries: Float[Array, "n_out query_dim"],
    ) -> Float[Array, "n_out out_dim"]:
        z = self.latents + self.read(self.latents, inputs, pad)  # (n_latents, latent_dim)
        for attn, ff in self.tower:
            z = z + attn(z, z)  # (n_latents, latent_dim)
            z = z + jax.vmap(ff)(z)
        y = queries + self.write(queries, z)  # (n_out, query_dim)
        return jax.vmap(self.head)(y)
