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


class Cell(eqx.Module):
    recurrent_size: int

    @property
    def state_dim(self):
        return 2

    def read(self, h: Float[Array, "Recurrent"], x: Float[Array, "feature"]) -> Float[Array, "{self.recurrent_size}"]:
        return h

    def mix_up(self, x: Float[Array, "feature"]) -> Float[Array, "{self.recurrent_size}"]:  ~SC203
        return x

    def control(self, states: Float[Array, "n state_dim"]):
        gain = jnp.zeros((states.shape[0], states.shape[1], 3))
        assert gain.shape == (states.shape[0], self.state_dim, 3)
        return gain


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
