"""Image classifier with BatchNorm (flax.nnx) plus the usual training step."""
import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import optax
from flax import nnx


@dataclasses.dataclass
class Config:
    num_classes: int = 10
    channels: tuple[int, ...] = (8, 16)
    in_channels: int = 3
    hidden: int = 32
    dropout: float = 0.1
    lr: float = 1e-3
    momentum: float = 0.9


class ConvBNAct(nnx.Module):
    """3x3 conv -> batch norm -> relu, optional stride."""

    def __init__(self, cin: int, cout: int, stride: int = 1, *, rngs: nnx.Rngs):
        self.conv = nnx.Conv(cin, cout, kernel_size=(3, 3), strides=stride, padding="SAME", use_bias=False, rngs=rngs)
        self.bn = nnx.BatchNorm(cout, momentum=0.9, rngs=rngs)

    def __call__(self, x):
        # x: (B, H, W, cin)
        x = self.conv(x)
        return nnx.relu(self.bn(x))


class ResStage(nnx.Module):
    def __init__(self, cin: int, cout: int, *, rngs: nnx.Rngs):
        self.conv1 = ConvBNAct(cin, cout, rngs=rngs)
        self.conv2 = ConvBNAct(cout, cout, rngs=rngs)
        self.skip = nnx.Conv(cin, cout, kernel_size=(1, 1), rngs=rngs)

    def __call__(self, x):
        """Residual stage followed by 2x2 pooling.

        Args:
            x: feature map, (B, H, W, cin)

        Returns:
            (B, H//2, W//2, cout)
        """
        h = self.conv2(self.conv1(x))  # (B, H, W, cout)
        h = h + self.skip(x)
        return nnx.max_pool(h, window_shape=(2, 2), strides=(2, 2))


class ConvNet(nnx.Module):
    def __init__(self, cfg: Config, *, rngs: nnx.Rngs):
        widths = (cfg.in_channels,) + tuple(cfg.channels)
        self.stages = nnx.List(
            [ResStage(a, b, rngs=rngs) for a, b in zip(widths[:-1], widths[1:])]
        )
        self.fc1 = nnx.Linear(cfg.channels[-1], cfg.hidden, rngs=rngs)
        self.drop = nnx.Dropout(cfg.dropout, rngs=rngs)
        self.fc2 = nnx.Linear(cfg.hidden, cfg.num_classes, rngs=rngs)

    def features(self, images):
        h = images  # (B, H, W, in_channels)
        for stage in self.stages:
            h = stage(h)
        return h.mean(axis=(1, 2))  # (B, channels[-1])

    def __call__(self, images):
        """(B, H, W, in_channels) images to (B, num_classes) logits."""
        f = self.features(images)
        f = self.drop(nnx.relu(self.fc1(f)))  # (B, hidden)
        return self.fc2(f)


def augment(key, images, pad: int = 2):
    """Random flip and crop, one draw per image.

    Args:
        key: PRNG key
        images: (B, H, W, C)

    Returns:
        augmented images, (B, H, W, C)
    """
    b, h, w, c = images.shape
    k_flip, k_crop = jax.random.split(key)
    flip = jax.random.bernoulli(k_flip, 0.5, (b,))  # (B,)
    images = jnp.where(flip[:, None, None, None], images[:, :, ::-1, :], images)
    padded = jnp.pad(images, ((0, 0), (pad, pad), (pad, pad), (0, 0)))  # (B, H + 2*pad, W + 2*pad, C)
    offsets = jax.random.randint(k_crop, (b, 2), 0, 2 * pad + 1)  # (B, 2)

    def crop_one(img, off):
        return jax.lax.dynamic_slice(img, (off[0], off[1], 0), (h, w, c))

    return jax.vmap(crop_one)(padded, offsets)


def smooth_labels(labels, num_classes, eps=0.1):
    onehot = jax.nn.one_hot(labels, num_classes)  # (B, num_classes)
    return onehot * (1.0 - eps) + eps / num_classes


def mixup(key, images, targets, alpha=0.2):
    # images (B, H, W, C), targets (B, K)
    k_lam, k_perm = jax.random.split(key)
    lam = jax.random.beta(k_lam, alpha, alpha, (images.shape[0],))  # (B,)
    perm = jax.random.permutation(k_perm, images.shape[0])
    li = lam[:, None, None, None]  # (B, 1, 1, 1)
    mixed = li * images + (1 - li) * images[perm]  # (B, H, W, C)
    lt = lam[:, None]  # (B, 1)
    return mixed, lt * targets + (1 - lt) * targets[perm]


def loss_fn(model: ConvNet, images, targets):
    logits = model(images)  # (B, num_classes)
    losses = optax.softmax_cross_entropy(logits, targets)  # (B,)
    return losses.mean(), logits


@partial(nnx.jit, static_argnames=("num_classes",))
def train_step(model, optimizer, key, images, labels, num_classes: int):
    k_aug, k_mix = jax.random.split(key)
    images = augment(k_aug, images)
    targets = smooth_labels(labels, num_classes)  # (B, num_classes)
    images, targets = mixup(k_mix, images, targets)
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, images, targets)
    optimizer.update(model, grads)
    acc = (logits.argmax(axis=-1) == labels).mean()  # scalar
    return loss, acc


@nnx.jit
def eval_step(model, images, labels):
    logits = model(images)
    preds = jnp.argmax(logits, axis=-1)  # (B,)
    correct = preds == labels  # (B,)
    probs = nnx.softmax(logits)  # (B, num_classes)
    entropy = -jnp.sum(probs * jnp.log(probs + 1e-9), axis=-1)  # (B,)
    return correct.mean(), entropy


def channel_stats(images):
    """Per-channel mean and standard deviation, each of shape (C,)."""
    mean = images.mean(axis=(0, 1, 2))
    std = images.std(axis=(0, 1, 2))
    return mean, std


if __name__ == "__main__":
    cfg = Config()
    model = ConvNet(cfg, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adamw(cfg.lr), wrt=nnx.Param)
    images = jax.random.normal(jax.random.key(0), (4, 16, 16, 3))
    labels = jnp.array([1, 2, 3, 4])
    mean, std = channel_stats(images)
    images = (images - mean) / std
    model.train()
    for i in range(2):
        loss, acc = train_step(model, optimizer, jax.random.key(i), images, labels, cfg.num_classes)
        print(i, loss, acc)
    model.eval()
    print(eval_step(model, images, labels)[0])
