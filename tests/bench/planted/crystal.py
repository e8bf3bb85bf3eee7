"""Crystal graph network with bond and bond-angle features (line-graph convolutions)."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray


class CrystalBatch(NamedTuple):
    frac: Float[Array, "atoms 3"]
    lattice: Float[Array, "graphs 3 3"]
    species: Int[Array, " atoms"]
    graph_id: Int[Array, " atoms"]
    src: Int[Array, " edges"]
    dst: Int[Array, " edges"]
    image: Float[Array, "edges 3"]
    tri_in: Int[Array, " tris"]
    tri_out: Int[Array, " tris"]
    energy: Float[Array, " graphs"]


def edge_vectors(batch: CrystalBatch) -> Float[Array, "edges 3"]:
    """Cartesian displacement src -> dst, through the periodic image."""
    d_frac: Float[Array, "edges 3"] = batch.frac[batch.dst] + batch.image - batch.frac[batch.src]
    cell: Float[Array, "edges 3 3"] = batch.lattice[batch.graph_id[batch.src]]
    return jnp.einsum("ei,eij->ej", d_frac, cell)


def bond_angles(vec: Float[Array, "edges 3"], tri_in: Int[Array, " tris"], tri_out: Int[Array, " tris"]) -> Float[Array, " tris"]:
    a = -vec[tri_in]
    b = vec[tri_out]
    norms = jnp.linalg.norm(a, axis=1) * jnp.linalg.norm(b, axis=1)
    return jnp.sum(a * b, axis=1) / (norms + 1e-8)


class RadialBasis(eqx.Module):
    centers: Float[Array, " rbf"]
    gamma: float = eqx.field(static=True)

    def __init__(self, low: float, high: float, rbf: int):
        self.centers = jnp.linspace(low, high, rbf)
        self.gamma = 1.0 / (high - low) * rbf

    def __call__(self, x: Float[Array, " m"]) -> Float[Array, "m rbf"]:
        diff: Float[Array, "m rbf"] = x[:, None] - jax.lax.stop_gradient(self.centers)[None, :]
        return jnp.exp(-self.gamma * diff**2)


class GatedConv(eqx.Module):
    """Gated aggregation of neighbours, used for both the crystal graph and its line graph."""

    w_src: Float[Array, "dn hid"]
    w_dst: Float[Array, "dn hid"]
    w_edge: Float[Array, "de hid"]
    w_val: Float[Array, "dn dn"]
    gate: Float[Array, "hid dn"]
    edge_out: Float[Array, "hid de"]

    def __init__(self, dn: int, de: int, hid: int, *, key: PRNGKeyArray):
        ks = jr.split(key, 6)
        self.w_src = jr.normal(ks[0], (dn, hid)) / jnp.sqrt(dn)
        self.w_dst = jr.normal(ks[1], (dn, hid)) / jnp.sqrt(dn)
        self.w_edge = jr.normal(ks[2], (de, hid)) / jnp.sqrt(de)
        self.w_val = jr.normal(ks[3], (dn, dn)) / jnp.sqrt(dn)
        self.gate = jr.normal(ks[4], (hid, dn)) / jnp.sqrt(hid)
        self.edge_out = jr.normal(ks[5], (hid, de)) / jnp.sqrt(hid)

    def __call__(
        self,
        node: Float[Array, "n dn"],
        edge: Float[Array, "e de"],
        src: Int[Array, " e"],
        dst: Int[Array, " e"],
    ) -> tuple[Float[Array, "n dn"], Float[Array, "e de"]]:
        n = node.shape[0]
        m: Float[Array, "e hid"] = jax.nn.silu((node @ self.w_src)[src] + (node @ self.w_dst)[dst] + edge @ self.w_edge)
        g = jax.nn.sigmoid(m @ self.gate)
        num: Float[Array, "n dn"] = jax.ops.segment_sum(g * (node @ self.w_val)[src], dst, num_segments=n)
        den: Float[Array, "n dn"] = jax.ops.segment_sum(g, dst, num_segments=n)
        return node + num / (den + 1e-6), edge + m @ self.edge_out


class CrystalNet(eqx.Module):
    embed: Float[Array, "species dn"]
    rbf: RadialBasis
    abf: RadialBasis
    edge_in: eqx.nn.Linear
    angle_in: eqx.nn.Linear
    line_convs: list[GatedConv]
    atom_convs: list[GatedConv]
    readout: eqx.nn.MLP

    def __init__(self, species, dn, de, da, hid, rbf, abf, depth, *, cutoff: float = 6.0, key: PRNGKeyArray):
        ks = jr.split(key, 6)
        self.embed = jr.normal(ks[0], (species, dn))
        self.rbf = RadialBasis(0.0, cutoff, rbf)
        self.abf = RadialBasis(-1.0, 1.0, abf)
        self.edge_in = eqx.nn.Linear(rbf, de, key=ks[1])
        self.angle_in = eqx.nn.Linear(abf, da, key=ks[2])
        self.line_convs = [GatedConv(de, da, hid, key=k) for k in jr.split(ks[3], depth)]
        self.atom_convs = [GatedConv(dn, de, hid, key=k) for k in jr.split(ks[4], depth)]
        self.readout = eqx.nn.MLP(dn, "scalar", hid, depth=1, activation=jax.nn.silu, key=ks[5])

    def __call__(self, batch: CrystalBatch) -> Float[Array, " graphs"]:
        vec: Float[Array, "edges 3"] = edge_vectors(batch)
        length: Float[Array, " edges"] = jnp.sqrt(jnp.sum(vec**2, axis=-1) + 1e-8)
        cosine: Float[Array, " tris"] = bond_angles(vec, batch.tri_in, batch.tri_out)

        node = self.embed[batch.species]
        edge: Float[Array, "edges de"] = jax.vmap(self.edge_in)(self.rbf(length))
        angle = jax.vmap(self.angle_in)(self.abf(cosine))
        for line, atom in zip(self.line_convs, self.atom_convs):
            edge, angle = line(edge, angle, batch.tri_in, batch.tri_out)
            node, edge = atom(node, edge, batch.src, batch.dst)

        graphs = batch.lattice.shape[0]
        per_atom: Float[Array, " atoms"] = jax.vmap(self.readout)(node)
        total: Float[Array, " graphs"] = jax.ops.segment_sum(per_atom, batch.graph_id, num_segments=graphs)
        counts = jax.ops.segment_sum(jnp.ones_like(per_atom), batch.graph_id, num_segments=graphs)
        return total / jnp.maximum(counts, 1.0)


def stress_and_energy(model: CrystalNet, batch: CrystalBatch) -> tuple[Float[Array, " graphs"], Float[Array, "graphs 3 3"]]:
    def strained(strain: Float[Array, "graphs 3 3"]):
        deform = jnp.eye(3) + 0.5 * (strain + strain.swapaxes(1, 2))
        lattice: Float[Array, "graphs 3 3"] = jnp.einsum("gij,gjk->gik", batch.lattice, deform)
        e = model(batch._replace(lattice=lattice))
        return e.sum(), e

    grads, energy = jax.grad(strained, has_aux=True)(jnp.zeros_like(batch.lattice))
    volume: Float[Array, " graphs"] = jnp.abs(jnp.linalg.det(batch.lattice))
    return energy, grads / volume[:, None, None]


def loss_fn(model: CrystalNet, batch: CrystalBatch) -> Float[Array, ""]:
    err: Float[Array, " graphs"] = model(batch) - batch.energy
    return jnp.mean(jnp.abs(err))


@eqx.filter_jit
def step(model: CrystalNet, opt_state, batch: CrystalBatch, optim: optax.GradientTransformation):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, batch)
    updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
    return eqx.apply_updates(model, updates), opt_state, loss
