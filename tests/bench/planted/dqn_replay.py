"""Dueling double DQN: ring-buffer replay, n-step returns, Polyak targets, optax updates."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

try:
    from shapecheck import example
except ImportError:
    example = lambda f: f


class Replay(NamedTuple):
    obs: jax.Array  # (capacity, obs_dim)
    action: jax.Array  # (capacity,)
    reward: jax.Array  # (capacity,)
    done: jax.Array  # (capacity,)
    head: jax.Array  # ()


class Batch(NamedTuple):
    obs: jax.Array  # (batch, obs_dim)
    action: jax.Array  # (batch,)
    ret: jax.Array  # (batch,)
    discount: jax.Array  # (batch,)
    next_obs: jax.Array  # (batch, obs_dim)


def add(buf, obs, action, reward, done):
    i = buf.head % buf.obs.shape[0]
    return Replay(
        buf.obs.at[i].set(obs),
        buf.action.at[i].set(action),
        buf.reward.at[i].set(reward),
        buf.done.at[i].set(done),
        buf.head + 1,
    )


def sample(key, buf, batch, n_step, gamma=0.99):
    capacity = buf.obs.shape[0]
    start = jax.random.randint(key, (batch,), 0, capacity - n_step)  # (batch,)
    window = start[:, None] + jnp.arange(n_step)  # (batch, n_step)
    rew = buf.reward[window]  # (batch, n_step)
    live = jnp.cumprod(1.0 - buf.done[window], axis=1)  # (batch, n_step)
    before = jnp.concatenate([jnp.ones((batch, 1)), live[:, :-1]], axis=1)  # (batch, n_step)
    g = gamma ** jnp.arange(n_step)  # (n_step,)
    ret = (rew * before) @ g  # (batch,)
    discount = gamma**n_step * live[:, -1]
    return Batch(buf.obs[start], buf.action[start], ret, discount, buf.obs[start + n_step])


def init_q(key, obs_dim, hidden, n_actions):
    k1, k2, k3 = jax.random.split(key, 3)
    glorot = jax.nn.initializers.glorot_uniform()
    return {
        "w": glorot(k1, (obs_dim, hidden)),
        "b": jnp.zeros(hidden),
        "adv": glorot(k2, (hidden, n_actions)),
        "val": glorot(k3, (hidden, 1)),
    }


def q_values(params, obs):
    h = jax.nn.relu(obs @ params["w"] + params["b"])
    adv = h @ params["adv"]
    val = h @ params["val"]
    return val + adv - adv.mean(axis=-1, keepdims=True)


def select(q: Float[Array, "batch n_actions"], a: Int[Array, " batch"]) -> Float[Array, " batch"]:
    return jnp.take_along_axis(q, a[:, None], axis=1).squeeze(1)


def td_error(params, target, b):
    q = select(q_values(params, b.obs), b.action)  # (batch,)
    best = jnp.argmax(q_values(params, b.next_obs), axis=-1)  # (batch,)
    boot = select(q_values(target, b.next_obs), best)  # (batch,)
    return q - jax.lax.stop_gradient(b.ret + b.discount * boot)


def train_step(params, target, opt_state, key, buf, opt, batch, n_step, tau=0.01):
    b = sample(key, buf, batch, n_step)

    def loss_fn(p):
        err = td_error(p, target, b)  # (batch,)
        return optax.huber_loss(err).mean(), err

    (loss, err), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
    updates, opt_state = opt.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    target = optax.incremental_update(params, target, tau)
    priority = jnp.abs(err)  # (batch,)
    return params, target, opt_state, loss, priority


@example
def train_example():
    params = init_q(jax.random.key(0), obs_dim=6, hidden=21, n_actions=4)
    opt = optax.adam(1e-3)
    zeros = jnp.zeros(50)
    buf = Replay(jnp.zeros((50, 6)), jnp.zeros(50, jnp.int32), zeros, zeros, jnp.asarray(0))
    return train_step, params, params, opt.init(params), jax.random.key(1), buf, opt, 11, 3
