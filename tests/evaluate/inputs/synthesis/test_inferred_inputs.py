"""Layers that are built for inputs of any size: a residual block has its own number of features."""

from __future__ import annotations

import pytest

pytest.importorskip("flax")

HEAD = """
import flax.linen as nn
from jaxtyping import Array, Float

"""

CASES = {
    "linen.py": """
class Block(nn.Module):
    width: int
    hidden: int

    @nn.compact
    def __call__(self, x: Float[Array, "*b t d"]) -> Float[Array, "*b t d"]:
        y = nn.Dense(self.hidden)(x)  # (..., t, hidden)
        return nn.Dense(self.width)(nn.gelu(y))

class Swapped(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x: Float[Array, "b t d"]) -> Float[Array, "b t d"]: ~SC203
        y = nn.Dense(self.width)(x)  # (b, t, d)
        return y.swapaxes(1, 2)

class WithState(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x: Float[Array, "b t d"]) -> tuple[Float[Array, "b t d"], Float[Array, "b d"]]: ~SC203
        y = nn.Dense(self.width)(x)
        return y, y[:, :, 0]

class Named(nn.Module):
    width: int
    hidden: int

    @nn.compact
    def __call__(self, x: Float[Array, "b width"]) -> Float[Array, "b width"]: ~SC203
        return nn.Dense(self.hidden)(x)
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_a_feature_axis_may_have_the_size_that_the_model_gives(folder, name: str) -> None:
    assert folder.cases[name].as_marked()
