"""Models that say in a `model_spec` which steps they take, as feedbax's staged models do.

The interface is known by its members, of https://github.com/mlprt/feedbax: `model_spec` maps labels to specs with
`callable(model)`, which returns what is called with an input, a substate and a key, and gives the substate after it.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shapecheck.evaluate.framework_protocol import is_wrapper
from shapecheck.evaluate.stages.model_paths import is_module
from shapecheck.evaluate.stages.stage_recorder import StageRecorder
from shapecheck.evaluate.stages.stage_records import Label, StageStep, describe_unmapped, function_name, short

_MEMBERS = ("callable", "where_input", "where_state")


def with_labels(watch: StageRecorder, spec: object) -> object:
    """The property `model_spec` of a class; what each of its steps calls is watched."""
    getter = spec.fget if isinstance(spec, property) else getattr(spec, "func", None)
    if getter is None:  # declared only
        return spec

    @functools.wraps(getter)
    def get_labelled(model: object) -> object:
        found = getter(model)
        if not isinstance(found, Mapping):
            return found
        steps = {label: _label_step(watch, step, str(label)) for label, step in found.items()}
        kind: Callable[[object], object] = type(found)
        return kind(steps)

    return property(get_labelled)


def argument_of(value: object) -> object:
    """What a step of a staged model takes: without what its intervenors are given beside it."""
    return value.input if hasattr(value, "input") and hasattr(value, "intervene") else value


def _label_step(watch: StageRecorder, step: Any, name: str) -> object:
    if not all(hasattr(step, member) for member in _MEMBERS):
        return step
    choose = step.callable

    @functools.wraps(choose)
    def choose_labelled(model: object) -> object:
        found = choose(model)
        label = Label(name, short(type(model)), tuple(_intervenors(model, step, name)))
        if is_module(found) and not is_wrapper(type(found)):
            watch.expect(found, label)
            return found

        def call_as_stage(input: object, state: object, *, key: object) -> object:
            given, before = (("input", describe_unmapped(input)),), (("substate", describe_unmapped(state)),)
            # What takes no state is wrapped, and the wrapper says so: then it is what it wraps.
            part = getattr(found, "__wrapped__", None)
            kind = title = function_name(part or found)
            if is_module(part) and not is_wrapper(type(part)):
                kind, title = short(type(part)), f"{short(type(part))}.__call__"
            run = StageStep(
                type=kind,
                callable=title,
                part=part,
                source=watch.origin(part or found, title),
                path=None,
                label=label,
                input=given,
                state=before,
            )
            return watch.run_stage(run, found, (input, state), {"key": key})

        return call_as_stage

    other = copy.copy(step)
    object.__setattr__(other, "callable", choose_labelled)  # specs may be frozen
    return other


def _intervenors(model: object, step: object, name: str) -> Iterator[str]:
    """The types of what acts on the state after a step."""
    own = getattr(model, "intervenors", None)
    for found in (getattr(step, "intervenors", ()), own.get(name, ()) if isinstance(own, Mapping) else ()):
        yield from (short(type(each)) for each in (found.values() if isinstance(found, Mapping) else found))
