"""Stages of a model that the user holds in hand, in the user's own process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax

from shapecheck.facts import Evaluation
from shapecheck.shapes import SpecError, parse_spec
from shapecheck.stage.observe.recorder import Recorder
from shapecheck.stage.observe.values import is_array
from shapecheck.stage.protocol import ConfiguredExample, EntryPlan
from shapecheck.stage.search.attempts import Search
from shapecheck.stage.search.examples import ExampleError, Shape
from shapecheck.stage.search.recipes import Kitchen
from shapecheck.stage.search.sizes import UnknownSizeError
from shapecheck.stage.search.synthesis import CannotSynthesiseError
from shapecheck.stage.staging.frameworks import ALL, scopes
from shapecheck.stage.staging.targets import recipe
from shapecheck.stage.staging.transforms import renewed
from shapecheck.stage.staging.watching import StageWatch


def evaluate(
    model: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, flops: bool = False
) -> tuple[Evaluation, ...]:
    """Evaluate `model(*args, **kwargs)` abstractly, with its stages, and with `flops` what each costs.

    Arguments may be arrays, jax.ShapeDtypeStruct, or jaxtyping types, whose names are free. Raises ExampleError for
    arguments that do not fit, CannotSynthesiseError for those that are missing and cannot be made up.
    """
    recorder = Recorder({})
    kitchen = Kitchen(recorder, {}, lambda function: {}, lambda cls: [])
    name = getattr(model, "__qualname__", type(model).__qualname__)
    abstract = {key: jax.tree_util.tree_map(_abstract, value) for key, value in kwargs.items()}
    given = ConfiguredExample(name, None, tuple(jax.tree_util.tree_map(_abstract, value) for value in args), abstract)
    with StageWatch((*ALL, scopes.watching), os.path.relpath, flops=flops) as recorder.watch:
        entry = EntryPlan("template", name, "template", "", 1, None)
        return Search(entry, recipe(kitchen, model, given), recorder, renewed=renewed).evaluate()


@contextlib.contextmanager
def problems() -> Iterator[None]:
    """What is wrong with the arguments becomes a ValueError."""
    try:
        yield
    except (ExampleError, CannotSynthesiseError, UnknownSizeError) as error:
        raise ValueError(str(error)) from None


def _abstract(value: Any) -> Any:
    text = getattr(value, "dim_str", None)
    if isinstance(value, type) and isinstance(text, str):
        try:
            parse_spec(text)
        except SpecError as error:
            raise ExampleError(f"{text!r} is not a shape: {error}") from None
        return Shape(vars(value)["dtype"].__name__, text)
    return jax.ShapeDtypeStruct(value.shape, value.dtype) if is_array(value) else value
