"""Whole models: constructed from what their annotations, names and defaults say, and called."""

from __future__ import annotations

import pytest

HEAD = """
import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any, Literal, Optional
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree
"""

CASES = {
    "batch_norm.py": """
class Net(eqx.Module):
    norm: eqx.nn.BatchNorm
    lin: eqx.nn.Linear
    def __init__(self, d: int, out: int, *, key: PRNGKeyArray):
        self.norm = eqx.nn.BatchNorm(d, axis_name="batch")
        self.lin = eqx.nn.Linear(d, out, key=key)
    def __call__(self, x: Float[Array, "d"], state: eqx.nn.State) -> tuple[Float[Array, "out"], eqx.nn.State]:
        y, state = self.norm(x, state)
        h = jax.nn.relu(y)  # (d,)
        z = self.lin(h)  # (d,)  ~SC201
        return z, state
""",
    "make_with_state.py": """
class Net(eqx.Module):
    norm: eqx.nn.BatchNorm
    def __init__(self, d: int):
        self.norm = eqx.nn.BatchNorm(d, "batch")
    def __call__(self, x, state):
        y, state = self.norm(x, state)
        return y, state

def train(xs: Float[Array, "n 6"]) -> Float[Array, "n 6"]:
    model, state = eqx.nn.make_with_state(Net)(6)
    run = jax.vmap(model, in_axes=(0, None), out_axes=(0, None), axis_name="batch")
    ys, state = run(xs, state)
    wrong = ys.T  # (n, 6)  ~SC201
    return ys + wrong.T
""",
    "counter.py": """
class Counter(eqx.Module):
    index: eqx.nn.StateIndex
    w: Float[Array, "d k"]
    def __init__(self, d: int, k: int):
        self.index = eqx.nn.StateIndex(jnp.zeros((d,)))
        self.w = jnp.zeros((d, k))
    def __call__(self, x: Float[Array, "d"], state: eqx.nn.State) -> tuple[Float[Array, "k"], eqx.nn.State]:
        mean = state.get(self.index)  # (d,)
        new = 0.9 * mean + 0.1 * x  # (k,)  ~SC201
        return new @ self.w, state.set(self.index, new)
""",
    "unannotated_state.py": """
class Stateful(eqx.Module):
    index: eqx.nn.StateIndex
    def __init__(self, d: int):
        self.index = eqx.nn.StateIndex(jnp.zeros((d,)))
    def __call__(self, x: Float[Array, "d"], state, *, key=None):
        y = x + state.get(self.index)  # (d,)
        z = y[None]  # (d,)  ~SC201
        return z, state
""",
    "dropout.py": """
class Net(eqx.Module):
    drop: eqx.nn.Dropout
    lin: eqx.nn.Linear
    def __init__(self, d: int, k: int, rate: float = 0.1, *, key: Key[Array, ""]):
        self.drop = eqx.nn.Dropout(rate)
        self.lin = eqx.nn.Linear(d, k, key=key)
    def __call__(
        self, x: Float[Array, "d"], *, key: PRNGKeyArray | None = None, inference: bool = False
    ) -> Float[Array, "k"]:
        k1, k2 = jr.split(key)
        y = self.drop(x, key=k1, inference=inference)  # (d,)
        noise = jr.normal(k2, y.shape)  # (k,)  ~SC201
        return self.lin(y + noise)

class Optional_(eqx.Module):
    drop: eqx.nn.Dropout
    def __init__(self):
        self.drop = eqx.nn.Dropout(0.5)
    def __call__(self, x: Float[Array, "d"], key: Optional[PRNGKeyArray] = None) -> Float[Array, "d"]:
        y = self.drop(x, key=key)  # (d,)
        z = y[None]  # (d,)  ~SC201
        return z[0]
""",
    "config.py": """
class Act(enum.Enum):
    RELU = "relu"
    TANH = "tanh"

@dataclasses.dataclass(frozen=True)
class AttnConfig:
    d_model: int
    n_heads: int
    causal: bool = True
    dropout: float = 0.0

@dataclasses.dataclass
class Config:
    attn: AttnConfig
    d_ff: int
    kind: Literal["pre", "post"] = "pre"
    act: Act = Act.RELU
    bias: Optional[bool] = None
    extra: Optional[int] = None
    names: tuple[str, ...] = ()

class Block(eqx.Module):
    config: Config = eqx.field(static=True)
    up: eqx.nn.Linear
    down: eqx.nn.Linear
    def __init__(self, config: Config, *, key: PRNGKeyArray):
        k1, k2 = jr.split(key)
        self.config = config
        self.up = eqx.nn.Linear(config.attn.d_model, config.d_ff, use_bias=config.kind == "pre", key=k1)
        self.down = eqx.nn.Linear(config.d_ff, config.attn.d_model, key=k2)
    def __call__(self, x: Float[Array, "seq d_model"]) -> Float[Array, "seq d_model"]:
        h = jax.vmap(self.up)(x)  # (seq, d_ff)
        wrong = jax.vmap(self.up)(x)  # (seq, d_model)  ~SC201
        match self.config.act:
            case Act.RELU:
                h = jax.nn.relu(h + wrong)
            case _:
                h = jnp.tanh(h)
        n = self.config.attn.n_heads
        heads = x.reshape(-1, n, self.config.attn.d_model // n)  # (seq, n_heads, d_head)
        return jax.vmap(self.down)(h)
""",
    "defaults_hide.py": """
class Mlp(eqx.Module):
    a: eqx.nn.Linear
    b: eqx.nn.Linear
    def __init__(self, dim: int = 64, hidden: int = 64, *, key):
        k1, k2 = jr.split(key)
        self.a = eqx.nn.Linear(dim, hidden, key=k1)
        self.b = eqx.nn.Linear(hidden, dim, key=k2)
    def __call__(self, x: Float[Array, "dim"]) -> Float[Array, "dim"]:
        h = self.a(x)  # (hidden,)
        h = jnp.tanh(h)  # (dim,)  ~SC201
        return self.b(h)
""",
    "mix_up.py": """
class Mlp(eqx.Module):
    a: eqx.nn.Linear
    b: eqx.nn.Linear
    def __init__(self, d_model: int, hidden: int, *, key: PRNGKeyArray):
        k1, k2 = jr.split(key)
        self.a = eqx.nn.Linear(d_model, hidden, key=k1)
        self.b = eqx.nn.Linear(d_model, hidden, key=k2)
    def __call__(self, x: Float[Array, "d_model"]) -> Float[Array, "d_model"]: ~unreached
        h = self.a(x)  # (hidden,) ~unreached
        return self.b(h) ~SC305
""",
    "submodules.py": """
class Embed(eqx.Module):
    table: Float[Array, "vocab d"]
    def __init__(self, vocab: int, d: int, *, key: PRNGKeyArray):
        self.table = jr.normal(key, (vocab, d))
    def __call__(self, ids: Int[Array, "s"]) -> Float[Array, "s d"]:
        return self.table[ids]

class Head(eqx.Module):
    w: Float[Array, "d vocab"]
    def __init__(self, d: int, vocab: int, *, key: PRNGKeyArray):
        self.w = jr.normal(key, (d, vocab))
    def __call__(self, x: Float[Array, "s d"]) -> Float[Array, "s vocab"]:
        return x @ self.w

class Model(eqx.Module):
    embed: Embed
    layers: list
    table: dict[str, eqx.nn.Linear]
    head: Head
    activation: Callable
    def __init__(self, vocab: int, d: int, n_layers: int, *, key: PRNGKeyArray, activation: Callable = jax.nn.gelu):
        ks = jr.split(key, n_layers + 3)
        self.embed = Embed(vocab, d, key=ks[0])
        self.layers = [eqx.nn.Linear(d, d, key=k) for k in ks[3:]]
        self.table = {"mix": eqx.nn.Linear(d, 3 * d, key=ks[1])}
        self.head = Head(d, vocab, key=ks[2])
        self.activation = activation
    def __call__(self, ids: Int[Array, "s"]) -> Float[Array, "s vocab"]:
        x = self.embed(ids)  # (s, d)
        for layer in self.layers:
            x = self.activation(jax.vmap(layer)(x))  # (s, d)
        q, k, v = jnp.split(jax.vmap(self.table["mix"])(x), 3, axis=-1)  # (s, d)
        scores = q @ k.T  # (s, d)  ~SC201
        y = scores @ v  # (s, d)
        return self.head(y)
""",
    "injected.py": """
class Encoder(eqx.Module):
    lin: eqx.nn.Linear
    def __init__(self, in_size: int, out_size: int, *, key: PRNGKeyArray):
        self.lin = eqx.nn.Linear(in_size, out_size, key=key)
    def __call__(self, x: Float[Array, "in_size"]) -> Float[Array, "out_size"]:
        return self.lin(x)

class Wrapper(eqx.Module):
    encoder: Encoder
    scale: float = 2.0
    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "m"]:
        y = self.encoder(x) * self.scale  # (m,)
        z = self.encoder(x)  # (n,)  ~SC201
        return y + z
""",
    "fields_by_dataclass.py": """
class Gaussian(eqx.Module):
    mean: Float[Array, "d"]
    cov: Float[Array, "d d"]
    jitter: float = 1e-6
    def log_prob(self, x: Float[Array, "n d"]) -> Float[Array, "n"]:
        diff = x - self.mean  # (n, d)
        sol = jnp.linalg.solve(self.cov, diff.T)  # (d, n)
        return (diff * sol.T).sum(1)  # (d,)  ~SC201
    def __check_init__(self):
        if self.mean.ndim != 1:
            raise ValueError("mean")
""",
    "converter.py": """
class Poly(eqx.Module):
    coefficients: Float[Array, "k"] = eqx.field(converter=jnp.asarray)
    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "n k"]:
        powers = x[:, None] ** jnp.arange(self.coefficients.shape[0])  # (n, k)
        return powers * self.coefficients  # (k, n)  ~SC201
""",
    # converters run when the constructor has come to its end
    "converted.py": """
def column(x):
    x = jnp.asarray(x)
    return x[:, None] if x.ndim == 1 else x

class Table(eqx.Module):
    rows: Float[Array, "n p"] = eqx.field(converter=column)
    def __init__(self, rows):
        self.rows = rows
    def __check_init__(self):
        assert self.rows.ndim == 2

class Labelled(Table):
    labels: Float[Array, "n"] = eqx.field(converter=column)  ~SC205
    def __init__(self, rows, labels):
        self.rows, self.labels = rows, labels

def make(x: Float[Array, "n"]):
    return Table(x), Labelled(x, x)
""",
    "static_arrays.py": """
class Noise(eqx.Module):
    scale: Float[Array, "d"]
    shape: jax.ShapeDtypeStruct = eqx.field(static=True)

def halves(x: PyTree[Float[Array, "d"]]) -> PyTree[Float[Array, "d 2"]]:
    return jax.tree.map(lambda leaf: jnp.stack([leaf, leaf], axis=1), x)

def noisy(scale: Float[Array, "d"]):
    noise = Noise(scale, jax.ShapeDtypeStruct((7, 9), jnp.float32))
    both = halves({"noise": noise, "scale": scale})
    return both["noise"].scale.T  # (d, 2)  ~SC201
""",
    "recurrent.py": """
class Rnn(eqx.Module):
    cell: eqx.nn.GRUCell
    out: eqx.nn.Linear
    hidden_size: int = eqx.field(static=True)
    def __init__(self, in_size: int, hidden_size: int, out_size: int, *, key: PRNGKeyArray):
        k1, k2 = jr.split(key)
        self.cell = eqx.nn.GRUCell(in_size, hidden_size, key=k1)
        self.out = eqx.nn.Linear(hidden_size, out_size, key=k2)
        self.hidden_size = hidden_size
    def __call__(self, xs: Float[Array, "t in_size"]) -> Float[Array, "out_size"]:
        def step(h, x):
            h = self.cell(x, h)  # (hidden_size,)
            return h, h
        h0 = jnp.zeros(self.hidden_size)  # (hidden_size,)
        last, hs = jax.lax.scan(step, h0, xs)  # (hidden_size,), (hidden_size, t)  ~SC201
        return self.out(last)  # (out_size,)
""",
    "attention.py": """
class Attention(eqx.Module):
    mha: eqx.nn.MultiheadAttention
    rope: eqx.nn.RotaryPositionalEmbedding
    ln: eqx.nn.LayerNorm
    def __init__(self, d_model: int, n_heads: int, *, key: PRNGKeyArray):
        self.mha = eqx.nn.MultiheadAttention(n_heads, d_model, key=key)
        self.rope = eqx.nn.RotaryPositionalEmbedding(d_model // n_heads)
        self.ln = eqx.nn.LayerNorm(d_model)
    def __call__(self, x: Float[Array, "s d_model"], mask: Optional[Array] = None) -> Float[Array, "s d_model"]:
        y = jax.vmap(self.ln)(x)  # (s, d_model)
        causal = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool))  # (s, s)
        z = self.mha(y, y, y, mask=causal)  # (d_model, s)  ~SC201
        return x + z
""",
    "conv.py": """
class Conv(eqx.Module):
    c1: eqx.nn.Conv2d
    c2: eqx.nn.Conv2d
    pool: eqx.nn.MaxPool2d
    def __init__(self, in_ch: int, hidden: int, out_ch: int, *, key: PRNGKeyArray):
        k1, k2 = jr.split(key)
        self.c1 = eqx.nn.Conv2d(in_ch, hidden, 3, stride=2, padding=1, key=k1)
        self.c2 = eqx.nn.Conv2d(hidden, out_ch, 3, padding=1, key=k2)
        self.pool = eqx.nn.MaxPool2d(2, 2)
    def __call__(self, x: Float[Array, "in_ch h w"]) -> Float[Array, "out_ch h//4 w//4"]:
        y = self.c1(x)  # (hidden, h//2, w//2)
        z = self.c2(y)  # (out_ch, h, w)  ~SC201
        return self.pool(z)
""",
    "mlp.py": """
class Net(eqx.Module):
    mlp: eqx.nn.MLP
    seq: eqx.nn.Sequential
    def __init__(self, in_size: int, out_size: int, width: int, depth: int = 3, *, key: PRNGKeyArray):
        k1, k2 = jr.split(key)
        self.mlp = eqx.nn.MLP(in_size, out_size, width, depth, key=k1)
        last = eqx.nn.Linear(out_size, width, key=k2)
        self.seq = eqx.nn.Sequential([last, eqx.nn.Lambda(jax.nn.relu), eqx.nn.Dropout(0.1)])
    def __call__(self, x: Float[Array, "in_size"], key: PRNGKeyArray) -> Float[Array, "width"]:
        y = self.mlp(x)  # (out_size,)
        z = self.seq(y, key=key)  # (out_size,)  ~SC201
        return z
""",
    "inherits.py": """
class Base(eqx.Module):
    w: eqx.AbstractVar[Array]
    def project(self, x: Float[Array, "n d"]) -> Float[Array, "n k"]:
        y = x @ self.w  # (n, k)
        return y  # (k, n)  ~SC201

class Concrete(Base):
    w: Float[Array, "d k"]
    def __init__(self, d: int, k: int):
        self.w = jnp.zeros((d, k))
    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n k"]:
        return self.project(x)
""",
    "shared.py": """
class Tied(eqx.Module):
    shared: eqx.nn.Shared
    def __init__(self, vocab: int, d: int, *, key: PRNGKeyArray):
        k1, k2 = jr.split(key)
        embed = eqx.nn.Embedding(vocab, d, key=k1)
        head = eqx.nn.Linear(d, vocab, use_bias=False, key=k2)
        self.shared = eqx.nn.Shared((embed, head), where=lambda p: p[1].weight, get=lambda p: p[0].weight)
    def __call__(self, ids: Int[Array, "s"]) -> Float[Array, "s vocab"]:
        embed, head = self.shared()
        x = jax.vmap(embed)(ids)  # (s, d)
        logits = jax.vmap(head)(x)  # (s, d)  ~SC201
        return logits
""",
    "training.py": """
class Net(eqx.Module):
    l: eqx.nn.Linear
    def __init__(self, d: int, k: int, *, key: PRNGKeyArray):
        self.l = eqx.nn.Linear(d, k, key=key)
    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "k"]:
        return self.l(x)

def loss(model: Net, x: Float[Array, "n d"], y: Float[Array, "n k"]) -> Float[Array, ""]:
    p = jax.vmap(model)(x)  # (n, k)
    return jnp.mean((p - y) ** 2)

@eqx.filter_jit
def step(model: Net, x: Float[Array, "n d"], y: Float[Array, "n k"], lr: float = 0.1):
    value, grads = eqx.filter_value_and_grad(loss)(model, x, y)
    w = grads.l.weight  # (d, k)  ~SC201
    new = jax.tree.map(lambda p, g: p - lr * g, eqx.filter(model, eqx.is_array), grads)
    return eqx.apply_updates(model, grads), value
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_claims_are_verified_and_wrong_ones_found(folder, name: str) -> None:
    assert folder.cases[name].as_marked()


def test_nothing_is_merely_tentative(folder) -> None:
    assert folder.report.summary.tentative == 0
