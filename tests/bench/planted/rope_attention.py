"""Decoder-only language model: rotary attention with grouped heads and a key/value cache."""
import math

import jax
import jax.numpy as jnp


def init_block(key, d_model, n_heads, n_kv, d_ff):
    d_head = d_model // n_heads
    kq, kk, kv, ko, k1, k2 = jax.random.split(key, 6)

    def normal(k, shape, fan_in):
        return jax.random.normal(k, shape) / math.sqrt(fan_in)

    return {
        "wq": normal(kq, (d_model, n_heads, d_head), d_model),   # (D, H, K)
        "wk": normal(kk, (d_model, n_kv, d_head), d_model),      # (D, G, K)
        "wv": normal(kv, (d_model, n_kv, d_head), d_model),      # (D, G, K)
        "wo": normal(ko, (n_heads, d_head, d_model), d_model),   # (H, K, D)
        "w_up": normal(k1, (d_model, d_ff), d_model),            # (D, F)
        "w_down": normal(k2, (d_ff, d_model), d_ff),             # (F, D)
        "scale1": jnp.ones(d_model),                             # (D,)
        "scale2": jnp.ones(d_model),
    }


def init_lm(key, vocab, d_model, n_heads, n_kv, d_ff, n_layers):
    k_emb, *k_blocks = jax.random.split(key, n_layers + 1)
    emb = 0.02 * jax.random.normal(k_emb, (vocab, d_model))      # (V, D)
    blocks = [init_block(k, d_model, n_heads, n_kv, d_ff) for k in k_blocks]
    return {"emb": emb, "blocks": blocks, "scale": jnp.ones(d_model)}


def init_cache(params, batch, max_len):
    _, n_kv, d_head = params["blocks"][0]["wk"].shape
    zeros = jnp.zeros((batch, max_len, n_kv, d_head))            # (B, L, G, K)
    return [{"k": zeros, "v": zeros} for _ in params["blocks"]]


def rms_norm(x, scale):
    # x: (B, T, D), scale: (D,)
    var = jnp.mean(x * x, axis=-1, keepdims=True)                # (B, T, 1)
    return x * jax.lax.rsqrt(var + 1e-6) * scale                 # (B, T, D)


def rope_angles(pos, d_head, base=10000.0):
    """pos (T,) -> (T, K // 2), the angle of each pair of features."""
    half = d_head // 2
    freq = base ** (-jnp.arange(half) / half)                    # (K // 2,)
    return pos[:, None] * freq[None, :]


def rotate(x, angles):
    """
    x (B, T, N, K): queries or keys
    angles (T, K // 2)
    """
    a, b = jnp.split(x, 2, axis=-1)                              # each (B, T, N, K // 2)
    cos = jnp.cos(angles)[None, :, None, :]                      # (1, T, 1, K // 2)
    sin = jnp.sin(angles)[None, :, None, :]                      # (1, T, 1, K // 2)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)   # (B, T, N, K)


def attend(q, k, v, mask):
    """
    q (B, T, H, K): queries
    k (B, S, G, K): keys, each shared by H // G query heads
    v (B, S, G, K): values
    mask (T, S): which keys each query may see

    Returns (B, T, H, K)
    """
    B, T, H, K = q.shape
    G = k.shape[2]
    q = q.reshape(B, T, G, H // G, K)                            # (B, T, G, H // G, K)
    logits = jnp.einsum("btgrk,bsgk->bgrts", q, k) / math.sqrt(K)    # (B, G, H // G, T, S)
    logits = jnp.where(mask, logits, -1e9)
    probs = jax.nn.softmax(logits, axis=-1)                      # (B, G, H // G, T, S)
    out = jnp.einsum("bgrts,bsgk->btgrk", probs, v)              # (B, T, G, H // G, K)
    return out.reshape(B, T, H, K)


def project(p, x, pos):
    d_head = p["wq"].shape[-1]
    q = jnp.einsum("btd,dhk->bthk", x, p["wq"])                  # (B, T, H, K)
    k = jnp.einsum("btd,dgk->btgk", x, p["wk"])                  # (B, T, G, K)
    v = jnp.einsum("btd,dgk->btgk", x, p["wv"])                  # (B, T, G, K)
    ang = rope_angles(pos, d_head)                               # (T, K // 2)
    return rotate(q, ang), rotate(k, ang), v


def block(p, x, pos, cache=None):
    """
    x (B, T, D): residual stream
    pos (T,): absolute positions
    """
    h = rms_norm(x, p["scale1"])
    q, k, v = project(p, h, pos)
    if cache is not None:
        start = (0, pos[0], 0, 0)
        k = jax.lax.dynamic_update_slice(cache["k"], k, start)   # (B, L, G, K)
        v = jax.lax.dynamic_update_slice(cache["v"], v, start)   # (B, L, G, K)
        cache = {"k": k, "v": v}
    seen = jnp.arange(k.shape[1])                                # (S,)
    mask = seen[None, :] <= pos[:, None]                         # (T, S)
    o = attend(q, k, v, mask)
    x = x + jnp.einsum("bthk,hkd->btd", o, p["wo"])              # (B, T, D)
    h = rms_norm(x, p["scale2"])
    x = x + jax.nn.gelu(h @ p["w_up"]) @ p["w_down"]             # (B, T, D)
    return x, cache


def forward(params, tokens, pos, caches=None):
    # tokens: (B, T)
    x = params["emb"][tokens]                                    # (B, T, D)
    new = []
    for p, c in zip(params["blocks"], caches or [None] * len(params["blocks"])):
        x, c = block(p, x, pos, c)
        new.append(c)
    x = rms_norm(x, params["scale"])
    logits = x @ params["emb"].T
    return logits, new


def loss_fn(params, tokens):
    """tokens (B, T + 1) -> mean cross entropy"""
    inp, tgt = tokens[:, :-1], tokens[:, 1:]                     # (B, T), (B, T)
    logits, _ = forward(params, inp, jnp.arange(inp.shape[1]))
    logp = jax.nn.log_softmax(logits)
    picked = jnp.take_along_axis(logp, tgt[..., None], axis=-1)  # (B, T, 1)
    return -picked.mean()


@jax.jit
def sgd_step(params, tokens, lr):
    loss, grads = jax.value_and_grad(loss_fn)(params, tokens)
    return jax.tree_util.tree_map(lambda p, g: p - lr * g, params, grads), loss


def decode(params, prompt, n_new):
    """
    prompt (B, P): token ids

    Returns (B, n_new)
    """
    batch, plen = prompt.shape
    caches = init_cache(params, batch, plen + n_new)
    logits, caches = forward(params, prompt, jnp.arange(plen), caches)
    first = logits[:, -1].argmax(-1)                             # (B,)

    def step(carry, pos):
        # tok: (B,)
        tok, caches = carry
        logits, caches = forward(params, tok[:, None], pos[None], caches)
        nxt = logits[:, 0].argmax(-1)                            # (B,)
        return (nxt, caches), tok

    positions = plen + jnp.arange(n_new)                         # (n_new,)
    _, out = jax.lax.scan(step, (first, caches), positions)
    return out.T
