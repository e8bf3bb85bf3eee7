"""D2Q9 lattice Boltzmann channel flow around an obstacle."""
import jax
import jax.numpy as jnp
import numpy as np

# lattice directions: rest, four axis neighbours, four diagonals
C = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])  # (9, 2)
W = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)  # (9,)
OPPOSITE = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])    # (9,)
EAST = np.array([1, 5, 8])   # (3,)
WEST = np.array([3, 7, 6])   # (3,)


def macroscopic(f):
    """Density and velocity of the populations.

    f: array (9, ny, nx)

    Returns: rho (ny, nx) and u (2, ny, nx)
    """
    rho = f.sum(axis=0)                               # (ny, nx)
    mom = jnp.einsum("qd,qyx->dyx", C, f)             # (2, ny, nx)
    return rho, mom / rho


def equilibrium(rho, u):
    """Second order Maxwellian.

    rho: array (ny, nx)
    u: array (2, ny, nx)

    Returns: (9, ny, nx)
    """
    cu = jnp.tensordot(C, u, axes=1)                  # (9, ny, nx)
    usq = (u ** 2).sum(axis=0)
    poly = 1 + 3 * cu + 4.5 * cu ** 2 - 1.5 * usq     # (9, ny, nx)
    return W[:, None, None] * rho * poly              # (9, ny, nx)


def collide(f, omega):
    rho, u = macroscopic(f)                           # (ny, nx), (2, ny, nx)
    feq = equilibrium(rho, u)
    return f - omega * (f - feq)


def collide_smagorinsky(f, omega, cs=0.1):
    """Relaxation with an eddy viscosity added from the local stress.

    f: array (9, ny, nx)

    Returns: (9, ny, nx)
    """
    rho, u = macroscopic(f)
    feq = equilibrium(rho, u)                              # (9, ny, nx)
    cc = C[:, :, None] * C[:, None, :]                     # (9, 2, 2)
    stress = jnp.einsum("qab,qyx->abyx", cc, f - feq)      # (2, 2, ny, nx)
    mag = jnp.sqrt((stress ** 2).sum(axis=(0, 1)))         # (ny, nx)
    tau0 = 1.0 / omega
    tau = 0.5 * (tau0 + jnp.sqrt(tau0 ** 2 + 18 * cs ** 2 * mag / rho))   # (ny, nx)
    return f - (f - feq) / tau


def stream(f):
    """Moves each population one cell along its direction; periodic."""
    moved = [jnp.roll(f[q], (C[q, 1], C[q, 0]), axis=(0, 1)) for q in range(9)]
    return jnp.stack(moved)                           # (9, ny, nx)


def bounce_back(f, solid):
    """Reverses populations inside the solid.

    f: array (9, ny, nx)
    solid: boolean array (ny, nx)
    """
    reflected = f[OPPOSITE]
    return jnp.where(solid[None], reflected, f)       # (9, ny, nx)


def inflow(f, u_in):
    """Equilibrium with the given profile on the first column.

    f: array (9, ny, nx)
    u_in: array (ny,), the velocity along x
    """
    rho = f[:, :, 1].sum(axis=0)                              # (ny,)
    u = jnp.stack([u_in, jnp.zeros_like(u_in)])               # (2, ny)
    col = equilibrium(rho[:, None], u[:, :, None])            # (9, ny, 1)
    return f.at[:, :, :1].set(col)


def outflow(f):
    last = f[WEST, :, -2]                             # (3, ny)
    return f.at[WEST, :, -1].set(last)                # (9, ny, nx)


def drag(f, solid):
    """Force on the solid by momentum exchange, returns (2,)."""
    inside = f * solid
    per_dir = inside.sum(axis=(1, 2))                 # (9,)
    return 2 * per_dir @ C


def vorticity(u):
    # u: (2, ny, nx)
    dv = (jnp.roll(u[1], -1, axis=1) - jnp.roll(u[1], 1, axis=1)) / 2   # (ny, nx)
    du = (jnp.roll(u[0], -1, axis=0) - jnp.roll(u[0], 1, axis=0)) / 2   # (ny, nx)
    return dv - du


def cylinder(ny, nx, cy, cx, r):
    yy, xx = jnp.meshgrid(jnp.arange(ny), jnp.arange(nx), indexing="ij")   # both (ny, nx)
    return (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2


def init_state(ny, nx, u_in):
    rho = jnp.ones((ny, nx))                                         # (ny, nx)
    ux = jnp.tile(u_in[:, None], (1, nx))
    return equilibrium(rho, jnp.stack([ux, jnp.zeros_like(ux)]))     # (9, ny, nx)


def step(f, solid, u_in, omega):
    f = inflow(outflow(f), u_in)
    after = collide_smagorinsky(f, omega)
    f = stream(jnp.where(solid, f, after))            # (9, ny, nx)
    force = drag(f, solid)                            # (2,)
    return bounce_back(f, solid), force


def simulate(f, solid, u_in, omega, n_steps, every):
    """Runs `n_steps` and keeps the forces and, now and then, the vorticity.

    Returns: final populations (9, ny, nx), forces (n_steps, 2) and frames (n_frames, ny, nx)
    """
    n_frames = n_steps // every

    def inner(f, _):
        return step(f, solid, u_in, omega)

    def outer(f, _):
        f, force = jax.lax.scan(inner, f, None, length=every)        # (9, ny, nx), (every, 2)
        _, u = macroscopic(f)
        return f, (force, vorticity(u))

    f, (forces, frames) = jax.lax.scan(outer, f, None, length=n_frames)
    # forces: (n_frames, every, 2), frames: (n_frames, ny, nx)
    return f, forces.reshape(-1, 2), frames


if __name__ == "__main__":
    profile = 0.04 * jnp.ones(60)
    body = cylinder(60, 180, 30, 40, 8)
    _, forces, _ = simulate(init_state(60, 180, profile), body, profile, 1.7, 2000, 100)
    print("mean drag", forces[-500:, 0].mean())
