"""What code compares with others, or looks up by, must be what it is."""

from __future__ import annotations

import ast

import pytest

from shapecheck.claims.compared_names import compared_names

COMPARED = {
    "self.act is jax.nn.relu": {".act", ".relu"},
    "f in (g, h)": {"f"},
    "gains[self.act]": {".act"},
    "gains.get(f, 1.0)": {"f"},
    "f is None": set(),
    "f(x) == g(x)": set(),
    "gains(f)": set(),
}


@pytest.mark.parametrize("source", COMPARED)
def test_names_that_are_compared(source):
    assert compared_names(ast.parse(source)) == COMPARED[source]


def test_a_value_that_is_matched_is_compared():
    assert compared_names(ast.parse("match self.act:\n    case jnp.tanh: pass")) == {".act"}
