"""Growing neural cellular automata. State is NHWC; the first four channels are RGBA."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray
from typing import NamedTuple

Grid = Float[Array, "n h w c"]
Params = dict[str, Array]

SOBEL = np.outer([1.0, 2.0, 1.0], [-1.0, 0.0, 1.0]).astype(np.float32) / 8.0


class Pool(NamedTuple):
    cells: Float[Array, "pool h w c"]
    age: Int[Array, " pool"]


class AdamState(NamedTuple):
    mu: Params
    nu: Params
    count: Int[Array, ""]


def init_params(key: PRNGKeyArray, channels: int, hidden: int) -> Params:
    w1: Float[Array, "3*{channels} hidden"] = random.normal(key, (3 * channels, hidden)) * (3 * channels) ** -0.5
    return {"w1": w1, "b1": jnp.zeros(hidden), "w2": jnp.zeros((hidden, channels))}


def perception_kernel(channels: int) -> Float[Array, "3 3 1 3*{channels}"]:
    ident = np.zeros((3, 3), np.float32)
    ident[1, 1] = 1.0
    stack = jnp.stack([ident, SOBEL, SOBEL.T], axis=-1)  # (3, 3, 3)
    return jnp.tile(stack, (1, 1, channels))[:, :, None, :]


def perceive(state: Float[Array, "n h w c"]) -> Float[Array, "n h w 3*c"]:
    c = state.shape[-1]
    kernel: Float[Array, "3 3 1 3*c"] = perception_kernel(c)
    return lax.conv_general_dilated(
        state, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=c
    )


def alive(state: Float[Array, "n h w c"]) -> Bool[Array, "n h w 1"]:
    alpha: Float[Array, "n h w 1"] = state[..., 3:4]
    return lax.reduce_window(alpha, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 1, 1, 1), "SAME") > 0.1


def ca_step(params: Params, state: Float[Array, "n h w c"], key: PRNGKeyArray, fire_rate: float = 0.5) -> Float[Array, "n h w c"]:
    n, h, w, c = state.shape
    before = alive(state)
    z: Float[Array, "n h w hidden"] = jax.nn.relu(perceive(state) @ params["w1"] + params["b1"])
    ds: Float[Array, "n h w c"] = z @ params["w2"]
    fire: Bool[Array, "n h w 1"] = random.bernoulli(key, fire_rate, (n, h, w, 1))
    state = state + ds * fire
    return state * (before & alive(state))


def rollout(params: Params, state: Float[Array, "n h w c"], key: PRNGKeyArray, steps: int) -> tuple[Float[Array, "n h w c"], Float[Array, "steps n h w 4"]]:
    def body(s: Float[Array, "n h w c"], k: PRNGKeyArray):
        s = ca_step(params, s, k)
        return s, s[..., :4]

    return lax.scan(body, state, random.split(key, steps))


def to_rgb(rgba: Float[Array, "*frame h w 4"]) -> Float[Array, "*frame h w 3"]:
    rgb, a = rgba[..., :3], jnp.clip(rgba[..., 3:4], 0.0, 1.0)
    return 1.0 - a + rgb


def seed(n: int, h: int, w: int, c: int) -> Float[Array, "n h w c"]:
    return jnp.zeros((n, h, w, c)).at[:, h // 2, w // 2, 3:].set(1.0)


def init_pool(pool: int, h: int, w: int, c: int) -> Pool:
    return Pool(cells=seed(pool, h, w, c), age=jnp.zeros(pool, dtype=jnp.int32))


def damage(key: PRNGKeyArray, state: Float[Array, "n h w c"]) -> Float[Array, "n h w c"]:
    """Erase one random disc per sample."""
    n, h, w, _ = state.shape
    kc, kr = random.split(key)
    centre: Float[Array, "n 2"] = random.uniform(kc, (n, 2), minval=-0.5, maxval=0.5)
    radius: Float[Array, " n"] = random.uniform(kr, (n,), minval=0.1, maxval=0.4)
    ys = jnp.linspace(-1.0, 1.0, h)[None, :, None] - centre[:, 0, None, None]  # [n, h, 1]
    xs = jnp.linspace(-1.0, 1.0, w)[None, None, :] - centre[:, 1, None, None]  # [n, 1, w]
    inside: Bool[Array, "n h w"] = ys**2 + xs**2 < radius[:, None, None] ** 2
    return jnp.where(inside[..., None], 0.0, state)


def per_sample_loss(state: Float[Array, "n h w c"], target: Float[Array, "h w 4"]) -> Float[Array, " n"]:
    return jnp.mean((state[..., :4] - target) ** 2, axis=(1, 2, 3))


def draw_batch(key: PRNGKeyArray, pool: Pool, target: Float[Array, "h w 4"], batch: int) -> tuple[Int[Array, " batch"], Float[Array, "batch h w c"]]:
    idx: Int[Array, " batch"] = random.choice(key, pool.age.shape[0], (batch,), replace=False)
    cells: Float[Array, "batch h w c"] = pool.cells[idx]
    order = jnp.argsort(-per_sample_loss(cells, target))  # [batch]
    idx, cells = idx[order], cells[order]
    fresh = seed(1, *cells.shape[1:])
    return idx, jnp.concatenate([fresh, cells[1:]], axis=0)


def write_back(pool: Pool, idx: Int[Array, " batch"], cells: Float[Array, "batch h w c"], steps: int) -> Pool:
    return Pool(cells=pool.cells.at[idx].set(cells), age=pool.age.at[idx].add(steps).at[idx[0]].set(steps))


def loss_fn(params: Params, x0: Float[Array, "n h w c"], target: Float[Array, "h w 4"], key: PRNGKeyArray, steps: int):
    final, frames = rollout(params, x0, key, steps)
    overflow: Float[Array, " n"] = jnp.abs(final - jnp.clip(final, -2.0, 2.0)).mean(axis=(1, 2, 3))
    drift: Float[Array, "{steps}-1 n"] = jnp.mean(jnp.abs(frames[1:] - frames[:-1]), axis=(2, 3, 4))
    return jnp.mean(per_sample_loss(final, target) + overflow) + 1e-3 * drift.mean(), final


def adam(params: Params, grads: Params, st: AdamState, lr: float = 2e-3) -> tuple[Params, AdamState]:
    count = st.count + 1
    grads = jax.tree.map(lambda g: g / (jnp.linalg.norm(g) + 1e-8), grads)
    mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, st.mu, grads)
    nu = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, st.nu, grads)
    mhat = jax.tree.map(lambda m: m / (1 - 0.9**count), mu)
    params = jax.tree.map(lambda p, m, v: p - lr * m / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8), params, mhat, nu)
    return params, AdamState(mu, nu, count)


def train_step(key: PRNGKeyArray, params: Params, opt: AdamState, pool: Pool, target: Float[Array, "h w 4"], batch: int, steps: int):
    k_draw, k_dmg, k_run = random.split(key, 3)
    idx, x0 = draw_batch(k_draw, pool, target, batch)
    x0: Float[Array, "batch h w c"] = jnp.concatenate([x0[:-1], damage(k_dmg, x0[-1:])], axis=0)
    (loss, final), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, x0, target, k_run, steps)
    params, opt = adam(params, grads, opt)
    return params, opt, write_back(pool, idx, final, steps), loss
