"""MLP-Mixer on image patches, written over plain dicts of arrays.

Shapes: B batch, T tokens (patches), C channels, S token-mixing width, E channel-mixing width.
"""

import jax
import jax.numpy as jnp

try:
    from shapecheck import example
except ImportError:
    example = lambda f: f


def dense(key, n_in, n_out):
    return {
        "w": jax.random.normal(key, (n_in, n_out)) * n_in**-0.5,  # n_in x n_out
        "b": jnp.zeros(n_out),
    }


def init_mixer(key, patch_dim, T, C, S, E, n_classes, depth):
    k_in, k_out, *ks = jax.random.split(key, depth + 2)
    blocks = []
    for k in ks:
        k1, k2, k3, k4 = jax.random.split(k, 4)
        blocks.append(
            {
                "tok1": dense(k1, T, S),
                "tok2": dense(k2, S, T),
                "ch1": dense(k3, C, E),
                "ch2": dense(k4, E, C),
                "ln1": jnp.ones(C),
                "ln2": jnp.ones(C),
            }
        )
    return {"embed": dense(k_in, patch_dim, C), "blocks": blocks, "head": dense(k_out, C, n_classes)}


def linear(p, x):
    return x @ p["w"] + p["b"]


def layer_norm(gain, x, eps=1e-6):
    mu = x.mean(axis=-1, keepdims=True)
    var = jnp.mean((x - mu) ** 2, axis=-1, keepdims=True)
    return gain * (x - mu) * jax.lax.rsqrt(var + eps)


def patchify(images, p):
    """Cut images of shape (B, H*p, W*p, 3) into flat patches, row by row."""
    B, rows, cols, ch = images.shape
    H, W = rows // p, cols // p
    x = images.reshape(B, H, p, W, p, ch)  # B x H x p x W x p x ch
    x = x.transpose(0, 1, 3, 2, 4, 5)  # B x H x W x p x p x ch
    return x.reshape(B, H * W, p * p * ch)  # B x H*W x p*p*ch


def mixer_block(p, x):
    # x: B x T x C
    y = layer_norm(p["ln1"], x)
    y = jnp.swapaxes(y, 1, 2)  # B x C x T
    y = jax.nn.gelu(linear(p["tok1"], y))  # B x C x S
    y = linear(p["tok2"], y)  # B x C x T
    x = x + jnp.swapaxes(y, 1, 2)
    y = layer_norm(p["ln2"], x)  # B x T x C
    y = jax.nn.gelu(linear(p["ch1"], y))  # B x T x E
    return x + linear(p["ch2"], y)


def forward(params, images, p):
    patches = patchify(images, p)
    x = linear(params["embed"], patches)  # B x T x C
    for block in params["blocks"]:
        x = jax.checkpoint(mixer_block)(block, x)
    pooled = x.mean(axis=1)  # B x C
    return linear(params["head"], pooled)  # B x n_classes


def smoothed_xent(logits, labels, smoothing=0.1):
    # logits: B x n_classes
    # labels: B
    n_classes = logits.shape[-1]
    target = jax.nn.one_hot(labels, n_classes)  # B x n_classes
    target = (1.0 - smoothing) * target + smoothing / n_classes
    return -(target * jax.nn.log_softmax(logits)).sum(axis=-1).mean()


@example
def loss_example():
    # 4 x 5 patches of 2 x 2 pixels
    params = init_mixer(jax.random.key(0), patch_dim=12, T=20, C=9, S=7, E=22, n_classes=6, depth=2)
    images = jnp.zeros((3, 8, 10, 3))

    def loss(params, images, labels):
        return smoothed_xent(forward(params, images, 2), labels)

    return loss, params, images, jnp.zeros(3, jnp.int32)
