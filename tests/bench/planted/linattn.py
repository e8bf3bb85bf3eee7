"""Causal linear-attention language model with a constant-size recurrent state for decoding."""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import random
from jaxtyping import Array, Float, Int, PRNGKeyArray


class LayerState(eqx.Module):
    s: Float[Array, "heads dk dv"]
    z: Float[Array, "heads dk"]


def feature_map(x: Float[Array, "*dims"]) -> Float[Array, "*dims"]:
    return jax.nn.elu(x) + 1.0


def parallel_attention(
    q: Float[Array, "heads seq dk"], k: Float[Array, "heads seq dk"], v: Float[Array, "heads seq dv"]
) -> Float[Array, "heads seq dv"]:
    scores: Float[Array, "heads seq seq"] = jnp.einsum("hid,hjd->hij", q, k)
    scores = jnp.tril(scores)
    denom: Float[Array, "heads seq 1"] = scores.sum(axis=-1, keepdims=True)
    return jnp.einsum("hij,hjv->hiv", scores, v) / (denom + 1e-6)


def chunked_attention(
    q: Float[Array, "heads seq dk"],
    k: Float[Array, "heads seq dk"],
    v: Float[Array, "heads seq dv"],
    chunk: int,
) -> Float[Array, "heads seq dv"]:
    """Same result in linear memory; seq must be a multiple of chunk."""
    h, t, dk = q.shape
    dv = v.shape[-1]

    def blocks(x: Float[Array, "heads seq d"]) -> Float[Array, "blk heads chunk d"]:
        return x.reshape(h, t // chunk, chunk, -1).transpose(1, 0, 2, 3)

    def body(state: LayerState, inp):
        qc, kc, vc = inp
        intra: Float[Array, "heads chunk chunk"] = jnp.tril(jnp.einsum("hid,hjd->hij", qc, kc))
        num: Float[Array, "heads chunk dv"] = jnp.einsum("hij,hjv->hiv", intra, vc) + jnp.einsum("hid,hdv->hiv", qc, state.s)
        den: Float[Array, "heads chunk"] = intra.sum(axis=-1) + jnp.einsum("hid,hd->hi", qc, state.z)
        s = state.s + jnp.einsum("hjd,hjv->hdv", kc, vc)
        z = state.z + kc.sum(axis=1)
        return LayerState(s, z), num / (den[..., None] + 1e-6)

    init = LayerState(jnp.zeros((h, dk, dv)), jnp.zeros((h, dk)))
    _, out = jax.lax.scan(body, init, (blocks(q), blocks(k), blocks(v)))
    return out.transpose(1, 0, 2, 3).reshape(h, t, dv)


class LinearAttention(eqx.Module):
    wq: Float[Array, "heads dk dim"]
    wk: Float[Array, "heads dk dim"]
    wv: Float[Array, "heads dv dim"]
    wo: Float[Array, "dim heads dv"]

    def __init__(self, dim: int, heads: int, dk: int, dv: int, *, key: PRNGKeyArray):
        k1, k2, k3, k4 = random.split(key, 4)
        self.wq = random.normal(k1, (heads, dk, dim)) * dim**-0.5
        self.wk = random.normal(k2, (heads, dk, dim)) * dim**-0.5
        self.wv = random.normal(k3, (heads, dv, dim)) * dim**-0.5
        self.wo = random.normal(k4, (dim, heads, dv)) * (heads * dv) ** -0.5

    def __call__(self, x: Float[Array, "seq dim"], chunk: int | None = None) -> Float[Array, "seq dim"]:
        q = feature_map(jnp.einsum("td,hkd->htk", x, self.wq))
        k = feature_map(jnp.einsum("td,hkd->htk", x, self.wk))
        v: Float[Array, "heads seq dv"] = jnp.einsum("td,hvd->htv", x, self.wv)
        out = parallel_attention(q, k, v) if chunk is None else chunked_attention(q, k, v, chunk)
        return jnp.einsum("htv,dhv->td", out, self.wo)

    def init_state(self) -> LayerState:
        heads, dk, _ = self.wk.shape
        return LayerState(s=jnp.zeros((heads, dk, self.wv.shape[1])), z=jnp.zeros((heads, dk)))

    def step(self, state: LayerState, x: Float[Array, " dim"]) -> tuple[LayerState, Float[Array, " dim"]]:
        q: Float[Array, "heads dk"] = feature_map(self.wq @ x)
        k = feature_map(self.wk @ x)
        v: Float[Array, "heads dv"] = self.wv @ x
        s: Float[Array, "heads dk dv"] = state.s + k[:, :, None] * v[:, None, :]
        z = state.z + k
        num: Float[Array, "heads dv"] = jnp.einsum("hk,hkv->hv", q, s)
        den: Float[Array, " heads"] = jnp.sum(q * z, axis=-1)
        return LayerState(s, z), jnp.einsum("hv,dhv->d", num / (den[:, None] + 1e-6), self.wo)


class Block(eqx.Module):
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm
    attn: LinearAttention
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, dim: int, heads: int, dk: int, dv: int, ff: int, *, key: PRNGKeyArray):
        ka, ku, kd = random.split(key, 3)
        self.norm1, self.norm2 = eqx.nn.LayerNorm(dim), eqx.nn.LayerNorm(dim)
        self.attn = LinearAttention(dim, heads, dk, dv, key=ka)
        self.up = eqx.nn.Linear(dim, ff, key=ku)
        self.down = eqx.nn.Linear(ff, dim, key=kd)

    def mlp(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        return self.down(jax.nn.gelu(self.up(self.norm2(x))))

    def __call__(self, x: Float[Array, "seq dim"], chunk: int | None = None) -> Float[Array, "seq dim"]:
        x = x + self.attn(jax.vmap(self.norm1)(x), chunk)
        return x + jax.vmap(self.mlp)(x)

    def step(self, state: LayerState, x: Float[Array, " dim"]):
        state, y = self.attn.step(state, self.norm1(x))
        x = x + y
        return state, x + self.mlp(x)


class LM(eqx.Module):
    embed: Float[Array, "vocab dim"]
    blocks: list[Block]

    def __init__(self, vocab, dim, heads, dk, dv, ff, depth, *, key):
        ke, kb = random.split(key)
        self.embed = 0.02 * random.normal(ke, (vocab, dim))
        self.blocks = [Block(dim, heads, dk, dv, ff, key=k) for k in random.split(kb, depth)]

    def __call__(self, ids: Int[Array, " seq"], chunk: int | None = None) -> Float[Array, "seq vocab"]:
        x: Float[Array, "seq dim"] = self.embed[ids]
        for block in self.blocks:
            x = block(x, chunk)
        return x @ self.embed.T

    def step(self, states: list[LayerState], tok: Int[Array, ""]) -> tuple[list[LayerState], Float[Array, " vocab"]]:
        x: Float[Array, " dim"] = self.embed[tok]
        new = []
        for block, state in zip(self.blocks, states):
            state, x = block.step(state, x)
            new.append(state)
        return new, self.embed @ x


def generate(model: LM, prompt: Int[Array, " p"], steps: int, key: PRNGKeyArray) -> Int[Array, " p+{steps}"]:
    states = [b.attn.init_state() for b in model.blocks]
    states, logits = jax.lax.scan(lambda c, t: model.step(c, t), states, prompt)

    def body(carry, k):
        states, last = carry
        tok: Int[Array, ""] = random.categorical(k, last)
        states, last = model.step(states, tok)
        return (states, last), tok

    _, toks = jax.lax.scan(body, (states, logits[-1]), random.split(key, steps))
    return jnp.concatenate([prompt, toks.astype(prompt.dtype)])


def loss_fn(model: LM, ids: Int[Array, "b seq"]) -> Float[Array, ""]:
    logits: Float[Array, "b seq-1 vocab"] = jax.vmap(model)(ids[:, :-1])
    nll: Float[Array, "b seq-1"] = optax.softmax_cross_entropy_with_integer_labels(logits, ids[:, 1:])
    return nll.mean()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=32)
    args = ap.parse_args()
    lm = LM(256, 64, 4, 16, 16, 128, 2, key=random.key(0))
    print(generate(lm, jnp.arange(8), args.steps, random.key(1)))
