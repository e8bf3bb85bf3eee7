"""Arguments that nobody describes are as claims about what is computed of them say."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

"""

CASES = {
    "code.py": """
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
""",
    # what is described beside it says the axes that a claim leaves out
    "beside.py": """
def loglik(params, X, y):
    # X: (T, n_feat), y: (T, n_cells)
    eta = X @ params["W"] + params["b"]  # (T, n_cells)
    grad = X.T @ (eta - y)  # (n_cells, n_feat)  ~SC201
    return jnp.mean(jnp.exp(eta) - y * eta)

def weighted(x, w):
    # x: (n, d), w: (n,)
    w = w / w.sum()
    return w @ x  # (n,)  ~SC201
""",
    # numbers beside what is made of x: it is one, too
    "scalars.py": """
def rotation(q):
    c, s = jnp.cos(q), jnp.sin(q)
    return jnp.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])  # [3, 3]
""",
    "made.py": """
def symmetric(a):
    s = (a + a.T) / 2  # (n, n)
    return s.sum(0)  # (n,)

def gram(x):
    return x @ x  # (n, n)

def laplacian(adj):
    deg = adj.sum(1)  # (n,)
    return jnp.diag(deg) - adj  # (n, n)

def quadratic(m, x):
    y = x @ m @ x  # ()
    z = m @ x  # (d,)
    return y + z.sum()

def scores(q, k):
    s = q @ k.T  # (t, s)
    return s / s.sum(axis=-1, keepdims=True)  # (t, s)
""",
    # some claim is false in each of these
    "wrong.py": """
def stale(params, x):
    h = jax.nn.relu(x @ params["w1"] + params["b1"])  # shape: (hidden, batch)
    return h @ params["w2"] + params["b2"]  # shape: (batch, out)  ~SC201

def other_axis(x, y):
    diff = x[:, None, :] - y[None, :, :]  # shape: (n, m, d)
    return jnp.sum(diff**2, axis=0)  # shape: (n, m)  ~SC201

def not_kept(x, g):
    sd = x.std(-1, keepdims=True)  # shape: (batch,)  ~SC201
    return x / sd * g  # shape: (batch, d)

def gone(adj, feats):
    deg = adj.sum()  # shape: (n,)  ~SC201
    return (adj / deg) @ feats  # shape: (n, d)  ~unreached

def mixture(x, mu, log_pi):
    d = x[:, None] - mu[None]  # shape: (n, k, d)
    logp = -0.5 * jnp.sum(d**2, -1) + log_pi  # shape: (n, k)
    return jax.nn.logsumexp(logp, axis=0)  # shape: (n,)  ~SC201

def pinball(logits, labels, mask):
    # logits: num_nodes x num_classes
    onehot = jax.nn.one_hot(labels, logits.shape[1])  # num_nodes x num_classes
    loss = -(onehot * jax.nn.log_softmax(logits)).sum(axis=1)  # (num_classes,)  ~SC201
    return (loss * mask).sum()
""",
    # what is multiplied or divided by need be no array
    "numbers.py": """
def rays(height, width, focal):
    x = (jnp.arange(width) - 0.5 * width) / focal  # (width,)
    return jnp.broadcast_to(x, (height, width))  # (height, width)

def decayed(x, rate, dt):
    y = x * (1 - rate * dt)  # (n, d)
    return y.sum(0)  # (d,)
""",
    # two names for what the code needs equal hold of nothing, however many axes are made
    "square.py": """
def centred(x):
    x = x - x.mean(axis=1)  # (b, c)  ~unreached
    return x * 2  # (b, c)  ~unreached

def scores(q, k):
    s = q @ k.T  # (t, s)  ~unreached
    return s / s.sum(axis=-1)  # (t, s)  ~unreached
""",
    # of an annotated argument any number of axes counts
    "variadic.py": """
def mapped(x: Float[Array, "*batch d"], w) -> Float[Array, "b k"]:  ~SC203
    return x @ w
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_claims_say_what_arguments_are(folder, name: str) -> None:
    assert folder.cases[name].as_marked()
