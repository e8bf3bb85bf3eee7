"""A hypernetwork that writes LoRA factors for a frozen transformer-style stack.

Sizes: B batch, T tokens, D width, F feed-forward width, R rank, Z task code, N layers.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

try:
    from shapecheck import example
except ImportError:

    def example(f):
        return f


def init_base(key, N, D, F):
    k1, k2 = jax.random.split(key)
    up = jax.random.normal(k1, (N, D, F)) / jnp.sqrt(D)  # (N, D, F)
    down = jax.random.normal(k2, (N, F, D)) / jnp.sqrt(F)  # (N, F, D)
    return {"up": up, "down": down}


def init_hyper(key, Z, E, N, D, F, R):
    ks = jax.random.split(key, 4)
    per_layer = R * (D + F)
    return {
        "layer_emb": jax.random.normal(ks[0], (N, E)),  # (N, E)
        "w1": jax.random.normal(ks[1], (Z + E, 2 * E)) * 0.1,
        "w2": jax.random.normal(ks[2], (2 * E, per_layer)) * 0.01,
        "gate": jnp.zeros((Z, N)),
    }


def generate(hp, code, D, F, R):
    """Low-rank factors of every layer for one task.

    Args:
        hp: hypernetwork parameters.
        code: task code of shape (Z,).
        D: width.
        F: feed-forward width.
        R: rank.

    Returns:
        Pair of factors, shapes (N, D, R) and (N, R, F).
    """
    emb = hp["layer_emb"]
    n_layers = emb.shape[0]
    tiled = jnp.broadcast_to(code, (n_layers, code.shape[0]))
    h = jnp.tanh(jnp.concatenate([tiled, emb], axis=1) @ hp["w1"])
    flat = h @ hp["w2"]  # (N, R*(D + F))
    gate = jax.nn.sigmoid(code @ hp["gate"])  # (N,)
    flat = flat * gate[:, None]
    a = flat[:, : D * R].reshape(n_layers, D, R)  # (N, D, R)
    b = flat[:, D * R :].reshape(n_layers, R, F)  # (N, R, F)
    return a, b


def rms_norm(x: Float[Array, "*lead width"]) -> Float[Array, "*lead width"]:
    ms = jnp.mean(x * x, axis=-1, keepdims=True)
    return x * jax.lax.rsqrt(ms + 1e-6)


def stack_forward(base, a, b, x, scale=1.0):
    # x: (T, D)
    def layer(x, ws):
        up, down, a_n, b_n = ws
        y = rms_norm(x)  # (T, D)
        delta = (y @ a_n) @ b_n  # (T, F)
        h = jax.nn.gelu(y @ up + scale * delta)  # (T, F)
        return x + h @ down, jnp.mean(h > 0, axis=0)

    x, active = jax.lax.scan(layer, x, (base["up"], base["down"], a, b))
    # active: (N, F)
    return x, active


def per_task(hp, base, code, x, R):
    D, F = base["up"].shape[1:]
    a, b = generate(hp, code, D, F, R)
    return stack_forward(base, a, b, x)


def loss(hp, base, codes, xs, ys, R):
    # codes: (B, Z)
    # xs: (B, T, D)
    # ys: (B, T, D)
    run = jax.vmap(per_task, in_axes=(None, None, 0, 0, None))
    out, active = run(hp, base, codes, xs, R)  # (B, T, D), (B, N, F)
    sparsity = active.mean(axis=(0, 2))  # (N,)
    mse = jnp.square(out - ys).mean(axis=(1, 2))  # (B,)
    return mse.mean() + 1e-3 * sparsity.sum()


@example
def loss_example():
    base = init_base(jax.random.key(0), N=2, D=10, F=23)
    hp = init_hyper(jax.random.key(1), Z=7, E=5, N=2, D=10, F=23, R=3)
    xs = jnp.ones((4, 9, 10))
    return loss, hp, base, jnp.ones((4, 7)), xs, xs, 3
