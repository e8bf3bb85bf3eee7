"""Temporal convolutional network for forecasting several series at once."""
import equinox as eqx
import jax
import jax.numpy as jnp
import optax


class WeightNormConv(eqx.Module):
    """Causal dilated convolution with weight normalisation."""

    v: jax.Array  # (c_out, c_in, width)
    g: jax.Array  # (c_out,)
    b: jax.Array  # (c_out,)
    c_in: int
    c_out: int
    width: int
    dilation: int

    def __init__(self, c_in, c_out, width, dilation, *, key):
        self.v = 0.1 * jax.random.normal(key, (c_out, c_in, width))
        self.g = jnp.linalg.norm(self.v.reshape(c_out, -1), axis=1)   # (c_out,)
        self.b = jnp.zeros(c_out)
        self.c_in = c_in
        self.c_out = c_out
        self.width = width
        self.dilation = dilation

    def weight(self):
        norm = jnp.sqrt((self.v ** 2).sum(axis=(1, 2), keepdims=True))   # (c_out, 1, 1)
        return self.g[:, None, None] * self.v / norm

    def __call__(self, x):
        """
        :param x: signal (c_in, time)
        :return: (c_out, time)
        """
        w = self.weight()  # (c_out, c_in, width)
        pad = (self.width - 1) * self.dilation
        y = jax.lax.conv_general_dilated(
            x[None], w, window_strides=(1,), padding=[(pad, 0)], rhs_dilation=(self.dilation,)
        )  # (1, c_out, time)
        return y[0] + self.b[:, None]


class Block(eqx.Module):
    conv1: WeightNormConv
    conv2: WeightNormConv
    skip: eqx.nn.Conv1d
    dropout: eqx.nn.Dropout

    def __init__(self, c_in, c_out, width, dilation, p, *, key):
        k1, k2, k3 = jax.random.split(key, 3)
        self.conv1 = WeightNormConv(c_in, c_out, width, dilation, key=k1)
        self.conv2 = WeightNormConv(c_out, c_out, width, dilation, key=k2)
        self.skip = eqx.nn.Conv1d(c_in, c_out, 1, key=k3)
        self.dropout = eqx.nn.Dropout(p)

    def __call__(self, x, key=None):
        # x: (c_in, time)
        inference = key is None
        k1, k2 = (None, None) if inference else jax.random.split(key)
        h = jax.nn.relu(self.conv1(x))                          # (c_out, time)
        h = self.dropout(h, key=k1, inference=inference)        # (c_out, time)
        h = jax.nn.relu(self.conv2(h))                          # (c_out, time)
        h = self.dropout(h, key=k2, inference=inference)
        res = self.skip(x)                                      # (c_out, time)
        return jax.nn.relu(h + res)


class TCN(eqx.Module):
    blocks: list
    readout: eqx.nn.Linear
    series: int
    horizon: int

    def __init__(self, series, horizon, channels, width=3, p=0.1, *, key):
        k_out, *keys = jax.random.split(key, len(channels) + 1)
        sizes = [2 * series] + list(channels)
        self.blocks = [
            Block(a, b, width, 2 ** i, p, key=k)
            for i, (a, b, k) in enumerate(zip(sizes[:-1], sizes[1:], keys))
        ]
        self.readout = eqx.nn.Linear(channels[-1], series * horizon, key=k_out)
        self.series = series
        self.horizon = horizon

    def features(self, x, mask):
        """
        :param x: history (time, series)
        :param mask: one where observed (time, series)
        :return: (2*series, time)
        """
        both = jnp.concatenate([x * mask, mask], axis=1)   # (time, 2*series)
        return both.T                                      # (2*series, time)

    def __call__(self, x, mask, key=None):
        """
        :param x: history (time, series)
        :param mask: (time, series)
        :return: forecast (horizon, series)
        """
        keys = [None] * len(self.blocks) if key is None else jax.random.split(key, len(self.blocks))
        h = self.features(x, mask)                          # (2*series, time)
        for block, k in zip(self.blocks, keys):
            h = block(h, k)
        last = h[:, -1]                                     # (channels,)
        out = self.readout(last)                            # (series*horizon,)
        return out.reshape(self.horizon, self.series)


def standardise(x, mask):
    """Per-series standardisation.

    :param x: (batch, time, series)
    :param mask: (batch, time, series)
    :return: scaled series (batch, time, series), centre (batch, series), spread (batch, series)
    """
    count = jnp.maximum(mask.sum(axis=1), 1.0)                              # (batch, series)
    centre = (x * mask).sum(axis=1) / count                                 # (batch, series)
    var = (mask * (x - centre[:, None]) ** 2).sum(axis=1) / count           # (batch, series)
    spread = jnp.sqrt(var + 1e-4)
    return (x - centre[:, None]) / spread[:, None], centre, spread


def windows(record, history, horizon):
    """Cuts a long record into training pairs.

    :param record: (length, series)
    :return: inputs (n_win, history, series) and targets (n_win, horizon, series)
    """
    n_win = record.shape[0] - history - horizon + 1
    start = jnp.arange(n_win)                                               # (n_win,)
    past = record[start[:, None] + jnp.arange(history)]                     # (n_win, history, series)
    future = record[start[:, None] + history + jnp.arange(horizon)]         # (n_win, horizon, series)
    return past, future


@eqx.filter_value_and_grad
def quantile_loss(model, x, mask, y, key, q=0.5):
    keys = jax.random.split(key, x.shape[0])
    pred = jax.vmap(model)(x, mask, keys)                                   # (batch, horizon, series)
    err = y - pred                                                          # (batch, horizon, series)
    pinball = jnp.maximum(q * err, (q - 1) * err)
    per_horizon = pinball.mean(axis=(0, 2))                                 # (horizon,)
    return per_horizon.mean()


@eqx.filter_jit
def make_step(model, opt_state, tx, x, mask, y, key):
    xs, centre, spread = standardise(x, mask)               # (batch, time, series), (batch, series), (batch, series)
    ys = (y - centre[:, None]) / spread[:, None]            # (batch, horizon, series)
    loss, grads = quantile_loss(model, xs, mask, ys, key)
    updates, opt_state = tx.update(grads, opt_state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), opt_state, loss
