"""Viscous Burgers equation on a periodic grid: RK4, implicit Euler and a trainable viscosity."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

try:
    from shapecheck import example
except ImportError:
    example = lambda f: f


def ddx(u, dx):
    return (jnp.roll(u, -1) - jnp.roll(u, 1)) / (2 * dx)


def rhs(u, nu, dx):
    # u: (nx,)
    # nu: (nx,)
    curv = (jnp.roll(u, -1) - 2 * u + jnp.roll(u, 1)) / dx**2  # (nx,)
    return nu * curv - u * ddx(u, dx)  # (nx,)


def rk4(u, nu, dt, dx):
    k1 = rhs(u, nu, dx)
    k2 = rhs(u + 0.5 * dt * k1, nu, dx)
    k3 = rhs(u + 0.5 * dt * k2, nu, dx)
    k4 = rhs(u + dt * k3, nu, dx)
    ks = jnp.stack([k1, k2, k3, k4])  # (4, nx)
    return u + dt * (jnp.array([1.0, 2.0, 2.0, 1.0]) @ ks) / 6.0  # (nx,)


def newton(residual, u, iters):
    def body(u, _):
        r = residual(u)  # (nx,)
        J = jax.jacfwd(residual)(u)  # (nx, nx)
        du = jnp.linalg.solve(J, -r)  # (nx,)
        return u + du, jnp.linalg.norm(r)

    return lax.scan(body, u, None, length=iters)  # (nx,), (iters,)


def implicit_euler(u, nu, dt, dx):
    def residual(v):
        return v - u - dt * rhs(v, nu, dx)

    new, _ = newton(residual, u, 3)
    return new  # (nx,)


def integrate(stepper, u0, nu, n_steps, dt, dx):
    """Roll a stepper out.

    Parameters
    ----------
    u0 : jax.Array, shape (nx,)
    nu : jax.Array, shape (nx,)
        Viscosity at the grid points.

    Returns
    -------
    jax.Array, shape (n_steps + 1, nx)
    """

    @jax.checkpoint
    def body(u, _):
        u = stepper(u, nu, dt, dx)
        return u, u

    _, us = lax.scan(body, u0, None, length=n_steps)  # us: (n_steps, nx)
    return jnp.concatenate([u0[None], us])


@jax.custom_vjp
def clip_grad(x, limit):
    return x


def _clip_fwd(x, limit):
    return x, limit


def _clip_bwd(limit, g):
    return jnp.clip(g, -limit, limit), None


clip_grad.defvjp(_clip_fwd, _clip_bwd)


def misfit(log_nu, u0s, obs, dt, dx):
    # u0s: (members, nx)
    # obs: (members, n_steps + 1, nx)
    nu = jnp.exp(clip_grad(log_nu, 1.0))
    run = partial(integrate, rk4, nu=nu, n_steps=obs.shape[1] - 1, dt=dt, dx=dx)
    trajs = jax.vmap(run)(u0s)  # (members, n_steps + 1, nx)
    err = jnp.square(trajs - obs).mean(axis=-1)  # (members, n_steps + 1)
    decay = 0.9 ** jnp.arange(err.shape[1])  # (n_steps + 1,)
    return (err @ decay).mean()


@example
def fit_example():
    return misfit, jnp.full(19, -3.0), jnp.zeros((5, 19)), jnp.zeros((5, 8, 19)), 1e-3, 0.1


@example
def implicit_example():
    return partial(integrate, implicit_euler), jnp.ones(14), jnp.ones(14), 4, 1e-3, 0.1
