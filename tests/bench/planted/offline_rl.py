# Offline RL baselines (CQL + IQL), continuous actions.  One file, no framework.
import argparse
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0
HID = 32
N_Q = 2                      # critic ensemble size


def parse(argv=None):
    ap = argparse.ArgumentParser()
    ap.add_argument("--algo", choices=["cql", "iql"], default="iql")
    ap.add_argument("--gamma", type=float, default=0.99)
    ap.add_argument("--tau", type=float, default=0.005)
    ap.add_argument("--expectile", type=float, default=0.7)
    ap.add_argument("--beta", type=float, default=3.0)
    ap.add_argument("--cql_alpha", type=float, default=1.0)
    ap.add_argument("--cql_n", type=int, default=5)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--bs", type=int, default=16)
    return ap.parse_args(argv)


def dense(key, m, n):
    lim = np.sqrt(6.0 / (m + n))
    return {"w": jax.random.uniform(key, (m, n), minval=-lim, maxval=lim), "b": jnp.zeros((n,))}


def mlp_init(key, sizes):
    ks = jax.random.split(key, len(sizes) - 1)
    return {f"l{i}": dense(k, m, n) for i, (k, m, n) in enumerate(zip(ks, sizes[:-1], sizes[1:]))}


def mlp(p, h):
    n = len(p)
    for i in range(n):
        h = h @ p[f"l{i}"]["w"] + p[f"l{i}"]["b"]
        if i < n - 1:
            h = jax.nn.relu(h)
    return h


def init_nets(key, obs_dim, act_dim):
    kp, kq, kv = jax.random.split(key, 3)
    q_init = jax.vmap(lambda k: mlp_init(k, [obs_dim + act_dim, HID, HID, 1]))
    nets = {
        "pi": mlp_init(kp, [obs_dim, HID, HID, 2 * act_dim]),
        "q": q_init(jax.random.split(kq, N_Q)),        # leaves have a leading N_Q axis
        "v": mlp_init(kv, [obs_dim, HID, HID, 1]),
    }
    return nets, nets["q"]                             # online nets, target critic


def policy(p, obs):
    """gaussian params; mean and log_std are both (B, act_dim)"""
    out = mlp(p, obs)                                  # (B, 2*act_dim)
    mean, log_std = jnp.split(out, 2, axis=-1)
    return mean, jnp.clip(log_std, LOG_STD_MIN, LOG_STD_MAX)


def q_values(p, obs, act):
    # -> (N_Q, B)
    x = jnp.concatenate([obs, act], axis=-1)           # (B, obs_dim + act_dim)
    return jax.vmap(mlp, in_axes=(0, None))(p, x)[..., 0]


def value(p, obs):
    return mlp(p, obs).squeeze(-1)                     # (B,)


def sample_actions(p, obs, key, n):
    """n tanh-gaussian actions per state: actions (n, B, act_dim), log probs (n, B)"""
    mean, log_std = policy(p, obs)
    eps = jax.random.normal(key, (n,) + mean.shape)    # (n, B, act_dim)
    pre = mean + jnp.exp(log_std) * eps
    act = jnp.tanh(pre)
    logp = -0.5 * eps**2 - log_std - 0.5 * jnp.log(2 * jnp.pi) - jnp.log(1 - act**2 + 1e-6)   # (n, B, act_dim)
    return act, logp.sum(axis=-1)


def log_prob(p, obs, act):
    mean, log_std = policy(p, obs)
    z = (act - mean) * jnp.exp(-log_std)               # (B, act_dim)
    return jnp.sum(-0.5 * z**2 - log_std - 0.5 * jnp.log(2 * jnp.pi), axis=-1)   # (B,)


# ---------------------------------------------------------------- IQL

def expectile_loss(diff, tau):
    w = jnp.where(diff > 0, tau, 1 - tau)
    return w * diff**2


def iql_loss(nets, target_q, batch, args):
    obs, act = batch["obs"], batch["act"]              # (B, obs_dim), (B, act_dim)
    q_t = q_values(target_q, obs, act).min(axis=0)     # (B,)
    v = value(nets["v"], obs)                          # (B,)
    v_loss = expectile_loss(jax.lax.stop_gradient(q_t) - v, args.expectile).mean()

    next_v = jax.lax.stop_gradient(value(nets["v"], batch["next_obs"]))   # (B,)
    target = batch["rew"] + args.gamma * (1.0 - batch["done"]) * next_v   # (B,)
    q = q_values(nets["q"], obs, act)                  # (N_Q, B)
    q_loss = jnp.mean((q - target[None, :]) ** 2)

    adv = jax.lax.stop_gradient(q_t - v)
    weight = jnp.minimum(jnp.exp(args.beta * adv), 100.0)                 # (B,)
    pi_loss = -jnp.mean(weight * log_prob(nets["pi"], obs, act))
    return v_loss + q_loss + pi_loss, {"v": v_loss, "q": q_loss, "pi": pi_loss}


# ---------------------------------------------------------------- CQL

def q_many(p, obs, acts):
    """critic on n actions per state

    obs:  (B, obs_dim)
    acts: (n, B, act_dim)
    returns (n, N_Q, B)
    """
    return jax.vmap(q_values, in_axes=(None, None, 0))(p, obs, acts)


def cql_loss(nets, target_q, batch, key, args):
    obs, act, nobs = batch["obs"], batch["act"], batch["next_obs"]
    k1, k2, k3 = jax.random.split(key, 3)
    n, B = args.cql_n, obs.shape[0]

    a_next, logp_next = sample_actions(nets["pi"], nobs, k1, 1)
    q_next = q_values(target_q, nobs, a_next[0]).min(axis=0)              # (B,)
    target = batch["rew"] + args.gamma * (1 - batch["done"]) * (q_next - 0.1 * logp_next[0])
    target = jax.lax.stop_gradient(target)
    q = q_values(nets["q"], obs, act)                  # (N_Q, B)
    td = jnp.mean((q - target) ** 2)

    a_rand = jax.random.uniform(k2, (n, B, act.shape[-1]), minval=-1, maxval=1)   # (n, B, act_dim)
    a_pi, logp_pi = sample_actions(nets["pi"], obs, k3, n)
    q_rand = q_many(nets["q"], obs, a_rand) + act.shape[-1] * np.log(2.0)         # (n, N_Q, B)
    q_pi = q_many(nets["q"], obs, jax.lax.stop_gradient(a_pi)) - logp_pi[:, None, :]
    cat = jnp.concatenate([q_rand, q_pi], axis=0)      # (2*n, N_Q, B)
    gap = jax.nn.logsumexp(cat, axis=0) - q            # (N_Q, B)

    pi_q = q_values(nets["q"], obs, a_pi[0]).min(axis=0)                  # (B,)
    pi_loss = jnp.mean(0.1 * logp_pi[0] - pi_q)
    return td + args.cql_alpha * gap.mean() + pi_loss, {"td": td, "gap": gap.mean(), "pi": pi_loss}


# ---------------------------------------------------------------- data

def fake_dataset(rng, n, obs_dim, act_dim):
    return {
        "obs": rng.normal(size=(n, obs_dim)).astype(np.float32),          # (n, obs_dim)
        "act": np.tanh(rng.normal(size=(n, act_dim))).astype(np.float32), # (n, act_dim)
        "rew": rng.normal(size=(n,)).astype(np.float32),                  # (n,)
        "next_obs": rng.normal(size=(n, obs_dim)).astype(np.float32),     # (n, obs_dim)
        "done": (rng.random(n) < 0.05).astype(np.float32),                # (n,)
    }


def normalize_obs(data):
    mu = data["obs"].mean(axis=0, keepdims=True)       # (1, obs_dim)
    sd = data["obs"].std(axis=0, keepdims=True) + 1e-3 # (1, obs_dim)
    return {**data, "obs": (data["obs"] - mu) / sd, "next_obs": (data["next_obs"] - mu) / sd}


def sample_batch(data, key, bs):
    idx = jax.random.randint(key, (bs,), 0, data["rew"].shape[0])
    return {k: jnp.asarray(v)[idx] for k, v in data.items()}


def make_update(args, opt):
    @jax.jit
    def update(nets, target_q, opt_state, batch, key):
        if args.algo == "iql":
            loss = partial(iql_loss, args=args)
        else:
            loss = partial(cql_loss, key=key, args=args)
        (_, info), g = jax.value_and_grad(loss, has_aux=True)(nets, target_q, batch)
        upd, opt_state = opt.update(g, opt_state)
        nets = optax.apply_updates(nets, upd)
        target_q = jax.tree.map(lambda a, b: (1 - args.tau) * a + args.tau * b, target_q, nets["q"])
        return nets, target_q, opt_state, info

    return update
