"""PINN for the 2-D heat equation u_t = kappa * laplace(u) on the unit square.

research code, run with  python pinn_heat.py --steps 500
"""
import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax

KAPPA = 0.1
DIM = 2            # space dimension
LAMBDA_IC = 10.0
LAMBDA_BC = 1.0


def get_args(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--depth", type=int, default=3)
    p.add_argument("--n_freq", type=int, default=8)
    p.add_argument("--n_colloc", type=int, default=64)
    p.add_argument("--n_bc", type=int, default=20)
    p.add_argument("--n_ic", type=int, default=24)
    p.add_argument("--steps", type=int, default=100)
    p.add_argument("--lr", type=float, default=1e-3)
    return p.parse_args(argv)


def init_params(key, args):
    kf, key = jax.random.split(key)
    B = jax.random.normal(kf, (args.n_freq, DIM + 1))      # (n_freq, 3)
    sizes = [2 * args.n_freq] + [args.width] * args.depth + [1]
    layers = []
    for m, n in zip(sizes[:-1], sizes[1:]):
        key, sub = jax.random.split(key)
        layers.append({"W": jax.random.normal(sub, (m, n)) * np.sqrt(2.0 / (m + n)), "b": jnp.zeros((n,))})
    return {"fourier": B, "layers": layers}


def fourier(B, z):
    # z: (3,)
    proj = 2 * jnp.pi * B @ z                              # (n_freq,)
    return jnp.concatenate([jnp.sin(proj), jnp.cos(proj)]) # (2*n_freq,)


def u(params, x, t):
    """scalar network, x is one point of shape (2,), t a scalar"""
    z = jnp.concatenate([x, t[None]])                      # (3,)
    h = fourier(jax.lax.stop_gradient(params["fourier"]), z)
    for layer in params["layers"][:-1]:
        h = jnp.tanh(h @ layer["W"] + layer["b"])          # (width,)
    last = params["layers"][-1]
    out = h @ last["W"] + last["b"]                        # (1,)
    return out[0]


u_batch = jax.vmap(u, in_axes=(None, 0, 0))


def residual(params, x, t):
    """pde residual at ONE collocation point"""
    u_t = jax.grad(u, argnums=2)(params, x, t)             # ()
    H = jax.hessian(u, argnums=1)(params, x, t)            # (2, 2)
    return u_t - KAPPA * jnp.trace(H)


def u_exact(x, t):
    # x: (N, 2), t: (N,)
    decay = jnp.exp(-KAPPA * DIM * jnp.pi**2 * t)          # (N,)
    return decay * jnp.prod(jnp.sin(jnp.pi * x), axis=-1)  # (N,)


def sample_interior(key, n):
    kx, kt = jax.random.split(key)
    x = jax.random.uniform(kx, (n, DIM))                   # (n, 2)
    t = jax.random.uniform(kt, (n,))                       # (n,)
    return x, t


def sample_boundary(key, n):
    """n points on each of the four sides -> x (4*n, 2), t (4*n,)"""
    ks, kt = jax.random.split(key)
    s = jax.random.uniform(ks, (4, n))                     # (4, n)
    zero, one = jnp.zeros((n,)), jnp.ones((n,))
    sides = [
        jnp.stack([zero, s[0]], axis=-1),                  # (n, 2)
        jnp.stack([one, s[1]], axis=-1),
        jnp.stack([s[2], zero], axis=-1),
        jnp.stack([s[3], one], axis=-1),
    ]
    x = jnp.concatenate(sides, axis=0)                     # (4*n, 2)
    t = jax.random.uniform(kt, (4 * n,))
    return x, t


def make_batch(key, args):
    k1, k2, k3 = jax.random.split(key, 3)
    xi, ti = sample_interior(k1, args.n_colloc)
    xb, tb = sample_boundary(k2, args.n_bc)
    x0 = jax.random.uniform(k3, (args.n_ic, DIM))          # (n_ic, 2)
    return {"interior": (xi, ti), "boundary": (xb, tb), "initial": x0}


def loss_terms(params, batch):
    xi, ti = batch["interior"]
    r = jax.vmap(residual, in_axes=(None, 0, 0))(params, xi, ti)   # (n_colloc,)
    xb, tb = batch["boundary"]
    ub = u_batch(params, xb, tb)                           # (4*n_bc,)
    x0 = batch["initial"]
    t0 = jnp.zeros(x0.shape[0])
    u0 = u_batch(params, x0, t0)                           # (n_ic,)
    ic = u0 - u_exact(x0, t0)
    return jnp.stack([jnp.mean(r**2), jnp.mean(ub**2), jnp.mean(ic**2)])   # (3,)


def loss_fn(params, batch, weights):
    terms = loss_terms(params, batch)                      # (3,)
    return jnp.dot(weights, terms), terms


def flat_norm(tree):
    return jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(tree)))


def balance_weights(params, batch):
    """gradient-norm balancing of the three terms, see Wang et al. -> (3,)"""
    jac = jax.jacrev(loss_terms)(params, batch)            # tree of (3, ...)
    norms = jax.vmap(flat_norm)(jac)                       # (3,)
    return norms.sum() / (3.0 * norms + 1e-8)


def ntk_diag(params, x, t):
    """diagonal of the neural tangent kernel at N points

    x : (N, 2)
    t : (N,)
    returns (N,)
    """
    g = jax.vmap(jax.grad(u), in_axes=(None, 0, 0))(params, x, t)
    sq = [jnp.sum(l.reshape(l.shape[0], -1) ** 2, axis=1) for l in jax.tree.leaves(g)]
    return jnp.stack(sq, axis=1).sum(axis=1)


def solve_on_grid(params, nx, ny, t):
    """evaluate on a regular grid, returns (nx, ny)"""
    gx, gy = jnp.meshgrid(jnp.linspace(0, 1, nx), jnp.linspace(0, 1, ny), indexing="ij")   # (nx, ny) each
    pts = jnp.stack([gx.ravel(), gy.ravel()], axis=-1)     # (nx*ny, 2)
    vals = u_batch(params, pts, jnp.full((nx * ny,), t))   # (nx*ny,)
    return vals.reshape(nx, ny)


def heat_flux(params, x, t):
    # q = -kappa grad u at many points, (N, 2)
    grads = jax.vmap(jax.grad(u, argnums=1), in_axes=(None, 0, 0))(params, x, t)   # (N, 2)
    return -KAPPA * grads


def main(argv=None):
    args = get_args(argv)
    key = jax.random.PRNGKey(0)
    params = init_params(key, args)
    opt = optax.adam(args.lr)
    state = opt.init(params)
    weights = jnp.array([1.0, LAMBDA_BC, LAMBDA_IC])       # (3,)

    @jax.jit
    def step(params, state, key, weights):
        batch = make_batch(key, args)
        (loss, terms), g = jax.value_and_grad(loss_fn, has_aux=True)(params, batch, weights)
        upd, state = opt.update(g, state)
        return optax.apply_updates(params, upd), state, loss, terms

    for i in range(args.steps):
        key, sub = jax.random.split(key)
        params, state, loss, terms = step(params, state, sub, weights)
        if i % 100 == 0:
            weights = balance_weights(params, make_batch(sub, args))
            print(i, float(loss), terms)
    return params


if __name__ == "__main__":
    main()
