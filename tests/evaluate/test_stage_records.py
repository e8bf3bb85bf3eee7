"""Callables in the stage log have their fields, as feedbax prints them."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import pytest

from shapecheck.evaluate.stages.stage_records import callable_text


class Net(eqx.Module):
    """Modules in a module."""

    cell: eqx.nn.GRUCell
    heads: list[eqx.nn.Linear]
    activation: Any
    sizes: dict[str, int]

    def step(self) -> None:
        """A method."""


def cell() -> eqx.nn.GRUCell:
    return eqx.nn.GRUCell(8, 50, key=jax.random.PRNGKey(0))


def test_a_module_is_shown_with_arrays_as_types() -> None:
    assert callable_text(cell(), "GRUCell.__call__") == (
        "GRUCell(weight_ih=f32[150,8], weight_hh=f32[150,50], bias=f32[150], bias_n=f32[50], "
        "input_size=8, hidden_size=50, use_bias=True)"
    )


def test_modules_inside_are_shown_too_and_long_lists_by_their_length() -> None:
    linear = eqx.nn.Linear(2, 3, key=jax.random.PRNGKey(0))
    text = callable_text(Net(cell(), [linear], jax.nn.relu, {"a": 1}), "Net.step")
    assert text.startswith("Net(cell=GRUCell(weight_ih=f32[150,8], ")
    assert "heads=[Linear(weight=f32[3,2], bias=f32[3], in_features=2, " in text
    assert text.endswith(", activation=relu, sizes=dict of 1).step")
    assert "heads=list of 9" in callable_text(Net(cell(), [linear] * 9, jax.nn.relu, {}), "Net.step")


def test_what_has_no_fields_keeps_its_name() -> None:
    assert callable_text(jax.nn.relu, "relu") == "relu"
    assert callable_text(None, "f") == "f"


def test_modules_of_flax_have_their_parameters() -> None:
    nnx = pytest.importorskip("flax.nnx")
    text = callable_text(nnx.Linear(2, 3, rngs=nnx.Rngs(0)), "Linear.__call__")
    assert text.startswith("Linear(") and "kernel=f32[2,3]" in text and " at 0x" not in text
