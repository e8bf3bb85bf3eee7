"""How long a made-up sequence is nobody says: what does not fit for that reason alone is no error of the code."""

from __future__ import annotations

import pytest

HEAD = """
from collections.abc import Sequence
from typing import NamedTuple
import jax.numpy as jnp
from jaxtyping import Array, Float
"""

CASES = {
    "sequences.py": """
def padded(x: Float[Array, "c n"], padding: Sequence[tuple[int, int]]):
    return jnp.pad(x[None], [(0, 0), (0, 0), *padding])

def wrong(x: Float[Array, "c n"], w: Float[Array, "c n"], counts: Sequence[int]):
    y = x @ w ~SC305
    return jnp.broadcast_to(y, (*counts, *y.shape))

def two(x: Float[Array, "c n"], w: Float[Array, "c n"], counts: Sequence[int]):
    a, b = counts
    y = x @ w ~SC305
    return jnp.broadcast_to(y, (a, b, *y.shape))
""",
    # as many patches as a shape comes to that callers give; the code's own number is another matter
    "products.py": """
def unflattened(x: Float[Array, "b patches c"], spatial_shape: tuple[int, ...]):  ~unreached
    return x.reshape(x.shape[0], *spatial_shape, x.shape[-1])

def of_code(x: Float[Array, "b patches c"], spatial_shape: tuple[int, ...]):  ~unreached
    return x.reshape(x.shape[0], 30, x.shape[-1]) + jnp.zeros(spatial_shape).sum()  ~SC305
""",
    # as many layers as there are rows, for all callers; not where the code takes two
    "stages.py": """
import equinox as eqx

class Stage(eqx.Module):
    scale: float

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        return x * self.scale

class Stages(eqx.Module):
    stages: tuple[Stage, ...]

    def __call__(self, x: Float[Array, "layers n d"]) -> Float[Array, "layers n d"]:  ~unreached
        return jnp.stack([each(x[i]) for i, each in enumerate(self.stages)])

    def wrong(self, x: Float[Array, "layers n d"]) -> Float[Array, "layers n d"]:  ~SC203
        return jnp.stack([self.stages[0](x[0]), self.stages[0](x[1])])
""",
    # as many members as the shape that they are cut into has; not where the code makes two
    "members.py": """
def restored(members: list[Float[Array, "d"]], plates: tuple[int, ...]) -> Array:
    return jnp.stack(members).reshape(*plates, *members[0].shape)

def wrong(member: Float[Array, "d"], n: int) -> Array:
    return jnp.stack([member, member]).reshape(3, *member.shape)  ~SC301
""",
    # a table has as many rows as there are points of the grid, and axes are cut into what all of them come to
    "grids.py": """
class Table:
    def __init__(self, grid: Sequence[float], values: Sequence[Sequence[float]]):
        self.grid = jnp.asarray(grid)
        self.values = jnp.asarray(values)  # (len(grid), 3)  ~unreached

def cut(x: Float[Array, "k out in"], dims: tuple[tuple[int, ...], tuple[int, ...]]) -> Array:  ~unreached
    return x.reshape((x.shape[0],) + dims[0] + dims[1])

def summed(x: Array, front: int, count: int, dims: Sequence[int]):
    '''x has shape (*front, *dims)'''  ~unreached
    return [x.sum(tuple(front + j for j in range(count) if j != i)) for i in range(count)]
""",
    # as many operands as what was made up has rows; those that are written are another matter
    "operands.py": """
def contracted(x: Float[Array, "b m"], w: Float[Array, "r"], factors: Sequence) -> Float[Array, "b"]:  ~unreached
    '''factors: one matrix for each axis'''
    return jnp.einsum("bm,r,mr->b", x, w, *factors)

def wrong(x: Float[Array, "b m"], w: Float[Array, "r"]) -> Float[Array, "b"]:  ~unreached
    return jnp.einsum("bm,r,mr->b", x, w)  ~SC301
""",
    # what a list holds was made up with any sizes, and the text is about them
    "elements.py": """
class Molecule(NamedTuple):
    '''Attributes:
        atoms: List of (element, position) tuples. Element is str,
            position is an array of shape (3,).  ~unreached
    '''
    atoms: list[tuple[str, Array]]
    count: int

    def mask(self) -> Float[Array, "count count"]:
        return jnp.zeros((self.count, self.count))

""",
    # an initializer is given one size, or several: the claim is about how it is called, and that is nowhere
    "initializers.py": """
def ring(key: Array, shape: Sequence[int]) -> Float[Array, "e"]:  ~unreached
    return jnp.cos(jnp.zeros(shape))

def ring_of(radius: float):
    def init(key: Array, shape: Sequence[int]) -> Float[Array, "e"]:  ~unreached
        return radius * jnp.zeros(shape)
    return init

def repeated(x: Float[Array, "d"], batch: Sequence[int]):
    y = jnp.broadcast_to(x, (*batch, x.shape[0]))  # (b, d)  ~unreached
    return y

def grid(x: Float[Array, "d"], size: Sequence[int]) -> Float[Array, "h w k"]:  ~SC203
    h, w = size
    return jnp.zeros((h, w)) + x.sum()

def wrong(x: Float[Array, "n d"], shape: Sequence[int]) -> Float[Array, "d n"]:  ~SC203
    return x + jnp.zeros(shape).sum()

def right(x: Float[Array, "n d"], shape: Sequence[int]) -> Float[Array, "n d"]:
    return x + jnp.zeros(shape).sum()
""",
    # the integer is how many axes an array has, and none of its sizes
    "repeated.py": """
class Padded:
    def __init__(self, width: int, dim: int):
        self.width, self.dim = width, dim

    def __call__(self, x: Float[Array, "n ... c"]) -> Float[Array, "n ... c"]:
        y = jnp.pad(x, [(0, 0), *self.dim * [(self.width, self.width)], (0, 0)])
        return y[(slice(None), *self.dim * [slice(self.width, -self.width)])]

    def wrong(self, x: Float[Array, "n ... c"]) -> Float[Array, "c ... n"]: ~SC203
        return jnp.pad(x, [(0, 0), *self.dim * [(self.width, self.width)], (0, 0)])

def filled(n: int) -> Float[Array, "2 n"]: ~SC203
    return jnp.array([[0.0, 0.0]] * n)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_errors(folder, name):
    case = folder.cases[name]
    actual = [mark for mark in case.actual if mark[1] != "SC302"]
    if "~unreached" not in CASES[name]:
        actual = [mark for mark in actual if mark[1] != "unreached"]
    assert actual == case.expected, case.details


def test_what_holds_for_every_length_rests_on_none(folder) -> None:
    assert folder.report.summary.verified_on_invention == 0
