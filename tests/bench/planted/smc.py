"""Bootstrap particle filter for a linear-Gaussian state-space model.

Particles are propagated with the transition kernel, weighted by the
observation density and resampled whenever the effective sample size drops.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class SSMParams(NamedTuple):
    A: Float[Array, "dx dx"]
    q_chol: Float[Array, "dx dx"]
    C: Float[Array, "dy dx"]
    r_log_std: Float[Array, " dy"]
    m0: Float[Array, " dx"]


class Cloud(NamedTuple):
    x: Float[Array, "n dx"]
    logw: Float[Array, " n"]


class FilterOutput(NamedTuple):
    mean: Float[Array, "t dx"]
    cov: Float[Array, "t dx dx"]
    ess: Float[Array, " t"]
    particles: Float[Array, "t n dx"]
    ancestors: Int[Array, "t n"]
    loglik: Float[Array, ""]


def init_params(key: PRNGKeyArray, dx: int, dy: int) -> SSMParams:
    k_a, k_c = jr.split(key)
    return SSMParams(
        A=0.9 * jnp.eye(dx) + 0.05 * jr.normal(k_a, (dx, dx)),
        q_chol=0.3 * jnp.eye(dx),
        C=jr.normal(k_c, (dy, dx)) / jnp.sqrt(dx),
        r_log_std=jnp.full((dy,), -1.0),
        m0=jnp.zeros(dx),
    )


def init_cloud(key: PRNGKeyArray, params: SSMParams, n: int) -> Cloud:
    dx = params.m0.shape[0]
    x = params.m0[None, :] + jr.normal(key, (n, dx))
    return Cloud(x=x, logw=jnp.full((n,), -jnp.log(n)))


def propagate(key: PRNGKeyArray, params: SSMParams, x: Float[Array, "n dx"]) -> Float[Array, "n dx"]:
    eps: Float[Array, "n dx"] = jr.normal(key, x.shape)
    return x @ params.A.T + eps @ params.q_chol.T


def obs_logpdf(params: SSMParams, x: Float[Array, "n dx"], y: Float[Array, " dy"]) -> Float[Array, " n"]:
    pred: Float[Array, "n dy"] = jnp.einsum("nd,yd->ny", x, params.C)
    z = (y[None, :] - pred) * jnp.exp(-params.r_log_std)
    lp = -0.5 * z**2 - params.r_log_std - 0.5 * jnp.log(2 * jnp.pi)
    return jnp.sum(lp, axis=-1)


def effective_sample_size(logw: Float[Array, " n"]) -> Float[Array, ""]:
    return jnp.exp(2 * logsumexp(logw) - logsumexp(2 * logw))


def systematic_resample(key: PRNGKeyArray, logw: Float[Array, " n"]) -> Int[Array, " n"]:
    n = logw.shape[0]
    cdf: Float[Array, " n"] = jnp.cumsum(jax.nn.softmax(logw))
    u: Float[Array, " n"] = (jnp.arange(n) + jr.uniform(key)) / n
    return jnp.clip(jnp.searchsorted(cdf, u), 0, n - 1)


def weighted_moments(cloud: Cloud) -> tuple[Float[Array, " dx"], Float[Array, "dx dx"]]:
    w: Float[Array, " n"] = jax.nn.softmax(cloud.logw)
    mean = jnp.sum(w[:, None] * cloud.x, axis=0)
    centred: Float[Array, "n dx"] = cloud.x - mean
    cov = jnp.einsum("n,ni,nj->ij", w, centred, centred)
    return mean, cov


def filter_step(params: SSMParams, threshold: float, carry, inp):
    cloud, loglik = carry
    key, y = inp
    k_move, k_res = jr.split(key)
    n = cloud.x.shape[0]

    x: Float[Array, "n dx"] = propagate(k_move, params, cloud.x)
    logw: Float[Array, " n"] = cloud.logw + obs_logpdf(params, x, y)
    incr: Float[Array, ""] = logsumexp(logw)
    weighted = Cloud(x=x, logw=logw - incr)
    mean, cov = weighted_moments(weighted)
    ess = effective_sample_size(weighted.logw)

    do_resample: Bool[Array, ""] = ess < threshold * n
    idx = jnp.where(do_resample, systematic_resample(k_res, weighted.logw), jnp.arange(n))
    flat = jnp.full((n,), -jnp.log(n))
    nxt = Cloud(x=x[idx], logw=jnp.where(do_resample, flat, weighted.logw))
    return (nxt, loglik + incr), (mean, cov, ess, nxt.x, idx)


@partial(jax.jit, static_argnames=("n", "threshold"))
def particle_filter(
    key: PRNGKeyArray,
    params: SSMParams,
    ys: Float[Array, "t dy"],
    n: int,
    threshold: float = 0.5,
) -> FilterOutput:
    k0, k1 = jr.split(key)
    cloud = init_cloud(k0, params, n)
    keys = jr.split(k1, ys.shape[0])
    body = partial(filter_step, params, threshold)
    (_, loglik), (mean, cov, ess, xs, anc) = jax.lax.scan(body, (cloud, jnp.zeros(())), (keys, ys))
    return FilterOutput(mean, cov, ess, xs, anc, loglik)


def trace_lineages(particles: Float[Array, "t n dx"], ancestors: Int[Array, "t n"]) -> Float[Array, "n t dx"]:
    """Follow the ancestor indices backwards, giving one path for each final particle."""
    n = ancestors.shape[1]

    def back(idx: Int[Array, " n"], inp):
        x, anc = inp
        return anc[idx], x[idx]

    _, paths = jax.lax.scan(back, jnp.arange(n), (particles, ancestors), reverse=True)
    return jnp.swapaxes(paths, 0, 1)


def batch_loglik(key: PRNGKeyArray, params: SSMParams, ys: Float[Array, "b t dy"], n: int) -> Float[Array, " b"]:
    keys = jr.split(key, ys.shape[0])
    run = jax.vmap(lambda k, y: particle_filter(k, params, y, n).loglik, in_axes=(0, 0))
    return run(keys, ys)


def fit_step(
    key: PRNGKeyArray, params: SSMParams, ys: Float[Array, "b t dy"], n: int, lr: float = 1e-3
) -> tuple[SSMParams, Float[Array, ""]]:
    loss, grads = jax.value_and_grad(lambda p: -jnp.mean(batch_loglik(key, p, ys, n)))(params)
    return jax.tree.map(lambda p, g: p - lr * g, params, grads), loss
