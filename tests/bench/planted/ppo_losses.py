"""Returns, advantages and losses for PPO (time-major rollouts)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, PRNGKeyArray


class ActorCritic(eqx.Module):
    trunk: eqx.nn.MLP
    pi: eqx.nn.Linear
    vf: eqx.nn.Linear

    def __init__(self, obs_dim: int, hidden: int, n_actions: int, *, key: PRNGKeyArray):
        k1, k2, k3 = jr.split(key, 3)
        self.trunk = eqx.nn.MLP(obs_dim, hidden, hidden, depth=2, activation=jnp.tanh, key=k1)
        self.pi = eqx.nn.Linear(hidden, n_actions, key=k2)
        self.vf = eqx.nn.Linear(hidden, "scalar", key=k3)

    def __call__(self, obs: Float[Array, " obs_dim"]) -> tuple[Float[Array, " n_actions"], Float[Array, ""]]:
        h = jnp.tanh(self.trunk(obs))  # (hidden,)
        return self.pi(h), self.vf(h)


def gae(rewards, dones, values, last_value, gamma: float = 0.99, lam: float = 0.95):
    """Generalised advantage estimation.

    Args:
        rewards: array of shape (T, N).
        dones: array of shape (T, N), 1.0 where the episode ended after the step.
        values: array of shape (T, N).
        last_value: bootstrap value of shape (N,).
        gamma: discount.
        lam: trace decay.

    Returns:
        Advantages of shape (T, N).
    """
    next_values = jnp.concatenate([values[1:], last_value[None]], axis=0)  # (T, N)
    live = 1.0 - dones
    deltas = rewards + gamma * live * next_values - values  # (T, N)

    def step(acc, inp):
        delta, m = inp
        acc = delta + gamma * lam * m * acc  # (N,)
        return acc, acc

    _, adv = jax.lax.scan(step, jnp.zeros_like(last_value), (deltas, live), reverse=True)
    return adv


def log_prob(logits: Float[Array, "*lead n_actions"], actions: Int[Array, "*lead"]) -> Float[Array, "*lead"]:
    logp = jax.nn.log_softmax(logits, axis=-1)
    return jnp.take_along_axis(logp, actions[..., None], axis=-1)[..., 0]


def ppo_loss(
    net: ActorCritic,
    obs: Float[Array, "batch obs_dim"],
    actions: Int[Array, " batch"],
    old_logp: Float[Array, " batch"],
    adv: Float[Array, " batch"],
    returns: Float[Array, " batch"],
    clip: float = 0.2,
) -> Float[Array, ""]:
    logits, values = jax.vmap(net)(obs)  # (batch, n_actions), (batch,)
    logp = log_prob(logits, actions)  # (batch,)
    ratio = jnp.exp(logp - old_logp)
    norm_adv = (adv - adv.mean()) / (adv.std() + 1e-8)  # (batch,)
    clipped = jnp.clip(ratio, 1.0 - clip, 1.0 + clip) * norm_adv
    pg = -jnp.minimum(ratio * norm_adv, clipped).mean()
    vf = 0.5 * jnp.square(values - returns).mean()
    probs = jax.nn.softmax(logits)  # (batch, n_actions)
    ent = -jnp.sum(probs * jnp.log(probs + 1e-9), axis=-1)  # (batch,)
    return pg + 0.5 * vf - 0.01 * ent.mean()


def rollout_to_batch(net: ActorCritic, obs: Float[Array, "T N obs_dim"], rewards: Float[Array, "T N"], dones: Float[Array, "T N"]):
    """Flatten a rollout.

    Args:
        net: policy and value network.
        obs: observations (T, N, obs_dim).
        rewards: (T, N).
        dones: (T, N).

    Returns:
        Flat observations (T*N, obs_dim) and flat advantages (T*N,).
    """
    _, values = jax.vmap(jax.vmap(net))(obs)
    adv = gae(rewards, dones, values, values[-1])
    flat_obs = obs.reshape(-1, obs.shape[-1])  # (T*N, obs_dim)
    flat_adv = adv.reshape(-1)  # (T*N,)
    return flat_obs, flat_adv
