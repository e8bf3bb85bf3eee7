"""A test shows one size of a record, too: what takes one is evaluated again with others, where its class says all."""

from __future__ import annotations

OPTICS = """
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Complex, Float


class Wave(NamedTuple):
    field: Complex[Array, "h w"]
    step: Float[Array, ""]


def aberrated(wave: Wave, coefficients: Float[Array, "n"]) -> Wave:
    height, width = wave.field.shape
    x: Float[Array, "columns"] = jnp.arange(width) * wave.step
    y: Float[Array, "rows"] = jnp.arange(height) * wave.step
    xx, yy = jnp.meshgrid(x, y)
    phase: Float[Array, "rows columns"] = (xx**2 + yy**2) * coefficients.sum()
    return Wave(wave.field * jnp.exp(1j * phase), wave.step)


def turned(wave: Wave, coefficients: Float[Array, "n"]) -> Wave:
    height, width = wave.field.shape
    x: Float[Array, "columns"] = jnp.arange(width) * wave.step
    y: Float[Array, "rows"] = jnp.arange(height) * wave.step
    xx, yy = jnp.meshgrid(x, y, indexing="ij")
    phase: Float[Array, "rows columns"] = (xx**2 + yy**2) * coefficients.sum()  ~SC204
    return Wave(wave.field * jnp.exp(1j * phase), wave.step)


class Cells(NamedTuple):
    values: Float[Array, "n_cells d"]
    count: int


def summed(cells: Cells, x: Float[Array, "d"]) -> Float[Array, "n_cells"]:
    return (cells.values @ x).reshape(cells.count)


def test_all():
    wave = Wave(jnp.ones((8, 8), dtype=complex), jnp.array(1.0))
    aberrated(wave, jnp.ones(3))
    turned(wave, jnp.ones(3))
    summed(Cells(jnp.ones((4, 3)), 4), jnp.ones(3))
"""


def test_the_arrays_of_a_record_have_other_sizes_than_in_the_test(check_folder) -> None:
    folder = check_folder({"test_optics.py": OPTICS})
    assert folder.cases["test_optics.py"].as_marked()
    general = {claim.line for claim in folder.report.verified if claim.how == "all sizes"}
    phase = next(number for number, line in enumerate(OPTICS.strip().splitlines(), 1) if "phase: Float" in line)
    assert phase in general, folder.report.verified
