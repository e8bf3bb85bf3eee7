"""Fields that no constructor sets are held against their claims where a method sets them, as Flax's `setup` does."""

from __future__ import annotations

import pytest

HEAD = """
import dataclasses

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float
"""

CASES = {
    "linen.py": """
class Projection(nn.Module):
    width: int
    heads: int

    kernel: Float[Array, "n m h"] = dataclasses.field(init=False)
    bias: Float[Array, "n h"] = dataclasses.field(init=False)
    scale: Float[Array, "h n"] = dataclasses.field(init=False) ~SC205

    def setup(self):
        init = nn.initializers.ones
        self.kernel = self.param("kernel", init, (self.heads, self.width, 5))
        self.bias = self.param("bias", init, (self.heads, 5))
        self.scale = self.param("scale", init, (self.heads, 5))

    def __call__(self, x: Float[Array, "b m"]) -> Float[Array, "b n h"]:
        return jnp.einsum("bm,nmh->bnh", x, self.kernel) * self.scale + self.bias

class Stack(nn.Module):
    width: int

    def setup(self):
        self.inner = Projection(self.width, 4)

    def __call__(self, x: Float[Array, "b m"]) -> Float[Array, "b n h"]:
        return self.inner(x)
""",
    # what a field calls its own axis is another one than what the argument calls its positions
    "tied.py": """
class Heads(nn.Module):
    width: int
    heads: int

    taken: Float[Array, "n m h"] = dataclasses.field(init=False)
    given: Float[Array, "n h m"] = dataclasses.field(init=False)

    def setup(self):
        self.taken = self.param("taken", nn.initializers.ones, (self.heads, self.width, 5))
        self.given = self.param("given", nn.initializers.ones, (self.heads, 5, self.width))

    def right(self, x: Float[Array, "b p m"]) -> Float[Array, "b p m"]:
        return jnp.einsum("bpnh,nhm->bpm", jnp.einsum("bpm,nmh->bpnh", x, self.taken), self.given)

    def wrong(self, x: Float[Array, "b p m"]) -> Float[Array, "b p m"]: ~unreached
        return jnp.einsum("bpnh,nhm->bpm", jnp.einsum("bpm,nmh->bnph", x, self.taken), self.given) ~SC305
""",
    "method.py": """
class Table:
    rows: int
    entries: Float[Array, "rows cols"]
    wrong: Float[Array, "cols rows"] ~SC205
    never: Float[Array, "rows"] ~unreached

    def __init__(self, rows: int):
        self.rows = rows

    def build(self, x: Float[Array, "cols"]) -> Float[Array, "rows cols"]:
        self.entries = self.wrong = jnp.zeros((self.rows, x.shape[0]))
        return self.entries
""",
    # a function of the class is given what it likes
    "other.py": """
class Other:
    pass

class Holder:
    rows: Float[Array, "n d"] ~unreached

    def __init__(self, n: int):
        self.n = n

    @staticmethod
    def fill(other: Other, x: Float[Array, "n"]) -> Float[Array, "n"]:
        other.rows = x
        return x

def use(x: Float[Array, "n"]) -> Float[Array, "n"]:
    Holder(3)
    return Holder.fill(Other(), x)
""",
    # what a constructor sets is looked at then, whatever becomes of it
    "changed.py": """
class Running:
    total: Float[Array, "n"]

    def __init__(self, total: Float[Array, "n"]):
        self.total = total

    def finish(self) -> Float[Array, ""]:
        self.total = self.total.sum()
        return self.total
""",
}


@pytest.fixture(scope="module")
def checked(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()}).cases


@pytest.mark.parametrize("name", CASES)
def test_fields_are_checked_where_a_method_sets_them(checked, name: str) -> None:
    assert checked[name].as_marked()
