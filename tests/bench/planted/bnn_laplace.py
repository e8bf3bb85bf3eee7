"""Bayesian neural nets two ways: mean-field VI (Bayes by backprop) and (last-layer) Laplace.
Scratch code for the workshop paper, regression only.
"""
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

PRIOR_STD = 1.0
NOISE_STD = 0.1


@dataclass
class Cfg:
    d_in: int = 3
    d_out: int = 2
    hidden: tuple = (16, 12)
    n_mc: int = 4          # mc samples for the elbo
    lr: float = 1e-2
    n_train: int = 50


def init_mlp(key, sizes):
    params = []
    for k, m, n in zip(jax.random.split(key, len(sizes) - 1), sizes[:-1], sizes[1:]):
        params.append((jax.random.normal(k, (m, n)) / np.sqrt(m), jnp.zeros(n)))
    return params


def features(params, x):
    # everything except the last layer
    for W, b in params[:-1]:
        x = jnp.tanh(x @ W + b)
    return x


def net(params, x):
    W, b = params[-1]
    return features(params, x) @ W + b


# ----------------------------------------------------------------------------- variational

def init_vi(key, cfg):
    mu = init_mlp(key, (cfg.d_in, *cfg.hidden, cfg.d_out))
    rho = jax.tree.map(lambda p: jnp.full_like(p, -3.0), mu)
    return {"mu": mu, "rho": rho}


def sample_weights(key, vi):
    mu, unravel = ravel_pytree(vi["mu"])          # (P,)
    rho, _ = ravel_pytree(vi["rho"])              # (P,)
    eps = jax.random.normal(key, mu.shape)        # (P,)
    return unravel(mu + jax.nn.softplus(rho) * eps)


def kl_to_prior(vi):
    """KL(q || p) of two diagonal gaussians, a scalar."""
    mu, _ = ravel_pytree(vi["mu"])
    rho, _ = ravel_pytree(vi["rho"])
    sig = jax.nn.softplus(rho)                    # (P,)
    kl = jnp.log(PRIOR_STD / sig) + (sig**2 + mu**2) / (2 * PRIOR_STD**2) - 0.5   # (P,)
    return kl.sum()


def log_lik(params, x, y):
    """Gaussian log likelihood of every data point.

    x: (N, d_in)
    y: (N, d_out)
    returns: (N,)
    """
    resid = (y - net(params, x)) / NOISE_STD      # (N, d_out)
    return -0.5 * jnp.sum(resid**2, axis=1) - y.shape[1] * np.log(NOISE_STD * np.sqrt(2 * np.pi))


def neg_elbo(vi, key, x, y, cfg, n_total):
    keys = jax.random.split(key, cfg.n_mc)
    ws = jax.vmap(sample_weights, in_axes=(0, None))(keys, vi)         # leaves (n_mc, ...)
    ll = jax.vmap(log_lik, in_axes=(0, None, None))(ws, x, y)          # (n_mc, N)
    return kl_to_prior(vi) - n_total * ll.mean()


def predict_vi(key, vi, x, n_samples):
    """Monte Carlo predictive mean and std, both (N, d_out)."""
    def one(k):
        return net(sample_weights(k, vi), x)      # (N, d_out)

    ys = jax.vmap(one)(jax.random.split(key, n_samples))               # (n_samples, N, d_out)
    mean = ys.mean(axis=0)
    var = ys.var(axis=0) + NOISE_STD**2           # (N, d_out)
    return mean, jnp.sqrt(var)


# ----------------------------------------------------------------------------- laplace

def flat_net(unravel, theta, x1):
    return net(unravel(theta), x1[None])[0]       # (d_out,)


def ggn(map_params, x):
    """Full generalised Gauss-Newton plus prior precision.

    Returns
    -------
    theta : (P,)
    prec : (P, P)
    """
    theta, unravel = ravel_pytree(map_params)
    jac = jax.vmap(lambda xi: jax.jacrev(flat_net, argnums=1)(unravel, theta, xi))(x)   # (N, d_out, P)
    H = jnp.einsum("nop,noq->pq", jac, jac) / NOISE_STD**2             # (P, P)
    return theta, H + jnp.eye(theta.shape[0]) / PRIOR_STD**2


def predict_laplace(map_params, prec, x):
    """Linearised predictive.

    x: test inputs (M, d_in)
    Returns mean (M, d_out) and covariance (M, d_out, d_out).
    """
    theta, unravel = ravel_pytree(map_params)
    f = net(map_params, x)                        # (M, d_out)
    J = jax.vmap(lambda xi: jax.jacrev(flat_net, argnums=1)(unravel, theta, xi))(x)     # (M, d_out, P)
    cov = jnp.linalg.inv(prec)                    # (P, P)
    fcov = jnp.einsum("mop,pq,mrq->mor", J, cov, J)                    # (M, d_out, d_out)
    return f, fcov + NOISE_STD**2 * jnp.eye(f.shape[1])


def last_layer_laplace(map_params, x):
    """Kronecker style posterior of the last layer: one covariance of the features for all outputs."""
    phi = features(map_params, x)                 # (N, hidden[-1])
    phi = jnp.concatenate([phi, jnp.ones((x.shape[0], 1))], axis=1)    # (N, hidden[-1]+1)
    prec = phi.T @ phi / NOISE_STD**2 + jnp.eye(phi.shape[1]) / PRIOR_STD**2
    return jnp.linalg.inv(prec)                   # (hidden[-1]+1, hidden[-1]+1)


def last_layer_var(map_params, cov, x):
    phi = features(map_params, x)
    phi = jnp.concatenate([phi, jnp.ones((x.shape[0], 1))], axis=1)
    return jnp.sum((phi @ cov) * phi, axis=1)     # (M,)


def sample_laplace(key, theta, prec, n):
    """n posterior samples of the flat parameters, (n, P)"""
    L = jnp.linalg.cholesky(prec)                 # (P, P)
    eps = jax.random.normal(key, (theta.shape[0], n))                  # (P, n)
    delta = jax.scipy.linalg.solve_triangular(L.T, eps, lower=False)   # (P, n)
    return theta + delta.T


def log_marginal(map_params, prec, x, y):
    theta, _ = ravel_pytree(map_params)
    _, logdet = jnp.linalg.slogdet(prec)          # scalar
    fit = log_lik(map_params, x, y).sum() - 0.5 * jnp.sum(theta**2) / PRIOR_STD**2
    return fit - 0.5 * logdet


# ----------------------------------------------------------------------------- data, training

def toy_data(key, cfg):
    kx, kw, ke = jax.random.split(key, 3)
    x = jax.random.uniform(kx, (cfg.n_train, cfg.d_in), minval=-2, maxval=2)   # (n_train, d_in)
    A = jax.random.normal(kw, (cfg.d_in, cfg.d_out))                   # (d_in, d_out)
    y = jnp.sin(x @ A) + NOISE_STD * jax.random.normal(ke, (cfg.n_train, cfg.d_out))   # (n_train, d_out)
    return x, y


def fit(loss, params, key, steps, lr):
    opt = optax.adam(lr)
    state = opt.init(params)

    def body(carry, k):
        p, s = carry
        l, g = jax.value_and_grad(loss)(p, k)
        upd, s = opt.update(g, s)
        return (optax.apply_updates(p, upd), s), l

    (params, _), losses = jax.lax.scan(body, (params, state), jax.random.split(key, steps))
    return params, losses                         # losses (steps,)


def map_loss(params, key, x, y):
    theta, _ = ravel_pytree(params)
    return -log_lik(params, x, y).sum() + 0.5 * jnp.sum(theta**2) / PRIOR_STD**2


if __name__ == "__main__":
    cfg = Cfg()
    key = jax.random.PRNGKey(1)
    x, y = toy_data(key, cfg)
    vi, losses = fit(lambda p, k: neg_elbo(p, k, x, y, cfg, cfg.n_train), init_vi(key, cfg), key, 20, cfg.lr)
    print(losses[-1], predict_vi(key, vi, x[:5], 8)[1])
