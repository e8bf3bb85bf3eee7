"""Tensor-train linear layers and a matrix-product-state classifier, as plain functions over PyTrees."""

from typing import NamedTuple, Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree


class TTLinear(NamedTuple):
    """Three-core TT-matrix: (m1*m2*m3) -> (n1*n2*n3)."""

    g1: Float[Array, "m1 n1 r1"]
    g2: Float[Array, "r1 m2 n2 r2"]
    g3: Float[Array, "r2 m3 n3"]
    bias: Float[Array, " n1*n2*n3"]


class MPS(NamedTuple):
    left: Float[Array, "phys bond"]
    cores: Float[Array, "mid bond phys bond"]
    label: Float[Array, "bond classes bond"]
    right: Float[Array, "bond phys"]


class Model(NamedTuple):
    tt: TTLinear
    mps: MPS


def init_tt(key: PRNGKeyArray, ms: Sequence[int], ns: Sequence[int], ranks: Sequence[int]) -> TTLinear:
    (m1, m2, m3), (n1, n2, n3), (r1, r2) = ms, ns, ranks
    k1, k2, k3 = jax.random.split(key, 3)
    std = (1.0 / (m1 * m2 * m3 * r1 * r2)) ** (1 / 6)
    return TTLinear(
        g1=std * jax.random.normal(k1, (m1, n1, r1)),
        g2=std * jax.random.normal(k2, (r1, m2, n2, r2)),
        g3=std * jax.random.normal(k3, (r2, m3, n3)),
        bias=jnp.zeros(n1 * n2 * n3),
    )


def tt_apply(
    g1: Float[Array, "m1 n1 r1"],
    g2: Float[Array, "r1 m2 n2 r2"],
    g3: Float[Array, "r2 m3 n3"],
    bias: Float[Array, " n1*n2*n3"],
    x: Float[Array, "b m1*m2*m3"],
) -> Float[Array, "b n1*n2*n3"]:
    b = x.shape[0]
    m1, m2, m3 = g1.shape[0], g2.shape[1], g3.shape[1]
    t: Float[Array, "b m1 m2 m3"] = x.reshape(b, m1, m2, m3)
    t: Float[Array, "b m2 m3 n1 r1"] = jnp.einsum("bijk,ipr->bjkpr", t, g1)
    t: Float[Array, "b m3 n1 n2 r2"] = jnp.einsum("bjkpr,rjqs->bkpqs", t, g2)
    t: Float[Array, "b n1 n2 n3"] = jnp.einsum("bkpqs,skl->bpql", t, g3)
    return t.reshape(b, -1) + bias


def tt_to_dense(
    g1: Float[Array, "m1 n1 r1"], g2: Float[Array, "r1 m2 n2 r2"], g3: Float[Array, "r2 m3 n3"]
) -> Float[Array, "m1*m2*m3 n1*n2*n3"]:
    full: Float[Array, "m1 m2 m3 n1 n2 n3"] = jnp.einsum("ipr,rjqs,skl->ijkpql", g1, g2, g3)
    m = full.shape[0] * full.shape[1] * full.shape[2]
    return full.reshape(m, -1)


def tt_svd(
    w: Float[Array, "a b c"], r1: int, r2: int
) -> tuple[Float[Array, "a r1"], Float[Array, "r1 b r2"], Float[Array, "r2 c"]]:
    """Truncated TT decomposition of a 3-way tensor."""
    a, b, c = w.shape
    u, s, vt = jnp.linalg.svd(w.reshape(a, b * c), full_matrices=False)
    first = u[:, :r1]
    rest = s[:r1, None] * vt[:r1]
    u, s, vt = jnp.linalg.svd(rest.reshape(r1 * b, c), full_matrices=False)
    second: Float[Array, "r1 b r2"] = u[:, :r2].reshape(r1, b, r2)
    third = s[:r2, None] * vt[:r2]
    return first, second, third


def init_mps(key: PRNGKeyArray, sites: int, phys: int, bond: int, classes: int) -> MPS:
    kl, kc, kk, kr = jax.random.split(key, 4)
    eye = jnp.eye(bond)
    noise: Float[Array, "sites-2 bond phys bond"] = 0.05 * jax.random.normal(kc, (sites - 2, bond, phys, bond))
    return MPS(
        left=jax.random.normal(kl, (phys, bond)) / jnp.sqrt(bond),
        cores=eye[None, :, None, :] / jnp.sqrt(phys) + noise,
        label=eye[:, None, :] + 0.1 * jax.random.normal(kk, (bond, classes, bond)),
        right=jax.random.normal(kr, (bond, phys)) / jnp.sqrt(bond),
    )


def feature_map(x: Float[Array, "*lead sites"], phys: int) -> Float[Array, "*lead sites phys"]:
    k = jnp.arange(phys)
    return jnp.cos(0.5 * jnp.pi * k * jax.nn.sigmoid(x)[..., None])


def sweep(v0: Float[Array, " bond"], mats: Float[Array, "mid bond bond"]) -> tuple[Float[Array, " bond"], Float[Array, ""]]:
    """Contract from one end, renormalizing at every site."""

    def body(carry, mat: Float[Array, "bond bond"]):
        v, log_norm = carry
        v: Float[Array, " bond"] = v @ mat
        z = jnp.linalg.norm(v) + 1e-12
        return (v / z, log_norm + jnp.log(z)), None

    (v, log_norm), _ = lax.scan(body, (v0, jnp.zeros(())), mats)
    return v, log_norm


def mps_logits(mps: MPS, phi: Float[Array, "sites phys"]) -> Float[Array, " classes"]:
    inner = phi[1:-1]
    mats: Float[Array, "mid bond bond"] = jnp.einsum("sapb,sp->sab", mps.cores, inner)
    half = mats.shape[0] // 2
    lv, _ = sweep(phi[0] @ mps.left, mats[:half])
    rv, _ = sweep(mps.right @ phi[-1], jnp.swapaxes(mats[half:], 1, 2)[::-1])
    return jnp.einsum("a,acb,b->c", lv, mps.label, rv)


def forward(model: Model, x: Float[Array, "b feat"]) -> Float[Array, "b classes"]:
    h = tt_apply(*model.tt, x)
    phi: Float[Array, "b sites phys"] = feature_map(h, model.mps.left.shape[0])
    return jax.vmap(mps_logits, in_axes=(None, 0))(model.mps, phi)


def cross_entropy(model: Model, x: Float[Array, "b feat"], y: Int[Array, " b"]) -> Float[Array, ""]:
    logp: Float[Array, "b classes"] = jax.nn.log_softmax(forward(model, x), axis=-1)
    picked = jnp.take_along_axis(logp, y[:, None], axis=1)
    return -picked.mean()


def bond_entropy(mps: MPS) -> Float[Array, " mid"]:
    mid, bond, phys, _ = mps.cores.shape
    s = jnp.linalg.svd(mps.cores.reshape(mid, bond * phys, bond), compute_uv=False)
    p = s**2 / jnp.sum(s**2, axis=1, keepdims=True)
    return -jnp.sum(p * jnp.log(p + 1e-12), axis=1)


def n_params(model: PyTree[Float[Array, "..."]]) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(model))


@jax.jit
def sgd_step(model: Model, x: Float[Array, "b feat"], y: Int[Array, " b"], lr: float = 0.01):
    loss, grads = jax.value_and_grad(cross_entropy)(model, x, y)
    return jax.tree.map(lambda p, g: p - lr * g, model, grads), loss
