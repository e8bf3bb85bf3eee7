"""Single-stage detection head: anchors, box coding, matching, losses and NMS.

Boxes are (y0, x0, y1, x1) in pixels unless stated otherwise.
"""
import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


@dataclasses.dataclass(frozen=True)
class AnchorConfig:
    scales: tuple[float, ...] = (1.0, 1.26, 1.59)
    ratios: tuple[float, ...] = (0.5, 1.0, 2.0)
    base: float = 4.0
    pos_iou: float = 0.5
    neg_iou: float = 0.4


class HeadParams(NamedTuple):
    tower: Float[Array, "3 3 ch ch"]
    cls_w: Float[Array, "1 1 ch ac"]
    cls_b: Float[Array, " ac"]
    box_w: Float[Array, "1 1 ch a4"]
    box_b: Float[Array, " a4"]


class Targets(NamedTuple):
    onehot: Float[Array, "n cls"]
    deltas: Float[Array, "n 4"]
    positive: Bool[Array, " n"]
    ignore: Bool[Array, " n"]


def make_anchors(h: int, w: int, stride: int, cfg: AnchorConfig) -> Float[Array, "n 4"]:
    scales, ratios = jnp.asarray(cfg.scales), jnp.asarray(cfg.ratios)
    hh = cfg.base * stride * scales[:, None] * jnp.sqrt(ratios)[None, :]
    ww = cfg.base * stride * scales[:, None] / jnp.sqrt(ratios)[None, :]
    half = 0.5 * jnp.stack([hh.ravel(), ww.ravel()], axis=-1)
    cy, cx = (jnp.arange(h) + 0.5) * stride, (jnp.arange(w) + 0.5) * stride
    centres = jnp.stack(jnp.meshgrid(cy, cx, indexing="ij"), axis=-1)
    c = centres[:, :, None, :]
    boxes = jnp.concatenate([c - half, c + half], axis=-1)
    return boxes.reshape(-1, 4)


def area(boxes: Float[Array, "n 4"]) -> Float[Array, " n"]:
    return jnp.prod(jnp.clip(boxes[:, 2:] - boxes[:, :2], 0.0), axis=-1)


def box_iou(a: Float[Array, "n 4"], b: Float[Array, "m 4"]) -> Float[Array, "n m"]:
    top = jnp.maximum(a[:, None, :2], b[None, :, :2])
    bot = jnp.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = jnp.prod(jnp.clip(bot - top, 0.0), axis=-1)
    union: Float[Array, "n m"] = area(a)[:, None] + area(b)[None, :] - inter
    return inter / jnp.maximum(union, 1e-6)


def center_size(boxes: Float[Array, "n 4"]) -> tuple[Float[Array, "n 2"], Float[Array, "n 2"]]:
    size = boxes[:, 2:] - boxes[:, :2]
    return boxes[:, :2] + 0.5 * size, jnp.maximum(size, 1e-3)


def encode(boxes: Float[Array, "n 4"], anchors: Float[Array, "n 4"]) -> Float[Array, "n 4"]:
    bc, bs = center_size(boxes)
    ac, asz = center_size(anchors)
    return jnp.concatenate([(bc - ac) / asz, jnp.log(bs / asz)], axis=1)


def decode(deltas: Float[Array, "n 4"], anchors: Float[Array, "n 4"]) -> Float[Array, "n 4"]:
    ac, asz = center_size(anchors)
    centre = ac + deltas[:, :2] * asz
    half = 0.5 * asz * jnp.exp(jnp.clip(deltas[:, 2:], -4.0, 4.0))
    return jnp.concatenate([centre - half, centre + half], axis=1)


def assign(
    anchors: Float[Array, "n 4"],
    gt: Float[Array, "m 4"],
    labels: Int[Array, " m"],
    valid: Bool[Array, " m"],
    num_classes: int,
    cfg: AnchorConfig,
) -> Targets:
    iou: Float[Array, "n m"] = jnp.where(valid[None, :], box_iou(anchors, gt), -1.0)
    best: Int[Array, " n"] = iou.argmax(axis=1)
    best_iou = iou.max(axis=1)
    forced: Int[Array, " m"] = iou.argmax(axis=0)
    positive = (best_iou >= cfg.pos_iou).at[forced].max(valid)
    onehot = jax.nn.one_hot(labels[best], num_classes) * positive[:, None]
    return Targets(
        onehot=onehot,
        deltas=encode(gt[best], anchors),
        positive=positive,
        ignore=(best_iou > cfg.neg_iou) & ~positive,
    )


def focal_loss(logits: Float[Array, "n cls"], onehot: Float[Array, "n cls"], gamma: float = 2.0) -> Float[Array, " n"]:
    p = jax.nn.sigmoid(logits)
    pt = jnp.where(onehot > 0, p, 1 - p)
    ce = -jnp.where(onehot > 0, jax.nn.log_sigmoid(logits), jax.nn.log_sigmoid(-logits))
    return jnp.sum((1 - pt) ** gamma * ce, axis=-1)


def init_head(key: PRNGKeyArray, ch: int, num_anchors: int, num_classes: int) -> HeadParams:
    k1, k2, k3 = jax.random.split(key, 3)
    return HeadParams(
        tower=jax.random.normal(k1, (3, 3, ch, ch)) / np.sqrt(9 * ch),
        cls_w=0.01 * jax.random.normal(k2, (1, 1, ch, num_anchors * num_classes)),
        cls_b=jnp.full(num_anchors * num_classes, -4.6),
        box_w=0.01 * jax.random.normal(k3, (1, 1, ch, num_anchors * 4)),
        box_b=jnp.zeros(num_anchors * 4),
    )


def conv(x: Float[Array, "b h w i"], k: Float[Array, "kh kw i o"]) -> Float[Array, "b h w o"]:
    return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def apply_head(params: HeadParams, feat: Float[Array, "b h w ch"], num_classes: int) -> tuple[Float[Array, "b n cls"], Float[Array, "b n 4"]]:
    b = feat.shape[0]
    x = jax.nn.relu(conv(feat, params.tower))
    cls = (conv(x, params.cls_w) + params.cls_b).reshape(b, -1, num_classes)
    box = (conv(x, params.box_w) + params.box_b).reshape(b, -1, 4)
    return cls, box


def image_loss(logits: Float[Array, "n cls"], deltas: Float[Array, "n 4"], t: Targets) -> Float[Array, ""]:
    num_pos = jnp.maximum(t.positive.sum(), 1)
    cls = focal_loss(logits, t.onehot) * ~t.ignore
    err = jnp.abs(deltas - t.deltas)
    smooth = jnp.where(err < 1.0, 0.5 * err**2, err - 0.5).sum(axis=1)
    return (cls.sum() + jnp.sum(smooth * t.positive)) / num_pos


def loss_fn(params, feat, anchors, gt: Float[Array, "b m 4"], labels: Int[Array, "b m"], valid, num_classes, cfg):
    logits, deltas = apply_head(params, feat, num_classes)
    targets = jax.vmap(assign, in_axes=(None, 0, 0, 0, None, None))(anchors, gt, labels, valid, num_classes, cfg)
    return jax.vmap(image_loss)(logits, deltas, targets).mean()


def nms(boxes: Float[Array, "n 4"], scores: Float[Array, " n"], top: int, thresh: float = 0.5) -> tuple[Int[Array, " top"], Float[Array, " top"]]:
    """Greedy suppression with a fixed number of outputs; empty slots score 0."""
    iou: Float[Array, "n n"] = box_iou(boxes, boxes)

    def pick(live: Float[Array, " n"], _):
        i = jnp.argmax(live)
        s = live[i]
        return jnp.where(iou[i] > thresh, 0.0, live), (i, s)

    _, (idx, kept) = lax.scan(pick, scores, None, length=top)
    return idx, kept


def detect(params: HeadParams, feat, anchors: Float[Array, "n 4"], num_classes: int, top: int) -> tuple[Float[Array, "b top 4"], Float[Array, "b top"], Int[Array, "b top"]]:
    logits, deltas = apply_head(params, feat, num_classes)
    prob = jax.nn.sigmoid(logits)
    boxes: Float[Array, "b n 4"] = jax.vmap(decode, in_axes=(0, None))(deltas, anchors)
    idx, scores = jax.vmap(lambda bx, p: nms(bx, p.max(axis=-1), top))(boxes, prob)
    cls = jnp.take_along_axis(prob.argmax(axis=-1), idx, axis=1)
    return jnp.take_along_axis(boxes, idx[:, :, None], axis=1), scores, cls
