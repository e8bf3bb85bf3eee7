"""STFT, overlap-add inverse, mel pooling and FIR filtering of multichannel audio."""

import jax
import jax.numpy as jnp

try:
    from shapecheck import example
except ImportError:

    def example(f):
        return f


def frame(x, win, hop):
    """Cut a batch of signals into overlapping frames.

    Parameters
    ----------
    x : array of shape (channels, samples)
        Signals.
    win : int
        Frame length.
    hop : int
        Distance between the starts of two frames.

    Returns
    -------
    array of shape (channels, frames, win)
    """
    samples = x.shape[1]
    frames = 1 + (samples - win) // hop
    idx = hop * jnp.arange(frames)[:, None] + jnp.arange(win)[None, :]  # (frames, win)
    return x[:, idx]


def stft(x, win, hop):
    w = jnp.hanning(win)
    cut = frame(x, win, hop) * w  # (channels, frames, win)
    return jnp.fft.rfft(cut, axis=-1)  # (channels, frames, win//2 + 1)


def istft(spec, win, hop):
    # inverse by (weighted) overlap-add
    channels, frames, _ = spec.shape
    w = jnp.hanning(win)
    parts = jnp.fft.irfft(spec, n=win, axis=-1) * w  # (channels, frames, win)
    total = hop * (frames - 1) + win
    idx = hop * jnp.arange(frames)[:, None] + jnp.arange(win)
    out = jnp.zeros((channels, total)).at[:, idx].add(parts)  # (channels, total)
    norm = jnp.zeros(total).at[idx].add(w**2)  # (total,)
    return out / jnp.maximum(norm, 1e-8)


def triangular_bank(n_bands, n_bins):
    centres = jnp.linspace(0, n_bins - 1, n_bands + 2)  # (n_bands + 2,)
    bins = jnp.arange(n_bins)
    up = (bins - centres[:-2, None]) / (centres[1:-1, None] - centres[:-2, None])  # (n_bands, n_bins)
    down = (centres[2:, None] - bins) / (centres[2:, None] - centres[1:-1, None])  # (n_bands, n_bins)
    return jnp.clip(jnp.minimum(up, down), 0.0)


def band_energies(x, win, hop, n_bands):
    # x: (channels, samples)
    spec = stft(x, win, hop)
    power = jnp.abs(spec) ** 2
    bank = triangular_bank(n_bands, power.shape[-1])
    energy = jnp.einsum("cfk,bk->cfb", power, bank)  # (channels, frames, n_bands)
    floor = energy.max(axis=(1, 2), keepdims=True) * 1e-8  # (channels, 1, 1)
    return jnp.log(jnp.maximum(energy, floor))  # (channels, frames, n_bands)


def sinc_lowpass(taps, cutoff):
    n = jnp.arange(taps) - (taps - 1) / 2
    h = 2 * cutoff * jnp.sinc(2 * cutoff * n) * jnp.hamming(taps)  # (taps,)
    return h / h.sum()


def fir(x, h):
    # x: (channels, samples)
    # h: (taps,)
    full = jax.vmap(jnp.convolve, in_axes=(0, None))(x, h)  # (channels, samples + taps - 1)
    return full[:, : x.shape[1]]


def features(x, taps=31, win=16, hop=6, n_bands=5):
    smooth = fir(x, sinc_lowpass(taps, 0.2))  # (channels, samples)
    both = jnp.stack([x, smooth], axis=1)  # (channels, 2, samples)
    bands = jax.vmap(lambda s: band_energies(s, win, hop, n_bands))(both)
    # bands: (channels, 2, frames, n_bands)
    return bands.reshape(x.shape[0], -1, 2 * n_bands)


@example
def features_example():
    return features, jnp.sin(jnp.linspace(0.0, 40.0, 3 * 101)).reshape(3, 101)


@example
def roundtrip_example():
    return istft, jnp.zeros((2, 13, 9), jnp.complex64), 16, 6
