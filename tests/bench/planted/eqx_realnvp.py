"""RealNVP on tabular data, in Equinox.  Shapes are annotated with jaxtyping."""
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key, Scalar


class ScaleShift(eqx.Module):
    """Conditioner of a coupling layer: one half in, scales and shifts for the other half out."""

    layers: list[eqx.nn.Linear]
    out_size: int = eqx.field(static=True)
    act: Callable = eqx.field(static=True)

    def __init__(self, in_size: int, out_size: int, width: int, depth: int, *, key: Key[Array, ""]):
        keys = jax.random.split(key, depth + 1)
        sizes = [in_size] + [width] * depth
        self.layers = [
            eqx.nn.Linear(a, b, key=k) for a, b, k in zip(sizes[:-1], sizes[1:], keys[:-1])
        ]
        self.layers.append(eqx.nn.Linear(width, 2 * out_size, key=keys[-1]))
        self.out_size = out_size
        self.act = jax.nn.silu

    def __call__(self, x: Float[Array, " d_in"]) -> tuple[Float[Array, " d_out"], Float[Array, " d_out"]]:
        for layer in self.layers[:-1]:
            x = self.act(layer(x))
        log_s, t = jnp.split(self.layers[-1](x), 2)
        return jnp.tanh(log_s), t


class AffineCoupling(eqx.Module):
    net: ScaleShift
    n_keep: int = eqx.field(static=True)
    flip: bool = eqx.field(static=True)

    def __init__(self, dim: int, width: int, depth: int, flip: bool, *, key):
        self.n_keep = dim // 2
        self.flip = flip
        self.net = ScaleShift(self.n_keep, dim - self.n_keep, width, depth, key=key)

    def forward(self, x: Float[Array, " dim"]) -> tuple[Float[Array, " dim"], Scalar]:
        if self.flip:
            x = x[::-1]
        keep, change = x[: self.n_keep], x[self.n_keep :]
        log_s, t = self.net(keep)
        y = jnp.concatenate([keep, change * jnp.exp(log_s) + t])
        if self.flip:
            y = y[::-1]
        return y, jnp.sum(log_s)

    def inverse(self, y: Float[Array, " dim"]) -> tuple[Float[Array, " dim"], Scalar]:
        if self.flip:
            y = y[::-1]
        keep, change = y[: self.n_keep], y[self.n_keep :]
        log_s, t = self.net(keep)
        x = jnp.concatenate([keep, (change - t) * jnp.exp(-log_s)])
        if self.flip:
            x = x[::-1]
        return x, -jnp.sum(log_s)


class RealNVP(eqx.Module):
    couplings: list[AffineCoupling]
    loc: Float[Array, " dim"]
    log_scale: Float[Array, " dim"]

    def __init__(self, dim: int, n_couplings: int = 4, width: int = 32, depth: int = 2, *, key):
        keys = jax.random.split(key, n_couplings)
        self.couplings = [
            AffineCoupling(dim, width, depth, flip=i % 2 == 1, key=k) for i, k in enumerate(keys)
        ]
        self.loc = jnp.zeros((dim,))
        self.log_scale = jnp.zeros((dim,))

    def to_latent(self, x: Float[Array, " dim"]) -> tuple[Float[Array, " dim"], Scalar]:
        z = (x - self.loc) * jnp.exp(-self.log_scale)
        log_det = -jnp.sum(self.log_scale)
        for c in self.couplings:
            z, ld = c.forward(z)
            log_det = log_det + ld
        return z, log_det

    def from_latent(self, z: Float[Array, " dim"]) -> Float[Array, " dim"]:
        for c in reversed(self.couplings):
            z, _ = c.inverse(z)
        return z * jnp.exp(self.log_scale) + self.loc

    def log_prob(self, x: Float[Array, " dim"]) -> Scalar:
        z, log_det = self.to_latent(x)
        return standard_normal_logpdf(z) + log_det

    def sample(self, key: Key[Array, ""], n: int) -> Float[Array, "n dim"]:
        z = jax.random.normal(key, (n, self.loc.shape[0]))
        return jax.vmap(self.from_latent)(z)


def standard_normal_logpdf(z: Float[Array, "*batch dim"]) -> Float[Array, "*batch"]:
    return jnp.sum(-0.5 * z**2 - 0.5 * jnp.log(2 * jnp.pi), axis=-1)


def init_from_data(flow: RealNVP, data: Float[Array, "n dim"]) -> RealNVP:
    """Data-dependent initialisation of the outermost affine layer."""
    loc: Float[Array, " dim"] = data.mean(axis=0)
    log_scale: Float[Array, " dim"] = jnp.log(data.std(axis=0) + 1e-5)
    return eqx.tree_at(lambda f: (f.loc, f.log_scale), flow, (loc, log_scale))


def jacobian_logdet(flow: RealNVP, x: Float[Array, "n dim"]) -> Float[Array, " n"]:
    """Brute force log |det J|, used to check `to_latent`."""
    jac: Float[Array, "n dim dim"] = jax.vmap(jax.jacfwd(lambda v: flow.to_latent(v)[0]))(x)
    return jnp.linalg.slogdet(jac)[1]


def nll(flow: RealNVP, batch: Float[Array, "n dim"]) -> Scalar:
    return -jnp.mean(jax.vmap(flow.log_prob)(batch))


def fit(flow: RealNVP, data: Float[Array, "n dim"], steps: int, batch_size: int, *, key, lr: float = 1e-3):
    opt = optax.adam(lr)
    opt_state = opt.init(eqx.filter(flow, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(flow, opt_state, batch):
        loss, grads = eqx.filter_value_and_grad(nll)(flow, batch)
        updates, opt_state = opt.update(grads, opt_state)
        return eqx.apply_updates(flow, updates), opt_state, loss

    losses = []
    for k in jax.random.split(key, steps):
        idx = jax.random.choice(k, data.shape[0], (batch_size,))
        flow, opt_state, loss = step(flow, opt_state, data[idx])
        losses.append(loss)
    return flow, jnp.stack(losses)


if __name__ == "__main__":
    k_data, k_model, k_fit, k_sample = jax.random.split(jax.random.key(0), 4)
    data = jax.random.normal(k_data, (64, 5)) * 2.0 + 1.0
    flow = init_from_data(RealNVP(5, key=k_model), data)
    flow, losses = fit(flow, data, steps=3, batch_size=16, key=k_fit)
    print(losses, flow.sample(k_sample, 7).shape)
