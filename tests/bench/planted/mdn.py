"""Mixture density network with full-covariance Gaussian components."""
from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int, PRNGKeyArray


class Mixture(eqx.Module):
    """Parameters of one conditional density p(y | x)."""

    log_pi: Float[Array, " K"]
    mu: Float[Array, "K D"]
    tril: Float[Array, "K D D"]

    def component_logpdf(self, y: Float[Array, " D"]) -> Float[Array, " K"]:
        diff: Float[Array, "K D"] = y[None, :] - self.mu
        solve = lambda L, r: jax.scipy.linalg.solve_triangular(L, r, lower=True)
        white = jax.vmap(solve)(self.tril, diff)
        logdet = jnp.sum(jnp.log(jnp.diagonal(self.tril, axis1=-2, axis2=-1)), axis=-1)
        return -0.5 * jnp.sum(white**2, axis=-1) - logdet - 0.5 * y.shape[0] * math.log(2 * math.pi)

    def logpdf(self, y: Float[Array, " D"]) -> Float[Array, ""]:
        return logsumexp(self.log_pi + self.component_logpdf(y))

    def responsibilities(self, y: Float[Array, " D"]) -> Float[Array, " K"]:
        return jax.nn.softmax(self.log_pi + self.component_logpdf(y))

    def mean(self) -> Float[Array, " D"]:
        return jnp.exp(self.log_pi) @ self.mu

    def covariance(self) -> Float[Array, "D D"]:
        pi = jnp.exp(self.log_pi)
        within: Float[Array, "K D D"] = jnp.einsum("kij,klj->kil", self.tril, self.tril)
        dev: Float[Array, "K D"] = self.mu - self.mean()
        between: Float[Array, "K D D"] = dev[:, :, None] * dev[:, None, :]
        return jnp.tensordot(pi, within + between, axes=1)

    def sample(self, key: PRNGKeyArray, S: int) -> Float[Array, "S D"]:
        k_comp, k_eps = jax.random.split(key)
        comp = jax.random.categorical(k_comp, self.log_pi, shape=(S,))
        eps: Float[Array, "S D"] = jax.random.normal(k_eps, (S, self.mu.shape[1]))
        return self.mu[comp] + jnp.einsum("sij,sj->si", self.tril[comp], eps)


def fill_tril(flat: Float[Array, "K T"], dim: int) -> Float[Array, "K {dim} {dim}"]:
    """Row-major entries of a lower triangle; the diagonal goes through softplus."""
    rows, cols = np.tril_indices(dim)
    L = jnp.zeros((flat.shape[0], dim, dim)).at[:, rows, cols].set(flat)
    diag: Float[Array, "K {dim}"] = jnp.diagonal(L, axis1=-2, axis2=-1)
    fixed = jax.nn.softplus(diag) + 1e-3
    return L + (fixed - diag)[:, :, None] * jnp.eye(dim)


class Trunk(eqx.Module):
    layers: list[eqx.nn.Linear]
    norm: eqx.nn.LayerNorm

    def __init__(self, inp: int, hid: int, depth: int, *, key: PRNGKeyArray):
        keys = jax.random.split(key, depth)
        sizes = [inp] + [hid] * depth
        self.layers = [eqx.nn.Linear(a, b, key=k) for a, b, k in zip(sizes[:-1], sizes[1:], keys)]
        self.norm = eqx.nn.LayerNorm(hid)

    def __call__(self, x: Float[Array, " X"]) -> Float[Array, " H"]:
        for layer in self.layers:
            x = jnp.tanh(layer(x))
        return self.norm(x)


class MDN(eqx.Module):
    trunk: Trunk
    pi_head: eqx.nn.Linear
    mu_w: Float[Array, "K D H"]
    mu_b: Float[Array, "K D"]
    tril_head: eqx.nn.Linear
    components: int = eqx.field(static=True)
    out_dim: int = eqx.field(static=True)

    def __init__(self, in_dim: int, out_dim: int, hid: int, components: int, depth: int = 2, *, key: PRNGKeyArray):
        kt, kp, km, kb, kl = jax.random.split(key, 5)
        self.components, self.out_dim = components, out_dim
        self.trunk = Trunk(in_dim, hid, depth, key=kt)
        self.pi_head = eqx.nn.Linear(hid, components, key=kp)
        self.mu_w = jax.random.normal(km, (components, out_dim, hid)) / math.sqrt(hid)
        self.mu_b = jax.random.normal(kb, (components, out_dim))
        self.tril_head = eqx.nn.Linear(hid, components * out_dim * (out_dim + 1) // 2, key=kl)

    def __call__(self, x: Float[Array, " X"]) -> Mixture:
        h: Float[Array, " H"] = self.trunk(x)
        log_pi: Float[Array, " K"] = jax.nn.log_softmax(self.pi_head(h))
        mu: Float[Array, "K D"] = jnp.einsum("kdh,h->kd", self.mu_w, h) + self.mu_b
        flat: Float[Array, "K T"] = self.tril_head(h).reshape(self.components, -1)
        return Mixture(log_pi, mu, fill_tril(flat, self.out_dim))


def nll(model: MDN, x: Float[Array, "N X"], y: Float[Array, "N D"]) -> Float[Array, ""]:
    logp: Float[Array, " N"] = jax.vmap(lambda a, b: model(a).logpdf(b))(x, y)
    return -logp.mean()


def predictive_moments(model: MDN, x: Float[Array, "N X"]) -> tuple[Float[Array, "N D"], Float[Array, "N D D"]]:
    def one(a: Float[Array, " X"]):
        mix = model(a)
        return mix.mean(), mix.covariance()

    return jax.vmap(one)(x)


def energy_score(
    model: MDN, x: Float[Array, "N X"], y: Float[Array, "N D"], key: PRNGKeyArray, S: int
) -> Float[Array, " N"]:
    keys = jax.random.split(key, x.shape[0])
    draws: Float[Array, "N S D"] = jax.vmap(lambda a, k: model(a).sample(k, S))(x, keys)
    to_obs = jnp.linalg.norm(draws - y[:, None, :], axis=-1)  # (N, S)
    pair: Float[Array, "N S S"] = jnp.linalg.norm(draws[:, :, None, :] - draws[:, None, :, :] + 1e-9, axis=-1)
    return to_obs.mean(axis=1) - 0.5 * pair.mean(axis=(1, 2))


def log_density_grid(model: MDN, x: Float[Array, "N X"], grid: Float[Array, "G D"]) -> Float[Array, "N G"]:
    per_x = lambda a: jax.vmap(model(a).logpdf)(grid)
    return jax.vmap(per_x)(x)


def usage(model: MDN, x: Float[Array, "N X"], y: Float[Array, "N D"]) -> Float[Array, " K"]:
    resp: Float[Array, "N K"] = jax.vmap(lambda a, b: model(a).responsibilities(b))(x, y)
    return resp.mean(axis=0)


@eqx.filter_jit
def train_step(model: MDN, opt_state, x: Float[Array, "N X"], y: Float[Array, "N D"], optim: optax.GradientTransformation):
    loss, grads = eqx.filter_value_and_grad(nll)(model, x, y)
    updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), opt_state, loss
