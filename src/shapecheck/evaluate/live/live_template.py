"""Stages of a model that the user holds in hand, in the user's own process."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from shapecheck.evaluate.inputs.project.user_examples import ExampleError
from shapecheck.evaluate.inputs.synthesis.call_builder import CallBuilder
from shapecheck.evaluate.inputs.synthesis.construct_models import Models
from shapecheck.evaluate.inputs.synthesis.made_integers import DEFAULTS_FIRST
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.size_assignment import InventedSizes, UnknownSizeError
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.evaluate.search.entry_search import EntrySearch
from shapecheck.evaluate.session.target_calls import as_shape, call_spec, is_pair
from shapecheck.evaluate.stages import named_scopes
from shapecheck.evaluate.stages.jax_transforms import fresh_traces
from shapecheck.evaluate.stages.stage_recorder import StageRecorder, record_stages
from shapecheck.model import Evaluation
from shapecheck.worker.messages.plans import ConfiguredExample, EntryPlan

_OURS = Path(__file__).parents[2]
_LIBRARY = tuple(f"{folder}{os.sep}" for folder in (os.path.dirname(os.__file__), _OURS))
_INSTALLED = {"site-packages", "dist-packages"}
one_at_a_time = threading.RLock()  # classes are changed meanwhile, for all threads


def evaluate(
    model: object, args: Sequence[object], kwargs: Mapping[str, object], *, flops: bool = False
) -> tuple[Evaluation, ...]:
    """Evaluate `model(*args, **kwargs)` abstractly, with its stages, and with `flops` what each costs.

    Arguments may be arrays, jax.ShapeDtypeStruct, or jaxtyping types, whose names are free. Raises ExampleError for
    arguments that do not fit, CannotSynthesiseError for those that are missing and cannot be made up.
    """
    recorder = Recorder({}, interrupts=True, named=_message_path)
    models = Models(recorder, {}, lambda what: {}, lambda cls: [], InventedSizes(own=set()), DEFAULTS_FIRST)
    builder = CallBuilder(recorder, models)
    name = title(model)
    abstract = {key: jax.tree_util.tree_map(as_shape, value) for key, value in kwargs.items()}
    values = tuple(jax.tree_util.tree_map(as_shape, value) for value in args)
    given = ConfiguredExample(call=name, init=None, args=values, kwargs=abstract, read=True, fill=True)
    with (
        one_at_a_time,
        StageRecorder((record_stages, named_scopes.record_stages), _stage_path, flops=flops) as recorder.watch,
    ):
        entry = EntryPlan(key="template", target=name, origin="template", path="", line=1, scope=None, whole=False)
        return EntrySearch(entry, call_spec(builder, model, given), recorder, renewed=fresh_traces).evaluate()


def _message_path(file: str) -> str | None:
    """The path of a file in messages; None if it is no code of the user's."""
    generated = file.startswith("<") and file != "<stdin>" and _cell(file) is None
    if generated or file.startswith(_LIBRARY) or _INSTALLED & {*Path(file).parts}:
        return None
    return _cell(file) or file.removeprefix(os.getcwd() + os.sep)


def _stage_path(file: str) -> str:
    """The path of a file among the stages."""
    return _cell(file) or os.path.relpath(file)


def _cell(file: str) -> str | None:
    """The name of a notebook's cell, `In[3]`, if it is the code of one, as IPython itself has it in tracebacks."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    named = getattr(getattr(shell, "compile", None), "format_code_name", lambda file: None)(file)
    return str(named[1]) if named is not None else None


def title(model: object) -> str:
    """What a target is called."""
    name = getattr(model, "__qualname__", None)
    return name if isinstance(name, str) else type(model).__qualname__


def check_parameter_names(model: Any, option: str) -> None:
    """Raises ExampleError if an option of ours is a parameter of the model, which may have been meant."""
    function = (model.apply if callable(model.apply) else model.init) if is_pair(model) else model
    try:
        taken = option in inspect.signature(function).parameters
    except (TypeError, ValueError):  # it tells nobody
        taken = False
    if taken:
        example = f"shapecheck.template(lambda x: model(x, {option}=...), x, {option}=True)"
        raise ExampleError(f"`{option}` is an option of the template, and {title(model)} takes it too: write {example}")


@contextlib.contextmanager
def problems() -> Iterator[None]:
    """What is wrong with the arguments becomes a ValueError."""
    try:
        yield
    except (ExampleError, CannotSynthesiseError, UnknownSizeError) as error:
        raise ValueError(str(error)) from None
