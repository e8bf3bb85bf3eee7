"""Differences under the tolerance that come before the first divergent stage: they may be its cause."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import shapecheck

X = jnp.linspace(-1.0, 1.0, 8)


class Norm(eqx.Module):
    eps: float

    def __call__(self, x: jax.Array) -> jax.Array:
        return x / jnp.sqrt(jnp.mean(x**2) + self.eps)


class Amplify(eqx.Module):
    factor: float

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.cos(self.factor * x)


class Whole(eqx.Module):
    first: Norm
    second: Amplify

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.second(self.first(x))


class Outer(eqx.Module):
    """Its own code gives the second part something else: the first is to blame as well as it is."""

    first: Norm
    second: Amplify
    offset: float

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.second(self.first(x) + self.offset)


def compare(a: Any, b: Any) -> str:
    return str(shapecheck.compare(a, b, X)).splitlines()[-1]


@pytest.fixture(scope="module")
def amplified() -> str:
    return compare(Whole(Norm(1e-6), Amplify(3e4)), Whole(Norm(3e-6), Amplify(3e4)))


def test_a_stage_is_not_accused_of_what_came_before_it(amplified: str) -> None:
    assert "First divergent stage: second" in amplified
    assert "cause lies in its own code" not in amplified
    assert "Its inputs agree within the tolerance, but differ by up to" in amplified
    assert "Such differences come before it, first in first (by up to" in amplified
    assert "and may be the cause; else it lies in its own code" in amplified


def test_inside_of_a_stage_it_is_said_too() -> None:
    found = compare(Outer(Norm(1e-6), Amplify(3.0), 0.0), Outer(Norm(3e-6), Amplify(3.0), 0.5))
    assert "First divergent stage: the whole" in found
    assert "so the cause lies" not in found
    assert "differences under the tolerance come before what differs, first in first (by up to" in found
    assert "they may be the cause, or its own code, before second, the first inside of it that differs" in found


@pytest.mark.parametrize(
    ("a", "b", "end"),
    [
        (Whole(Norm(1e-6), Amplify(3.0)), Whole(Norm(1e-6), Amplify(4.0)), "so the cause lies in its own code."),
        (
            Outer(Norm(1e-6), Amplify(3.0), 0.0),
            Outer(Norm(1e-6), Amplify(3.0), 0.5),
            "so the cause lies in its own code, before second, the first inside of it that differs, as what it is "
            "given does (x by up to 0.5).",
        ),
    ],
)
def test_where_all_before_is_exactly_equal_the_code_is_the_cause(a: Any, b: Any, end: str) -> None:
    assert compare(a, b).endswith(end)
