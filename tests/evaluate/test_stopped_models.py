"""What is told of the parts of a model that cannot be evaluated to its end, as no sizes are found that fit."""

from __future__ import annotations

import pytest

HEAD = """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float
"""

CASES = {
    # a method that was called on the way is evaluated by itself
    "patches.py": """
class Tower(eqx.Module):
    weight: Array
    patch: int

    def __init__(self, channels: int, patch: int, dim: int):
        self.weight = jnp.ones((channels * patch * patch, dim))
        self.patch = patch

    def patchify(self, img: Float[Array, "c h w"]) -> Float[Array, "n_patch c*{self.patch}*{self.patch}"]:  ~SC203
        c, h, w = img.shape
        p = self.patch
        x = img.reshape(c, h // p, p, w // p, p).transpose(1, 3, 0, 2, 4)
        return x.reshape(c * p * p, (h // p) * (w // p))

    def __call__(self, img: Float[Array, "c h w"]) -> Float[Array, "n_patch dim"]:  ~unreached
        return self.patchify(img) @ self.weight
""",
    # whatever sizes were made up, what a part was given has an axis too many
    "towers.py": """
class Text(eqx.Module):
    table: Float[Array, "length dim"]

    def __init__(self, length: int, dim: int):
        self.table = jnp.ones((length, dim))

    def __call__(self, mask: Bool[Array, " t"], scale: Float[Array, ""]) -> Float[Array, " dim"]:  ~SC202
        x = self.table[: mask.shape[0]]
        return scale * jnp.einsum("t,td->d", mask.astype(x.dtype), x)

class Both(eqx.Module):
    text: Text
    scale: Float[Array, ""]

    def __call__(self, masks: Bool[Array, "b t"]) -> Float[Array, "b dim"]:  ~unreached
        return jax.vmap(self.text, in_axes=(None, 0))(masks, jnp.broadcast_to(self.scale, masks.shape[:1]))
""",
    # how many axes `...` are was chosen, and of which the code takes two was not
    "spaces.py": """
class Derivative(eqx.Module):
    operator: Float[Array, "3 n n n"]

    def __init__(self, operator: Float[Array, "3 n n n"]):
        self.operator = operator

class Flow(eqx.Module):
    derivative: Derivative

    def __init__(self, operator: Float[Array, "d ... n"], dims: int):  ~unreached
        self.derivative = Derivative(operator)
        if dims != 3:
            raise ValueError("for three dimensions alone")

    def __call__(self, x: Float[Array, "d ... n"]) -> Float[Array, "d ... n"]:  ~unreached
        return x * self.derivative.operator
""",
    # of an integer that counts axes, nobody knows which the author had in mind
    "orders.py": """
class Power(eqx.Module):
    order: int

    def __init__(self, order: int):
        self.order = order

    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "n n n"]:  ~unreached
        y = x
        for _ in range(self.order - 1):
            y = y[..., None] * x
        return y
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_claims_of_the_parts(folder, name):
    marked = folder.cases[name]
    actual = [(line, what) for line, what in dict.fromkeys(marked.actual) if what != "SC302"]
    assert actual == marked.expected, marked.details
