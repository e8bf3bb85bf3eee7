"""Lennard-Jones molecular dynamics with periodic boundaries and fixed-capacity neighbour lists.

N particles in 3 dimensions; every particle keeps room for M neighbours. Reduced units throughout.
"""
from functools import partial

import jax
import jax.numpy as jnp
from flax import struct
from jax import lax


@struct.dataclass
class Neighbors:
    idx: jax.Array  # (N, M) indices, N marks an empty slot
    ref: jax.Array  # (N, 3) positions when the list was built
    overflow: jax.Array  # () bool
    capacity: int = struct.field(pytree_node=False, default=0)


@struct.dataclass
class MDState:
    pos: jax.Array  # (N, 3)
    vel: jax.Array  # (N, 3)
    force: jax.Array  # (N, 3)
    mass: jax.Array  # (N,)


def minimum_image(dr, box):
    """Wrap displacements into the primary cell; any leading axes, box is (3,)."""
    return dr - box * jnp.round(dr / box)


def displacements(pos, box):
    """All pair displacements r_i - r_j.

    Parameters
    ----------
    pos : (N, 3) array
    box : (3,) array

    Returns
    -------
    (N, N, 3) array
    """
    return minimum_image(pos[:, None, :] - pos[None, :, :], box)


@partial(jax.jit, static_argnames=("capacity",))
def build_neighbors(pos, box, cutoff, capacity):
    n = pos.shape[0]
    dr = displacements(pos, box)  # (N, N, 3)
    dist2 = jnp.sum(dr**2, axis=-1)  # (N, N)
    close = (dist2 < cutoff**2) & ~jnp.eye(n, dtype=bool)
    key = jnp.where(close, jnp.arange(n)[None, :], n)
    ordered = jnp.sort(key, axis=1)  # (N, N), real neighbours come first
    count = close.sum(axis=1)  # (N,)
    return Neighbors(idx=ordered[:, :capacity], ref=pos, overflow=jnp.any(count > capacity), capacity=capacity)


def needs_rebuild(nbrs, pos, box, skin):
    moved = minimum_image(pos - nbrs.ref, box)  # (N, 3)
    return jnp.max(jnp.sum(moved**2, axis=-1)) > (0.5 * skin) ** 2


def lj_pair(r2, sigma=1.0, epsilon=1.0):
    """Pair energy as a function of the squared distance (elementwise)."""
    s6 = (sigma**2 / r2) ** 3
    return 4.0 * epsilon * (s6**2 - s6)


def smooth_cutoff(r2, onset, cutoff):
    x = (r2 - onset**2) / (cutoff**2 - onset**2)
    x = jnp.clip(x, 0.0, 1.0)
    return 1.0 - x**2 * (3.0 - 2.0 * x)


def neighbor_energy(pos, nbrs, box, cutoff=2.5):
    """Potential energy of every particle, shape (N,); pairs are shared half and half."""
    n = pos.shape[0]
    real = nbrs.idx < n  # (N, M)
    safe = jnp.where(real, nbrs.idx, 0)
    other = pos[safe]  # (N, M, 3)
    dr = minimum_image(pos[:, None] - other, box)  # (N, M, 3)
    r2 = jnp.where(real, jnp.sum(dr * dr, axis=-1), 1.0)
    e = lj_pair(r2) * smooth_cutoff(r2, 0.8 * cutoff, cutoff)  # (N, M)
    e = jnp.where(real & (r2 < cutoff**2), e, 0.0)
    return 0.5 * jnp.sum(e, axis=1)


def total_energy(pos, nbrs, box):
    return neighbor_energy(pos, nbrs, box).sum()  # scalar


def forces(pos, nbrs, box):
    return -jax.grad(total_energy)(pos, nbrs, box)  # (N, 3)


def kinetic_energy(state):
    return 0.5 * jnp.sum(state.mass[:, None] * state.vel**2)


def temperature(state):
    n = state.pos.shape[0]
    return 2.0 * kinetic_energy(state) / (3.0 * (n - 1))


def init_velocities(key, mass, temp):
    """Maxwell-Boltzmann velocities without net momentum.

    Parameters
    ----------
    mass : (N,) array
    temp : float

    Returns
    -------
    (N, 3) array
    """
    v = jax.random.normal(key, (mass.shape[0], 3)) * jnp.sqrt(temp / mass)[:, None]  # (N, 3)
    p = jnp.sum(mass[:, None] * v, axis=0)  # (3,)
    return v - p / mass.sum()


def verlet_step(state, nbrs, box, dt):
    inv_m = 1.0 / state.mass[:, None]  # (N, 1)
    half = state.vel + 0.5 * dt * state.force * inv_m
    pos = jnp.mod(state.pos + dt * half, box)  # (N, 3)
    f = forces(pos, nbrs, box)
    vel = half + 0.5 * dt * f * inv_m
    return state.replace(pos=pos, vel=vel, force=f)


@partial(jax.jit, static_argnames=("n_steps",))
def simulate(state, nbrs, box, dt, n_steps, skin=0.3, cutoff=2.5):
    """Run n_steps of velocity Verlet; also returns the per-step energies (n_steps, 2)."""

    def body(carry, _):
        state, nbrs = carry
        state = verlet_step(state, nbrs, box, dt)
        stale = needs_rebuild(nbrs, state.pos, box, skin)
        rebuild = lambda: build_neighbors(state.pos, box, cutoff + skin, nbrs.capacity)
        nbrs = lax.cond(stale, rebuild, lambda: nbrs)
        pe = total_energy(state.pos, nbrs, box)
        ke = kinetic_energy(state)
        return (state, nbrs), jnp.stack([pe, ke])

    (state, nbrs), energies = lax.scan(body, (state, nbrs), None, length=n_steps)
    return state, nbrs, energies


def radial_distribution(pos, box, edges):
    """Histogram estimate of g(r).

    Parameters
    ----------
    pos : (N, 3)
    edges : (K + 1,) increasing bin edges

    Returns
    -------
    (K,) array
    """
    n = pos.shape[0]
    r = jnp.sqrt(jnp.sum(displacements(pos, box) ** 2, axis=-1))  # (N, N)
    iu, ju = jnp.triu_indices(n, k=1)
    d = r[iu, ju]  # (N * (N - 1) // 2,)
    inside = (d[:, None] >= edges[None, :-1]) & (d[:, None] < edges[None, 1:])  # (pairs, K)
    hist = inside.sum(axis=0)  # (K,)
    shell = 4.0 / 3.0 * jnp.pi * (edges[1:] ** 3 - edges[:-1] ** 3)  # (K,)
    density = n / jnp.prod(box)
    return 2.0 * hist / (n * density * shell)


def lattice(n_side, spacing):
    """Simple cubic lattice with n_side**3 sites, (n_side**3, 3)."""
    g = jnp.arange(n_side) * spacing
    grid = jnp.stack(jnp.meshgrid(g, g, g, indexing="ij"), axis=-1)  # (n_side, n_side, n_side, 3)
    return grid.reshape(-1, 3)
