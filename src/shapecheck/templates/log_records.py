"""Stages as records of a log: one each, in the order in which they end. Who wants to see them attaches a handler."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Final

from shapecheck.model import Stage, Value
from shapecheck.templates import format_stage, format_value
from shapecheck.templates.template_tree import StageTree

LOGGER: Final = logging.getLogger("shapecheck.template")
FORM: Final = "%(asctime)s [%(levelname)s] %(name)s\n%(message)s\n"
"""The form of a record for a handler, with its time; the message has many lines."""


def emit(template: StageTree) -> None:
    """Log every stage at level INFO, after those inside of it; the record has it as `stage`, for handlers."""
    if not LOGGER.isEnabledFor(logging.INFO):
        return
    for stage, model in _stages_with_model(template.stages, ""):
        LOGGER.info("%s", message(stage, model), extra={"stage": stage})


def _stages_with_model(stages: Sequence[Stage], model: str) -> Iterator[tuple[Stage, str]]:
    """Stages with the type of the model that runs them."""
    for stage in stages:
        yield from _stages_with_model(stage.children, stage.type)
        yield stage, stage.owner or model or stage.type


def message(stage: Stage, model: str) -> str:
    """A record in words: a stage, of a model of this type."""
    return format_value.indent("\n".join(_lines(stage, model)))


def _lines(stage: Stage, model: str) -> Iterator[str]:
    yield f"Model type: {model}"
    yield f'Stage: "{stage.label or stage.type}"{format_stage.call(stage)}{_at(stage)}'
    yield f"Callable: {' '.join([stage.called or stage.callable, *_source(stage)])}"
    if stage.under:
        yield f"Under: {', '.join(stage.under)}"
    yield _values("Input", format_stage.arguments(stage))
    yield from _results(stage)
    if stage.intervenors:
        yield f"Intervenors: {', '.join(stage.intervenors)}"
    if stage.flops is not None:
        yield f"Flops: {format_stage.flops(stage)}"


def _results(stage: Stage) -> Iterator[str]:
    """A step of a staged model gives its substate back; what it was before is shown where its shapes were others."""
    if not stage.owner:
        if stage.state:
            yield _values("State", stage.state)
        yield _values("Output", (("", stage.output),))
        return
    if any(value != stage.output for _, value in stage.state):
        yield _values("Substate before", [("", value) for _, value in stage.state])
    yield _values("Substate", (("", stage.output),))


def _at(stage: Stage) -> str:
    """Where it lies, if that says more than its label."""
    return f" at {stage.path}" if stage.path not in ("", stage.label) else ""


def _source(stage: Stage) -> Iterator[str]:
    if stage.source is not None:
        yield f"({stage.source.path}:{stage.source.line})"


def _values(title: str, values: Sequence[tuple[str, Value]]) -> str:
    texts = (f"{name} = {format_value.pretty(value)}" if name else format_value.pretty(value) for name, value in values)
    return "\n".join([f"{title}:", *map(format_value.indent, texts)]) if values else f"{title}: none"
