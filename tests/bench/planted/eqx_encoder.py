"""Transformer encoder with rotary position embeddings (Equinox).

Every module works on a single sequence; batch with ``jax.vmap``.
"""
import dataclasses
from typing import Optional

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


@dataclasses.dataclass(frozen=True)
class EncoderConfig:
    vocab_size: int
    d_model: int
    n_heads: int
    head_dim: int
    d_ff: int
    n_layers: int
    max_len: int = 64
    n_classes: int = 3


def rotary_tables(
    max_len: int, head_dim: int, base: float = 10_000.0
) -> tuple[Float[Array, "max_len half"], Float[Array, "max_len half"]]:
    inv_freq = 1.0 / base ** (jnp.arange(0, head_dim, 2) / head_dim)
    t = jnp.arange(max_len)
    freqs = jnp.outer(t, inv_freq)
    return jnp.cos(freqs), jnp.sin(freqs)


def apply_rotary(
    x: Float[Array, "seq heads head_dim"],
    cos: Float[Array, "seq half"],
    sin: Float[Array, "seq half"],
) -> Float[Array, "seq heads head_dim"]:
    x1, x2 = jnp.split(x, 2, axis=-1)
    cos = cos[:, None, :]
    sin = sin[:, None, :]
    return jnp.concatenate([x1 * cos - x2 * sin, x2 * cos + x1 * sin], axis=-1)


def make_mask(
    tokens: Int[Array, " seq"], pad_id: int = 0
) -> tuple[Bool[Array, " seq"], Bool[Array, "seq seq"]]:
    """Padding mask and pairwise attention mask of one sequence."""
    valid = tokens != pad_id
    pair = valid[:, None] & valid[None, :]
    return valid, pair


class RotaryAttention(eqx.Module):
    wq: eqx.nn.Linear
    wk: eqx.nn.Linear
    wv: eqx.nn.Linear
    wo: eqx.nn.Linear
    n_heads: int = eqx.field(static=True)
    head_dim: int = eqx.field(static=True)

    def __init__(self, d_model: int, n_heads: int, head_dim: int, *, key: PRNGKeyArray):
        kq, kk, kv, ko = jr.split(key, 4)
        inner = n_heads * head_dim
        self.wq = eqx.nn.Linear(d_model, inner, use_bias=False, key=kq)
        self.wk = eqx.nn.Linear(d_model, inner, use_bias=False, key=kk)
        self.wv = eqx.nn.Linear(d_model, inner, use_bias=False, key=kv)
        self.wo = eqx.nn.Linear(inner, d_model, use_bias=False, key=ko)
        self.n_heads = n_heads
        self.head_dim = head_dim

    def _project(self, lin: eqx.nn.Linear, x: Float[Array, "seq d_model"]):
        y = jax.vmap(lin)(x)
        return y.reshape(x.shape[0], self.n_heads, self.head_dim)

    def __call__(
        self,
        x: Float[Array, "seq d_model"],
        rope: tuple[Float[Array, "seq half"], Float[Array, "seq half"]],
        mask: Optional[Bool[Array, "seq seq"]] = None,
    ) -> Float[Array, "seq d_model"]:
        q = apply_rotary(self._project(self.wq, x), *rope)
        k = apply_rotary(self._project(self.wk, x), *rope)
        v = self._project(self.wv, x)
        scores: Float[Array, "heads seq seq"] = jnp.einsum("qhd,khd->hqk", q, k)
        scores = scores / jnp.sqrt(self.head_dim)
        if mask is not None:
            scores = jnp.where(mask[None, :, :], scores, -1e9)
        weights = jax.nn.softmax(scores, axis=-1)
        out: Float[Array, "seq heads head_dim"] = jnp.einsum("hqk,khd->qhd", weights, v)
        return jax.vmap(self.wo)(out.reshape(x.shape[0], -1))


class Block(eqx.Module):
    attn: RotaryAttention
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, cfg: EncoderConfig, *, key: PRNGKeyArray):
        ka, ku, kd = jr.split(key, 3)
        self.attn = RotaryAttention(cfg.d_model, cfg.n_heads, cfg.head_dim, key=ka)
        self.norm1 = eqx.nn.LayerNorm(cfg.d_model)
        self.norm2 = eqx.nn.LayerNorm(cfg.d_model)
        self.up = eqx.nn.Linear(cfg.d_model, cfg.d_ff, key=ku)
        self.down = eqx.nn.Linear(cfg.d_ff, cfg.d_model, key=kd)

    def __call__(self, x: Float[Array, "seq d_model"], rope, mask) -> Float[Array, "seq d_model"]:
        x = x + self.attn(jax.vmap(self.norm1)(x), rope, mask)
        h = jax.vmap(self.up)(jax.vmap(self.norm2)(x))
        return x + jax.vmap(self.down)(jax.nn.gelu(h))


class Encoder(eqx.Module):
    embed: eqx.nn.Embedding
    blocks: list[Block]
    head: eqx.nn.Linear
    cfg: EncoderConfig = eqx.field(static=True)

    def __init__(self, cfg: EncoderConfig, *, key: PRNGKeyArray):
        ke, kh, *kb = jr.split(key, cfg.n_layers + 2)
        self.embed = eqx.nn.Embedding(cfg.vocab_size, cfg.d_model, key=ke)
        self.blocks = [Block(cfg, key=k) for k in kb]
        self.head = eqx.nn.Linear(cfg.d_model, cfg.n_classes, key=kh)
        self.cfg = cfg

    def encode(self, tokens: Int[Array, " seq"]) -> Float[Array, "seq d_model"]:
        seq = tokens.shape[0]
        _, pair = make_mask(tokens)
        cos, sin = rotary_tables(self.cfg.max_len, self.cfg.head_dim)
        rope = (cos[:seq], sin[:seq])
        x = jax.vmap(self.embed)(tokens)
        for block in self.blocks:
            x = block(x, rope, pair)
        return x

    def __call__(self, tokens: Int[Array, " seq"]) -> Float[Array, " n_classes"]:
        valid, _ = make_mask(tokens)
        x = self.encode(tokens)
        w = valid.astype(x.dtype)
        pooled = jnp.sum(x * w[:, None], axis=0) / jnp.maximum(w.sum(), 1.0)
        return self.head(pooled)


def loss_fn(
    model: Encoder, tokens: Int[Array, "batch seq"], labels: Int[Array, " batch"]
) -> Float[Array, ""]:
    logits: Float[Array, "batch n_classes"] = jax.vmap(model)(tokens)
    logp = jax.nn.log_softmax(logits, axis=-1)
    picked = jnp.take_along_axis(logp, labels[:, None], axis=1)
    return -picked.mean()


if __name__ == "__main__":
    cfg = EncoderConfig(vocab_size=50, d_model=24, n_heads=2, head_dim=8, d_ff=40, n_layers=2)
    model = Encoder(cfg, key=jr.key(0))
    toks = jr.randint(jr.key(1), (5, 11), 0, cfg.vocab_size)
    labels = jnp.array([0, 1, 2, 0, 1])
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, toks, labels)
    print(loss)
