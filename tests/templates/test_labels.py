"""Models that say which steps they take: found by the members of their interface, shown under their labels."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

import shapecheck
from shapecheck.model import Stage
from shapecheck.templates import Template

FIXTURE = Path(__file__).parents[2] / "fixtures" / "staged" / "good.py"


@pytest.fixture(scope="module")
def template() -> Template:
    spec = importlib.util.spec_from_file_location("staged_fixture", FIXTURE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model, *args = module.reach()
    return shapecheck.template(model, *args)


def test_labelled_steps_have_their_input_and_substates(
    template: Template, shown: Callable[[Template], dict[str, str]]
) -> None:
    rows = shown(template)
    assert rows["step.nn_step.hidden: GRUCell"] == "f32[6] -> f32[50]"
    assert rows["step.nn_step.readout: Linear"] == "f32[50] -> f32[2]"
    before = "NetworkState(hidden=f32[50], output=f32[2])"
    assert rows["step.nn_step: Network"] == f"f32[6] -> {before}"
    assert [name for name, _ in template["step.nn_step.hidden"].state] == ["substate"]


def test_labelled_steps_say_whose_they_are_and_what_acts_after_them(template: Template) -> None:
    def told(stage: Stage) -> tuple[str, str, str, tuple[str, ...]]:
        return stage.owner, stage.label, stage.callable, stage.intervenors

    assert told(template["step.nn_step.readout"]) == ("Network", "readout", "Linear.__call__", ())
    assert told(template["step.plant_step"]) == ("Loop", "plant_step", "Loop.move", ("Drag",))


def test_an_iterated_model_shows_a_step_once_with_the_count(template: Template) -> None:
    steps = [stage for stage in template if stage.path == "step"]
    assert [stage.under for stage in steps] == [("scan(100)",)]


def test_a_step_that_is_wrapped_has_the_parameters_of_what_it_wraps(template: Template) -> None:
    assert template["step.nn_step.readout"].params == 50 * 2 + 2
    assert not template["step.nn_step.readout"].children  # and the wrapped module is no stage once more
