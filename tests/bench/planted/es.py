# Evolution strategies (OpenAI-ES) for a linear-ish policy on a batch of toy control tasks.
#
# P = population (number of antithetic pairs times 2), E = episodes per member,
# S = observation size, A = action size, D = number of policy parameters.
import functools
from typing import Callable, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree


class ESConfig(NamedTuple):
    n_pairs: int = 8
    sigma: float = 0.05
    lr: float = 0.1
    episodes: int = 4
    horizon: int = 20
    momentum: float = 0.9
    l2: float = 0.005


class ESState(NamedTuple):
    theta: jax.Array  # (D,)
    velocity: jax.Array  # (D,)
    key: jax.Array
    best: jax.Array  # scalar, best mean fitness so far


def init_policy(key, layer_sizes):
    """List of (w, b) tuples; w is (fan_in, fan_out) and b is (fan_out,)."""
    params = []
    for k, m, n in zip(jax.random.split(key, len(layer_sizes) - 1), layer_sizes[:-1], layer_sizes[1:]):
        params.append((jax.random.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros((n,))))
    return params


def policy(params, obs):
    """Deterministic policy: obs (S,) -> action (A,) in [-1, 1]."""
    h = obs
    for w, b in params[:-1]:
        h = jnp.tanh(h @ w + b)
    w, b = params[-1]
    return jnp.tanh(h @ w + b)


class Task(NamedTuple):
    """Linear dynamics x' = A x + B u with a quadratic cost."""

    a: jax.Array  # (S, S)
    b: jax.Array  # (S, A)
    q: jax.Array  # (S,) diagonal state cost
    r: jax.Array  # (A,) diagonal action cost


def make_task(key, n_obs, n_act):
    ka, kb = jax.random.split(key)
    a = 0.95 * jnp.eye(n_obs) + 0.05 * jax.random.normal(ka, (n_obs, n_obs)) / jnp.sqrt(n_obs)
    b = 0.3 * jax.random.normal(kb, (n_obs, n_act))  # (S, A)
    return Task(a, b, jnp.ones(n_obs), 0.1 * jnp.ones(n_act))


def episode_return(params, task, x0, horizon):
    """Total reward of one episode started at x0 (S,); scalar."""

    def step(x, _):
        u = policy(params, x)  # (A,)
        reward = -jnp.sum(task.q * x**2) - jnp.sum(task.r * u**2)
        x = task.a @ x + task.b @ u
        return x, reward

    _, rewards = jax.lax.scan(step, x0, None, length=horizon)  # rewards: (horizon,)
    return rewards.sum()


def antithetic_noise(key, n_pairs, dim):
    eps = jax.random.normal(key, (n_pairs, dim))
    return jnp.concatenate([eps, -eps], axis=0)  # (2 * n_pairs, dim)


def population_fitness(flat, unravel, task, starts, horizon):
    """Evaluate every member on every start state.

    flat is (P, D) and starts is (E, S); the result is (P, E).
    """
    one = lambda theta, x0: episode_return(unravel(theta), task, x0, horizon)
    over_starts = jax.vmap(one, in_axes=(None, 0))
    over_members = jax.vmap(over_starts, in_axes=(0, None))
    return over_members(flat, starts)


def centered_ranks(f):
    """Rank-transform fitness (P,) to values in [-0.5, 0.5], shape (P,)."""
    ranks = jnp.argsort(jnp.argsort(f))
    return ranks / (f.shape[0] - 1) - 0.5


def es_gradient(noise, utilities, sigma):
    # noise (P, D), utilities (P,)
    g = jnp.einsum("pd,p->d", noise, utilities)  # (D,)
    return g / (noise.shape[0] * sigma)


def make_es(cfg: ESConfig, unravel: Callable, task: Task):
    n_obs = task.a.shape[0]

    def update(state: ESState):
        key, k_noise, k_start = jax.random.split(state.key, 3)
        noise = antithetic_noise(k_noise, cfg.n_pairs, state.theta.shape[0])  # (P, D)
        members = state.theta[None, :] + cfg.sigma * noise  # (P, D)
        starts = jax.random.normal(k_start, (cfg.episodes, n_obs))  # (E, S)
        scores = population_fitness(members, unravel, task, starts, cfg.horizon)  # (P, E)
        fitness = scores.mean(axis=1)  # (P,)
        grad = es_gradient(noise, centered_ranks(fitness), cfg.sigma) - cfg.l2 * state.theta
        velocity = cfg.momentum * state.velocity + grad  # (D,)
        theta = state.theta + cfg.lr * velocity
        best = jnp.maximum(state.best, fitness.max())
        stats = {
            "mean": fitness.mean(),
            "best": best,
            "spread": scores.std(axis=1).mean(),  # how noisy the evaluation is
            "grad_norm": jnp.linalg.norm(grad),
        }
        return ESState(theta, velocity, key, best), stats

    return jax.jit(update)


def run_many(cfg, unravel, task, thetas, keys, n_gen):
    """Run several independent searches at once.

    thetas (R, D) and keys, one per run; returns the final parameters (R, D) and the
    history of mean fitness (R, n_gen).
    """
    update = make_es(cfg, unravel, task)

    def one_run(theta, key):
        state = ESState(theta, jnp.zeros_like(theta), key, jnp.array(-jnp.inf))

        def body(s, _):
            s, stats = update(s)
            return s, stats["mean"]

        state, hist = jax.lax.scan(body, state, None, length=n_gen)
        return state.theta, hist

    return jax.vmap(one_run)(thetas, keys)


def covariance_of_elites(members, fitness, n_elite):
    """Mean (D,) and covariance (D, D) of the n_elite best members."""
    order = jnp.argsort(-fitness)[:n_elite]  # (n_elite,)
    elite = members[order]  # (n_elite, D)
    mu = elite.mean(axis=0)  # (D,)
    dev = elite - mu
    return mu, dev.T @ dev / n_elite


if __name__ == "__main__":
    key = jax.random.PRNGKey(0)
    task = make_task(key, 3, 2)
    theta0, unravel = ravel_pytree(init_policy(key, [3, 8, 2]))
    cfg = ESConfig(horizon=5)
    thetas = jnp.stack([theta0, 0.5 * theta0])
    final, hist = run_many(cfg, unravel, task, thetas, jax.random.split(key, 2), 4)
    print(final.shape, hist)
