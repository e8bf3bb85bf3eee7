"""Tiny MLP regression in plain JAX.

Everything lives in nested dicts so that checkpoints are just pickled numpy.
No optimiser library: Adam is ~20 lines and we like to see what it does.
"""
import jax
import jax.numpy as jnp
from jax import random

DEFAULTS = {
    "in_dim": 6,
    "hidden": [32, 16],
    "out_dim": 2,
    "lr": 1e-3,
    "b1": 0.9, "b2": 0.999, "eps": 1e-8,
    "weight_decay": 1e-4,
}


def init_layer(key, n_in, n_out):
    """He-initialised dense layer."""
    w = random.normal(key, (n_in, n_out)) * jnp.sqrt(2.0 / n_in)  # (n_in, n_out)
    b = jnp.zeros(n_out)  # (n_out,)
    return {"w": w, "b": b}


def init_params(key, cfg):
    sizes = [cfg["in_dim"], *cfg["hidden"], cfg["out_dim"]]
    keys = random.split(key, len(sizes) - 1)
    params = {}
    for i, (k, m, n) in enumerate(zip(keys, sizes[:-1], sizes[1:])):
        params[f"layer_{i}"] = init_layer(k, m, n)
    params["log_noise"] = jnp.full((cfg["out_dim"],), -1.0)  # one noise level per output
    return params


def fit_scaler(x):
    """Column statistics used to whiten the inputs.

    Parameters
    ----------
    x : (n, d) array
        Raw features.

    Returns
    -------
    mu : (d,) array
    sd : (d,) array
    """
    mu = x.mean(axis=0)
    sd = x.std(axis=0) + 1e-6
    return mu, sd


def apply_scaler(scaler, x):
    mu, sd = scaler
    return (x - mu) / sd


def forward(params, x):
    """Run the network on a batch.

    Parameters
    ----------
    params : dict
    x : array, shape (batch, in_dim)

    Returns
    -------
    array, shape (batch, out_dim)
    """
    n_layers = sum(1 for k in params if k.startswith("layer_"))
    h = x
    for i in range(n_layers):
        p = params[f"layer_{i}"]
        h = h @ p["w"] + p["b"]
        if i < n_layers - 1:
            h = jax.nn.gelu(h)
    return h


def nll(params, x, y):
    mean = forward(params, x)
    log_noise = params["log_noise"]
    z = (y - mean) * jnp.exp(-log_noise)  # (batch, out_dim)
    per_point = jnp.sum(0.5 * z**2 + log_noise, axis=-1)  # (batch,)
    return per_point.mean()


def r2_score(y, pred):
    """Coefficient of determination, one per output column.

    Parameters
    ----------
    y, pred : (n, k) arrays

    Returns
    -------
    (k,) array
    """
    resid = jnp.sum((y - pred) ** 2, axis=0)  # (k,)
    total = jnp.sum((y - y.mean(axis=0, keepdims=True)) ** 2, axis=0)
    return 1.0 - resid / jnp.maximum(total, 1e-12)


def adam_init(params):
    zeros = jax.tree_util.tree_map(jnp.zeros_like, params)
    return {"m": zeros, "v": zeros, "t": jnp.zeros((), jnp.int32)}


def adam_update(grads, state, params, cfg):
    t = state["t"] + 1
    b1, b2 = cfg["b1"], cfg["b2"]
    m = jax.tree_util.tree_map(lambda m, g: b1 * m + (1 - b1) * g, state["m"], grads)
    v = jax.tree_util.tree_map(lambda v, g: b2 * v + (1 - b2) * g * g, state["v"], grads)
    c1 = 1.0 - b1**t
    c2 = 1.0 - b2**t

    def step(p, m, v):
        decay = cfg["weight_decay"] * p
        return p - cfg["lr"] * ((m / c1) / (jnp.sqrt(v / c2) + cfg["eps"]) + decay)

    params = jax.tree_util.tree_map(step, params, m, v)
    return params, {"m": m, "v": v, "t": t}


def make_train_step(cfg):
    @jax.jit
    def train_step(params, state, x, y):
        loss, grads = jax.value_and_grad(nll)(params, x, y)
        params, state = adam_update(grads, state, params, cfg)
        return params, state, loss

    return train_step


def input_jacobian(params, x):
    """d output / d input for every point: (batch, out_dim, in_dim)."""
    single = lambda xi: forward(params, xi[None, :])[0]  # (in_dim,) -> (out_dim,)
    return jax.vmap(jax.jacrev(single))(x)


def saliency(params, x):
    jac = input_jacobian(params, x)
    s = jnp.abs(jac).mean(axis=0)  # (out_dim, in_dim)
    return s / s.sum(axis=1, keepdims=True)


def minibatches(key, x, y, batch_size):
    n = x.shape[0]
    perm = random.permutation(key, n)  # (n,)
    for start in range(0, n - batch_size + 1, batch_size):
        idx = perm[start : start + batch_size]
        yield x[idx], y[idx]


def train(cfg, x, y, key, epochs=2, batch_size=8):
    k_init, k_data = random.split(key)
    params = init_params(k_init, cfg)
    state = adam_init(params)
    step = make_train_step(cfg)
    scaler = fit_scaler(x)
    xs = apply_scaler(scaler, x)
    losses = []
    for k in random.split(k_data, epochs):
        for xb, yb in minibatches(k, xs, y, batch_size):
            params, state, loss = step(params, state, xb, yb)
            losses.append(loss)
    return params, scaler, jnp.stack(losses)


if __name__ == "__main__":
    key = random.PRNGKey(0)
    kx, kn, kt = random.split(key, 3)
    x = random.normal(kx, (64, 6))  # (64, 6)
    y = jnp.stack([x[:, 0] * x[:, 1], jnp.sin(x[:, 2])], axis=1)  # (64, 2)
    y = y + 0.05 * random.normal(kn, y.shape)
    params, scaler, losses = train(DEFAULTS, x, y, kt, epochs=3)
    pred = forward(params, apply_scaler(scaler, x))
    print("loss", losses[0], "->", losses[-1], "r2", r2_score(y, pred))
