"""Simplified state space layer (S5): diagonal complex recurrence, parallel scan."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Complex, Float, PRNGKeyArray


def binop(left, right):
    a_l, b_l = left
    a_r, b_r = right
    return a_r * a_l, a_r * b_l + b_r


class S5(eqx.Module):
    log_real: Float[Array, " P"]
    imag: Float[Array, " P"]
    B: Float[Array, "P H 2"]
    C: Float[Array, "H P 2"]
    D: Float[Array, " H"]
    log_step: Float[Array, " P"]

    def __init__(self, H: int, P: int, *, key: PRNGKeyArray):
        kb, kc, kd, ks = jr.split(key, 4)
        self.log_real = jnp.full((P,), jnp.log(0.5))
        self.imag = jnp.pi * jnp.arange(P, dtype=jnp.float32)
        self.B = jr.normal(kb, (P, H, 2)) / jnp.sqrt(2 * H)
        self.C = jr.normal(kc, (H, P, 2)) / jnp.sqrt(2 * P)
        self.D = jr.normal(kd, (H,))
        self.log_step = jr.uniform(ks, (P,), minval=jnp.log(1e-3), maxval=jnp.log(1e-1))

    def discretise(self) -> tuple[Complex[Array, " P"], Complex[Array, "P H"]]:
        lam = -jnp.exp(self.log_real) + 1j * self.imag  # [P]
        step = jnp.exp(self.log_step)
        lam_bar = jnp.exp(lam * step)  # [P]
        B = self.B[..., 0] + 1j * self.B[..., 1]  # [P, H]
        B_bar = ((lam_bar - 1.0) / lam)[:, None] * B  # [P, H]
        return lam_bar, B_bar

    def __call__(self, u: Float[Array, "L H"]) -> Float[Array, "L H"]:
        lam_bar, B_bar = self.discretise()
        Bu = jnp.einsum("ph,lh->lp", B_bar, u)  # [L, P]
        lams = jnp.broadcast_to(lam_bar, (u.shape[0], lam_bar.shape[0]))  # [L, P]
        _, xs = jax.lax.associative_scan(binop, (lams, Bu))
        C = self.C[..., 0] + 1j * self.C[..., 1]  # [H, P]
        ys = 2.0 * (xs @ C.T).real  # [L, H]
        return ys + self.D * u

    def step(self, x: Complex[Array, " P"], u: Float[Array, " H"]) -> tuple[Complex[Array, " P"], Float[Array, " H"]]:
        # recurrent (online) form of __call__
        lam_bar, B_bar = self.discretise()
        x = lam_bar * x + B_bar @ u  # [P]
        C = self.C[..., 0] + 1j * self.C[..., 1]
        y = 2.0 * (C @ x).real + self.D * u  # [H]
        return x, y


class SequenceClassifier(eqx.Module):
    embed: eqx.nn.Linear
    layers: list[S5]
    norms: list[eqx.nn.LayerNorm]
    gates: list[eqx.nn.Linear]
    head: eqx.nn.Linear

    def __init__(self, d_in: int, H: int, P: int, n_classes: int, depth: int, *, key: PRNGKeyArray):
        ke, kh, *ks = jr.split(key, 2 + 2 * depth)
        self.embed = eqx.nn.Linear(d_in, H, key=ke)
        self.layers = [S5(H, P, key=k) for k in ks[:depth]]
        self.norms = [eqx.nn.LayerNorm(H) for _ in range(depth)]
        self.gates = [eqx.nn.Linear(H, H, key=k) for k in ks[depth:]]
        self.head = eqx.nn.Linear(H, n_classes, key=kh)

    def __call__(self, seq: Float[Array, "L d_in"]) -> Float[Array, " n_classes"]:
        h = jax.vmap(self.embed)(seq)  # [L, H]
        for layer, norm, gate in zip(self.layers, self.norms, self.gates):
            y = jax.nn.gelu(layer(jax.vmap(norm)(h)))  # [L, H]
            h = h + y * jax.nn.sigmoid(jax.vmap(gate)(y))
        pooled: Float[Array, " H"] = h.mean(axis=0)
        return self.head(pooled)


def accuracy(model: SequenceClassifier, seqs: Float[Array, "B L d_in"], onehot: Float[Array, "B n_classes"]) -> Float[Array, ""]:
    logits = jax.vmap(model)(seqs)  # [B, n_classes]
    hit = logits.argmax(-1) == onehot.argmax(-1)  # [B]
    return hit.mean()
