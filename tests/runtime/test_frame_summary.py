"""What is said of the variables of a frame in which a program failed."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import pytest

from shapecheck.runtime.excepthook import HEADER
from shapecheck.runtime.frame_summary import frame_lines


class Adam(NamedTuple):
    """As Optax's."""

    count: Any
    mu: Any


Adam.__module__ = "optax._src.transform"


class Empty(NamedTuple):
    """As Optax's."""


Empty.__module__ = "optax._src.base"


def test_arrays_come_first_and_a_frame_shows_twelve_lines_of_them() -> None:
    variables = {"layers": [jnp.ones(i + 1) for i in range(20)], **{f"x{i}": jnp.zeros(2) for i in range(5)}}
    lines = frame_lines(variables)
    assert lines[0] == "x0         f32[2]  0"
    assert lines[5] == "layers[0]  f32[1]  1"
    assert len(lines) == 13 and lines[-1] == "and 13 arrays more"


def test_the_state_of_an_optimizer_is_one_line_that_says_what_is_not_finite() -> None:
    mu = {f"w{i}": jnp.ones((2, 3)) for i in range(9)}
    state = (Empty(), Adam(jnp.array(3), {**mu, "w0": jnp.array([1.0, jnp.nan])}))
    assert frame_lines({"state": state}) == ["state  Adam: 10 arrays of 51 numbers  1 not finite"]
    assert len(frame_lines({"state": mu})) == 9


def test_what_is_no_array_is_said_in_short_and_long_texts_not_at_all() -> None:
    variables = {
        "x": jnp.ones(2),
        "step": 3,
        "rate": 0.5,
        "mode": "train",
        "token": "s" * 40,
        "many": [1] * 99,
        "function": len,
        "kind": int,
        "nothing": None,
    }
    *_, last = frame_lines(variables)
    assert last == "step = 3, rate = 0.5, mode = 'train', token = str of 40, many = list of 99, nothing = None"
    assert frame_lines({"step": 3}) == []
    *_, last = frame_lines({"x": jnp.ones(2), **{f"n{i}": i for i in range(13)}})
    assert last.endswith("n9 = 9, and 3 variables more")


def test_the_innermost_frame_comes_first(load: Any) -> None:
    module = load(
        """
        def inner(x):
            return x + y_of_nobody

        def outer(z):
            return inner(z[0])
        """
    )
    with pytest.raises(NameError) as caught:
        module.outer(jnp.ones((2, 3)))
    text = load.session.failures.arrays(caught.value)
    assert text.index("in inner\n    x  f32[3]  1") < text.index("in outer\n    z  f32[2,3]  1")
    assert HEADER.endswith("the innermost first:")
