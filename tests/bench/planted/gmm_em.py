"""Gaussian mixture models fitted by EM, everything in log space.

Symbols: n observations, d features, k components.
"""
from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import logsumexp

LOG_2PI = 1.8378770664093453


class GMM(NamedTuple):
    """Mixture parameters.

    Attributes
    ----------
    log_weights : (k,) array
    means : (k, d) array
    chols : (k, d, d) array
        Lower Cholesky factors of the covariances.
    """

    log_weights: jax.Array
    means: jax.Array
    chols: jax.Array


def random_init(key, x, k):
    n, d = x.shape
    idx = jax.random.choice(key, n, (k,), replace=False)
    spread = jnp.std(x, axis=0)  # (d,)
    chols = jnp.broadcast_to(jnp.diag(spread), (k, d, d))
    return GMM(jnp.full((k,), -jnp.log(k)), x[idx], chols)


def gaussian_logpdf(x, mean, chol):
    """Log density of one Gaussian at many points.

    Parameters
    ----------
    x : (n, d) array
    mean : (d,) array
    chol : (d, d) array
        Lower triangular.

    Returns
    -------
    (n,) array
    """
    d = x.shape[-1]
    z = solve_triangular(chol, (x - mean).T, lower=True)  # (d, n)
    maha = jnp.sum(z**2, axis=0)  # (n,)
    logdet = jnp.sum(jnp.log(jnp.diagonal(chol)))
    return -0.5 * (maha + d * LOG_2PI) - logdet


def log_joint(gmm, x):
    """log p(x, component).

    Parameters
    ----------
    gmm : GMM
    x : array_like
        Observations in rows.

    Returns
    -------
    array of shape (n, k)
    """
    lp = jax.vmap(gaussian_logpdf, in_axes=(None, 0, 0), out_axes=1)(x, gmm.means, gmm.chols)  # (n, k)
    return lp + gmm.log_weights


def score_samples(gmm, x):
    """Log evidence per observation, shape (n,)."""
    return logsumexp(log_joint(gmm, x), axis=1)


def e_step(gmm, x):
    """Log responsibilities.

    Returns
    -------
    log_resp : (n, k) array
        Rows are normalised.
    mean_ll : scalar
    """
    lj = log_joint(gmm, x)
    evidence = logsumexp(lj, axis=1, keepdims=True)  # (n, 1)
    return lj - evidence, evidence.mean()


def m_step(x, log_resp, reg=1e-4):
    n, d = x.shape
    resp = jnp.exp(log_resp)  # (n, k)
    log_nk = logsumexp(log_resp, axis=0)  # (k,)
    nk = jnp.exp(log_nk) + 1e-8
    means = resp.T @ x / nk[:, None]  # (k, d)
    diff = x[:, None, :] - means[None, :, :]  # (n, k, d)
    cov = jnp.einsum("nk,nki,nkj->kij", resp, diff, diff) / nk[:, None, None]  # (k, d, d)
    cov = cov + reg * jnp.eye(d)
    return GMM(log_nk - jnp.log(n), means, jnp.linalg.cholesky(cov))


def fit(key, x, k, n_iter=10, weights=None):
    """EM with a fixed number of iterations.

    Parameters
    ----------
    key : PRNG key
    x : (n, d) array
    k : int
    weights : (n,) array, optional
        Importance of each observation.

    Returns
    -------
    gmm : GMM
    history : (n_iter,) array
        Mean log likelihood before every update.
    """

    def body(gmm, _):
        log_resp, ll = e_step(gmm, x)
        if weights is not None:
            log_resp = log_resp + jnp.log(weights)[:, None]
        return m_step(x, log_resp), ll

    return jax.lax.scan(body, random_init(key, x, k), None, length=n_iter)


def fit_restarts(key, x, k, n_restarts=4, n_iter=10):
    """Best of several random restarts (all run in one vmap)."""
    keys = jax.random.split(key, n_restarts)
    gmms, hist = jax.vmap(lambda kk: fit(kk, x, k, n_iter))(keys)  # hist: (n_restarts, n_iter)
    best = jnp.argmax(hist[:, -1])
    return jax.tree_util.tree_map(lambda a: a[best], gmms), hist[best]


def predict(gmm, x):
    """Hard assignment, an integer array (n,)."""
    return jnp.argmax(log_joint(gmm, x), axis=1)


def sample(gmm, key, n):
    """Draw n points: the points (n, d) and their component labels (n,)."""
    kc, kz = jax.random.split(key)
    d = gmm.means.shape[1]
    labels = jax.random.categorical(kc, gmm.log_weights, shape=(n,))
    z = jax.random.normal(kz, (n, d))  # (n, d)
    points = gmm.means[labels] + jnp.einsum("nij,nj->ni", gmm.chols[labels], z)  # (n, d)
    return points, labels


def conditional_mean(gmm, x_obs, n_obs):
    """E[x[n_obs:] | x[:n_obs]] for each row of x_obs.

    Parameters
    ----------
    x_obs : (n, n_obs) array
    n_obs : int

    Returns
    -------
    (n, d - n_obs) array
    """
    cov = gmm.chols @ jnp.swapaxes(gmm.chols, -1, -2)  # (k, d, d)
    s_oo = cov[:, :n_obs, :n_obs]  # (k, n_obs, n_obs)
    s_uo = cov[:, n_obs:, :n_obs]  # (k, d - n_obs, n_obs)
    marginal = GMM(gmm.log_weights, gmm.means[:, :n_obs], jnp.linalg.cholesky(s_oo))
    log_resp, _ = e_step(marginal, x_obs)
    diff = x_obs[:, None, :] - marginal.means  # (n, k, n_obs)
    gain = jax.vmap(lambda a, b: jnp.linalg.solve(a, b.T).T)(s_oo, s_uo)  # (k, d - n_obs, n_obs)
    per_comp = gmm.means[:, n_obs:] + jnp.einsum("kuo,nko->nku", gain, diff)  # (n, k, d - n_obs)
    return jnp.sum(jnp.exp(log_resp)[..., None] * per_comp, axis=1)
