"""Two-tower contrastive pretraining (image patches vs. token sequences)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class Attention(eqx.Module):
    wq: Float[Array, "dim heads hd"]
    wk: Float[Array, "dim heads hd"]
    wv: Float[Array, "dim heads hd"]
    wo: Float[Array, "heads hd dim"]

    def __init__(self, dim: int, heads: int, hd: int, *, key: PRNGKeyArray):
        kq, kk, kv, ko = jax.random.split(key, 4)
        scale = dim**-0.5
        self.wq = scale * jax.random.normal(kq, (dim, heads, hd))
        self.wk = scale * jax.random.normal(kk, (dim, heads, hd))
        self.wv = scale * jax.random.normal(kv, (dim, heads, hd))
        self.wo = scale * jax.random.normal(ko, (heads, hd, dim))

    def __call__(self, x: Float[Array, "seq dim"], mask: Bool[Array, " seq"]) -> Float[Array, "seq dim"]:
        q: Float[Array, "seq heads hd"] = jnp.einsum("sd,dhk->shk", x, self.wq)
        k = jnp.einsum("sd,dhk->shk", x, self.wk)
        v = jnp.einsum("sd,dhk->shk", x, self.wv)
        logits: Float[Array, "heads seq seq"] = jnp.einsum("shk,thk->hst", q, k) / jnp.sqrt(q.shape[-1])
        logits = jnp.where(mask[None, None, :], logits, -1e9)
        out: Float[Array, "seq heads hd"] = jnp.einsum("hst,thk->shk", jax.nn.softmax(logits, axis=-1), v)
        return jnp.einsum("shk,hkd->sd", out, self.wo)


class Block(eqx.Module):
    attn: Attention
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm
    mlp: eqx.nn.MLP

    def __init__(self, dim: int, heads: int, hd: int, *, key: PRNGKeyArray):
        k1, k2 = jax.random.split(key)
        self.attn = Attention(dim, heads, hd, key=k1)
        self.norm1 = eqx.nn.LayerNorm(dim)
        self.norm2 = eqx.nn.LayerNorm(dim)
        self.mlp = eqx.nn.MLP(dim, dim, 4 * dim, depth=1, activation=jax.nn.gelu, key=k2)

    def __call__(self, x: Float[Array, "seq dim"], mask: Bool[Array, " seq"]) -> Float[Array, "seq dim"]:
        x = x + self.attn(jax.vmap(self.norm1)(x), mask)
        return x + jax.vmap(self.mlp)(jax.vmap(self.norm2)(x))


class ImageTower(eqx.Module):
    proj: eqx.nn.Linear
    pos: Float[Array, "patches dim"]
    blocks: list[Block]
    head: eqx.nn.Linear
    patch: int = eqx.field(static=True)

    def __init__(self, channels, size, patch, dim, heads, hd, embed, depth, *, key):
        kp, kpos, kb, kh = jax.random.split(key, 4)
        self.patch = patch
        self.proj = eqx.nn.Linear(channels * patch * patch, dim, key=kp)
        self.pos = 0.02 * jax.random.normal(kpos, ((size // patch) ** 2, dim))
        self.blocks = [Block(dim, heads, hd, key=k) for k in jax.random.split(kb, depth)]
        self.head = eqx.nn.Linear(dim, embed, key=kh)

    def patchify(self, img: Float[Array, "c h w"]) -> Float[Array, "n_patch c*{self.patch}*{self.patch}"]:
        c, h, w = img.shape
        p = self.patch
        x = img.reshape(c, h // p, p, w // p, p)  # (c, h//p, p, w//p, p)
        x = x.transpose(1, 3, 0, 2, 4)
        return x.reshape((h // p) * (w // p), c * p * p)

    def __call__(self, img: Float[Array, "c h w"]) -> Float[Array, " embed"]:
        tokens: Float[Array, "n_patch dim"] = jax.vmap(self.proj)(self.patchify(img)) + self.pos
        mask = jnp.ones(tokens.shape[0], dtype=bool)
        for block in self.blocks:
            tokens = block(tokens, mask)
        pooled: Float[Array, " dim"] = tokens.mean(axis=0)
        return self.head(pooled)


class TextTower(eqx.Module):
    table: Float[Array, "vocab dim"]
    pos: Float[Array, "max_len dim"]
    blocks: list[Block]
    head: eqx.nn.Linear

    def __init__(self, vocab, max_len, dim, heads, hd, embed, depth, *, key):
        kt, kpos, kb, kh = jax.random.split(key, 4)
        self.table = 0.02 * jax.random.normal(kt, (vocab, dim))
        self.pos = 0.02 * jax.random.normal(kpos, (max_len, dim))
        self.blocks = [Block(dim, heads, hd, key=k) for k in jax.random.split(kb, depth)]
        self.head = eqx.nn.Linear(dim, embed, key=kh)

    def __call__(self, ids: Int[Array, " len"], mask: Bool[Array, " len"]) -> Float[Array, " embed"]:
        x: Float[Array, "len dim"] = self.table[ids] + self.pos[: ids.shape[0]]
        for block in self.blocks:
            x = block(x, mask)
        w: Float[Array, "len 1"] = mask[:, None].astype(x.dtype)
        pooled: Float[Array, " dim"] = jnp.sum(x * w, axis=0) / jnp.maximum(w.sum(), 1.0)
        return self.head(pooled)


class CLIP(eqx.Module):
    image: ImageTower
    text: TextTower
    log_temp: Float[Array, ""]

    def __call__(
        self, imgs: Float[Array, "b c h w"], ids: Int[Array, "b len"], mask: Bool[Array, "b len"]
    ) -> Float[Array, "b b"]:
        zi: Float[Array, "b embed"] = l2_normalize(jax.vmap(self.image)(imgs))
        zt: Float[Array, "b embed"] = l2_normalize(jax.vmap(self.text)(ids, mask))
        return jnp.exp(self.log_temp) * zi @ zt.T


def l2_normalize(x: Float[Array, "n embed"]) -> Float[Array, "n embed"]:
    norm: Float[Array, "n 1"] = jnp.linalg.norm(x, axis=-1, keepdims=True)
    return x / (norm + 1e-6)


def contrastive_loss(logits: Float[Array, "b b"]) -> Float[Array, ""]:
    log_i: Float[Array, " b"] = jnp.diagonal(jax.nn.log_softmax(logits, axis=1))
    log_t = jnp.diagonal(jax.nn.log_softmax(logits, axis=0))
    return -0.5 * jnp.mean(log_i + log_t)


def zero_shot(
    model: CLIP, imgs: Float[Array, "b c h w"], class_ids: Int[Array, "n_cls n_tmpl len"], class_mask: Bool[Array, "n_cls n_tmpl len"]
) -> Float[Array, "b n_cls"]:
    emb: Float[Array, "n_cls n_tmpl embed"] = jax.vmap(jax.vmap(model.text))(class_ids, class_mask)
    proto: Float[Array, "n_cls embed"] = l2_normalize(emb.mean(axis=1))
    return l2_normalize(jax.vmap(model.image)(imgs)) @ proto.T


def recall_at_k(logits: Float[Array, "b b"], k: int) -> Float[Array, ""]:
    _, top = jax.lax.top_k(logits, k)
    hit: Bool[Array, " b"] = jnp.any(top == jnp.arange(logits.shape[0])[:, None], axis=1)
    return hit.astype(jnp.float32).mean()


@eqx.filter_jit
def train_step(model: CLIP, opt_state, batch, optim: optax.GradientTransformation):
    loss, grads = eqx.filter_value_and_grad(lambda m: contrastive_loss(m(*batch)))(model)
    updates, opt_state = optim.update(grads, opt_state)
    return eqx.apply_updates(model, updates), opt_state, loss
