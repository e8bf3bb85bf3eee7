"""Ordinary functions whose arguments nobody describes but by comments on what is computed of them."""

import jax
import jax.numpy as jnp


def lstm_step(params, carry, x):
    h, c = carry
    z = x @ params["wx"] + h @ params["wh"] + params["b"]  # (batch, 4 * hidden)
    i, f, g, o = jnp.split(z, 4, axis=-1)  # (batch, hidden) each
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)  # (batch, hidden)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)  # (batch, hidden)
    return (h, c), h


def multi_head(q, k, v, mask):
    b, h, t, d = q.shape
    scores = jnp.einsum("bhtd,bhsd->bhts", q, k) / jnp.sqrt(d)  # (b, h, t, s)
    scores = jnp.where(mask[:, None, None, :], scores, -1e9)  # (b, h, t, s)
    p = jax.nn.softmax(scores, axis=-1)  # (b, h, t, s)
    return jnp.einsum("bhts,bhsd->bhtd", p, v)  # (b, h, t, d)


def vae_loss(enc, dec, x, key):
    h = jnp.tanh(x @ enc["w"])  # (batch, hidden)
    mu = h @ enc["mu"]  # (batch, latent)
    logvar = h @ enc["logvar"]  # (batch, latent)
    eps = jax.random.normal(key, mu.shape)  # (batch, latent)
    z = mu + eps * jnp.exp(0.5 * logvar)  # (batch, latent)
    y = jax.nn.sigmoid(z @ dec["w"])  # (batch, d)
    rec = jnp.sum((x - y) ** 2, axis=1)  # (batch,)
    kl = -0.5 * jnp.sum(1 + logvar - mu**2 - jnp.exp(logvar), axis=1)  # (batch,)
    return jnp.mean(rec + kl)  # ()


def rbf_gp(x_train, y_train, x_test, noise):
    def k(a, b):
        d2 = jnp.sum((a[:, None] - b[None]) ** 2, -1)  # (n, m)
        return jnp.exp(-0.5 * d2)  # (n, m)

    K = k(x_train, x_train) + noise * jnp.eye(x_train.shape[0])  # (N, N)
    Ks = k(x_test, x_train)  # (M, N)
    alpha = jnp.linalg.solve(K, y_train)  # (N,)
    mean = Ks @ alpha  # (M,)
    v = jnp.linalg.solve(K, Ks.T)  # (N, M)
    cov = k(x_test, x_test) - Ks @ v  # (M, M)
    return mean, cov


def policy_gradient(logits, actions, returns):
    logp = jax.nn.log_softmax(logits)  # (T, n_actions)
    chosen = jnp.take_along_axis(logp, actions[:, None], axis=1)[:, 0]  # (T,)
    adv = returns - returns.mean()  # (T,)
    return -jnp.mean(chosen * adv)  # ()


def particle_filter(particles, log_w, obs, key):
    pred = particles + 0.1 * jax.random.normal(key, particles.shape)  # (n, d)
    err = obs - pred  # (n, d)
    log_w = log_w - 0.5 * jnp.sum(err**2, axis=1)  # (n,)
    w = jax.nn.softmax(log_w)  # (n,)
    mean = w @ pred  # (d,)
    return mean, w


def contrastive(img, txt, temperature):
    img = img / jnp.linalg.norm(img, axis=-1, keepdims=True)  # (b, d)
    txt = txt / jnp.linalg.norm(txt, axis=-1, keepdims=True)  # (b, d)
    logits = img @ txt.T / temperature  # (b, b)
    labels = jnp.arange(logits.shape[0])  # (b,)
    return -jnp.mean(jax.nn.log_softmax(logits)[labels, labels])  # ()


def rnn(params, xs, h0):
    def step(h, x):
        h = jnp.tanh(x @ params["w"] + h @ params["u"])  # (hidden,)
        return h, h

    last, hs = jax.lax.scan(step, h0, xs)
    return hs @ params["out"]  # (time, out)


def batch_norm(x, scale, bias, eps=1e-5):
    mean = jnp.mean(x, axis=0)  # (d,)
    var = jnp.var(x, axis=0)  # (d,)
    return (x - mean) / jnp.sqrt(var + eps) * scale + bias  # (n, d)


def message_passing(nodes, senders, receivers, w):
    msgs = nodes[senders] @ w  # (e, k)
    agg = jax.ops.segment_sum(msgs, receivers, nodes.shape[0])  # (n, k)
    return jax.nn.relu(agg)  # (n, k)


def mixer(x, w1, w2):
    y = jnp.swapaxes(x, 1, 2) @ w1  # (b, c, t)
    y = jnp.swapaxes(y, 1, 2)  # (b, t, c)
    return y @ w2  # (b, t, c)
