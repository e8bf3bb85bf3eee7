"""A shape assertion of a user's test that fails is what it says, where the test fails for real as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load

pytestmark = pytest.mark.usefixtures("installed_plugins")

MODULE = """
import jax.numpy as jnp

def norms(x):
    return jnp.zeros(x.shape)

class Buffer:
    def __init__(self):
        self.data = jnp.zeros((0, 3))

    def add(self, x):
        if float(x.sum()) > 0:
            self.data = jnp.concatenate([self.data, x])
"""

TESTS = """
import chex
import jax.numpy as jnp
import numpy as np
import pytest
import m

def test_plain():
    assert m.norms(jnp.ones((5, 2))).shape == (5,)

def test_chex():
    y = m.norms(jnp.ones((5, 2)))
    chex.assert_shape(y, (5,))

@pytest.mark.parametrize("n", [3, 4])
def test_parameters(n):
    np.testing.assert_equal(m.norms(jnp.ones((n, 2))).shape, (7,))

def test_passed_over():
    buffer = m.Buffer()
    buffer.add(jnp.ones((4, 3)))
    assert buffer.data.shape == (4, 3)

def test_values_come_first():
    y = m.norms(jnp.ones((5, 2)))
    n = 5 if np.asarray(y).sum() == 0 else 3
    assert y.shape == (n, 2)

@pytest.mark.xfail
def test_expected():
    assert m.norms(jnp.ones((5, 2))).shape == (5,)

def test_true():
    assert m.norms(jnp.ones((5, 2))).shape == (5, 2)
"""


def test_what_tests_assert_of_shapes(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(MODULE)
    (tmp_path / "test_m.py").write_text(TESTS)
    result = check([tmp_path], load([tmp_path]))
    false = {each.span.line for each in result.findings if each.code == "SC208"}
    lines = TESTS.split("\n")
    assert {lines[line - 1].strip() for line in false} == {
        "assert m.norms(jnp.ones((5, 2))).shape == (5,)",
        "chex.assert_shape(y, (5,))",
        "np.testing.assert_equal(m.norms(jnp.ones((n, 2))).shape, (7,))",
    }
    assert {line for line in false if "xfail" in lines[line - 3]} == set()
    assert not [each for each in result.findings if each.severity == "error" and each.code != "SC208"]
