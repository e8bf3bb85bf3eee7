import dataclasses
from typing import Optional

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray


@dataclasses.dataclass(frozen=True)
class VQVAEConfig:
    channels: int = 3
    hidden: int = 32
    latent: int = 16
    codes: int = 128
    beta: float = 0.25
    decay: float = 0.99


class ResBlock(eqx.Module):
    conv1: eqx.nn.Conv2d
    conv2: eqx.nn.Conv2d

    def __init__(self, hidden: int, key: PRNGKeyArray):
        k1, k2 = jax.random.split(key)
        self.conv1 = eqx.nn.Conv2d(hidden, hidden, 3, padding=1, key=k1)
        self.conv2 = eqx.nn.Conv2d(hidden, hidden, 1, key=k2)

    def __call__(self, x: Float[Array, "c h w"]) -> Float[Array, "c h w"]:
        y = self.conv1(jax.nn.relu(x))
        y = self.conv2(jax.nn.relu(y))
        return x + y


class Encoder(eqx.Module):
    down1: eqx.nn.Conv2d
    down2: eqx.nn.Conv2d
    res: ResBlock
    proj: eqx.nn.Conv2d

    def __init__(self, cfg: VQVAEConfig, key: PRNGKeyArray):
        ks = jax.random.split(key, 4)
        self.down1 = eqx.nn.Conv2d(cfg.channels, cfg.hidden, 4, stride=2, padding=1, key=ks[0])
        self.down2 = eqx.nn.Conv2d(cfg.hidden, cfg.hidden, 4, stride=2, padding=1, key=ks[1])
        self.res = ResBlock(cfg.hidden, ks[2])
        self.proj = eqx.nn.Conv2d(cfg.hidden, cfg.latent, 1, key=ks[3])

    def __call__(self, x: Float[Array, "c h w"]) -> Float[Array, "z h//4 w//4"]:
        y: Float[Array, "f h//2 w//2"] = jax.nn.relu(self.down1(x))
        y: Float[Array, "f h//4 w//4"] = self.res(self.down2(y))
        return self.proj(jax.nn.relu(y))


class Decoder(eqx.Module):
    inp: eqx.nn.Conv2d
    res: ResBlock
    up1: eqx.nn.ConvTranspose2d
    up2: eqx.nn.ConvTranspose2d

    def __init__(self, cfg: VQVAEConfig, key: PRNGKeyArray):
        ks = jax.random.split(key, 4)
        self.inp = eqx.nn.Conv2d(cfg.latent, cfg.hidden, 3, padding=1, key=ks[0])
        self.res = ResBlock(cfg.hidden, ks[1])
        self.up1 = eqx.nn.ConvTranspose2d(cfg.hidden, cfg.hidden, 4, stride=2, padding=1, key=ks[2])
        self.up2 = eqx.nn.ConvTranspose2d(cfg.hidden, cfg.channels, 4, stride=2, padding=1, key=ks[3])

    def __call__(self, z: Float[Array, "z hq wq"]) -> Float[Array, "c 4*hq 4*wq"]:
        y: Float[Array, "f hq wq"] = self.res(self.inp(z))
        y: Float[Array, "f 2*hq 2*wq"] = jax.nn.relu(self.up1(y))
        return self.up2(y)


class Quantizer(eqx.Module):
    codebook: Float[Array, "k z"]
    ema_count: Float[Array, " k"]
    ema_sum: Float[Array, "k z"]
    decay: float = eqx.field(static=True)

    def __init__(self, cfg: VQVAEConfig, key: PRNGKeyArray):
        self.codebook = jax.random.normal(key, (cfg.codes, cfg.latent)) / cfg.latent
        self.ema_count = jnp.ones((cfg.codes,))
        self.ema_sum = self.codebook
        self.decay = cfg.decay

    def distances(self, flat: Float[Array, "p z"]) -> Float[Array, "p k"]:
        sq_x: Float[Array, "p 1"] = jnp.sum(flat**2, axis=1, keepdims=True)
        sq_e: Float[Array, " k"] = jnp.sum(self.codebook**2, axis=1)
        return sq_x - 2 * flat @ self.codebook.T + sq_e[None, :]

    def __call__(self, z: Float[Array, "z hq wq"]) -> tuple[Float[Array, "z hq wq"], Int[Array, "hq wq"]]:
        d, hq, wq = z.shape
        flat: Float[Array, "hq*wq z"] = z.reshape(d, hq * wq).T
        idx: Int[Array, " hq*wq"] = jnp.argmin(self.distances(flat), axis=1)
        quant = self.codebook[idx].T.reshape(d, hq, wq)
        return quant, idx.reshape(hq, wq)

    def lookup(self, idx: Int[Array, "hq wq"]) -> Float[Array, "z hq wq"]:
        return jnp.moveaxis(self.codebook[idx], -1, 0)

    def updated(self, z: Float[Array, "b z hq wq"], idx: Int[Array, "b hq wq"]) -> "Quantizer":
        """Exponential moving average of the code vectors."""
        k, d = self.codebook.shape
        flat: Float[Array, "b*hq*wq z"] = jnp.moveaxis(z, 1, -1).reshape(-1, d)
        onehot: Float[Array, "b*hq*wq k"] = jax.nn.one_hot(idx.reshape(-1), k)
        count: Float[Array, " k"] = self.decay * self.ema_count + (1 - self.decay) * onehot.sum(axis=0)
        total: Float[Array, "k z"] = self.decay * self.ema_sum + (1 - self.decay) * onehot.T @ flat
        book: Float[Array, "k z"] = total / (count[:, None] + 1e-5)
        return eqx.tree_at(lambda q: (q.codebook, q.ema_count, q.ema_sum), self, (book, count, total))


class VQVAE(eqx.Module):
    encoder: Encoder
    quantizer: Quantizer
    decoder: Decoder
    beta: float = eqx.field(static=True)

    def __init__(self, cfg: VQVAEConfig, *, key: PRNGKeyArray):
        k1, k2, k3 = jax.random.split(key, 3)
        self.encoder = Encoder(cfg, k1)
        self.quantizer = Quantizer(cfg, k2)
        self.decoder = Decoder(cfg, k3)
        self.beta = cfg.beta

    def __call__(self, x: Float[Array, "c h w"]):
        z = self.encoder(x)
        quant, idx = self.quantizer(z)
        st: Float[Array, "z hq wq"] = z + jax.lax.stop_gradient(quant - z)
        recon: Float[Array, "c h w"] = self.decoder(st)
        commit: Float[Array, ""] = jnp.mean((z - jax.lax.stop_gradient(quant)) ** 2)
        return recon, commit, z, idx

    def decode_indices(self, idx: Int[Array, "b hq wq"]) -> Float[Array, "b c 4*hq 4*wq"]:
        return jax.vmap(lambda i: self.decoder(self.quantizer.lookup(i)))(idx)


def perplexity(idx: Int[Array, "b hq wq"], codes: int) -> Float[Array, ""]:
    usage: Float[Array, " codes"] = jax.nn.one_hot(idx, codes).mean(axis=(0, 1, 2))
    return jnp.exp(-jnp.sum(usage * jnp.log(usage + 1e-10)))


def loss_fn(model: VQVAE, x: Float[Array, "b c h w"], weight: Optional[Float[Array, " b"]] = None):
    recon, commit, z, idx = jax.vmap(model)(x)
    per_image: Float[Array, " b"] = jnp.mean((recon - x) ** 2, axis=(1, 2, 3)) + model.beta * commit
    if weight is not None:
        per_image = per_image * weight
    return per_image.mean(), (z, idx)


@eqx.filter_jit
def train_step(model: VQVAE, opt_state, x: Float[Array, "b c h w"], optim: optax.GradientTransformation):
    (loss, (z, idx)), grads = eqx.filter_value_and_grad(loss_fn, has_aux=True)(model, x)
    updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_array))
    model = eqx.apply_updates(model, updates)
    model = eqx.tree_at(lambda m: m.quantizer, model, model.quantizer.updated(z, idx))
    return model, opt_state, loss
