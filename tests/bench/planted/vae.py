"""Convolutional variational autoencoder for small square images."""
from flax import linen as nn
from flax.training import train_state
import jax
from jax import random
import jax.numpy as jnp
import optax


class Encoder(nn.Module):
    latents: int
    width: int

    @nn.compact
    def __call__(self, x):
        # x: batch x size x size x chan
        x = nn.Conv(self.width, (3, 3), strides=(2, 2))(x)          # batch x size//2 x size//2 x width
        x = nn.relu(x)
        x = nn.Conv(2 * self.width, (3, 3), strides=(2, 2))(x)      # batch x size//4 x size//4 x 2*width
        x = nn.relu(x)
        x = x.reshape(x.shape[0], -1)
        h = nn.relu(nn.Dense(4 * self.width)(x))                    # batch x 4*width
        mean = nn.Dense(self.latents, name="mean")(h)               # batch x latents
        logvar = nn.Dense(self.latents, name="logvar")(h)           # batch x latents
        return mean, logvar


class Decoder(nn.Module):
    size: int
    chan: int
    width: int

    @nn.compact
    def __call__(self, z):
        # z: (batch, latents)
        side = self.size // 4
        h = nn.relu(nn.Dense(side * side * 2 * self.width)(z))      # (batch, side * side * 2 * width)
        h = h.reshape(z.shape[0], side, side, 2 * self.width)       # (batch, side, side, 2*width)
        h = nn.ConvTranspose(self.width, (3, 3), strides=(2, 2))(h)     # (batch, 2*side, 2*side, width)
        h = nn.relu(h)
        return nn.ConvTranspose(self.chan, (3, 3), strides=(2, 2))(h)   # (batch, size, size, chan)


class VAE(nn.Module):
    size: int
    chan: int
    latents: int
    width: int = 16

    def setup(self):
        self.encoder = Encoder(self.latents, self.width)
        self.decoder = Decoder(self.size, self.chan, self.width)

    def __call__(self, x, rng):
        """Reconstruct a batch.

        Args:
            x: images, (batch, size, size, chan)
            rng: key for the noise

        Returns:
            logits (batch, size, size, chan), mean (batch, latents), logvar (batch, latents)
        """
        mean, logvar = self.encoder(x)              # both (batch, latents)
        z = reparameterize(rng, mean, logvar)       # (batch, latents)
        return self.decoder(z), mean, logvar

    def encode(self, x):
        return self.encoder(x)

    def decode(self, z):
        return self.decoder(z)


def reparameterize(rng, mean, logvar):
    std = jnp.exp(0.5 * logvar)                     # (batch, latents)
    return mean + std * random.normal(rng, std.shape)


def kl_divergence(mean, logvar):
    # mean: (batch, latents), logvar: (batch, latents)
    return -0.5 * jnp.sum(1 + logvar - mean ** 2 - jnp.exp(logvar), axis=-1)   # (batch,)


def bernoulli_nll(logits, x):
    # logits: (batch, size, size, chan)
    # x: (batch, size, size, chan)
    bce = optax.sigmoid_binary_cross_entropy(logits, x)         # (batch, size, size, chan)
    return bce.reshape(x.shape[0], -1).sum(axis=1)              # (batch,)


def create_state(rng, model, lr=1e-3):
    dummy = jnp.zeros((1, model.size, model.size, model.chan))
    params = model.init(rng, dummy, rng)["params"]
    return train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(lr))


@jax.jit
def train_step(state, x, rng, beta=1.0):
    """One update of the weights.

    Args:
        x: (batch, size, size, chan)

    Returns:
        new state, and the two terms of the bound averaged over the batch
    """

    def loss_fn(params):
        logits, mean, logvar = state.apply_fn({"params": params}, x, rng)
        nll = bernoulli_nll(logits, x)              # (batch,)
        kl = kl_divergence(mean, logvar)            # (batch,)
        return (nll + beta * kl).mean(), (nll.mean(), kl.mean())

    grads, (nll, kl) = jax.grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads), nll, kl


def log_normal(z, mean, logvar):
    """Log density of a diagonal Gaussian.

    Args:
        z: (batch, latents)
        mean: (batch, latents)
        logvar: (batch, latents)

    Returns:
        (batch,)
    """
    terms = -0.5 * (jnp.log(2 * jnp.pi) + logvar + (z - mean) ** 2 / jnp.exp(logvar))   # (batch, latents)
    return terms.sum(-1)


def iwae_bound(model, params, x, rng, k=32):
    """Importance weighted bound on log p(x), with k samples for each image. Returns (batch,)."""
    bound = model.bind({"params": params})
    mean, logvar = bound.encode(x)                      # both (batch, latents)

    def one_sample(key):
        z = reparameterize(key, mean, logvar)           # (batch, latents)
        zeros = jnp.zeros_like(z)                       # (batch, latents)
        log_px = -bernoulli_nll(model.apply({"params": params}, z, method=VAE.decode), x)   # (batch,)
        return log_px + log_normal(z, zeros, zeros) - log_normal(z, mean, logvar)           # (batch,)

    weights = jax.vmap(one_sample)(random.split(rng, k))            # (k, batch)
    return jax.nn.logsumexp(weights, axis=0) - jnp.log(k)           # (batch,)


def interpolate(model, params, a, b, steps):
    """Decoded images on the line between two codes.

    Args:
        a: (latents,)
        b: (latents,)

    Returns:
        (steps, size, size, chan)
    """
    t = jnp.linspace(0.0, 1.0, steps)[:, None]          # (steps, 1)
    codes = (1 - t) * a + t * b                         # (steps, latents)
    logits = model.apply({"params": params}, codes, method=VAE.decode)
    return nn.sigmoid(logits)
