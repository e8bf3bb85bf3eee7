"""Ray sampling and volume rendering for a small radiance field."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray


def camera_rays(
    height: int, width: int, focal: float, c2w: Float[Array, "3 4"]
) -> tuple[Float[Array, "height width 3"], Float[Array, "height width 3"]]:
    """Origins and unit directions of all pixels (OpenGL convention)."""
    i, j = jnp.meshgrid(jnp.arange(width), jnp.arange(height), indexing="xy")
    x = (i - 0.5 * width) / focal  # (height, width)
    y = -(j - 0.5 * height) / focal  # (height, width)
    local = jnp.stack([x, y, -jnp.ones_like(x)], axis=-1)  # (height, width, 3)
    dirs = local @ c2w[:, :3].T  # (height, width, 3)
    dirs = dirs / jnp.linalg.norm(dirs, axis=-1, keepdims=True)
    origins = jnp.broadcast_to(c2w[:, 3], dirs.shape)
    return origins, dirs


def stratified(
    key: PRNGKeyArray, near: Float[Array, " rays"], far: Float[Array, " rays"], n_samples: int
) -> Float[Array, "rays n_samples"]:
    edges = jnp.linspace(0.0, 1.0, n_samples + 1)  # (n_samples + 1,)
    lower, upper = edges[:-1], edges[1:]
    u = jr.uniform(key, (near.shape[0], n_samples))  # (rays, n_samples)
    frac = lower + (upper - lower) * u  # (rays, n_samples)
    return near[:, None] + (far - near)[:, None] * frac


def positional(x: Float[Array, " c"], n_bands: int) -> Float[Array, "2*{n_bands}*c"]:
    bands = 2.0 ** jnp.arange(n_bands)
    ang = (x[None, :] * bands[:, None]).reshape(-1)  # (n_bands*c,)
    return jnp.concatenate([jnp.sin(ang), jnp.cos(ang)])


class Field(eqx.Module):
    trunk: eqx.nn.MLP
    sigma: eqx.nn.Linear
    rgb: eqx.nn.MLP
    n_bands: int = eqx.field(static=True)

    def __init__(self, n_bands: int, width: int, *, key: PRNGKeyArray):
        k1, k2, k3 = jr.split(key, 3)
        self.trunk = eqx.nn.MLP(6 * n_bands, width, width, 2, key=k1)
        self.sigma = eqx.nn.Linear(width, "scalar", key=k2)
        self.rgb = eqx.nn.MLP(width + 3, 3, width, 1, key=k3)
        self.n_bands = n_bands

    def __call__(self, p: Float[Array, "3"], d: Float[Array, "3"]) -> tuple[Float[Array, ""], Float[Array, "3"]]:
        h = jax.nn.relu(self.trunk(positional(p, self.n_bands)))  # (width,)
        density = jax.nn.softplus(self.sigma(h))  # ()
        colour = jax.nn.sigmoid(self.rgb(jnp.concatenate([h, d])))  # (3,)
        return density, colour


def composite(
    sigma: Float[Array, "rays n_samples"],
    rgb: Float[Array, "rays n_samples 3"],
    z: Float[Array, "rays n_samples"],
) -> tuple[Float[Array, "rays 3"], Float[Array, " rays"]]:
    delta = z[:, 1:] - z[:, :-1]  # (rays, n_samples - 1)
    delta = jnp.concatenate([delta, jnp.full_like(z[:, :1], 1e10)], axis=-1)  # (rays, n_samples)
    alpha = 1.0 - jnp.exp(-sigma * delta)
    trans = jnp.cumprod(1.0 - alpha + 1e-10, axis=-1)  # (rays, n_samples)
    trans = jnp.concatenate([jnp.ones_like(trans[:, :1]), trans[:, :-1]], axis=-1)  # (rays, n_samples)
    w = alpha * trans  # (rays, n_samples)
    pixel = jnp.sum(w[..., None] * rgb, axis=-2)  # (rays, 3)
    depth = jnp.sum(w * z, axis=-1)  # (rays,)
    return pixel, depth


def render(
    field: Field,
    origins: Float[Array, "rays 3"],
    dirs: Float[Array, "rays 3"],
    n_samples: int,
    key: PRNGKeyArray,
) -> Float[Array, "rays 3"]:
    near = jnp.full(origins.shape[0], 2.0)
    z = stratified(key, near, near + 4.0, n_samples)  # (rays, n_samples)
    pts = origins[:, None, :] + z[..., None] * dirs[:, None, :]  # (rays, n_samples, 3)
    along = jax.vmap(field, in_axes=(0, None))
    sigma, rgb = jax.vmap(along)(pts, dirs)  # (rays, n_samples), (rays, n_samples, 3)
    pixel, _ = composite(sigma, rgb, z)
    return pixel
