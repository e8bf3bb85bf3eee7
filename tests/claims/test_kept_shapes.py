"""Which statements leave a parameter the shape that it had, so that what is said behind them is said of it."""

from __future__ import annotations

import pytest

from shapecheck.claims.kept_shapes import keeps_shape
from shapecheck.syntax.functions_by_position import functions_by_position


def _keeps(*statements: str) -> bool:
    """Whether the last of these keeps the shape of x."""
    lines = ("def f(x, y):", *(f"    {each}" for each in statements))
    return keeps_shape(functions_by_position(lines)[1, 0], len(lines), "x")


@pytest.mark.parametrize(
    "statement",
    [
        "x = x / 255",
        "x = (x - x.mean()) / (x.std() + 1e-8)",
        "x = x - x.mean(axis=0, keepdims=True)",
        "x = jnp.tanh(2 * -x)",
        "x = x.astype(jnp.float32) / jnp.linalg.norm(x, axis=-1, keepdims=True)",
        "x = jax.nn.softmax(x, axis=-1)",
        "x *= 2",
    ],
)
def test_what_is_computed_element_by_element_keeps_its_shape(statement) -> None:
    assert _keeps(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "x = x[:, None]",
        "x = x @ x",
        "x = x + y",  # y may have more axes
        "x = x - x.mean(axis=0)",
        "x = x.sum(-1) + 1",
        "x = jnp.stack([x, x])",
        "x = y * 2",
        "x, y = x * 2, y",
        "y = x * 2",
    ],
)
def test_another_statement_need_not(statement) -> None:
    assert not _keeps(statement)


def test_what_was_bound_before_is_not_what_came() -> None:
    assert not _keeps("x = x.T[0]", "x = x * 2")
