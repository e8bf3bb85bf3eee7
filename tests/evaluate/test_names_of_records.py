"""Names in the fields of an argument's class bind comments of the function that takes it; what else arguments are."""

from __future__ import annotations

import pytest

HEAD = """
from __future__ import annotations
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

"""

CASES = {
    "records.py": """
@jax.tree_util.register_dataclass
@dataclass
class Obs:
    uv: jax.Array  # (M, 2)
    weight: jax.Array  # (M,)

def residuals(obs: Obs):
    return obs.uv * obs.weight[:, None]  # (M, 2)

def cost(obs: Obs):
    e = residuals(obs)
    return jnp.sum(e**2, axis=0)  # (M,)  ~SC201

def namesake(obs):
    e = residuals(obs)
    return jnp.sum(e**2, axis=0)  # (M,)  ~SC201

def right(obs: Obs):
    e = residuals(obs)
    return jnp.sum(e**2, axis=-1)  # (M,)

def own_meaning(obs: Obs):
    x = jnp.zeros((7, 3)) + obs.uv.sum()  # (M, 3)
    return x.sum(1)  # (M,)
""",
    # No comment is needed: the result has another axis of the fields. What has a size of its own may be a part.
    "results.py": """
class Cloud(NamedTuple):
    heights: Float[Array, "points"]
    values: Float[Array, "rows points"]

def rows(cloud: Cloud) -> Float[Array, "points"]: ~SC203
    return cloud.values.sum(1)

def points(cloud: Cloud) -> Float[Array, "points"]:
    return cloud.values.sum(0)

def part(cloud: Cloud) -> Float[Array, "points"]:
    return cloud.heights[::2]

class Table(eqx.Module):
    heights: Float[Array, "points"]
    values: Float[Array, "rows points"]

    def summed(self) -> Float[Array, "points"]: ~SC203
        return self.values.sum(1)

Vector = Float[Array, "points"]

def general(cloud: Cloud) -> Vector:
    return cloud.values.sum(1)
""",
    # The fields have a say beside the comments, and beside the annotation of the result.
    "votes.py": """
class Hooks(NamedTuple):
    z: Float[Array, "layer pos head d_head"]
    out: Float[Array, "layer head d_head d_model"]

def score(cache: Hooks) -> Float[Array, "layer head"]: ~SC203
    d = jnp.diagonal(cache.out, axis1=-2, axis2=-1)  # (layer, head, n_diag)
    return d.mean(0)

def attribution(cache: Hooks, dirn):
    # dirn: [d_model]
    contrib = jnp.einsum("lphd,lhdm->lphm", cache.z, cache.out)  # [layer, pos, head, d_model]
    last = contrib[:, :, -1]  # [layer, head, d_model]  ~SC201
    return last @ dirn  # [layer, head]  ~SC201
""",
    # What records alone count may be as many as the model counts, whatever they call it.
    "counted.py": """
State = Float[Array, "num_states state_dim"]

class EnvState(NamedTuple):
    agent: State
    goal: State

class Edges(NamedTuple):
    feats: Float[Array, "n_recv n_send n_feat"]
    mask: Float[Array, "n_recv n_send"]
    receivers: Int[Array, "n_recv"]

class Env:
    def __init__(self, num_agents: int, dt: float = 0.03):
        self.num_agents = num_agents

    def nodes(self, state: EnvState) -> Float[Array, "nodes state_dim"]:
        feats = jnp.zeros((self.num_agents * 2, 4)).at[: self.num_agents].set(state.agent)
        return feats.at[self.num_agents :].set(state.goal)

    def turned(self, state: EnvState) -> Float[Array, "nodes state_dim"]:  ~unreached
        feats = jnp.zeros((self.num_agents * 2, 4)).at[: self.num_agents].set(state.agent.T)  ~SC305
        return feats

    def edges(self, state: EnvState) -> Edges:
        diff = state.agent[:, None] - state.agent[None]
        return Edges(diff, jnp.eye(self.num_agents), jnp.arange(self.num_agents))

    def graph(self, state: EnvState) -> Float[Array, "nodes state_dim"]:
        return jnp.zeros((self.edges(state).mask.shape[0], 4))
""",
    # A comment on a record may tell of the axes that a stack of it has in front, of which its own fields do not know.
    "stacked.py": """
class Block(eqx.Module):
    scale: Float[Array, "width"]

class Blocks(eqx.Module):
    blocks: Block  # [num_blocks]  ~unreached
    gates: jax.Array  # [num_blocks]

    def __init__(self, num_blocks: int, width: int, *, key):
        self.blocks = jax.vmap(lambda k: Block(jax.random.normal(k, (width,))))(jax.random.split(key, num_blocks))
        self.gates = jnp.zeros((num_blocks,))

    def __call__(self, x: Float[Array, "width"]) -> Float[Array, "num_blocks width"]:
        return self.blocks.scale * x
""",
    # And so have the fields of the instance itself.
    "own_fields.py": """
class Codebook(eqx.Module):
    embed: Float[Array, "codes dim"]

    def __init__(self, codes: int, dim: int, *, key):
        self.embed = jax.random.normal(key, (codes, dim))

    def usage(self, idx: Int[Array, "h w"]) -> Float[Array, "codes"]: ~SC203
        one_hot = jax.nn.one_hot(idx, self.embed.shape[0])  # (h, w, codes)
        return one_hot.mean(axis=(0, 2))

    def near(self, z: Float[Array, "n dim"]) -> Float[Array, "n codes"]:
        distances = z @ self.embed.T  # (n, codes)
        return distances
""",
    # What two instances have in different sizes means nothing in the function that takes both.
    "two.py": """
class Set(NamedTuple):
    points: jax.Array  # (N, 3)

def thin(s: Set):
    # s.points: (N, 3)
    return Set(s.points[::2])

def both(s: Set):
    t = thin(s)
    return t.points.sum(1)  # (N,)
""",
    # A parameter that is given another value: comments below may mean that one.
    "reassigned.py": '''
def attend(feats, links, loops=False):
    """Attend.

    Args:
        feats: [num_nodes, width]
        links: [2, num_edges]
    """
    if loops:
        own = jnp.arange(feats.shape[0])
        links = jnp.concatenate([links, jnp.stack([own, own])], axis=1)
    a = feats[links[0]]  # [num_edges, width]
    b = feats[links[1]]  # [num_edges, width]
    return (a * b).sum(-1)  # [num_edges]

def use():
    return attend(jnp.ones((4, 8)), jnp.zeros((2, 5), int), loops=True)
''',
    # An axis is split into as many parts as another array has items: any that divide it.
    "parts.py": '''
def dequantize(q, scale):
    """(d_in, d_out), (groups, d_out) -> (d_in, d_out)"""
    groups = scale.shape[0]
    d_in, d_out = q.shape
    return (q.reshape(groups, -1, d_out) * scale[:, None]).reshape(d_in, d_out)

def wrong(q, scale):
    # q: (d_in, d_out), scale: (groups, d_out)
    groups = scale.shape[0]
    d_in, d_out = q.shape
    x = jnp.reshape(q, (groups, -1, d_out)) * scale[:, None]
    return x.sum(1)  # (d_in, d_out)  ~SC201
''',
    # One name of an axis and of any axes: it is one axis.
    "variadic.py": '''
def mask(x, valid):
    """
    :param x: [*batch, L, width]
    :param valid: [batch, L]
    """
    y = jnp.stack([x, x])  # [2, batch, L, width]
    return y * valid[None, :, :, None]  # [batch, L, width]  ~SC201
''',
    # A number that an argument's claim writes, and an integer that was made up for the constructor.
    "written.py": """
class Text(eqx.Module):
    places: Array
    context: int = eqx.field(static=True)

    def __init__(self, context: int, width: int, key: Array):
        self.context = context
        self.places = jax.random.normal(key, (context, width))

    def encode(self, text: Int[Array, "77"]): ~unreached
        x = self.places[text % 3]
        return x + self.places ~SC302
""",
    # So it is with a one, where axes are contracted and not broadcast.
    "one.py": """
class Curve(eqx.Module):
    layers: list[Any]

    def __init__(self, size: int, width: int, key: Array):
        self.layers = [eqx.nn.Linear(size, width, key=key), jax.nn.tanh, eqx.nn.Linear(width, 1, key=key)]

    def __call__(
        self, x: Float[Array, "1"] ~unreached
    ) -> Float[Array, "1"]: ~unreached
        for layer in self.layers:
            x = layer(x) ~SC302
        return x
""",
    # An instance of the class that a callable is said to give, and an integer that a docstring calls so.
    "given.py": '''
class Norm(eqx.Module):
    scale: Float[Array, " dim"]

    def __init__(self, dim: int):
        self.scale = jnp.ones(dim)

    def __call__(self, x: Float[Array, "h dim"]) -> Float[Array, "h dim"]:
        return x * self.scale

class Merge(eqx.Module):
    weight: Float[Array, "twice dim"]
    norm: Norm

    def __init__(self, dim: int, make_norm: Callable[..., Norm], key: Array):
        self.weight = jax.random.normal(key, (2 * dim, dim))
        self.norm = make_norm(2 * dim)

    def __call__(self, x: Float[Array, "h dim"]) -> Float[Array, "h 2*dim"]:
        return self.norm(x @ self.weight.T)

def dynamics(n, dt=1.0):
    """
    n: int
    dt: float

    Returns:
        (2*n, 2*n + 1)  ~SC207
    """
    base = jax.scipy.linalg.block_diag(jnp.eye(n), jnp.eye(n))
    return base * dt
''',
    # A dtype changes no shape: what makes one up does not excuse an error.
    "dtypes.py": """
def default_dtype():
    return jnp.float32

class Block(eqx.Module):
    scale: Array

    def __init__(self, dim: int, *, dtype: Any):
        self.scale = jnp.ones((dim, 1), dtype=dtype)

    def __call__(self, x: Float[Array, "c h w"]) -> Float[Array, "c h w"]: ~unreached
        return x + self.scale * x ~SC305
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_is_known_of_arguments(folder, name: str) -> None:
    case = folder.cases[name]
    assert case.actual == case.expected
