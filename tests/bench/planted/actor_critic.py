"""Advantage actor critic on batches of environments, with generalised advantage estimation."""
from typing import Callable, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import optax


class Dense(NamedTuple):
    w: jax.Array  # [n_in, n_out]
    b: jax.Array  # [n_out]


class Params(NamedTuple):
    torso: tuple
    policy: Dense
    value: Dense


class Rollout(NamedTuple):
    obs: jax.Array       # [T, E, obs_dim]
    action: jax.Array    # [T, E]
    logp: jax.Array      # [T, E]
    value: jax.Array     # [T, E]
    reward: jax.Array    # [T, E]
    done: jax.Array      # [T, E]


class Batch(NamedTuple):
    obs: jax.Array       # [N, obs_dim]
    action: jax.Array    # [N]
    logp: jax.Array      # [N]
    adv: jax.Array       # [N]
    ret: jax.Array       # [N]


class Env(NamedTuple):
    reset: Callable
    step: Callable


def init_dense(key, n_in, n_out, scale):
    w = scale * jr.normal(key, (n_in, n_out)) / jnp.sqrt(n_in)   # [n_in, n_out]
    return Dense(w, jnp.zeros(n_out))


def init_params(key, obs_dim, hidden, n_actions):
    k1, k2, k3, k4 = jr.split(key, 4)
    torso = (init_dense(k1, obs_dim, hidden, 1.4), init_dense(k2, hidden, hidden, 1.4))
    return Params(torso, init_dense(k3, hidden, n_actions, 0.01), init_dense(k4, hidden, 1, 1.0))


def apply_net(params, obs):
    """Policy logits and value of a batch of observations.

    obs: [n, obs_dim]
    returns: [n, n_actions] and [n]
    """
    h = obs
    for layer in params.torso:
        h = jnp.tanh(h @ layer.w + layer.b)                      # [n, hidden]
    logits = h @ params.policy.w + params.policy.b               # [n, n_actions]
    value = h @ params.value.w + params.value.b                  # [n, 1]
    return logits, value.squeeze(-1)


def log_prob(logits, action):
    # logits: [n, n_actions], action: [n]
    logp = jax.nn.log_softmax(logits)                            # [n, n_actions]
    return jnp.take_along_axis(logp, action[:, None], axis=1)[:, 0]   # [n]


def entropy(logits):
    logp = jax.nn.log_softmax(logits)                            # [n, n_actions]
    return -(jnp.exp(logp) * logp).sum(axis=-1)                  # [n]


def collect(params, env, env_state, obs, key, length):
    """Plays `length` steps in all environments.

    obs: [E, obs_dim]
    """
    n_env = obs.shape[0]

    def one(carry, key):
        env_state, obs = carry
        k_act, k_env = jr.split(key)
        logits, value = apply_net(params, obs)                   # [E, n_actions], [E]
        action = jr.categorical(k_act, logits)                   # [E]
        logp = log_prob(logits, action)                          # [E]
        keys = jr.split(k_env, n_env)
        env_state, nxt, reward, done = jax.vmap(env.step)(keys, env_state, action)
        # nxt: [E, obs_dim], reward: [E], done: [E]
        return (env_state, nxt), (obs, action, logp, value, reward, done)

    (env_state, obs), out = jax.lax.scan(one, (env_state, obs), jr.split(key, length))
    _, last_value = apply_net(params, obs)
    return env_state, obs, last_value, Rollout(*out)


def gae(rollout, last_value, gamma, lam):
    """Advantages and returns of a rollout, both [T, E].

    last_value: [E]
    """
    values = jnp.concatenate([rollout.value, last_value[None]])                  # [T+1, E]
    live = 1.0 - rollout.done
    delta = rollout.reward + gamma * live * values[1:] - values[:-1]             # [T, E]

    def back(acc, x):
        d, l = x                                                                 # [E], [E]
        acc = d + gamma * lam * l * acc                                          # [E]
        return acc, acc

    _, adv = jax.lax.scan(back, jnp.zeros_like(last_value), (delta, live), reverse=True)   # [E], [T, E]
    return adv, adv + rollout.value


def flatten(rollout, adv, ret):
    """Joins time and environments: N = T * E."""
    T, E, obs_dim = rollout.obs.shape
    n = T * E
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)       # [T, E]
    return Batch(
        obs=rollout.obs.reshape(n, obs_dim),            # [N, obs_dim]
        action=rollout.action.reshape(n),               # [N]
        logp=rollout.logp.reshape(n),
        adv=adv.reshape(n),                             # [N]
        ret=ret.reshape(n),
    )


def loss_fn(params, batch, clip=0.2, vf=0.5, ent=0.01):
    logits, value = apply_net(params, batch.obs)
    ratio = jnp.exp(log_prob(logits, batch.action) - batch.logp)                 # [N]
    bounded = jnp.clip(ratio, 1 - clip, 1 + clip)
    pg = -jnp.minimum(ratio * batch.adv, bounded * batch.adv).mean()             # []
    v_loss = jnp.square(value - batch.ret).mean()
    return pg + vf * v_loss - ent * entropy(logits).mean()


def make_train(env, tx, length, n_epochs=2, gamma=0.99, lam=0.95):
    def epoch(carry, _):
        params, opt_state, batch = carry
        loss, grads = jax.value_and_grad(loss_fn)(params, batch)
        updates, opt_state = tx.update(grads, opt_state, params)
        return (optax.apply_updates(params, updates), opt_state, batch), loss

    @jax.jit
    def iteration(params, opt_state, env_state, obs, key):
        env_state, obs, last_value, roll = collect(params, env, env_state, obs, key, length)
        adv, ret = gae(roll, last_value, gamma, lam)                             # [T, E], [T, E]
        batch = flatten(roll, adv, ret)
        (params, opt_state, _), losses = jax.lax.scan(epoch, (params, opt_state, batch), None, length=n_epochs)
        # losses: [n_epochs]
        per_env = roll.reward.sum(axis=0)                                        # [E]
        return params, opt_state, env_state, obs, losses, per_env

    return iteration
