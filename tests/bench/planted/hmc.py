# Hamiltonian Monte Carlo for Bayesian logistic regression, several chains at once.
from __future__ import annotations

import dataclasses
from typing import Callable, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax, random
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


@dataclasses.dataclass(frozen=True)
class HMCConfig:
    step_size: float = 0.05
    num_leapfrog: int = 10
    target_accept: float = 0.8


class Data(NamedTuple):
    X: Float[Array, "n d"]
    y: Int[Array, " n"]


class ChainState(NamedTuple):
    q: Float[Array, " d"]
    logp: Float[Array, ""]
    grad: Float[Array, " d"]


class Info(NamedTuple):
    accept_prob: Float[Array, ""]
    accepted: Bool[Array, ""]


def standardize(X: Float[Array, "n p"]) -> Float[Array, "n p+1"]:
    mu = X.mean(axis=0)  # (p,)
    sd = X.std(axis=0) + 1e-6  # (p,)
    Z = (X - mu) / sd
    ones = jnp.ones((X.shape[0], 1))
    return jnp.concatenate([ones, Z], axis=1)


def log_posterior(beta: Float[Array, " d"], data: Data, prior_scale: float = 1.0) -> Float[Array, ""]:
    logits: Float[Array, " n"] = data.X @ beta
    ll = data.y * logits - jax.nn.softplus(logits)
    lp = -0.5 * (beta / prior_scale) ** 2
    return ll.sum() + lp.sum()


def leapfrog(
    grad_fn: Callable,
    q: Float[Array, " d"],
    p: Float[Array, " d"],
    inv_mass: Float[Array, " d"],
    eps: float | Float[Array, ""],
    steps: int,
) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
    def body(carry, _):
        q, p = carry
        p = p + 0.5 * eps * grad_fn(q)
        q = q + eps * inv_mass * p
        p = p + 0.5 * eps * grad_fn(q)
        return (q, p), None

    (q, p), _ = lax.scan(body, (q, p), None, length=steps)
    return q, p


def kinetic(p: Float[Array, " d"], inv_mass: Float[Array, " d"]) -> Float[Array, ""]:
    return 0.5 * jnp.sum(inv_mass * p**2)


def init_state(q: Float[Array, " d"], logdensity: Callable) -> ChainState:
    logp, grad = jax.value_and_grad(logdensity)(q)
    return ChainState(q, logp, grad)


def hmc_step(
    key: PRNGKeyArray,
    state: ChainState,
    logdensity: Callable,
    inv_mass: Float[Array, " d"],
    cfg: HMCConfig,
) -> tuple[ChainState, Info]:
    k_mom, k_acc = random.split(key)
    p0: Float[Array, " d"] = random.normal(k_mom, state.q.shape) / jnp.sqrt(inv_mass)
    q1, p1 = leapfrog(jax.grad(logdensity), state.q, p0, inv_mass, cfg.step_size, cfg.num_leapfrog)
    prop = init_state(q1, logdensity)
    h0 = -state.logp + kinetic(p0, inv_mass)
    h1 = -prop.logp + kinetic(p1, inv_mass)
    prob = jnp.minimum(1.0, jnp.exp(h0 - h1))
    accepted = random.uniform(k_acc) < prob
    new = jax.tree.map(lambda a, b: jnp.where(accepted, a, b), prop, state)
    return new, Info(prob, accepted)


def run_chain(
    key: PRNGKeyArray,
    q0: Float[Array, " d"],
    data: Data,
    inv_mass: Float[Array, " d"],
    num_samples: int,
    cfg: HMCConfig,
) -> tuple[Float[Array, "num_samples d"], Float[Array, " num_samples"]]:
    logdensity = lambda b: log_posterior(b, data)

    def one(state: ChainState, k: PRNGKeyArray):
        state, info = hmc_step(k, state, logdensity, inv_mass, cfg)
        return state, (state.q, info.accept_prob)

    _, (qs, acc) = lax.scan(one, init_state(q0, logdensity), random.split(key, num_samples))
    return qs, acc


def sample(
    key: PRNGKeyArray, data: Data, chains: int, num_samples: int, cfg: HMCConfig = HMCConfig()
) -> tuple[Float[Array, "chains num_samples d"], Float[Array, "chains num_samples"]]:
    d = data.X.shape[1]
    k_init, k_warm, k_run = random.split(key, 3)
    q0: Float[Array, "chains d"] = 0.1 * random.normal(k_init, (chains, d))
    runner = jax.vmap(run_chain, in_axes=(0, 0, None, None, None, None))
    warm, _ = runner(random.split(k_warm, chains), q0, data, jnp.ones(d), num_samples, cfg)
    inv_mass: Float[Array, " d"] = estimate_inv_mass(warm)
    return runner(random.split(k_run, chains), warm[:, -1], data, inv_mass, num_samples, cfg)


def estimate_inv_mass(qs: Float[Array, "chains s d"]) -> Float[Array, " d"]:
    pooled: Float[Array, "chains*s d"] = qs.reshape(-1, qs.shape[-1])
    return pooled.var(axis=0) + 1e-3


def split_rhat(qs: Float[Array, "chains s d"]) -> Float[Array, " d"]:
    c, s, d = qs.shape
    half = s // 2
    x: Float[Array, "2*chains s//2 d"] = qs[:, : 2 * half].reshape(2 * c, half, d)
    means: Float[Array, "2*chains d"] = x.mean(axis=1)
    within = x.var(axis=1, ddof=1).mean(axis=0)
    between: Float[Array, " d"] = half * means.var(axis=0, ddof=1)
    return jnp.sqrt(((half - 1) / half * within + between / half) / within)


def autocorrelation(qs: Float[Array, "chains s d"], max_lag: int) -> Float[Array, "max_lag d"]:
    x: Float[Array, "chains s d"] = qs - qs.mean(axis=1, keepdims=True)
    s = x.shape[1]
    lags = [jnp.mean(x[:, : s - k] * x[:, k:], axis=(0, 1)) for k in range(max_lag)]
    acov: Float[Array, "max_lag d"] = jnp.stack(lags, axis=0)
    return acov / acov[0]


def predict(qs: Float[Array, "chains s d"], X: Float[Array, "m d"]) -> Float[Array, " m"]:
    logits: Float[Array, "chains s m"] = jnp.einsum("csd,md->csm", qs, X)
    return jax.nn.sigmoid(logits).mean(axis=(0, 1))
