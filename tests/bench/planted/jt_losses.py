"""A small library of losses and metrics.

All functions take batches on the leading axis.  Shapes follow jaxtyping's conventions;
where a function also accepts unbatched input this is written with ``*batch``.
"""
from __future__ import annotations

from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

Reduction = Literal["none", "mean", "sum"]


def _reduce(x: Array, reduction: Reduction) -> Array:
    if reduction == "mean":
        return jnp.mean(x)
    if reduction == "sum":
        return jnp.sum(x)
    return x


def l2_normalize(x: Float[Array, "*batch d"], eps: float = 1e-8) -> Float[Array, "*batch d"]:
    norm = jnp.sqrt(jnp.sum(x**2, axis=-1, keepdims=True) + eps)
    return x / norm


def softmax_cross_entropy(
    logits: Float[Array, "*batch classes"],
    labels: Int[Array, "*batch"],
    label_smoothing: float = 0.0,
) -> Float[Array, "*batch"]:
    num_classes = logits.shape[-1]
    targets: Float[Array, "*batch classes"] = jax.nn.one_hot(labels, num_classes)
    if label_smoothing > 0:
        targets = targets * (1 - label_smoothing) + label_smoothing / num_classes
    logp = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.sum(targets * logp, axis=-1)


def masked_sequence_loss(
    logits: Float[Array, "batch time vocab"],
    targets: Int[Array, "batch time"],
    lengths: Int[Array, " batch"],
) -> Float[Array, " batch"]:
    """Mean token cross entropy of each sequence, padding excluded."""
    per_token: Float[Array, "batch time"] = softmax_cross_entropy(logits, targets)
    steps = jnp.arange(logits.shape[1])
    mask: Bool[Array, "batch time"] = steps[None, :] < lengths[:, None]
    total = jnp.sum(jnp.where(mask, per_token, 0.0), axis=1)
    return total / jnp.maximum(lengths, 1)


def focal_loss(
    logits: Float[Array, "batch classes"],
    labels: Int[Array, " batch"],
    gamma: float = 2.0,
    class_weights: Float[Array, " classes"] | None = None,
) -> Float[Array, " batch"]:
    logp = jax.nn.log_softmax(logits)
    idx = labels[:, None]
    logpt = jnp.take_along_axis(logp, idx, axis=1)[:, 0]
    loss = -((1 - jnp.exp(logpt)) ** gamma) * logpt
    if class_weights is not None:
        loss = loss * class_weights[labels]
    return loss


def info_nce(
    anchors: Float[Array, "n d"], positives: Float[Array, "n d"], temperature: float = 0.1
) -> Float[Array, ""]:
    """Symmetric InfoNCE; the i-th positive belongs to the i-th anchor."""
    a, p = l2_normalize(anchors), l2_normalize(positives)
    sims: Float[Array, "n n"] = a @ p.T / temperature
    labels = jnp.arange(a.shape[0])
    rows = softmax_cross_entropy(sims, labels)
    cols = softmax_cross_entropy(sims.T, labels)
    return 0.5 * (rows.mean() + cols.mean())


def pairwise_sq_dists(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
    xx = jnp.sum(x * x, axis=1)
    yy = jnp.sum(y * y, axis=1)
    return xx[:, None] + yy[None, :] - 2.0 * x @ y.T


def rbf_mmd(
    x: Float[Array, "n d"], y: Float[Array, "m d"], bandwidths: Float[Array, " k"]
) -> Float[Array, ""]:
    def gram(u, v):
        d2 = pairwise_sq_dists(u, v)
        return jnp.exp(-d2[..., None] / (2 * bandwidths**2)).mean(axis=-1)

    return gram(x, x).mean() + gram(y, y).mean() - 2 * gram(x, y).mean()


def triplet_loss(
    emb: Float[Array, "n d"], labels: Int[Array, " n"], margin: float = 0.2
) -> Float[Array, " n"]:
    """Batch-hard triplet loss, one value per anchor."""
    dist = pairwise_sq_dists(emb, emb)
    same: Bool[Array, "n n"] = labels[:, None] == labels[None, :]
    hardest_pos: Float[Array, " n"] = jnp.where(same, dist, -jnp.inf).max(axis=1)
    hardest_neg: Float[Array, " n"] = jnp.where(same, jnp.inf, dist).min(axis=1)
    return jax.nn.relu(hardest_pos - hardest_neg + margin)


def gaussian_nll(
    mean: Float[Array, "batch d"],
    log_var: Float[Array, "batch d"],
    target: Float[Array, "batch d"],
    reduction: Reduction = "mean",
) -> Array:
    nll = 0.5 * (log_var + (target - mean) ** 2 / jnp.exp(log_var))
    return _reduce(nll.sum(axis=-1), reduction)


@partial(jax.jit, static_argnames="k")
def topk_accuracy(
    logits: Float[Array, "batch classes"], labels: Int[Array, " batch"], k: int = 5
) -> Float[Array, ""]:
    _, top = jax.lax.top_k(logits, k)
    hit: Bool[Array, " batch"] = jnp.any(top == labels[:, None], axis=-1)
    return hit.mean()


def confusion_matrix(
    preds: Int[Array, " batch"], labels: Int[Array, " batch"], num_classes: int
) -> Float[Array, "num_classes num_classes"]:
    p = jax.nn.one_hot(preds, num_classes)
    t = jax.nn.one_hot(labels, num_classes)
    return jnp.einsum("bi,bj->ij", t, p)


def f1_per_class(cm: Float[Array, "c c"]) -> Float[Array, " c"]:
    tp = jnp.diagonal(cm)
    precision = tp / jnp.maximum(cm.sum(axis=0), 1.0)
    recall = tp / jnp.maximum(cm.sum(axis=1), 1.0)
    return 2 * precision * recall / jnp.maximum(precision + recall, 1e-8)


def calibration_error(
    probs: Float[Array, "batch classes"], labels: Int[Array, " batch"], n_bins: int = 10
) -> Float[Array, ""]:
    conf = probs.max(axis=-1)
    correct = (probs.argmax(axis=-1) == labels).astype(conf.dtype)
    bins = jnp.clip((conf * n_bins).astype(jnp.int32), 0, n_bins - 1)
    member: Float[Array, "batch n_bins"] = jax.nn.one_hot(bins, n_bins)
    counts: Float[Array, " n_bins"] = member.sum(axis=0)
    gap = jnp.abs(member.T @ correct - member.T @ conf)
    return gap.sum() / jnp.maximum(counts.sum(), 1.0)


def per_example_grad_norms(loss, params: Float[Array, " p"], xs: Float[Array, "batch d"], ys) -> Float[Array, " batch"]:
    grads: Float[Array, "batch p"] = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(params, xs, ys)
    return jnp.linalg.norm(grads, axis=-1)
