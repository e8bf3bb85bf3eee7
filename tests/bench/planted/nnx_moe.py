"""Sparse mixture-of-experts feed-forward layer with capacity, in flax.nnx.

G = number of tokens (batch * seq), E = experts, C = capacity, D = model width, F = expert hidden width.
"""
import dataclasses
import math

import jax
import jax.numpy as jnp
import optax
from einops import rearrange
from flax import nnx


@dataclasses.dataclass(frozen=True)
class MoEConfig:
    d_model: int
    d_ff: int
    n_experts: int
    top_k: int = 2
    capacity_factor: float = 1.25
    router_noise: float = 0.0

    def capacity(self, n_tokens: int) -> int:
        return max(1, math.ceil(self.capacity_factor * self.top_k * n_tokens / self.n_experts))


def load_balancing_loss(probs, assignment):
    """Switch-transformer auxiliary loss.

    Parameters
    ----------
    probs : (G, E) router probabilities
    assignment : (G, E) one-hot of the first choice

    Returns
    -------
    scalar
    """
    density = assignment.mean(axis=0)  # [E]
    density_proxy = probs.mean(axis=0)  # [E]
    n_experts = probs.shape[-1]
    return n_experts * jnp.sum(density * density_proxy)


def router_z_loss(logits):
    # logits: [G, E]
    lse = jax.nn.logsumexp(logits, axis=-1)  # [G]
    return jnp.mean(lse**2)


class Router(nnx.Module):
    def __init__(self, cfg: MoEConfig, *, rngs: nnx.Rngs):
        self.cfg = cfg
        self.gate = nnx.Linear(cfg.d_model, cfg.n_experts, use_bias=False, rngs=rngs)
        self.rngs = rngs

    def __call__(self, x):
        """Build dispatch and combine tensors.

        Parameters
        ----------
        x : jax.Array, shape (G, D)

        Returns
        -------
        dispatch : jax.Array, shape (G, E, C)
        combine : jax.Array, shape (G, E, C)
        aux : dict of scalars
        """
        cfg = self.cfg
        n_tokens = x.shape[0]
        capacity = cfg.capacity(n_tokens)
        logits = self.gate(x)  # [G, E]
        if cfg.router_noise > 0:
            logits = logits + cfg.router_noise * jax.random.normal(self.rngs.noise(), logits.shape)
        probs = nnx.softmax(logits, axis=-1)  # [G, E]
        top_p, top_idx = jax.lax.top_k(probs, cfg.top_k)  # [G, K], [G, K]
        top_p = top_p / top_p.sum(axis=-1, keepdims=True)
        choice = jax.nn.one_hot(top_idx, cfg.n_experts)  # [G, K, E]

        # first choices of all tokens have priority over second choices
        flat = choice.transpose(1, 0, 2).reshape(-1, cfg.n_experts)  # [K*G, E]
        position = jnp.cumsum(flat, axis=0) - flat  # [K*G, E]
        position = position.reshape(cfg.top_k, n_tokens, cfg.n_experts).transpose(1, 0, 2)  # [G, K, E]
        slot = jnp.sum(position * choice, axis=-1).astype(jnp.int32)  # [G, K]
        keep = slot < capacity  # [G, K]

        slot_oh = jax.nn.one_hot(slot, capacity) * keep[..., None]  # [G, K, C]
        dispatch = jnp.einsum("gke,gkc->gec", choice, slot_oh)
        combine = jnp.einsum("gk,gke,gkc->gec", top_p, choice, slot_oh)  # [G, E, C]
        aux = {
            "balance": load_balancing_loss(probs, choice[:, 0]),
            "z": router_z_loss(logits),
            "dropped": 1.0 - keep.mean(),
        }
        return dispatch, combine, aux


class Experts(nnx.Module):
    """All expert MLPs as stacked weights."""

    def __init__(self, cfg: MoEConfig, *, rngs: nnx.Rngs):
        init = nnx.initializers.lecun_normal(in_axis=-2, out_axis=-1, batch_axis=0)
        e, d, f = cfg.n_experts, cfg.d_model, cfg.d_ff
        self.w_in = nnx.Param(init(rngs.params(), (e, d, f)))  # [E, D, F]
        self.b_in = nnx.Param(jnp.zeros((e, f)))  # [E, F]
        self.w_out = nnx.Param(init(rngs.params(), (e, f, d)))  # [E, F, D]

    def __call__(self, x):
        # x: [E, C, D]
        h = jnp.einsum("ecd,edf->ecf", x, self.w_in[...])  # [E, C, F]
        h = nnx.gelu(h + self.b_in[...][:, None, :])
        return jnp.einsum("ecf,efd->ecd", h, self.w_out[...])


class MoELayer(nnx.Module):
    def __init__(self, cfg: MoEConfig, *, rngs: nnx.Rngs):
        self.router = Router(cfg, rngs=rngs)
        self.experts = Experts(cfg, rngs=rngs)

    def __call__(self, x):
        """Apply to x of shape (batch, seq, d_model); returns (same shape, aux dict)."""
        batch, seq, _ = x.shape
        tokens = rearrange(x, "b s d -> (b s) d")  # [G, D]
        dispatch, combine, aux = self.router(tokens)
        expert_in = jnp.einsum("gec,gd->ecd", dispatch, tokens)  # [E, C, D]
        expert_out = self.experts(expert_in)  # [E, C, D]
        out = jnp.einsum("gec,ecd->gd", combine, expert_out)  # [G, D]
        return out.reshape(batch, seq, -1), aux


class MoEBlock(nnx.Module):
    def __init__(self, cfg: MoEConfig, *, rngs: nnx.Rngs):
        self.norm = nnx.LayerNorm(cfg.d_model, rngs=rngs)
        self.moe = MoELayer(cfg, rngs=rngs)

    def __call__(self, x):
        y, aux = self.moe(self.norm(x))
        return x + y, aux


class MoEModel(nnx.Module):
    def __init__(self, cfg: MoEConfig, n_layers: int, n_out: int, *, rngs: nnx.Rngs):
        self.blocks = nnx.List([MoEBlock(cfg, rngs=rngs) for _ in range(n_layers)])
        self.head = nnx.Linear(cfg.d_model, n_out, rngs=rngs)

    def __call__(self, x):
        auxes = []
        for block in self.blocks:
            x, aux = block(x)
            auxes.append(aux)
        aux = jax.tree.map(lambda *a: jnp.stack(a).mean(), *auxes)
        return self.head(x.mean(axis=1)), aux  # (batch, n_out)


def loss_fn(model, x, y, balance_coef=1e-2, z_coef=1e-3):
    preds, aux = model(x)
    mse = jnp.square(preds - y).sum(axis=-1)  # (batch,)
    return mse.mean() + balance_coef * aux["balance"] + z_coef * aux["z"]


@nnx.jit
def train_step(model, opt, x, y):
    loss, grads = nnx.value_and_grad(loss_fn)(model, x, y)
    opt.update(model, grads)
    return loss


if __name__ == "__main__":
    cfg = MoEConfig(d_model=8, d_ff=12, n_experts=4)
    model = MoEModel(cfg, 2, 3, rngs=nnx.Rngs(0, noise=1))
    opt = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    x = jax.random.normal(jax.random.key(0), (2, 5, 8))
    print(train_step(model, opt, x, jnp.zeros((2, 3))))
