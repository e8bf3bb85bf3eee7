"""Dims that name attributes of instances, as `{self.width}`: of properties too, and of other arguments."""

from __future__ import annotations

CASE = """
import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class Grid(eqx.Module):
    width: int

    @property
    def padded(self):
        return 2 * self.width

    def __call__(self, x: Float[Array, "b {self.padded}"]) -> Float[Array, "b {self.padded}"]:
        return x

    def cut(self, x: Float[Array, "b {self.padded}"]) -> Float[Array, "b {self.padded}"]:  ~SC203
        return x[:, 1:]


def pad(x: Float[Array, "{grid.width}"], grid: Grid) -> Float[Array, "{grid.padded}"]:
    return jnp.pad(x, (0, grid.width))


def pad_too_far(x: Float[Array, "{grid.width}"], grid: Grid) -> Float[Array, "{grid.padded}"]:  ~SC203
    return jnp.pad(x, (0, grid.width + 1))


def scale(x: Float[Array, "n"], by: float | Float[Array, ""] = 1.0, times: int = 3) -> Float[Array, "n"]:
    return by * x * times
"""


def test_attributes_have_the_sizes_that_instances_say(check_folder) -> None:
    marked = check_folder({"attributes.py": CASE}).cases["attributes.py"]
    assert marked.actual == marked.expected, marked.details
