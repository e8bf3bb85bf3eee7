"""Type parameters (PEP 695) are names that annotations see, though no module holds them."""

from __future__ import annotations

import sys

import pytest

TEXT = """
from __future__ import annotations
import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

class Box[T: Array](eqx.Module):
    item: Float[T, "k"]
    w: Float[Array, "d"]

    def __call__(self, x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~SC203
        return (x * self.w).T

def scaled[T: Array](x: Float[T, "n m"], by: Float[T, "m"]) -> Float[T, "n m"]:
    y = x * by  # (m, n) ~SC201
    return y

def of_anything[T](item: T, x: Float[Array, "b d"]) -> Float[Array, "d"]: ~unreached
    return x.sum(0)

def taken[T: Array](box: Box[T], x: Float[Array, "b d"]) -> Float[Array, "b d"]:
    y = x * box.w  # (b, d)
    return y
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are new in Python 3.12")
def test_annotations_see_the_type_parameters(check_folder):
    folder = check_folder({"boxes.py": TEXT})
    assert folder.cases["boxes.py"].as_marked()
    reasons = {each.reason for each in folder.report.unreached}
    assert reasons == {"`item: T`, and nothing says what T is"}
