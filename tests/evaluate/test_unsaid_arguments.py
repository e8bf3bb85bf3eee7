"""Arguments of which nothing is said where they are taken: other code of the file tells what they are."""

from __future__ import annotations

import pytest

HEAD = """
import argparse
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn, nnx

"""

CASES = {
    # what a function calls, or differentiates, gives what its first argument is, or what claims say
    "callables.py": """
def plain(f, y):
    # y: (n,)
    return f(y) + y  # (n,)

def newton(f, y):
    # y: (n,)
    J = jax.jacrev(f)(y)  # (n, n)
    return y - jnp.linalg.solve(J, f(y))  # (n,)

def fisher(params, model, cov):
    # params: (p,)
    # cov: (d, d)
    J = jax.jacfwd(model)(params)  # (d, p)
    return J.T @ jnp.linalg.solve(cov, J)  # (p, p)

def stages(f, t, y, h):
    # y: (n,)
    k = jnp.zeros((4, y.shape[0]))  # (4, n)
    for i in range(4):
        k = k.at[i].set(f(t + i * h, y))
    return k.sum(1)  # (n,)  ~SC201
""",
    # what goes by one name in a file is one thing, as far as the body admits it; it proves nothing
    "namesakes.py": """
def displacements(pos, box):
    '''Differences.

    Parameters
    ----------
    pos : (N, 3) array
    box : (3,) array

    Returns
    -------
    dr : (N, N, 3) array
    '''
    return pos[:, None] - pos[None] - box

def moved(pos, box):
    step = pos - box
    return step.sum(0)  # (N, 3) ~unreached

def claimed(pos, box):
    step = pos - box  # (N, 3)
    return step.sum(0)  # (N,) ~SC201

def lengths(dr):
    return jnp.sqrt(jnp.sum(dr**2, axis=-1))  # (N, N)

def unpacked(pos):
    batch, n, d = pos.shape
    return pos.sum(0)  # (n, d)

def looked_up(pos):
    return pos["x"] * 2  # (n, d)
""",
    # of several shapes the one whose names the function uses
    "several.py": """
def scaled(x, mean):
    # x: (n, d), mean: (d,)
    return x - mean

def forward(x):
    # x: (batch, features)
    return jnp.tanh(x)

def doubled(x):
    return 2 * x  # (batch, features)

def unclear(x):
    y = x[0]
    return y  # (k,) ~unreached
""",
    # two arguments that go to the same place
    "like.py": """
def init(key, width):
    return {"pi": {"w": jnp.ones((width, 2)), "b": jnp.ones(2)}, "q": {"w": jnp.ones((width, 3)), "b": jnp.ones(3)}}

def apply(p, x):
    return x @ p["w"] + p["b"]

def loss(nets, target, x):
    # x: (batch, width)
    y = apply(nets["pi"], x)  # (batch, 2)
    q = apply(nets["q"], x) - apply(target, x)  # (batch, 3)
    return q.sum(-1)  # (batch,)
""",
    "generators.py": """
def draw(rng, n, d):
    noise = rng.normal(size=(n, d))  # (n, d)
    return noise, rng.integers(0, 9, n)  # (n, d), (n,)

def draw_old(rng, n):
    return rng.randn(n, 2)  # (n, 2)

def wrong(rng, n, d):
    return rng.normal(size=(n, d)).T  # (n, d) ~SC201

def keyed(rng, n):
    return jax.random.normal(rng, (n,))  # (n,)

class Source:
    def normal(self, shape):
        return jnp.zeros(shape)

def drawn(source: Source, n: int, d: int):
    return source.normal((n, d))  # (n, d)
""",
    # settings as the arguments of a command
    "commands.py": """
def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n-items", type=int, default=40)
    parser.add_argument("--dim", type=int, default=16)
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()

def table(key, args):
    emb = jax.random.normal(key, (args.n_items, args.dim))  # (n_items, dim)
    if args.verbose:
        print(emb)
    wrong = emb.T  # (n_items, dim) ~SC201
    return emb
""",
    # keys that are a default count what is drawn, which they cannot do in a trace
    "default_keys.py": """
class Kept(nnx.Module):
    def __init__(self, width: int, *, rngs: nnx.Rngs = nnx.Rngs(0)):
        self.out = nnx.Linear(width, 7, rngs=rngs)

    def __call__(self, x):
        # x: (batch, width)
        y = self.out(x)  # (batch, 7)
        return y.T  # (batch, 7)  ~SC201
""",
    # a model of which only methods are called, or that a function inside gets
    "models.py": """
class Tagger(nnx.Module):
    def __init__(self, vocab: int, width: int, rngs: nnx.Rngs):
        self.embed = nnx.Embed(vocab, width, rngs=rngs)
        self.out = nnx.Linear(width, 5, rngs=rngs)

    def scores(self, tokens):
        return self.out(self.embed(tokens))

class Other(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.out = nnx.Linear(2, 3, rngs=rngs)

    def __call__(self, x):
        return self.out(x)

def best(model, tokens):
    # tokens: (batch, time) int
    picked = model.scores(tokens)  # (batch, time, 5)
    return picked.argmax(-1)  # (batch, time)

def train(model, x):
    # x: (batch, 2)
    def loss(model):
        y = model(x)  # (batch, 3)
        return y.sum()
    return jax.grad(loss)(model)
""",
    # sizes that the claims tell apart, though no name of an argument does
    "apart.py": """
def centred(mass, v):
    # mass: (N,) ~unreached
    # v: (N, 3) ~unreached
    p = (mass[:, None] * v).sum(1)
    moved = v - p  ~SC305
    return moved  # (N, 3) ~unreached

def pair(a, b):
    # a: (n, d), b: (m, d)
    return a @ b.T  # (n, m)

def grouped(x, centers):
    # x: (n, d)
    weight = jax.nn.softmax(pair(x, centers))  # (n, k)
    sums = jnp.einsum("nk,nd->kd", weight, x)  # (k, d)
    return sums / weight.sum(0)[:, None]  # (k, d)

def mixed(x, centers):
    # x: (n, d)
    weight = jax.nn.softmax(pair(x, centers))  # (n, k)
    sums = jnp.einsum("nk,nd->dk", weight, x)
    return sums / weight.sum(0)[:, None]  # (k, d) ~unreached
""",
    # a relation that the file writes for a layer which takes inputs of any width
    "equations.py": """
class Mix(nn.Module):
    '''Letters: B batch, H heads, D size of a head, M = H * D size of the model.'''
    heads: int
    size: int

    @nn.compact
    def __call__(self, x):
        '''x: [B, T, M]'''
        q = nn.Dense(self.heads * self.size)(x)
        q = q.reshape(*x.shape[:-1], self.heads, self.size)  # [B, T, H, D]
        out = q.reshape(*x.shape[:-1], -1)  # [B, T, M]
        turned = q.reshape(x.shape[0], -1, x.shape[1])  # [B, T, M] ~SC201
        return nn.Dense(x.shape[-1])(out)  # [B, T, M]

def halved(y, w):
    '''y: [B, T, M], w: [M, D], of D = M // 2'''
    return y @ w  # [B, T, M] ~SC201
""",
    # nothing says that as many come out as the heads have together
    "unprojected.py": """
class Unprojected(nn.Module):
    heads: int
    size: int

    @nn.compact
    def __call__(self, x):
        # x: (batch, features)
        q = nn.Dense(self.heads * self.size)(x)  # (batch, features) ~SC201
        return nn.Dense(x.shape[-1])(q)  # (batch, features)
""",
    # of a base's abstract parameters, the class that is evaluated says of what type they are
    "bases.py": """
from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol
from jaxtyping import Array, Float

class ParameterSet(Protocol):
    pass

class Params(NamedTuple):
    mean: Float[Array, "state"]
    step: Float[Array, "state state"]

class Model(ABC):
    @abstractmethod
    def first(self, params: ParameterSet): ...

    @abstractmethod
    def following(self, params: ParameterSet, at): ...

    def pair(self, params: ParameterSet) -> Float[Array, "2 state"]:
        at = self.first(params)
        return jnp.stack([at, self.following(params, at)])

    def wrong(self, params: ParameterSet) -> Float[Array, "2 state"]: ~SC203
        at = self.first(params)
        return jnp.stack([at, self.following(params, at)], axis=1)

class Linear(Model):
    def __init__(self, state_dim: int):
        self.state_dim = state_dim

    def first(self, params: Params):
        return params.mean

    def following(self, params: Params, at):
        return params.step @ at
""",
    # what a method hands on to a part of the model is what that takes there, or its default
    "handed_on.py": """
import equinox as eqx

class Attention(eqx.Module):
    scale: float

    def __init__(self, width: int):
        self.scale = width**-0.5

    def __call__(self, q, k, mask=None, *, soft=True):
        \"\"\"q: (t, d). k: (s, d). mask: (t, s) of what may be seen.\"\"\"
        scores = q @ k.T * self.scale  # (t, s)
        return jax.nn.softmax(scores if mask is None else jnp.where(mask, scores, 0)) if soft else scores

class Block(eqx.Module):
    attention: eqx.Module
    layers: list

    def __init__(self, width: int):
        self.attention = Attention(width)
        self.layers = [Attention(width) for _ in range(2)]

    def __call__(self, x, mask):
        weights = self.attention(x, x, mask)  # (t, t)
        return weights @ x  # (d, t) ~SC201

    def all_of(self, x, y, mask, soft):
        for layer in self.layers:
            weights = layer(x, y, mask, soft=soft)  # (t, s)
        return weights @ y  # (t, d)

class Dense(eqx.Module):
    w: jax.Array

    def __init__(self, width: int):
        self.w = jnp.ones((width, width))

    def __call__(self, x):
        \"\"\"x: (t, d).\"\"\"
        return x @ self.w

class Turned(eqx.Module):
    dense: Dense

    def __init__(self, d_model: int):
        self.dense = Dense(d_model)

    def __call__(self, x):
        y = self.dense(x)  # (t, d_model)
        return y.T  # (t, d_model) ~SC201
""",
    # what a model is given that nobody annotates is what the one class takes that can be called so
    "called_models.py": """
import equinox as eqx

class Pool(eqx.Module):
    w: jax.Array

    def __init__(self, d_in: int, n_out: int):
        self.w = jnp.ones((d_in, n_out))

    def __call__(self, bag, mask):
        \"\"\"bag: (n_s, d_in). mask: (n_s,). Returns: (n_out,)\"\"\"
        return (bag * mask[:, None]).sum(0) @ self.w

def loss(model, bags, masks):
    pooled = jax.vmap(model)(bags, masks)  # (batch, n_out)
    return pooled.sum(axis=-1)  # (n_out,) ~SC201

@eqx.filter_jit
def train_step(model, bags, masks):
    def total(m):
        pooled = jax.vmap(m)(bags, masks)  # (batch, n_out)
        return pooled.sum()
    return eqx.filter_value_and_grad(total)(model)
""",
    # items of a tuple need not have as many axes as each other; what follows from their sizes alone is so anyway
    "tuples.py": """
from typing import NamedTuple
from jaxtyping import Array, Float

class State(NamedTuple):
    mean: Float[Array, "n"]  # ~unreached
    covariance: Float[Array, "n n"]

def step(after: State, given: tuple[Array, Array, Array]) -> tuple[State, State]:
    mean, covariance, transition = given
    gain = covariance @ transition.T
    moved = mean + gain @ after.mean
    state = State(moved, gain @ after.covariance @ gain.T)
    return state, state

def total(rows: Float[Array, "n n"], given: tuple[Array, Array]) -> Float[Array, "n"]:  # ~SC203
    mean, transition = given
    changed = transition.T @ mean
    return rows.sum() + 0.0 * changed.sum()
""",
    # of what is mapped over nobody knows a shape; it is not None
    "mapped.py": """
def loss(model, bags):
    logits = jax.vmap(model)(bags)  # (batch, n_out) ~unreached
    return logits.sum()
""",
    # a layer that takes arrays of one shape tells how many axes they have
    "normed.py": """
import equinox as eqx

class Mixer(eqx.Module):
    rows: eqx.nn.MLP
    norm: eqx.nn.LayerNorm

    def __init__(self, patches, hidden, *, key):
        self.rows = eqx.nn.MLP(patches, patches, 32, depth=1, key=key)
        self.norm = eqx.nn.LayerNorm((hidden, patches))

    def __call__(self, y):
        y = y + jax.vmap(self.rows)(self.norm(y))
        return y.T  # (hidden, patches)  ~SC201
""",
    # what is another library's has other methods of the same names
    "other.py": """
import torch  ~SC303

def strength(probs, bins):
    # shape=(batch * time, 360) ~unreached
    stacked = probs.transpose(1, 2).reshape(-1, 360)  ~SC302
    bins_stacked = bins.reshape(-1, 1).to(torch.int64)
    return stacked.gather(1, bins_stacked)
""",
    # what only logs is none
    "logged.py": """
import nowhere_wandb as wandb  ~SC303

def strength(probs, bins):
    stacked = probs.transpose(1, 2).reshape(-1, 360)  ~SC301
    wandb.log(stacked)
    return stacked + bins  # (batch, 360) ~unreached
""",
    # a model keeps its rates, of which it says nothing
    "rates.py": """
import haiku as hk

class Layer(hk.Module):
    def __init__(self, num_heads, dropout, temperature, name=None):
        super().__init__(name)
        self.num_heads, self.dropout, self.temperature = num_heads, dropout, temperature

    def __call__(self, x):
        # x: (n, d)
        y = hk.dropout(hk.next_rng_key(), self.dropout, x)
        return y.T / self.temperature  # (n, d)  ~SC201
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_other_code_tells_what_an_argument_is(folder, name):
    assert folder.cases[name].as_marked()
