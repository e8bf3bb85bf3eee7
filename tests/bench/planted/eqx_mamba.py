"""Selective state space model (Mamba-like), minimal Equinox version."""
import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from einops import einsum, rearrange
from jaxtyping import Array, Float, Int


@dataclasses.dataclass(frozen=True)
class MambaArgs:
    d_model: int
    n_layer: int
    vocab_size: int
    d_state: int = 16
    expand: int = 2
    d_conv: int = 4
    dt_rank: int = 0

    @property
    def d_inner(self) -> int:
        return self.expand * self.d_model

    @property
    def rank(self) -> int:
        return self.dt_rank or math.ceil(self.d_model / 16)


def selective_scan(
    u: Float[Array, "L D"],
    delta: Float[Array, "L D"],
    A: Float[Array, "D N"],
    B: Float[Array, "L N"],
    C: Float[Array, "L N"],
    D: Float[Array, " D"],
) -> Float[Array, "L D"]:
    """Sequential selective scan; see section 3.2 of the paper."""
    delta_a: Float[Array, "L D N"] = jnp.exp(einsum(delta, A, "l d, d n -> l d n"))
    delta_bu: Float[Array, "L D N"] = einsum(delta, B, u, "l d, l n, l d -> l d n")

    def step(h: Float[Array, "D N"], inp):
        da, dbu, c = inp
        h = da * h + dbu
        return h, h @ c

    h0 = jnp.zeros(A.shape)
    _, ys = jax.lax.scan(step, h0, (delta_a, delta_bu, C))
    return ys + u * D


def selective_scan_parallel(u, delta, A, B, C, D) -> Float[Array, "L D"]:
    """The same with an associative scan over time."""
    a = jnp.exp(delta[:, :, None] * A)
    b = (delta * u)[:, :, None] * B[:, None, :]

    def combine(left, right):
        a_l, b_l = left
        a_r, b_r = right
        return a_l * a_r, a_r * b_l + b_r

    _, hs = jax.lax.associative_scan(combine, (a, b))
    return jnp.einsum("ldn,ln->ld", hs, C) + u * D


class CausalConv(eqx.Module):
    weight: Float[Array, "d_conv d_inner"]
    bias: Float[Array, " d_inner"]

    def __init__(self, width: int, channels: int, *, key):
        self.weight = jax.random.normal(key, (width, channels)) / math.sqrt(width)
        self.bias = jnp.zeros((channels,))

    def __call__(self, x: Float[Array, "L d_inner"]) -> Float[Array, "L d_inner"]:
        width = self.weight.shape[0]
        padded = jnp.pad(x, ((width - 1, 0), (0, 0)))
        idx = jnp.arange(x.shape[0])[:, None] + jnp.arange(width)[None, :]
        windows: Float[Array, "L d_conv d_inner"] = padded[idx]
        return jnp.einsum("lkc,kc->lc", windows, self.weight) + self.bias


class MambaBlock(eqx.Module):
    in_proj: eqx.nn.Linear
    conv: CausalConv
    x_proj: eqx.nn.Linear
    dt_proj: eqx.nn.Linear
    out_proj: eqx.nn.Linear
    A_log: Float[Array, "d_inner d_state"]
    D: Float[Array, " d_inner"]
    args: MambaArgs = eqx.field(static=True)

    def __init__(self, args: MambaArgs, *, key):
        k1, k2, k3, k4, k5 = jax.random.split(key, 5)
        self.in_proj = eqx.nn.Linear(args.d_model, 2 * args.d_inner, use_bias=False, key=k1)
        self.conv = CausalConv(args.d_conv, args.d_inner, key=k2)
        self.x_proj = eqx.nn.Linear(args.d_inner, args.rank + 2 * args.d_state, use_bias=False, key=k3)
        self.dt_proj = eqx.nn.Linear(args.rank, args.d_inner, key=k4)
        self.out_proj = eqx.nn.Linear(args.d_inner, args.d_model, use_bias=False, key=k5)
        self.A_log = jnp.log(jnp.tile(jnp.arange(1.0, args.d_state + 1), (args.d_inner, 1)))
        self.D = jnp.ones((args.d_inner,))
        self.args = args

    def ssm(self, x: Float[Array, "L d_inner"], parallel: bool = False) -> Float[Array, "L d_inner"]:
        n, r = self.args.d_state, self.args.rank
        dbc = jax.vmap(self.x_proj)(x)
        dt, B, C = jnp.split(dbc, [r, r + n], axis=-1)
        delta: Float[Array, "L d_inner"] = jax.nn.softplus(jax.vmap(self.dt_proj)(dt))
        A = -jnp.exp(self.A_log)
        scan = selective_scan_parallel if parallel else selective_scan
        return scan(x, delta, A, B, C, self.D)

    def __call__(self, x: Float[Array, "L d_model"]) -> Float[Array, "L d_model"]:
        xz = jax.vmap(self.in_proj)(x)
        h, gate = jnp.split(xz, 2, axis=-1)
        h = jax.nn.silu(self.conv(h))
        y = self.ssm(h) * jax.nn.silu(gate)
        return jax.vmap(self.out_proj)(y)


class Mamba(eqx.Module):
    embedding: Float[Array, "vocab d_model"]
    layers: tuple[MambaBlock, ...]
    norms: tuple[eqx.nn.RMSNorm, ...]
    norm_f: eqx.nn.RMSNorm

    def __init__(self, args: MambaArgs, *, key):
        k_emb, *keys = jax.random.split(key, args.n_layer + 1)
        self.embedding = 0.02 * jax.random.normal(k_emb, (args.vocab_size, args.d_model))
        self.layers = tuple(MambaBlock(args, key=k) for k in keys)
        self.norms = tuple(eqx.nn.RMSNorm(args.d_model) for _ in keys)
        self.norm_f = eqx.nn.RMSNorm(args.d_model)

    def __call__(self, ids: Int[Array, " L"]) -> Float[Array, "L vocab"]:
        x: Float[Array, "L d_model"] = self.embedding[ids]
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(jax.vmap(norm)(x))
        x = jax.vmap(self.norm_f)(x)
        return x @ self.embedding.T


def next_token_loss(model: Mamba, ids: Int[Array, "batch L"]) -> Float[Array, ""]:
    logits: Float[Array, "batch L-1 vocab"] = jax.vmap(model)(ids[:, :-1])
    logp = jax.nn.log_softmax(logits)
    nll = -jnp.take_along_axis(logp, ids[:, 1:, None], axis=-1)
    return nll.mean()


def heads_view(y: Float[Array, "L d_inner"], n_heads: int) -> Float[Array, "n_heads L d_head"]:
    """Split channels into heads, used by the visualisation notebook."""
    return rearrange(y, "l (h d) -> h l d", h=n_heads)
