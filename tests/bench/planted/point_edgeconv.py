"""Point clouds: kNN graph, farthest point sampling and an EdgeConv classifier."""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

try:
    from shapecheck import example
except ImportError:

    def example(f):
        return f


def pairwise_sq(a: Float[Array, "p c"], b: Float[Array, "q c"]) -> Float[Array, "p q"]:
    diff = a[:, None, :] - b[None, :, :]  # (p, q, c)
    return jnp.sum(diff**2, axis=-1)


def knn(pts: Float[Array, "p c"], k: int) -> Int[Array, "p k"]:
    d = pairwise_sq(pts, pts)  # (p, p)
    _, idx = lax.top_k(-d, k)
    return idx  # (p, k)


def farthest(pts: Float[Array, "p c"], m: int) -> Int[Array, " m"]:
    """Greedy farthest point sampling, starting from the first point."""
    n = pts.shape[0]

    def body(i, state):
        chosen, dist = state  # (m,), (n,)
        newest = pts[chosen[i - 1]]  # (c,)
        gap = jnp.sum((pts - newest) ** 2, axis=1)  # (n,)
        dist = jnp.minimum(dist, gap)
        return chosen.at[i].set(jnp.argmax(dist)), dist

    init = (jnp.zeros(m, jnp.int32), jnp.full(n, jnp.inf))
    chosen, _ = lax.fori_loop(1, m, body, init)
    return chosen


def init_params(key, widths, n_classes):
    *ks, last = jax.random.split(key, len(widths))
    convs = []
    for k, a, b in zip(ks, widths[:-1], widths[1:]):
        convs.append((jax.random.normal(k, (2 * a, b)) * (2 * a) ** -0.5, jnp.zeros(b)))
    head = jax.random.normal(last, (2 * widths[-1], n_classes)) * 0.1
    return {"convs": convs, "head": head}


def edge_conv(w, b, feats, idx):
    # idx: (p, k)
    near = feats[idx]  # (p, k, a)
    centre = jnp.broadcast_to(feats[:, None, :], near.shape)  # (p, k, a)
    edge = jnp.concatenate([centre, near - centre], axis=-1)  # (p, k, 2*a)
    h = jax.nn.leaky_relu(edge @ w + b)
    return h.max(axis=1)


def classify_one(params, pts, k):
    # pts: (p, 3)
    feats = pts
    for w, b in params["convs"]:
        idx = knn(feats, k)  # (p, k)
        feats = edge_conv(w, b, feats, idx)
    pooled = jnp.concatenate([feats.max(axis=0), feats.mean(axis=0)])
    return pooled @ params["head"]  # (n_classes,)


def classify(params, clouds, m, k):
    # clouds: (batch, n, 3)
    def one(cloud):
        sub = cloud[farthest(cloud, m)]  # (m, 3)
        sub = sub - sub.mean(axis=0, keepdims=True)  # (m, 3)
        return classify_one(params, sub, k)

    return jax.vmap(one)(clouds)  # (batch, n_classes)


def chamfer(a, b):
    # a: (batch, n, 3)
    # b: (batch, s, 3)
    d = jax.vmap(pairwise_sq)(a, b)  # (batch, n, s)
    there = d.min(axis=2).mean(axis=1)  # (batch,)
    back = d.min(axis=1).mean(axis=1)  # (batch,)
    return there + back


@example
def classify_example():
    params = init_params(jax.random.key(0), (3, 13, 22), n_classes=5)
    clouds = jax.random.normal(jax.random.key(1), (2, 41, 3))
    return classify, params, clouds, 17, 4


@example
def chamfer_example():
    return chamfer, jnp.zeros((6, 23, 3)), jnp.ones((6, 31, 3))
