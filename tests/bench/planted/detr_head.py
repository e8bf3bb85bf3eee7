"""Set prediction head: object queries, boxes and classes, with soft matching."""
from typing import NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp

BIG = 1e4


class HeadConfig(NamedTuple):
    num_queries: int = 50
    num_classes: int = 20
    d_model: int = 64
    num_heads: int = 4
    ffn: int = 128
    num_layers: int = 2


class Predictions(NamedTuple):
    logits: jax.Array  # [b, n, k+1]
    boxes: jax.Array   # [b, n, 4]


class Targets(NamedTuple):
    labels: jax.Array  # [b, m]
    boxes: jax.Array   # [b, m, 4]
    valid: jax.Array   # [b, m]


def mlp(x, hidden, out, name):
    h = jax.nn.relu(hk.Linear(hidden, name=name + "_in")(x))
    return hk.Linear(out, name=name + "_out")(h)


def decoder_layer(queries, memory, cfg, name):
    """Self attention, attention to the image, feed forward.

    queries: [b, n, d]
    memory: [b, s, d]
    returns: [b, n, d]
    """
    key_size = cfg.d_model // cfg.num_heads
    init = hk.initializers.VarianceScaling(1.0)

    def norm(x):
        return hk.LayerNorm(axis=-1, create_scale=True, create_offset=True)(x)

    self_attn = hk.MultiHeadAttention(cfg.num_heads, key_size, w_init=init, name=name + "_self")
    cross_attn = hk.MultiHeadAttention(cfg.num_heads, key_size, w_init=init, name=name + "_cross")
    q = norm(queries)                                      # [b, n, d]
    queries = queries + self_attn(q, q, q)                 # [b, n, d]
    q = norm(queries)
    queries = queries + cross_attn(q, memory, memory)      # [b, n, d]
    h = mlp(norm(queries), cfg.ffn, cfg.d_model, name + "_ffn")
    return queries + h


def head(features, cfg):
    """features: [b, s, c] flattened feature map of the backbone."""
    b = features.shape[0]
    memory = hk.Linear(cfg.d_model, name="proj")(features)                        # [b, s, d]
    embed = hk.get_parameter("queries", (cfg.num_queries, cfg.d_model),
                             init=hk.initializers.RandomNormal())                 # [n, d]
    queries = jnp.broadcast_to(embed[None], (b,) + embed.shape)                   # [b, n, d]
    for i in range(cfg.num_layers):
        queries = decoder_layer(queries, memory, cfg, f"layer{i}")
    logits = hk.Linear(cfg.num_classes + 1, name="cls")(queries)                  # [b, n, k+1]
    boxes = jax.nn.sigmoid(mlp(queries, cfg.d_model, 4, "box"))                   # [b, n, 4]
    return Predictions(logits, boxes)


def to_corners(boxes):
    # boxes: [..., 4] as centre and extent
    centre, extent = jnp.split(boxes, 2, axis=-1)   # each [..., 2]
    return jnp.concatenate([centre - extent / 2, centre + extent / 2], axis=-1)   # [..., 4]


def pairwise_iou(a, b):
    """a: [p, 4], returns overlap with each of b."""
    a, b = to_corners(a), to_corners(b)
    lo = jnp.maximum(a[:, None, :2], b[None, :, :2])                 # [p, g, 2]
    hi = jnp.minimum(a[:, None, 2:], b[None, :, 2:])                 # [p, g, 2]
    inter = jnp.prod(jnp.clip(hi - lo, 0.0), axis=-1)                # [p, g]
    area_a = jnp.prod(a[:, 2:] - a[:, :2], axis=-1)                  # [p]
    area_b = jnp.prod(b[:, 2:] - b[:, :2], axis=-1)                  # [g]
    union = area_a[:, None] + area_b[None, :] - inter                # [p, g]
    return inter / (union + 1e-6)


def matching_cost(pred, tgt):
    probs = jax.nn.softmax(pred.logits)                                            # [b, n, k+1]
    cls = -jnp.take_along_axis(probs, tgt.labels[:, None, :], axis=-1)             # [b, n, m]
    l1 = jnp.abs(pred.boxes[:, :, None] - tgt.boxes[:, None]).sum(-1)              # [b, n, m]
    iou = jax.vmap(pairwise_iou)(pred.boxes, tgt.boxes)                            # [b, n, m]
    cost = cls + 5.0 * l1 - 2.0 * iou                                              # [b, n, m]
    return jnp.where(tgt.valid[:, None, :], cost, BIG)


def sinkhorn(cost, col_mass, eps=0.1, iters=50):
    """Transport plan whose rows sum to one, and columns to `col_mass`.

    cost: [n, m]
    col_mass: [m]
    returns: [n, m]
    """
    log_k = -cost / eps                                              # [n, m]
    log_b = jnp.log(jnp.maximum(col_mass, 1e-9))                     # [m]

    def body(carry, _):
        u, v = carry                                                 # [n], [m]
        u = -jax.nn.logsumexp(log_k + v[None, :], axis=1)            # [n]
        v = log_b - jax.nn.logsumexp(log_k + u[:, None], axis=0)     # [m]
        return (u, v), None

    n, m = cost.shape
    (u, v), _ = jax.lax.scan(body, (jnp.zeros(n), jnp.zeros(m)), None, length=iters)
    return jnp.exp(u[:, None] + log_k + v[None, :])


def soft_match(pred, tgt):
    """Plan between queries and targets, the last column for the unmatched.

    returns: [b, n, m+1]
    """
    cost = matching_cost(pred, tgt)
    b, n, m = cost.shape
    none = jnp.zeros((b, n, 1))                                            # [b, n, 1]
    full = jnp.concatenate([cost, none], axis=-1)                          # [b, n, m+1]
    count = tgt.valid.sum(axis=1, keepdims=True)                           # [b, 1]
    mass = jnp.concatenate([tgt.valid, n - count], axis=1)                 # [b, m+1]
    return jax.lax.stop_gradient(jax.vmap(sinkhorn)(full, mass.astype(float)))


def set_loss(pred, tgt):
    plan = soft_match(pred, tgt)                                           # [b, n, m+1]
    b, n, width = pred.logits.shape
    none = jnp.full((b, 1), width - 1)                                     # [b, 1]
    labels = jnp.concatenate([tgt.labels, none], axis=1)                   # [b, m+1]
    logp = jax.nn.log_softmax(pred.logits)                                 # [b, n, k+1]
    nll = -jnp.einsum("bnk,bmk->bnm", logp, jax.nn.one_hot(labels, width))      # [b, n, m+1]
    cls = (plan * nll).sum((1, 2)) / n                                     # [b]
    l1 = jnp.abs(pred.boxes[:, :, None] - tgt.boxes[:, None]).sum(-1)      # [b, n, m]
    box = (plan[..., :-1] * l1).sum((1, 2)) / jnp.maximum(tgt.valid.sum(1), 1)  # [b]
    return (cls + 5.0 * box).mean()


def make_model(cfg):
    return hk.without_apply_rng(hk.transform(lambda features: head(features, cfg)))


def make_update(model, tx):
    def loss_fn(params, features, tgt):
        return set_loss(model.apply(params, features), tgt)

    def update(params, opt_state, features, tgt):
        loss, grads = jax.value_and_grad(loss_fn)(params, features, tgt)
        deltas, opt_state = tx.update(grads, opt_state)
        params = jax.tree_util.tree_map(jnp.add, params, deltas)
        return params, opt_state, loss

    return jax.jit(update)
