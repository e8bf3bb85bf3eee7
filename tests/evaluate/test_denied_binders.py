"""Annotations on variables bind names in their order; those that most behind them deny are the false ones."""

from __future__ import annotations

import pytest

HEAD = """
import jax.numpy as jnp
from jaxtyping import Array, Float
"""

CASES = {
    "swapped.py": """
def frequencies(image: Array):
    '''image: the picture, of shape (h, w)'''
    height, width = image.shape
    fx: Float[Array, "h"] = jnp.fft.fftfreq(width)  ~SC204
    fy: Float[Array, "w"] = jnp.fft.fftfreq(height)  ~SC204
    x: Float[Array, "h w"]
    y: Float[Array, "h w"]
    x, y = jnp.meshgrid(fx, fy)
    spectrum: Float[Array, "h w"] = jnp.fft.fft2(image).real
    return spectrum * (x**2 + y**2)
""",
    # an argument binds its names whatever follows
    "arguments.py": """
def turned(x: Float[Array, "h w"]):
    y: Float[Array, "h w"] = x.T  ~SC204
    z: Float[Array, "h w"] = 2 * y  ~SC204
    return z
""",
    # one that is denied by one: the later is false
    "one.py": """
def shifted(n: int, m: int):
    first: Float[Array, "k"] = jnp.zeros(n)
    second: Float[Array, "k"] = jnp.zeros(m)  ~SC204
    return first, second
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_the_claims_that_most_others_deny_are_false(folder, name: str) -> None:
    assert folder.cases[name].as_marked()


def test_the_message_names_a_claim_that_denies_it(folder) -> None:
    found = [finding for finding in folder.report.findings if finding.path.endswith("swapped.py")]
    assert any("h from x: Float" in detail for finding in found for detail in finding.details), found
