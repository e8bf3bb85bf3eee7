"""Linear-Gaussian state space model: Kalman filter and Rauch-Tung-Striebel smoother."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class LGSSM(NamedTuple):
    A: Float[Array, "state state"]  # dynamics
    Q: Float[Array, "state state"]
    C: Float[Array, "obs state"]  # emission
    R: Float[Array, "obs obs"]
    mu0: Float[Array, " state"]
    P0: Float[Array, "state state"]


class Posterior(NamedTuple):
    means: Float[Array, "time state"]
    covs: Float[Array, "time state state"]
    loglik: Float[Array, ""]


def predict(
    model: LGSSM, mean: Float[Array, " state"], cov: Float[Array, "state state"]
) -> tuple[Float[Array, " state"], Float[Array, "state state"]]:
    prior_mean = model.A @ mean
    prior_cov = model.A @ cov @ model.A.T + model.Q
    return prior_mean, prior_cov


def update(
    model: LGSSM,
    mean: Float[Array, " state"],
    cov: Float[Array, "state state"],
    y: Float[Array, " obs"],
) -> tuple[Float[Array, " state"], Float[Array, "state state"], Float[Array, ""]]:
    resid = y - model.C @ mean  # (obs,)
    S = model.C @ cov @ model.C.T + model.R  # (obs, obs)
    # (innovation) gain, through a solve rather than an inverse
    K = jnp.linalg.solve(S, model.C @ cov).T  # (state, obs)
    new_mean = mean + K @ resid
    new_cov = cov - K @ S @ K.T  # (state, state)
    maha = resid @ jnp.linalg.solve(S, resid)  # ()
    logdet = jnp.linalg.slogdet(S)[1]  # ()
    ll = -0.5 * (maha + logdet + y.shape[0] * jnp.log(2.0 * jnp.pi))
    return new_mean, new_cov, ll


def kalman_filter(model: LGSSM, ys: Float[Array, "time obs"]) -> Posterior:
    def step(carry, y):
        mean, cov = carry
        mean, cov, ll = update(model, mean, cov, y)
        return predict(model, mean, cov), (mean, cov, ll)

    _, (means, covs, lls) = jax.lax.scan(step, (model.mu0, model.P0), ys)
    return Posterior(means, covs, lls.sum())


def rts_smoother(model: LGSSM, filtered: Posterior) -> Posterior:
    """Backward pass; the last filtered step is already smoothed."""

    def step(carry, inp):
        next_mean, next_cov = carry  # (state,), (state, state)
        mean, cov = inp
        prior_mean, prior_cov = predict(model, mean, cov)
        G = jnp.linalg.solve(prior_cov, model.A @ cov).T  # (state, state)
        mean = mean + G @ (next_mean - prior_mean)
        cov = cov + G @ (next_cov - prior_cov) @ G.T
        return (mean, cov), (mean, cov)

    last = (filtered.means[-1], filtered.covs[-1])
    body = (filtered.means[:-1], filtered.covs[:-1])
    _, (ms, Ps) = jax.lax.scan(step, last, body, reverse=True)
    means = jnp.concatenate([ms, last[0][None]], axis=0)  # (time, state)
    covs = jnp.concatenate([Ps, last[1][None]], axis=0)  # (time, state, state)
    return Posterior(means, covs, filtered.loglik)


def smooth_batch(model: LGSSM, ys: Float[Array, "batch time obs"]) -> Float[Array, "batch time state"]:
    def one(seq):
        return rts_smoother(model, kalman_filter(model, seq)).means  # (time, state)

    return jax.vmap(one)(ys)
