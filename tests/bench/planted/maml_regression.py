"""MAML with a two-layer regressor: inner SGD, outer loss through the inner steps, Hessian tools."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float


class Params(NamedTuple):
    w1: Float[Array, "d_in hidden"]
    b1: Float[Array, " hidden"]
    w2: Float[Array, "hidden d_out"]
    b2: Float[Array, " d_out"]


class Task(NamedTuple):
    """Support and query sets of one task (or of a batch of tasks under vmap)."""

    xs: jax.Array
    ys: jax.Array
    xq: jax.Array
    yq: jax.Array


def init(key: jax.Array, d_in: int, hidden: int, d_out: int) -> Params:
    k1, k2 = jax.random.split(key)
    return Params(
        w1=jax.random.normal(k1, (d_in, hidden)) / jnp.sqrt(d_in),
        b1=jnp.zeros(hidden),
        w2=jax.random.normal(k2, (hidden, d_out)) / jnp.sqrt(hidden),
        b2=jnp.zeros(d_out),
    )


def apply(p: Params, x: Float[Array, "n d_in"]) -> Float[Array, "n d_out"]:
    h = jnp.tanh(x @ p.w1 + p.b1)  # (n, hidden)
    return h @ p.w2 + p.b2


def mse(p: Params, x: Float[Array, "n d_in"], y: Float[Array, "n d_out"]) -> Float[Array, ""]:
    err = apply(p, x) - y  # (n, d_out)
    per_row = jnp.sum(err**2, axis=-1)  # (n,)
    return per_row.mean()


def adapt(p: Params, x: Float[Array, "n d_in"], y: Float[Array, "n d_out"], lr: float = 0.05, steps: int = 3) -> Params:
    def sgd(q, _):
        g = jax.grad(mse)(q, x, y)
        q = jax.tree.map(lambda a, b: a - lr * b, q, g)
        return q, mse(q, x, y)

    p, losses = jax.lax.scan(sgd, p, None, length=steps)
    return p


def meta_loss(
    p: Params,
    xs: Float[Array, "tasks shots d_in"],
    ys: Float[Array, "tasks shots d_out"],
    xq: Float[Array, "tasks queries d_in"],
    yq: Float[Array, "tasks queries d_out"],
) -> Float[Array, ""]:
    def one(task):
        fast = adapt(p, task.xs, task.ys)
        return mse(fast, task.xq, task.yq)

    losses = jax.vmap(one)(Task(xs, ys, xq, yq))  # (tasks,)
    return losses.mean()


def meta_grad_norms(p: Params, xs: Float[Array, "tasks shots d_in"], ys: Float[Array, "tasks shots d_out"]) -> Float[Array, " tasks"]:
    """Norm of every task's own gradient (for clipping)."""

    def norm(x, y):
        flat, _ = ravel_pytree(jax.grad(mse)(p, x, y))
        return jnp.sqrt(flat @ flat)  # ()

    return jax.vmap(norm)(xs, ys)


def output_hessian(p: Params, x: Float[Array, " d_in"]) -> Float[Array, "d_out d_in d_in"]:
    f = lambda v: apply(p, v[None])[0]
    jac = jax.jacrev(f)(x)  # (d_out, d_in)
    hess = jax.jacfwd(jax.jacrev(f))(x)  # (d_out, d_in, d_in)
    scale = 1.0 + jnp.sum(jac**2, axis=1)  # (d_out,)
    return hess / scale[:, None, None]


def hvp(p: Params, x: Float[Array, "n d_in"], y: Float[Array, "n d_out"], v: Params) -> Params:
    return jax.jvp(lambda q: jax.grad(mse)(q, x, y), (p,), (v,))[1]


def sensitivity(p: Params, x: Float[Array, "n d_in"]) -> Float[Array, "n d_out hidden"]:
    # derivative of each output in the hidden bias, row by row
    def wrt_bias(b, row):
        return apply(p._replace(b1=b), row[None])[0]  # (d_out,)

    return jax.vmap(jax.jacrev(wrt_bias), in_axes=(None, 0))(p.b1, x)
