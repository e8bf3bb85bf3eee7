"""Entropic optimal transport in the log domain, with an implicit-free unrolled loss.

Notation follows Peyre & Cuturi: f, g are the dual potentials and C is the cost.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int


def sq_cost(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
    xx = jnp.sum(x * x, axis=1)  # (n,)
    yy = jnp.sum(y * y, axis=1)  # (m,)
    return xx[:, None] + yy[None, :] - 2.0 * x @ y.T  # (n, m)


def softmin_rows(C: Float[Array, "n m"], g: Float[Array, " m"], eps: float) -> Float[Array, " n"]:
    return -eps * logsumexp((g[None, :] - C) / eps, axis=1)


def softmin_cols(C: Float[Array, "n m"], f: Float[Array, " n"], eps: float) -> Float[Array, " m"]:
    return -eps * logsumexp((f[:, None] - C) / eps, axis=0)


def sinkhorn(
    C: Float[Array, "n m"],
    log_a: Float[Array, " n"],
    log_b: Float[Array, " m"],
    eps: float = 0.1,
    max_iter: int = 50,
    tol: float = 1e-4,
) -> tuple[Float[Array, " n"], Float[Array, " m"], Int[Array, ""]]:
    """Run to tolerance; returns the potentials and the number of sweeps."""
    n, m = C.shape

    def cond(state):
        _, _, err, it = state
        return (err > tol) & (it < max_iter)

    def sweep(state):
        f, g, _, it = state
        f = eps * log_a + softmin_rows(C, g, eps)  # (n,)
        g_new = eps * log_b + softmin_cols(C, f, eps)  # (m,)
        err = jnp.max(jnp.abs(g_new - g))  # ()
        return f, g_new, err, it + 1

    init = (jnp.zeros(n), jnp.zeros(m), jnp.asarray(jnp.inf), jnp.asarray(0))
    f, g, _, it = lax.while_loop(cond, sweep, init)
    return f, g, it


def plan(
    C: Float[Array, "n m"], f: Float[Array, " n"], g: Float[Array, " m"], eps: float = 0.1
) -> Float[Array, "n m"]:
    return jnp.exp((f[:, None] + g[None, :] - C) / eps)


def barycentric_map(P: Float[Array, "n m"], y: Float[Array, "m d"]) -> Float[Array, "n d"]:
    mass = P.sum(axis=1, keepdims=True)  # (n, 1)
    return (P @ y) / mass


def ot_loss(x: Float[Array, "n d"], y: Float[Array, "m d"], eps: float = 0.1, sweeps: int = 20) -> Float[Array, ""]:
    n, m = x.shape[0], y.shape[0]
    C = sq_cost(x, y)  # (n, m)

    def body(g, _):
        f = -eps * jnp.log(n) + softmin_rows(C, g, eps)  # (n,)
        g = -eps * jnp.log(m) + softmin_cols(C, f, eps)  # (m,)
        return g, f

    g, fs = lax.scan(jax.checkpoint(body), jnp.zeros(m), None, length=sweeps)  # (m,), (sweeps, n)
    return fs[-1].mean() + g.mean()


def divergence(x: Float[Array, "n d"], y: Float[Array, "m d"], eps: float = 0.1) -> Float[Array, ""]:
    """Debiased loss (zero when the two clouds agree)."""
    return ot_loss(x, y, eps) - 0.5 * ot_loss(x, x, eps) - 0.5 * ot_loss(y, y, eps)


def flow_step(x: Float[Array, "n d"], y: Float[Array, "m d"], lr: float = 0.1) -> Float[Array, "n d"]:
    grad = jax.grad(divergence)(x, y)  # (n, d)
    return x - lr * x.shape[0] * grad


def classify(
    queries: Float[Array, "b n d"], refs: Float[Array, "c m d"], eps: float = 0.1
) -> tuple[Int[Array, " b"], Float[Array, "b c"]]:
    # one loss for every (query, reference) pair
    pairwise = jax.vmap(jax.vmap(ot_loss, (None, 0, None)), (0, None, None))
    dist = pairwise(queries, refs, eps)  # (b, c)
    return jnp.argmin(dist, axis=1), dist
