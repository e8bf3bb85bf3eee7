# Character-level language models (GRU and LSTM) written with nothing but jax.lax.scan.
# Parameters: {"embed": ..., "cells": [cell_0, cell_1, ...], "readout": (w, b)}
# Notation in comments: B batch, T time, E embedding, H hidden, V vocabulary,
# D input size of whichever layer.
from typing import NamedTuple

import jax
import jax.numpy as jnp


class LSTMState(NamedTuple):
    h: jnp.ndarray  # [B, H]
    c: jnp.ndarray  # [B, H]


def glorot(key, n_in, n_out):
    lim = (6.0 / (n_in + n_out)) ** 0.5
    return jax.random.uniform(key, (n_in, n_out), minval=-lim, maxval=lim)


def make_gru_cell(key, n_in, n_hid):
    k1, k2 = jax.random.split(key)
    return {
        "kind": "gru",
        "wx": glorot(k1, n_in, 3 * n_hid),  # input weights for [reset | update | candidate]
        "wh": glorot(k2, n_hid, 3 * n_hid),
        "b": jnp.zeros((3 * n_hid,)),
    }


def make_lstm_cell(key, n_in, n_hid, forget_bias=1.0):
    k1, k2 = jax.random.split(key)
    b = jnp.zeros((4, n_hid)).at[1].set(forget_bias)  # rows: i, f, g, o
    return {
        "kind": "lstm",
        "wx": glorot(k1, n_in, 4 * n_hid),
        "wh": glorot(k2, n_hid, 4 * n_hid),
        "b": b.reshape(-1),
    }


def gru_step(cell, h, x):
    """One GRU step.

    Args:
      cell: dict with "wx", "wh" and "b".
      h: previous hidden state, [B, H].
      x: input at this step, [B, D].

    Returns:
      The new hidden state, [B, H].
    """
    gx = x @ cell["wx"] + cell["b"]  # [B, 3*H]
    gh = h @ cell["wh"]  # [B, 3*H]
    rx, zx, nx = jnp.split(gx, 3, axis=-1)
    rh, zh, nh = jnp.split(gh, 3, axis=-1)
    r = jax.nn.sigmoid(rx + rh)
    z = jax.nn.sigmoid(zx + zh)  # [B, H]
    n = jnp.tanh(nx + r * nh)
    return (1.0 - z) * n + z * h


def lstm_step(cell, state, x):
    gates = x @ cell["wx"] + state.h @ cell["wh"] + cell["b"]  # [B, 4*H]
    i, f, g, o = jnp.split(gates, 4, axis=-1)  # each [B, H]
    c = jax.nn.sigmoid(f) * state.c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return LSTMState(h=h, c=c)


def zero_state(cell, batch):
    n_hid = cell["wh"].shape[0]
    zeros = jnp.zeros((batch, n_hid))
    if cell["kind"] == "gru":
        return zeros
    return LSTMState(zeros, zeros)


def run_cell(cell, xs, state):
    """Scan one recurrent layer over a time-major sequence.

    Args:
      xs: [T, B, D]
      state: hidden state of the layer

    Returns:
      (final_state, hs) with hs [T, B, H]
    """

    def body(carry, x):
        if cell["kind"] == "gru":
            h = gru_step(cell, carry, x)
            return h, h
        new = lstm_step(cell, carry, x)
        return new, new.h

    return jax.lax.scan(body, state, xs)


def init(key, vocab, n_emb, n_hid, n_layers=2, kind="gru"):
    keys = jax.random.split(key, n_layers + 2)
    make = make_gru_cell if kind == "gru" else make_lstm_cell
    cells = []
    for i in range(n_layers):
        cells.append(make(keys[i], n_emb if i == 0 else n_hid, n_hid))
    embed = 0.1 * jax.random.normal(keys[-2], (vocab, n_emb))  # [V, E]
    readout = (glorot(keys[-1], n_hid, vocab), jnp.zeros(vocab))
    return {"embed": embed, "cells": cells, "readout": readout}


def apply(params, tokens, states=None):
    """tokens [B, T] int -> (logits [B, T, V], states)."""
    batch = tokens.shape[0]
    if states is None:
        states = [zero_state(c, batch) for c in params["cells"]]
    x = params["embed"][tokens]  # [B, T, E]
    x = jnp.swapaxes(x, 0, 1)  # [T, B, E]
    new_states = []
    for cell, s in zip(params["cells"], states):
        s, x = run_cell(cell, x, s)
        new_states.append(s)
    w, b = params["readout"]
    logits = x @ w + b  # [T, B, V]
    return logits.transpose(1, 0, 2), new_states


def loss_fn(params, tokens, lengths):
    """Mean next-character cross entropy in nats; positions past `lengths` do not count."""
    logits, _ = apply(params, tokens[:, :-1])
    targets = tokens[:, 1:]  # [B, T-1]
    logp = jax.nn.log_softmax(logits)
    nll = -jnp.take_along_axis(logp, targets[..., None], axis=-1)[..., 0]  # [B, T-1]
    valid = jnp.arange(1, tokens.shape[1])[None, :] < lengths[:, None]  # [B, T-1]
    return jnp.sum(nll * valid) / jnp.maximum(valid.sum(), 1)


def sample(params, key, prompt, n_steps, temperature=1.0):
    """Continue `prompt` ([B, T]) by n_steps characters; the result is [B, n_steps]."""
    logits, states = apply(params, prompt)
    last = logits[:, -1]  # [B, V]

    def step(carry, k):
        last, states = carry
        tok = jax.random.categorical(k, last / temperature, axis=-1)  # [B]
        logits, states = apply(params, tok[:, None], states)
        return (logits[:, 0], states), tok

    _, toks = jax.lax.scan(step, (last, states), jax.random.split(key, n_steps))
    return toks.T


def hidden_norms(params, tokens):
    """L2 norm of the first layer's activation at each time step: [B, T]."""
    xs = jnp.swapaxes(params["embed"][tokens], 0, 1)
    cell = params["cells"][0]
    _, hs = run_cell(cell, xs, zero_state(cell, tokens.shape[0]))
    return jnp.linalg.norm(hs, axis=-1).T


if __name__ == "__main__":
    text = "the quick brown fox jumps over the lazy dog. " * 4
    chars = sorted(set(text))
    ids = jnp.array([chars.index(c) for c in text])
    data = ids[: 4 * 40].reshape(4, 40)  # [4, 40]
    params = init(jax.random.PRNGKey(0), len(chars), 8, 16, kind="lstm")
    lengths = jnp.array([40, 40, 35, 30])
    print(loss_fn(params, data, lengths))
    print(sample(params, jax.random.PRNGKey(1), data[:, :10], 12).shape)
