"""What is made up for one call fits together, as far as the source says how."""

from __future__ import annotations

import pytest

HEAD = """
import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

"""

CASES = {
    # the arrays of an instance inside of another have the sizes of its own integers
    "inside.py": """
class Grid(eqx.Module):
    Nx: int
    Ny: int
    area: Float[Array, "Ny Nx"]
    masked: Float[Array, "Nx"]

class Difference(eqx.Module):
    grid: Grid

    def diff(self, u: Float[Array, "n m"]) -> Float[Array, "n m"]:
        return u * self.grid.Nx

    def cells(self) -> Float[Array, "Ny Nx"]:
        turned = self.grid.area.T  # (Ny, Nx)  ~SC201
        return turned.T
""",
    # what an annotation has a name for, and nothing else, a docstring says
    "described.py": """
class Blocks(eqx.Module):
    '''Blocks.

    Args:
        diagonal: the blocks, shape ``(N, d, d)``.
        beside: those beside them, shape ``(N-1, d, d)``.
    '''

    diagonal: Float[Array, "N d d"]
    beside: Float[Array, "rest d d"]

    def __init__(self, diagonal: Float[Array, "N d d"], beside: Float[Array, "rest d d"]) -> None:
        self.diagonal, self.beside = diagonal, beside

    def __call__(self) -> Float[Array, "N d d"]:
        return self.diagonal.at[1:].add(self.beside)

class Features(eqx.Module):
    '''Features.

    Attributes:
        W: frequencies of shape ``(n_in, 2 * n_pairs)``.
    '''

    n_in: int = eqx.field(static=True)
    n_pairs: int = eqx.field(static=True)
    W: Float[Array, "D_in D_out"]

    def __call__(self, x: Float[Array, "N D_in"]) -> Float[Array, "N D_out"]:
        y = x @ self.W  # (N, 2 * n_pairs)
        y = y.T  # (N, 2 * n_pairs)  ~SC201
        return y.T

def steps(points: Float[Array, "N d"], between: Float[Array, "Nm1 d"]) -> Float[Array, "Nm1 d"]:
    return points[1:] - between
""",
    # with a flag an argument has the shape that it is said to have then
    "flag.py": """
def cost(labels: jnp.ndarray, probabilities: jnp.ndarray, one_hot: bool = False) -> jnp.ndarray:
    '''Costs.

    Args:
        labels: labels of shape [B, M]. If one_hot then [B, M, C].
        probabilities: of shape [B, N, C].

    Returns:
        A matrix [B, N, M].
    '''
    if one_hot:
        return jnp.einsum('bnc,bmc->bnm', probabilities, labels)
    return jax.vmap(jnp.take, (0, 0, None))(probabilities, labels, 1)
""",
    # what stands under `Args:` goes before what is said of one mode in passing
    "prose.py": """
def attend(queries, keys, mask=None):
    '''Weights.

    There are two modes. In the former, queries: `[batch..., length, features]` and
    keys: `[batch..., length, features]`.

    Args:
        queries: queries of shape `[batch, q_length, embed]`.
        keys: keys of shape `[batch, kv_length, embed]`.
        mask: mask of shape `[batch, q_length, kv_length]`.
    '''
    w = jnp.einsum('bqd,bkd->bqk', queries, keys)
    return w if mask is None else w + jnp.where(mask, 0.0, -1e10)
""",
    # an error about an axis that nobody describes is none, where the code goes on once that has another size
    "nobody.py": """
class Patches(eqx.Module):
    proj: eqx.nn.Conv2d
    places: Array

    def __init__(self, size: int, patch: int, channels: int, width: int, key):
        self.proj = eqx.nn.Conv2d(channels, width, kernel_size=patch, stride=patch, key=key)
        self.places = jnp.zeros((width, size // patch, size // patch))

    def __call__(self, x: Float[Array, "_ _ _"]) -> Float[Array, "q h w"]:  ~unreached
        return self.proj(x) + self.places  ~SC302
""",
    # what `vmap` decorates may be described as its callers see it, or one example at a time
    "mapped.py": """
@jax.vmap
def gather(x, idx):
    '''Args:
        x: of shape [batch, n, d].
        idx: indices of shape [batch, m], int32.

    Returns:
        of shape [batch, m, d].
    '''
    return x[idx]

@jax.jit
@jax.vmap
def one(x, w):
    '''Args:
        x: of shape (n, d).
        w: of shape (d, m).

    Returns:
        of shape (n, m).
    '''
    y = x @ w  # (n, m)
    z = y.T  # (n, m)  ~SC201
    return y

@jax.vmap
def wrong(x, idx):
    '''Args:
        x: of shape [batch, n, d].
        idx: indices of shape [batch, m], int32.

    Returns:
        of shape [batch, d, m].  ~SC207
    '''
    return x[idx]
""",
    # an integer of the model that a comment names is no denial of what the annotation leaves open
    "integers.py": """
class Encoder(eqx.Module):
    lin: eqx.nn.Linear
    width: int

    def __init__(self, width: int, *, key):
        self.width, self.lin = width, eqx.nn.Linear(width, width, key=key)

    def __call__(
        self,
        x: Float[Array, "d"],  # [width]  ~unreached
        pos: Float[Array, "L 2"],  ~unreached
    ) -> Float[Array, "d"]:  ~unreached
        y = jnp.hstack([pos, pos.T])  ~SC305
        return self.lin(x) + y.sum()
""",
    # the integers of a record are the sizes that comments behind its fields name, with defaults or without
    "commented.py": """
from typing import NamedTuple

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    assignments: Array  # (n_cols,)
    cuts: Array  # (n_cols, max_cats - 1)
    n_cols: int = dataclasses.field(default=0, metadata={"static": True})
    max_cats: int = dataclasses.field(default=16, metadata={"static": True})

class Plain(NamedTuple):
    cuts: Array  # (n_cols, max_cats - 1)
    n_cols: int
    max_cats: int

def turned(state: State):
    return state.cuts.T  # (n_cols, max_cats - 1)  ~SC201

def counted(plain: Plain):
    return plain.cuts + 1  # (n_cols, max_cats - 1)

def stacked(states: list[State]) -> State:
    arrays = [jnp.stack([getattr(each, name) for each in states]) for name in ("assignments", "cuts")]
    return State(*arrays, states[0].n_cols, states[0].max_cats)
""",
    # a step is no size: what the builder of a function is given leaves alone what does not fit inside
    "settings.py": """
def build(cfg):
    @jax.jit
    def advance(v, mask):
        '''Advance.

        v: (n_p, 2) velocities  ~unreached
        mask: (n_p,) flags  ~unreached
        '''
        turned = jnp.stack([v[:, 0], -v[:, 1]], axis=0)
        return v + cfg.dt * turned * mask[None, :]  ~SC305
    return advance
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_what_was_made_up_is_not_held_against_itself(folder, name: str) -> None:
    assert folder.cases[name].as_marked()
