"""Small pre-activation ResNet with group norm; images are (C, H, W), batching is by vmap."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, PRNGKeyArray


class GroupNorm(eqx.Module):
    scale: Float[Array, " ch"]
    shift: Float[Array, " ch"]
    groups: int = eqx.field(static=True)
    per: int = eqx.field(static=True)

    def __init__(self, groups: int, per: int):
        self.scale = jnp.ones(groups * per)
        self.shift = jnp.zeros(groups * per)
        self.groups = groups
        self.per = per

    def __call__(self, x: Float[Array, "ch h w"]) -> Float[Array, "ch h w"]:
        _, h, w = x.shape
        g = x.reshape(self.groups, self.per, h, w)  # (groups, per, h, w)
        mu = g.mean(axis=(1, 2, 3), keepdims=True)  # (groups, 1, 1, 1)
        var = g.var(axis=(1, 2, 3), keepdims=True)  # (groups, 1, 1, 1)
        g = (g - mu) / jnp.sqrt(var + 1e-5)
        y = g.reshape(-1, h, w)  # (ch, h, w)
        return y * self.scale[:, None, None] + self.shift[:, None, None]


class SqueezeExcite(eqx.Module):
    down: eqx.nn.Linear
    up: eqx.nn.Linear

    def __init__(self, ch: int, squeeze: int, *, key: PRNGKeyArray):
        k1, k2 = jr.split(key)
        self.down = eqx.nn.Linear(ch, squeeze, key=k1)
        self.up = eqx.nn.Linear(squeeze, ch, key=k2)

    def __call__(self, x: Float[Array, "ch h w"]) -> Float[Array, "ch h w"]:
        s = x.mean(axis=(1, 2))  # (ch,)
        s = jax.nn.relu(self.down(s))  # (squeeze,)
        gate = jax.nn.sigmoid(self.up(s))  # (ch,)
        return x * gate[:, None, None]


class Block(eqx.Module):
    gn: GroupNorm
    conv1: eqx.nn.Conv2d
    conv2: eqx.nn.Conv2d
    se: SqueezeExcite

    def __init__(self, groups: int, per: int, mid: int, squeeze: int, *, key: PRNGKeyArray):
        k1, k2, k3 = jr.split(key, 3)
        ch = groups * per
        self.gn = GroupNorm(groups, per)
        self.conv1 = eqx.nn.Conv2d(ch, mid, kernel_size=3, padding=1, key=k1)
        self.conv2 = eqx.nn.Conv2d(mid, ch, kernel_size=1, key=k2)
        self.se = SqueezeExcite(ch, squeeze, key=k3)

    def __call__(self, x: Float[Array, "ch h w"]) -> Float[Array, "ch h w"]:
        y = jax.nn.relu(self.gn(x))
        y = jax.nn.relu(self.conv1(y))  # (mid, h, w)
        y = self.conv2(y)  # (ch, h, w)
        return x + self.se(y)


class ResNet(eqx.Module):
    stem: eqx.nn.Conv2d
    blocks: list[Block]
    head: eqx.nn.Linear

    def __init__(
        self, in_ch: int, groups: int, per: int, mid: int, squeeze: int, n_classes: int, depth: int, *, key: PRNGKeyArray
    ):
        k1, k2, *ks = jr.split(key, depth + 2)
        self.stem = eqx.nn.Conv2d(in_ch, groups * per, kernel_size=5, padding=2, key=k1)
        self.blocks = [Block(groups, per, mid, squeeze, key=k) for k in ks]
        self.head = eqx.nn.Linear(groups * per, n_classes, key=k2)

    def __call__(self, img: Float[Array, "in_ch h w"]) -> Float[Array, " n_classes"]:
        x = self.stem(img)  # (groups*per, h, w)
        for block in self.blocks:
            x = block(x)
        feat = x.reshape(x.shape[0], -1).max(axis=1)  # (groups*per,)
        return self.head(feat)


def loss(net: ResNet, imgs: Float[Array, "n in_ch h w"], labels: Int[Array, " n"]) -> Float[Array, ""]:
    logits: Float[Array, "n n_classes"] = jax.vmap(net)(imgs)
    logp = jax.nn.log_softmax(logits)
    picked = jnp.take_along_axis(logp, labels[:, None], axis=1)  # (n, 1)
    return -picked.mean()
