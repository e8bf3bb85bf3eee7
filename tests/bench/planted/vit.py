"""ViT classifier in Flax linen.

B: batch, H/W: image height and width, C: channels, P: patch size,
N: number of patches (H/P * W/P), T: tokens (N, or N + 1 with a CLS token),
D: width, K: classes.
"""
from dataclasses import dataclass
from typing import Optional

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from einops import rearrange
from flax.training.train_state import TrainState


@dataclass(frozen=True)
class ViTConfig:
    image_size: int = 32
    patch: int = 8
    channels: int = 3
    width: int = 48
    depth: int = 2
    heads: int = 4
    mlp_ratio: int = 4
    n_classes: int = 10
    drop: float = 0.0
    use_cls: bool = True


class PatchEmbed(nn.Module):
    patch: int
    width: int

    @nn.compact
    def __call__(self, img):
        # img: (B, H, W, C)
        p = self.patch
        patches = rearrange(img, "b (h p1) (w p2) c -> b (h w) (p1 p2 c)", p1=p, p2=p)  # (B, N, P*P*C)
        return nn.Dense(self.width, name="proj")(patches)  # (B, N, D)


class SelfAttention(nn.Module):
    heads: int
    drop: float = 0.0

    @nn.compact
    def __call__(self, x, deterministic=True):
        b, n, d = x.shape
        hd = d // self.heads
        qkv = nn.Dense(3 * d, use_bias=False, name="qkv")(x)
        qkv = qkv.reshape(b, n, 3, self.heads, hd).transpose(2, 0, 3, 1, 4)  # (3, B, heads, T, D // heads)
        q, k, v = qkv[0], qkv[1], qkv[2]
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * hd**-0.5  # (B, heads, T, T)
        attn = jax.nn.softmax(scores, axis=-1)
        self.sow("intermediates", "attn", attn)
        attn = nn.Dropout(self.drop)(attn, deterministic=deterministic)
        out = jnp.einsum("bhqk,bhkd->bqhd", attn, v)  # (B, T, heads, D // heads)
        return nn.Dense(d, name="out")(out.reshape(b, n, d))


class Mlp(nn.Module):
    hidden: int
    drop: float = 0.0

    @nn.compact
    def __call__(self, x, deterministic=True):
        width = x.shape[-1]
        h = nn.gelu(nn.Dense(self.hidden)(x))
        h = nn.Dropout(self.drop)(h, deterministic=deterministic)
        return nn.Dense(width)(h)


class Block(nn.Module):
    cfg: ViTConfig

    def setup(self):
        c = self.cfg
        self.norm1 = nn.LayerNorm()
        self.attn = SelfAttention(c.heads, c.drop)
        self.norm2 = nn.LayerNorm()
        self.mlp = Mlp(c.mlp_ratio * c.width, c.drop)

    def __call__(self, x, deterministic=True):
        """Pre-norm block; x and the result are (B, T, D)."""
        x = x + self.attn(self.norm1(x), deterministic)
        return x + self.mlp(self.norm2(x), deterministic)


class ViT(nn.Module):
    cfg: ViTConfig

    def setup(self):
        c = self.cfg
        self.embed = PatchEmbed(c.patch, c.width)
        n = (c.image_size // c.patch) ** 2
        n_tokens = n + 1 if c.use_cls else n
        self.pos = self.param("pos", nn.initializers.normal(0.02), (1, n_tokens, c.width))
        if c.use_cls:
            self.cls = self.param("cls", nn.initializers.zeros, (1, 1, c.width))
        self.blocks = [Block(c) for _ in range(c.depth)]
        self.norm = nn.LayerNorm()
        self.head = nn.Dense(c.n_classes)

    def features(self, img, deterministic=True):
        """Pooled representation, shape (B, D)."""
        x = self.embed(img)  # (B, N, D)
        if self.cfg.use_cls:
            cls = jnp.tile(self.cls, (x.shape[0], 1, 1))  # (B, 1, D)
            x = jnp.concatenate([cls, x], axis=1)  # (B, N+1, D)
        x = x + self.pos
        for blk in self.blocks:
            x = blk(x, deterministic)
        x = self.norm(x)
        if self.cfg.use_cls:
            return x[:, 0]
        return x.mean(axis=1)

    def __call__(self, img, deterministic=True):
        return self.head(self.features(img, deterministic))  # (B, K)


def create_state(key, cfg: ViTConfig, lr=3e-4) -> TrainState:
    model = ViT(cfg)
    dummy = jnp.zeros((1, cfg.image_size, cfg.image_size, cfg.channels))
    params = model.init(key, dummy)["params"]
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(lr, weight_decay=0.05))
    return TrainState.create(apply_fn=model.apply, params=params, tx=tx)


def mixup(key, img, onehot, alpha: Optional[float] = 0.2):
    """Mix each image with a random partner. Shapes are unchanged: img (B, H, W, C), onehot (B, K)."""
    if not alpha:
        return img, onehot
    k1, k2 = jax.random.split(key)
    lam = jax.random.beta(k1, alpha, alpha, (img.shape[0],))  # (B,)
    perm = jax.random.permutation(k2, img.shape[0])
    li = lam[:, None, None, None]
    img = li * img + (1 - li) * img[perm]
    lo = lam[:, None]  # (B, 1)
    return img, lo * onehot + (1 - lo) * onehot[perm]


@jax.jit
def train_step(state: TrainState, key, img, labels):
    k_mix, k_drop = jax.random.split(key)

    def loss_fn(params):
        n_cls = params["head"]["bias"].shape[0]
        x, y = mixup(k_mix, img, jax.nn.one_hot(labels, n_cls))
        logits = state.apply_fn({"params": params}, x, False, rngs={"dropout": k_drop})
        losses = optax.softmax_cross_entropy(logits, y)  # (B,)
        return losses.mean(), logits

    (loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    acc = (logits.argmax(-1) == labels).mean()
    return state.apply_gradients(grads=grads), {"loss": loss, "acc": acc}


if __name__ == "__main__":
    cfg = ViTConfig(image_size=16, patch=4, width=16)
    state = create_state(jax.random.PRNGKey(0), cfg)
    img = jax.random.normal(jax.random.PRNGKey(1), (4, 16, 16, 3))
    labels = jnp.array([0, 1, 2, 3])  # (4,)
    state, metrics = train_step(state, jax.random.PRNGKey(2), img, labels)
    print({k: float(v) for k, v in metrics.items()})
