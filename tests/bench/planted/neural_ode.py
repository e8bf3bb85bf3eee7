"""Neural ODE trained on short trajectories with a fixed-step RK4 integrator.

The vector field is a dict of arrays; the latent dimension is `d`, hidden width `h`.
"""
import jax
import jax.numpy as jnp
import optax
from jax import lax, random


def init_field(key, d, h, scale=0.5):
    k1, k2, k3 = random.split(key, 3)
    return {
        "enc": {"w": scale * random.normal(k1, (d + 1, h)), "b": jnp.zeros((h,))},  # the extra input is time
        "mid": {"w": scale * random.normal(k2, (h, h)), "b": jnp.zeros((h,))},
        "dec": {"w": scale * random.normal(k3, (h, d)), "b": jnp.zeros((d,))},
        "log_scale": jnp.zeros(()),
    }


def field(params, t, y):
    """dy/dt for a single state.

    :param params: nested dict from :func:`init_field`
    :param t: scalar time
    :param y: state, shape (d,)
    :returns: derivative, shape (d,)
    """
    inp = jnp.concatenate([y, jnp.atleast_1d(t)])  # (d + 1,)
    z = jnp.tanh(inp @ params["enc"]["w"] + params["enc"]["b"])  # (h,)
    z = z + jnp.tanh(z @ params["mid"]["w"] + params["mid"]["b"])
    out = z @ params["dec"]["w"] + params["dec"]["b"]  # (d,)
    return jnp.exp(params["log_scale"]) * out


def rk4_step(f, t, y, dt):
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt / 2 * k1)
    k3 = f(t + dt / 2, y + dt / 2 * k2)
    k4 = f(t + dt, y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def odeint(f, y0, ts, n_sub=2):
    """Integrate from ts[0] through all of ts.

    :param f: callable (t, y) -> dy/dt
    :param y0: initial state, shape (m,)
    :param ts: increasing times, shape (n_times,)
    :param n_sub: RK4 sub-steps between two consecutive times
    :returns: states at every time, shape (n_times, m)
    """

    def interval(y, bounds):
        t0, t1 = bounds
        dt = (t1 - t0) / n_sub

        def sub(carry, _):
            t, y = carry
            return (t + dt, rk4_step(f, t, y, dt)), None

        (_, y), _ = lax.scan(sub, (t0, y), None, length=n_sub)
        return y, y

    _, ys = lax.scan(interval, y0, (ts[:-1], ts[1:]))  # ys: (n_times - 1, m)
    return jnp.concatenate([y0[None, :], ys], axis=0)


def rollout(params, y0, ts):
    """Batch of trajectories: y0 (batch, d) and shared ts (n_times,) give (batch, n_times, d)."""
    solve = lambda y: odeint(lambda t, s: field(params, t, s), y, ts)
    return jax.vmap(solve)(y0)


def divergence(params, t, y):
    """Trace of the Jacobian of the field at one point, a scalar."""
    jac = jax.jacfwd(field, argnums=2)(params, t, y)  # (d, d)
    return jnp.trace(jac)


def log_density_change(params, y0, ts):
    """Integrate the state together with the instantaneous change of log density.

    :param y0: shape (batch, d)
    :param ts: shape (n_times,)
    :returns: tuple of the final states (batch, d) and delta log p (batch,)
    """

    def augmented(t, s):
        y = s[:-1]  # (d,)
        return jnp.append(field(params, t, y), -divergence(params, t, y))  # (d + 1,)

    def one(y):
        s0 = jnp.append(y, 0.0)
        return odeint(augmented, s0, ts)[-1]

    final = jax.vmap(one)(y0)  # (batch, d + 1)
    return final[:, :-1], final[:, -1]


def loss_fn(params, batch, reg=1e-3):
    y, ts, mask = batch["y"], batch["ts"], batch["mask"]
    pred = rollout(params, y[:, 0], ts)  # (batch, n_times, d)
    err = jnp.sum((pred - y) ** 2, axis=-1)  # (batch, n_times)
    data = jnp.sum(err * mask) / jnp.maximum(mask.sum(), 1.0)
    # kinetic-energy regulariser on the observed states
    speed = jax.vmap(jax.vmap(field, in_axes=(None, 0, 0)), in_axes=(None, None, 0))(params, ts, y)  # (batch, n_times, d)
    return data + reg * jnp.mean(speed**2)


def make_update(tx):
    @jax.jit
    def update(params, opt_state, batch):
        loss, grads = jax.value_and_grad(loss_fn)(params, batch)
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return update


def spiral_data(key, n, ts, noise=0.01):
    """Noisy 2-d spirals: a dict with y (n, len(ts), 2), ts and a 0/1 mask (n, len(ts))."""
    k0, kn, km = random.split(key, 3)
    a = jnp.array([[-0.1, 2.0], [-2.0, -0.1]])  # (2, 2)
    y0 = random.normal(k0, (n, 2))
    flow = jax.vmap(lambda t: jax.scipy.linalg.expm(a * t))(ts)  # (len(ts), 2, 2)
    y = jnp.einsum("tij,nj->nti", flow, y0)  # (n, len(ts), 2)
    y = y + noise * random.normal(kn, y.shape)
    mask = random.bernoulli(km, 0.8, (n, ts.shape[0])).astype(y.dtype)
    return {"y": y, "ts": ts, "mask": mask}


def fit(key, batch, hidden=16, steps=3, lr=1e-2):
    params = init_field(key, batch["y"].shape[-1], hidden)
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(lr))
    opt_state = tx.init(params)
    update = make_update(tx)
    history = []
    for _ in range(steps):
        params, opt_state, loss = update(params, opt_state, batch)
        history.append(loss)
    return params, jnp.stack(history)  # history: (steps,)


if __name__ == "__main__":
    ts = jnp.linspace(0.0, 1.0, 8)
    batch = spiral_data(random.PRNGKey(0), 5, ts)
    params, history = fit(random.PRNGKey(1), batch)
    print(history, log_density_change(params, batch["y"][:, 0], ts)[1])
