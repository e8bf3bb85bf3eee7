"""Exact Gaussian process regression with an ARD squared-exponential kernel."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Float


class ARDKernel(eqx.Module):
    log_scale: Float[Array, " d"]
    log_amp: Float[Array, ""]

    def __init__(self, d: int):
        self.log_scale = jnp.zeros(d)
        self.log_amp = jnp.zeros(())

    def pair(self, a: Float[Array, " d"], b: Float[Array, " d"]) -> Float[Array, ""]:
        r = (a - b) * jnp.exp(-self.log_scale)  # [d]
        return jnp.exp(self.log_amp - 0.5 * jnp.sum(r**2))

    def gram(self, xs: Float[Array, "n d"], zs: Float[Array, "m d"]) -> Float[Array, "n m"]:
        row = jax.vmap(self.pair, in_axes=(None, 0))
        return jax.vmap(row, in_axes=(0, None))(xs, zs)  # [n, m]

    def diag(self, xs: Float[Array, "n d"]) -> Float[Array, " n"]:
        return jnp.full(xs.shape[0], jnp.exp(self.log_amp))


class ExactGP(eqx.Module):
    kernel: ARDKernel
    log_noise: Float[Array, ""]
    jitter: float = eqx.field(static=True)

    def __init__(self, d: int, jitter: float = 1e-5):
        self.kernel = ARDKernel(d)
        self.log_noise = jnp.asarray(-2.0)
        self.jitter = jitter

    def _factor(
        self, xs: Float[Array, "n d"], ys: Float[Array, " n"]
    ) -> tuple[Float[Array, "n n"], Float[Array, " n"]]:
        n = xs.shape[0]
        K = self.kernel.gram(xs, xs)  # [n, n]
        K = K + (jnp.exp(self.log_noise) + self.jitter) * jnp.eye(n)
        L = jnp.linalg.cholesky(K)  # [n, n]
        alpha = jsl.cho_solve((L, True), ys)  # [n]
        return L, alpha

    def nll(self, xs: Float[Array, "n d"], ys: Float[Array, " n"]) -> Float[Array, ""]:
        """Negative log marginal likelihood (Rasmussen & Williams, eq. 2.30)."""
        L, alpha = self._factor(xs, ys)
        fit = 0.5 * jnp.dot(ys, alpha)
        complexity = jnp.sum(jnp.log(jnp.diagonal(L)))
        return fit + complexity + 0.5 * ys.shape[0] * jnp.log(2.0 * jnp.pi)

    def predict(
        self,
        xs: Float[Array, "n d"],
        ys: Float[Array, " n"],
        xt: Float[Array, "q d"],
    ) -> tuple[Float[Array, " q"], Float[Array, " q"]]:
        L, alpha = self._factor(xs, ys)
        Kqn = self.kernel.gram(xt, xs)  # [q, n]
        mean: Float[Array, " q"] = Kqn @ alpha
        V = jsl.solve_triangular(L, Kqn.T, lower=True)  # [n, q]
        var = self.kernel.diag(xt) - jnp.sum(V**2, axis=0)  # [q]
        return mean, jnp.maximum(var, self.jitter)

    def sample(
        self,
        xs: Float[Array, "n d"],
        ys: Float[Array, " n"],
        xt: Float[Array, "q d"],
        noise: Float[Array, "draws q"],
    ) -> Float[Array, "draws q"]:
        L, alpha = self._factor(xs, ys)
        Kqn = self.kernel.gram(xt, xs)
        V = jsl.solve_triangular(L, Kqn.T, lower=True)
        cov = self.kernel.gram(xt, xt) - V.T @ V  # [q, q]
        cov = cov + self.jitter * jnp.eye(xt.shape[0])
        C = jnp.linalg.cholesky(cov)  # [q, q]
        return (Kqn @ alpha)[None, :] + noise @ C.T


def fit_grad(gp: ExactGP, xs: Float[Array, "n d"], ys: Float[Array, " n"]) -> Float[Array, " d"]:
    """Gradient of the likelihood with respect to the length scales."""
    grads = eqx.filter_grad(lambda g: g.nll(xs, ys))(gp)
    return grads.kernel.log_scale  # [d]
