"""Model predictive path integral control with an ensemble of learned dynamics models."""
import dataclasses
import functools
from typing import Callable, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jrandom
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray


@dataclasses.dataclass(frozen=True)
class MPPIConfig:
    horizon: int = 20
    samples: int = 256
    temperature: float = 1.0
    sigma: float = 0.4
    u_max: float = 1.0


class DynParams(NamedTuple):
    w_in: Float[Array, "ens xu hid"]
    b_in: Float[Array, "ens hid"]
    w_out: Float[Array, "ens hid x"]
    b_out: Float[Array, "ens x"]


class Normalizer(NamedTuple):
    mean: Float[Array, " xu"]
    std: Float[Array, " xu"]


class Transitions(NamedTuple):
    obs: Float[Array, "b x"]
    act: Float[Array, "b u"]
    nxt: Float[Array, "b x"]


def init_dynamics(key: PRNGKeyArray, ens: int, x: int, u: int, hid: int) -> DynParams:
    k1, k2 = jrandom.split(key)
    w_in = jrandom.normal(k1, (ens, x + u, hid)) / jnp.sqrt(x + u)
    w_out = 0.1 * jrandom.normal(k2, (ens, hid, x)) / jnp.sqrt(hid)
    return DynParams(w_in, jnp.zeros((ens, hid)), w_out, jnp.zeros((ens, x)))


def fit_normalizer(data: Transitions) -> Normalizer:
    xu: Float[Array, "b xu"] = join(data.obs, data.act)
    return Normalizer(xu.mean(axis=0), xu.std(axis=0) + 1e-3)


def join(obs: Float[Array, "*batch x"], act: Float[Array, "*batch u"]) -> Float[Array, "*batch x+u"]:
    return jnp.concatenate([obs, act], axis=-1)


def predict_all(
    params: DynParams, norm: Normalizer, obs: Float[Array, "b x"], act: Float[Array, "b u"]
) -> Float[Array, "ens b x"]:
    """Next-state prediction of every member."""
    z: Float[Array, "b xu"] = (join(obs, act) - norm.mean) / norm.std
    h: Float[Array, "ens b hid"] = jnp.tanh(jnp.einsum("bi,eih->ebh", z, params.w_in) + params.b_in[:, None, :])
    delta: Float[Array, "ens b x"] = jnp.einsum("ebh,ehx->ebx", h, params.w_out) + params.b_out[:, None, :]
    return obs[None] + delta


def predict_assigned(
    params: DynParams, norm: Normalizer, obs: Float[Array, "k x"], act: Float[Array, "k u"], member: Int[Array, " k"]
) -> Float[Array, "k x"]:
    preds: Float[Array, "ens k x"] = predict_all(params, norm, obs, act)
    picked = jnp.take_along_axis(preds, member[None, :, None], axis=0)  # (1, k, x)
    return picked[0]


def rollout(
    params: DynParams,
    norm: Normalizer,
    x0: Float[Array, " x"],
    controls: Float[Array, "k horizon u"],
    member: Int[Array, " k"],
) -> Float[Array, "k horizon x"]:
    k = controls.shape[0]
    start = jnp.broadcast_to(x0, (k, x0.shape[0]))

    def step(obs: Float[Array, "k x"], act: Float[Array, "k u"]):
        nxt = predict_assigned(params, norm, obs, act, member)
        return nxt, nxt

    _, traj = jax.lax.scan(step, start, jnp.swapaxes(controls, 0, 1))
    return jnp.swapaxes(traj, 0, 1)


def quadratic_cost(
    traj: Float[Array, "k horizon x"],
    controls: Float[Array, "k horizon u"],
    goal: Float[Array, " x"],
    q_diag: Float[Array, " x"],
    r: float = 0.01,
) -> Float[Array, " k"]:
    err: Float[Array, "k horizon x"] = traj - goal
    state_cost = jnp.einsum("ktx,x->kt", err**2, q_diag)
    ctrl_cost = r * jnp.sum(controls**2, axis=-1)
    return jnp.sum(state_cost + ctrl_cost, axis=1)


def importance_weights(costs: Float[Array, " k"], temperature: float) -> Float[Array, " k"]:
    return jax.nn.softmax(-(costs - costs.min()) / temperature)


@functools.partial(jax.jit, static_argnames=("cfg", "cost_fn"))
def plan(
    key: PRNGKeyArray,
    params: DynParams,
    norm: Normalizer,
    x0: Float[Array, " x"],
    nominal: Float[Array, "horizon u"],
    cfg: MPPIConfig,
    cost_fn: Callable,
) -> tuple[Float[Array, " u"], Float[Array, "horizon u"], Float[Array, ""]]:
    k_noise, k_mem = jrandom.split(key)
    noise: Float[Array, "k horizon u"] = cfg.sigma * jrandom.normal(k_noise, (cfg.samples, *nominal.shape))
    controls = jnp.clip(nominal[None] + noise, -cfg.u_max, cfg.u_max)
    member: Int[Array, " k"] = jrandom.randint(k_mem, (cfg.samples,), 0, params.w_in.shape[0])

    traj = rollout(params, norm, x0, controls, member)
    costs = cost_fn(traj, controls)
    w: Float[Array, " k"] = importance_weights(costs, cfg.temperature)
    new: Float[Array, "horizon u"] = jnp.sum(w[:, None, None] * controls, axis=0)
    shifted = jnp.concatenate([new[1:], new[-1:]], axis=0)  # (horizon, u)
    return new[0], shifted, jnp.dot(w, costs)


def dynamics_loss(params: DynParams, norm: Normalizer, data: Transitions) -> Float[Array, ""]:
    preds: Float[Array, "ens b x"] = predict_all(params, norm, data.obs, data.act)
    per_member: Float[Array, " ens"] = jnp.mean((preds - data.nxt[None]) ** 2, axis=(1, 2))
    return per_member.sum()


def train_dynamics(
    params: DynParams, norm: Normalizer, data: Transitions, optim: optax.GradientTransformation, steps: int
) -> tuple[DynParams, Float[Array, " steps"]]:
    def body(carry, _):
        p, opt_state = carry
        loss, grads = jax.value_and_grad(dynamics_loss)(p, norm, data)
        updates, opt_state = optim.update(grads, opt_state, p)
        return (optax.apply_updates(p, updates), opt_state), loss

    (params, _), losses = jax.lax.scan(body, (params, optim.init(params)), None, length=steps)
    return params, losses
