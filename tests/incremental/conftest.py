"""A small project for the tests of caches that machines share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

FILES = {
    "pyproject.toml": "[tool.shapecheck]\n",
    "pkg/__init__.py": "",
    "pkg/layers.py": """\
from jaxtyping import Array, Float


def scale(x: Float[Array, "batch d"], w: Float[Array, " d"]) -> Float[Array, "batch d"]:
    y = x * w  # (batch, d)
    return y


def swap(x: Float[Array, "batch d"]):
    y = x.T  # (batch, d)
    return y
""",
    "tests/test_layers.py": "import jax.numpy as jnp\nfrom pkg.layers import scale\n\n\n"
    "def test_scale():\n    scale(jnp.ones((3, 4)), jnp.ones(4))\n",
}


@pytest.fixture(scope="session")
def project() -> Callable[[Path], Path]:
    """Writes it into a folder, which it gives back: one claim there is false."""

    def write(folder: Path) -> Path:
        for name, text in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return folder

    return write
