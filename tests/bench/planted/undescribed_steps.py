"""Ordinary functions whose arguments nobody describes but by comments on what is computed of them."""

import jax
import jax.numpy as jnp


def scaled(x, w, n):
    y = x / n  # (b, d)
    z = y @ w  # (b, k)
    return z * n  # (b, k)


def residual(f, x, dt):
    k1 = f(x)  # (n,)
    k2 = f(x + 0.5 * dt * k1)  # (n,)
    return x + dt * k2  # (n,)


def normalise(x, stats):
    mean, std = stats
    return (x - mean) / std  # (batch, d)


def losses(params, batch, model):
    logits = model.apply(params, batch["x"])  # (b, classes)
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * batch["y"], -1))  # ()


def ema(old, new, decay):
    return jax.tree.map(lambda a, b: decay * a + (1 - decay) * b, old, new)


def broadcast_bias(x, table, idx):
    bias = table[idx]  # (t, t)
    return x + bias[None, None]  # (b, h, t, t)


def pad_to(x, length):
    return jnp.pad(x, ((0, length - x.shape[0]), (0, 0)))  # (length, d)


def quaternion(q, v):
    u = q[..., 1:]  # (n, 3)
    s = q[..., :1]  # (n, 1)
    return 2 * jnp.sum(u * v, -1, keepdims=True) * u + (s**2 - jnp.sum(u * u, -1, keepdims=True)) * v  # (n, 3)


def top(x, k):
    vals, idx = jax.lax.top_k(x, k)  # (b, k), (b, k)
    return jnp.take_along_axis(x, idx, axis=1) - vals  # (b, k)


def windows(x, size):
    idx = jnp.arange(x.shape[0] - size + 1)[:, None] + jnp.arange(size)[None]  # (m, size)
    return x[idx]  # (m, size, d)


def eig_features(L, k):
    vals, vecs = jnp.linalg.eigh(L)
    return vecs[:, 1 : k + 1]  # (n, k)


def upper(scores, temperature):
    t = scores.shape[-1]
    mask = jnp.tril(jnp.ones((t, t)))  # (t, t)
    return jnp.where(mask, scores / temperature, -jnp.inf)  # (b, t, t)


def cumulative(returns, discount):
    w = discount ** jnp.arange(returns.shape[0])  # (T,)
    return jnp.cumsum(w * returns)  # (T,)


def update(theta, grads, m, v, step):
    m = 0.9 * m + 0.1 * grads  # (p,)
    v = 0.99 * v + 0.01 * grads**2  # (p,)
    mhat = m / (1 - 0.9**step)  # (p,)
    return theta - 1e-3 * mhat / (jnp.sqrt(v) + 1e-8), m, v


def project(points, K, R, t):
    cam = points @ R.T + t  # (n, 3)
    uv = cam @ K.T  # (n, 3)
    return uv[:, :2] / uv[:, 2:]  # (n, 2)
