"""MoCo-style contrastive pre-training with a projection head and a key queue.

Array layout is written as "B x D" next to the code. B is the batch, D the embedding size,
Q the queue length, F the backbone feature size.
"""
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import optax


class MocoState(NamedTuple):
    params_q: Any
    params_k: Any
    opt_state: Any
    queue: jnp.ndarray  # Q x D, unit rows
    ptr: jnp.ndarray  # scalar int


class Hparams(NamedTuple):
    temperature: float = 0.1
    momentum: float = 0.99
    queue_len: int = 64
    embed_dim: int = 16
    feat_dim: int = 32
    lr: float = 1e-3


def l2_normalize(x, eps=1e-8):
    norm = jnp.linalg.norm(x, axis=-1, keepdims=True)
    return x / (norm + eps)


class Backbone(hk.Module):
    def __init__(self, feat_dim, name=None):
        super().__init__(name=name)
        self.feat_dim = feat_dim

    def __call__(self, img):
        # img: B x H x W x C
        x = hk.Conv2D(8, 3, stride=2)(img)
        x = jax.nn.relu(x)
        x = hk.Conv2D(self.feat_dim, 3, stride=2)(x)
        x = jax.nn.relu(x)
        return x.mean(axis=(1, 2))  # B x F


class ProjectionHead(hk.Module):
    def __init__(self, hidden, out, name=None):
        super().__init__(name=name)
        self.hidden = hidden
        self.out = out

    def __call__(self, feats):
        h = jax.nn.relu(hk.Linear(self.hidden)(feats))
        return l2_normalize(hk.Linear(self.out)(h))  # B x D


def make_encoder(hp: Hparams):
    def encode(img):
        feats = Backbone(hp.feat_dim)(img)
        return ProjectionHead(2 * hp.feat_dim, hp.embed_dim)(feats)

    return hk.without_apply_rng(hk.transform(encode))


def random_crop_flip(key, img, pad=2):
    """Augment one image (H x W x C -> H x W x C)."""
    k_flip, k_crop = jax.random.split(key)
    h, w, c = img.shape
    padded = jnp.pad(img, ((pad, pad), (pad, pad), (0, 0)))
    off = jax.random.randint(k_crop, (2,), 0, 2 * pad + 1)
    crop = jax.lax.dynamic_slice(padded, (off[0], off[1], 0), (h, w, c))
    return jnp.where(jax.random.bernoulli(k_flip), crop[:, ::-1], crop)


def two_views(key, imgs):
    """Two independent augmentations of every image; each result is B x H x W x C."""
    k1, k2 = jax.random.split(key)
    n = imgs.shape[0]
    aug = jax.vmap(random_crop_flip)
    return aug(jax.random.split(k1, n), imgs), aug(jax.random.split(k2, n), imgs)


def info_nce(q, k, queue, temperature):
    """Contrast each query with its own key against the queue.

    Args:
        q: queries, B x D
        k: keys, B x D
        queue: negatives, Q x D

    Returns:
        scalar loss, and the logits, B x (1 + Q), whose column 0 is the positive
    """
    pos = jnp.sum(q * k, axis=-1, keepdims=True)  # B x 1
    neg = q @ queue.T  # B x Q
    logits = jnp.concatenate([pos, neg], axis=1) / temperature
    labels = jnp.zeros(q.shape[0], dtype=jnp.int32)  # B
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)  # B
    return losses.mean(), logits


def enqueue(queue, ptr, keys):
    """Overwrite the oldest rows of the queue. Keys are B x D; the queue stays Q x D."""
    n = queue.shape[0]
    rows = (ptr + jnp.arange(keys.shape[0])) % n  # B
    return queue.at[rows].set(keys), (ptr + keys.shape[0]) % n


def ema(params_k, params_q, m):
    return jax.tree_util.tree_map(lambda k, q: m * k + (1.0 - m) * q, params_k, params_q)


def init_state(key, hp: Hparams, encoder, tx, sample) -> MocoState:
    k_params, k_queue = jax.random.split(key)
    params = encoder.init(k_params, sample)
    queue = l2_normalize(jax.random.normal(k_queue, (hp.queue_len, hp.embed_dim)))  # Q x D
    return MocoState(params, params, tx.init(params), queue, jnp.array(0))


def make_step(hp: Hparams, encoder, tx):
    def loss_fn(params_q, params_k, queue, v1, v2):
        q = encoder.apply(params_q, v1)  # B x D
        k = jax.lax.stop_gradient(encoder.apply(params_k, v2))  # B x D
        loss, logits = info_nce(q, k, queue, hp.temperature)
        return loss, (k, logits)

    @jax.jit
    def step(state: MocoState, key, imgs):
        v1, v2 = two_views(key, imgs)
        params_k = ema(state.params_k, state.params_q, hp.momentum)
        grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
        (loss, (keys, logits)), grads = grad_fn(state.params_q, params_k, state.queue, v1, v2)
        updates, opt_state = tx.update(grads, state.opt_state)
        params_q = optax.apply_updates(state.params_q, updates)
        queue, ptr = enqueue(state.queue, state.ptr, keys)
        hit = logits.argmax(axis=1) == 0  # B
        metrics = {"loss": loss, "top1": hit.mean()}
        return MocoState(params_q, params_k, opt_state, queue, ptr), metrics

    return step


def knn_accuracy(bank, bank_labels, queries, labels, n_classes, k=5, temperature=0.1):
    """Weighted k-nn probe on frozen embeddings.

    Args:
        bank: M x D
        bank_labels: M
        queries: N x D
        labels: N

    Returns:
        scalar accuracy
    """
    sims = jnp.einsum("nd,md->nm", queries, bank)  # N x M
    top, idx = jax.lax.top_k(sims, k)  # both N x k
    weights = jnp.exp(top / temperature)
    votes = jax.nn.one_hot(bank_labels[idx], n_classes)  # N x k x n_classes
    scores = jnp.sum(votes * weights[:, :, None], axis=1)  # N x n_classes
    return jnp.mean(scores.argmax(axis=-1) == labels)


if __name__ == "__main__":
    hp = Hparams(queue_len=32)
    encoder, tx = make_encoder(hp), optax.adam(hp.lr)
    imgs = jax.random.normal(jax.random.PRNGKey(0), (4, 8, 8, 3))
    state = init_state(jax.random.PRNGKey(1), hp, encoder, tx, imgs)
    step = make_step(hp, encoder, tx)
    for i in range(2):
        state, metrics = step(state, jax.random.PRNGKey(i), imgs)
        print(i, metrics)
