"""Ordinary functions whose arguments nobody describes but by comments on what is computed of them."""

import jax
import jax.numpy as jnp


def attention(x, wq, wk, wv, wo, n_heads):
    b, t, d = x.shape
    q = x @ wq  # (b, t, d)
    k = x @ wk  # (b, t, d)
    v = x @ wv  # (b, t, d)
    q = q.reshape(b, t, n_heads, -1).transpose(0, 2, 1, 3)  # (b, h, t, dh)
    k = k.reshape(b, t, n_heads, -1).transpose(0, 2, 1, 3)  # (b, h, t, dh)
    v = v.reshape(b, t, n_heads, -1).transpose(0, 2, 1, 3)  # (b, h, t, dh)
    s = q @ k.transpose(0, 1, 3, 2)  # (b, h, t, t)
    a = jax.nn.softmax(s, axis=-1)
    o = a @ v  # (b, h, t, dh)
    o = o.transpose(0, 2, 1, 3).reshape(b, t, d)  # (b, t, d)
    return o @ wo  # (b, t, d)


def mlp(params, x):
    h = jax.nn.relu(x @ params["w1"] + params["b1"])  # (batch, hidden)
    return h @ params["w2"] + params["b2"]  # (batch, out)


def pairwise(x, y):
    diff = x[:, None, :] - y[None, :, :]  # (n, m, d)
    return jnp.sum(diff**2, axis=-1)  # (n, m)


def layer_norm(x, g, b):
    mu = x.mean(-1, keepdims=True)  # (batch, 1)
    sd = x.std(-1, keepdims=True)  # (batch, 1)
    return (x - mu) / sd * g + b  # (batch, d)


def gru_cell(p, h, x):
    z = jax.nn.sigmoid(x @ p["wz"] + h @ p["uz"])  # (batch, hidden)
    r = jax.nn.sigmoid(x @ p["wr"] + h @ p["ur"])  # (batch, hidden)
    c = jnp.tanh(x @ p["wc"] + (r * h) @ p["uc"])  # (batch, hidden)
    return (1 - z) * h + z * c  # (batch, hidden)


def gcn(adj, feats, w):
    deg = adj.sum(-1)  # (n,)
    norm = adj / deg[:, None]  # (n, n)
    h = norm @ feats  # (n, d)
    return jax.nn.relu(h @ w)  # (n, k)


def gaussian_nll(mu, log_sigma, y):
    z = (y - mu) / jnp.exp(log_sigma)  # (batch, d)
    return jnp.sum(0.5 * z**2 + log_sigma, axis=-1)  # (batch,)


def kalman(m, P, F, Q, H, R, y):
    m = F @ m  # (n,)
    P = F @ P @ F.T + Q  # (n, n)
    S = H @ P @ H.T + R  # (k, k)
    K = P @ H.T @ jnp.linalg.inv(S)  # (n, k)
    m = m + K @ (y - H @ m)  # (n,)
    P = P - K @ H @ P  # (n, n)
    return m, P


def gmm(x, mu, log_pi):
    d = x[:, None] - mu[None]  # (n, k, d)
    logp = -0.5 * jnp.sum(d**2, -1) + log_pi  # (n, k)
    return jax.nn.logsumexp(logp, axis=1)  # (n,)


def conv_pool(x, w):
    y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))  # (n, h, w, c)
    return y.mean(axis=(1, 2))  # (n, c)
