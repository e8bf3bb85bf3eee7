"""Decoder-only language model in Haiku with an incremental key/value cache.

Shape letters: B batch, T query length, S cache capacity, H heads, D head size,
M = H * D model size, V vocabulary, L layers.
"""
import dataclasses
from typing import NamedTuple, Optional

import haiku as hk
import jax
import jax.numpy as jnp


@dataclasses.dataclass
class Config:
    vocab: int
    n_layers: int = 2
    n_heads: int = 4
    head_size: int = 8
    max_len: int = 32
    widening: int = 4

    @property
    def d_model(self):
        return self.n_heads * self.head_size


class LayerCache(NamedTuple):
    k: jnp.ndarray  # [B, S, H, D]
    v: jnp.ndarray  # [B, S, H, D]


class Cache(NamedTuple):
    layers: list  # one LayerCache per layer
    length: jnp.ndarray  # scalar, number of positions already filled


def init_cache(cfg: Config, batch: int) -> Cache:
    shape = (batch, cfg.max_len, cfg.n_heads, cfg.head_size)
    layers = [LayerCache(jnp.zeros(shape), jnp.zeros(shape)) for _ in range(cfg.n_layers)]
    return Cache(layers, jnp.array(0, jnp.int32))


def causal_mask(n_query, n_key, offset=0):
    """True where query i may look at key j: [T, S]."""
    q = offset + jnp.arange(n_query)
    k = jnp.arange(n_key)
    return k[None, :] <= q[:, None]


def layer_norm(x, name=None):
    return hk.LayerNorm(axis=-1, create_scale=True, create_offset=True, name=name)(x)


class CausalAttention(hk.Module):
    def __init__(self, n_heads: int, head_size: int, name: Optional[str] = None):
        super().__init__(name=name)
        self.n_heads = n_heads
        self.head_size = head_size

    def _heads(self, x, name):
        y = hk.Linear(self.n_heads * self.head_size, with_bias=False, name=name)(x)
        return y.reshape(*x.shape[:-1], self.n_heads, self.head_size)

    def __call__(self, x, cache: Optional[LayerCache] = None, offset=0):
        """Attend over x, or over the cache extended by x.

        Args:
          x: [B, T, M]
          cache: keys and values of earlier positions.
          offset: how many positions of the cache are filled.

        Returns:
          ([B, T, M], the updated cache or None)
        """
        q = self._heads(x, "query")  # [B, T, H, D]
        k = self._heads(x, "key")
        v = self._heads(x, "value")
        if cache is not None:
            k = jax.lax.dynamic_update_slice_in_dim(cache.k, k, offset, axis=1)  # [B, S, H, D]
            v = jax.lax.dynamic_update_slice_in_dim(cache.v, v, offset, axis=1)  # [B, S, H, D]
            cache = LayerCache(k, v)
        mask = causal_mask(q.shape[1], k.shape[1], offset)
        logits = jnp.einsum("bthd,bshd->bhts", q, k) / self.head_size**0.5
        logits = jnp.where(mask[None, None], logits, -1e30)
        weights = jax.nn.softmax(logits)
        out = jnp.einsum("bhts,bshd->bthd", weights, v)  # [B, T, H, D]
        out = out.reshape(*x.shape[:-1], -1)  # [B, T, M]
        return hk.Linear(x.shape[-1], name="out")(out), cache


class Decoder(hk.Module):
    def __init__(self, cfg: Config, name: Optional[str] = None):
        super().__init__(name=name)
        self.cfg = cfg

    def __call__(self, tokens, cache: Optional[Cache] = None):
        """tokens [B, T] -> (logits [B, T, V], cache)."""
        cfg = self.cfg
        offset = 0 if cache is None else cache.length
        embed = hk.Embed(cfg.vocab, cfg.d_model)
        pos_table = hk.get_parameter("pos", [cfg.max_len, cfg.d_model], init=hk.initializers.TruncatedNormal(0.02))
        pos = jax.lax.dynamic_slice_in_dim(pos_table, offset, tokens.shape[1], axis=0)  # [T, M]
        h = embed(tokens) + pos[None]  # [B, T, M]
        new_layers = []
        for i in range(cfg.n_layers):
            layer_cache = None if cache is None else cache.layers[i]
            attn = CausalAttention(cfg.n_heads, cfg.head_size, name=f"attn_{i}")
            y, layer_cache = attn(layer_norm(h, f"ln_a{i}"), layer_cache, offset)
            h = h + y
            ff = hk.Linear(cfg.widening * cfg.d_model, name=f"up_{i}")(layer_norm(h, f"ln_f{i}"))
            h = h + hk.Linear(cfg.d_model, name=f"down_{i}")(jax.nn.gelu(ff))
            new_layers.append(layer_cache)
        h = layer_norm(h, "ln_out")
        logits = h @ embed.embeddings.T  # tied read-out, [B, T, V]
        if cache is None:
            return logits, None
        return logits, Cache(new_layers, offset + tokens.shape[1])


def make_model(cfg: Config):
    return hk.without_apply_rng(hk.transform(lambda tokens, cache=None: Decoder(cfg)(tokens, cache)))


def lm_loss(model, params, tokens, pad_id=0):
    """Cross entropy of tokens[:, 1:] given the prefix, padding excluded; a scalar."""
    logits, _ = model.apply(params, tokens[:, :-1])
    target = tokens[:, 1:]  # [B, T-1]
    logp = jax.nn.log_softmax(logits, axis=-1)
    picked = jnp.take_along_axis(logp, target[..., None], axis=-1).squeeze(-1)  # [B, T-1]
    keep = (target != pad_id).astype(logp.dtype)
    return -(picked * keep).sum() / jnp.maximum(keep.sum(), 1.0)


def generate(model, params, cfg: Config, prompt, n_new, key, top_k=None):
    """Sample n_new tokens after prompt [B, T]; returns [B, n_new]."""
    batch = prompt.shape[0]
    logits, cache = model.apply(params, prompt, init_cache(cfg, batch))
    last = logits[:, -1, :]  # [B, V]

    def body(carry, k):
        last, cache = carry
        if top_k is not None:
            kth = jax.lax.top_k(last, top_k)[0][:, -1:]  # [B, 1]
            last = jnp.where(last < kth, -1e30, last)
        nxt = jax.random.categorical(k, last)  # [B]
        logits, cache = model.apply(params, nxt[:, None], cache)
        return (logits[:, 0], cache), nxt

    _, out = jax.lax.scan(body, (last, cache), jax.random.split(key, n_new))  # out: [n_new, B]
    return jnp.swapaxes(out, 0, 1)


if __name__ == "__main__":
    cfg = Config(vocab=20, n_heads=2)
    model = make_model(cfg)
    toks = jax.random.randint(jax.random.PRNGKey(0), (3, 9), 1, cfg.vocab)  # [3, 9]
    params = model.init(jax.random.PRNGKey(1), toks)
    print("loss", lm_loss(model, params, toks))
    print(generate(model, params, cfg, toks, 5, jax.random.PRNGKey(2), top_k=4))
