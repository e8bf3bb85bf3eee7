"""Grouped-query attention with rotary embedding and an incremental KV cache."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class KVCache(eqx.Module):
    k: Float[Array, "max_len kv_heads head_dim"]
    v: Float[Array, "max_len kv_heads head_dim"]
    length: Int[Array, ""]

    def __init__(self, max_len: int, kv_heads: int, head_dim: int):
        self.k = jnp.zeros((max_len, kv_heads, head_dim))
        self.v = jnp.zeros((max_len, kv_heads, head_dim))
        self.length = jnp.zeros((), jnp.int32)


def rotary(x: Float[Array, "t heads head_dim"], pos: Int[Array, " t"]) -> Float[Array, "t heads head_dim"]:
    """Rotate the two halves of the last axis (GPT-NeoX layout)."""
    hd = x.shape[-1]
    inv = 1e4 ** (-jnp.arange(0, hd, 2) / hd)
    ang = pos[:, None] * inv[None, :]
    cos = jnp.cos(ang)[:, None, :]
    sin = jnp.sin(ang)[:, None, :]
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


class GroupedQueryAttention(eqx.Module):
    wq: Float[Array, "d_model kv_heads groups head_dim"]
    wk: Float[Array, "d_model kv_heads head_dim"]
    wv: Float[Array, "d_model kv_heads head_dim"]
    wo: Float[Array, "kv_heads groups head_dim d_model"]

    def __init__(self, d_model: int, kv_heads: int, groups: int, head_dim: int, *, key: PRNGKeyArray):
        kq, kk, kv, ko = jr.split(key, 4)
        s = d_model**-0.5
        self.wq = s * jr.normal(kq, (d_model, kv_heads, groups, head_dim))
        self.wk = s * jr.normal(kk, (d_model, kv_heads, head_dim))
        self.wv = s * jr.normal(kv, (d_model, kv_heads, head_dim))
        self.wo = s * jr.normal(ko, (kv_heads, groups, head_dim, d_model))

    def attend(
        self,
        q: Float[Array, "t kv_heads groups head_dim"],
        k: Float[Array, "s kv_heads head_dim"],
        v: Float[Array, "s kv_heads head_dim"],
        mask: Bool[Array, "t s"],
    ) -> Float[Array, "t d_model"]:
        scores = jnp.einsum("tkgh,skh->kgts", q, k) / jnp.sqrt(q.shape[-1])  # (kv_heads, groups, t, s)
        scores = jnp.where(mask[None, None], scores, -jnp.inf)  # (kv_heads, groups, t, s)
        w = jax.nn.softmax(scores, axis=-1)
        ctx = jnp.einsum("kgts,skh->tkgh", w, v)  # (t, kv_heads, groups, head_dim)
        return jnp.einsum("tkgh,kghd->td", ctx, self.wo)

    def project(
        self, x: Float[Array, "t d_model"], pos: Int[Array, " t"]
    ) -> tuple[
        Float[Array, "t kv_heads groups head_dim"],
        Float[Array, "t kv_heads head_dim"],
        Float[Array, "t kv_heads head_dim"],
    ]:
        q = jnp.einsum("td,dkgh->tkgh", x, self.wq)  # (t, kv_heads, groups, head_dim)
        k = jnp.einsum("td,dkh->tkh", x, self.wk)  # (t, kv_heads, head_dim)
        v = jnp.einsum("td,dkh->tkh", x, self.wv)  # (t, kv_heads, head_dim)
        q = jax.vmap(rotary, in_axes=(2, None), out_axes=2)(q, pos)
        return q, rotary(k, pos), v

    def __call__(self, x: Float[Array, "t d_model"]) -> Float[Array, "t d_model"]:
        t = x.shape[0]
        pos = jnp.arange(t)
        q, k, v = self.project(x, pos)
        causal = pos[:, None] >= pos[None, :]  # (t, t)
        return self.attend(q, k, v, causal)

    def decode(self, x: Float[Array, " d_model"], cache: KVCache) -> tuple[Float[Array, " d_model"], KVCache]:
        """One token (no batch); prefill runs the same code in a scan."""
        q, k, v = self.project(x[None], cache.length[None])
        new_k = jax.lax.dynamic_update_slice(cache.k, k, (cache.length, 0, 0))  # (max_len, kv_heads, head_dim)
        new_v = jax.lax.dynamic_update_slice(cache.v, v, (cache.length, 0, 0))  # (max_len, kv_heads, head_dim)
        visible = jnp.arange(new_k.shape[0]) <= cache.length  # (max_len,)
        out = self.attend(q, new_k, new_v, visible[None, :])  # (1, d_model)
        cache = eqx.tree_at(lambda c: (c.k, c.v, c.length), cache, (new_k, new_v, cache.length + 1))
        return out[0], cache


def decode_all(
    attn: GroupedQueryAttention, xs: Float[Array, "t d_model"], cache: KVCache
) -> Float[Array, "t d_model"]:
    def step(c, x):
        y, c = attn.decode(x, c)
        return c, y

    _, ys = jax.lax.scan(step, cache, xs)
    return ys
