"""The template of one target: the text on the command line -> a worker -> its stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shapecheck.commands import suggestions
from shapecheck.commands.target_request import OpenTarget, TargetGoneError, TargetRequest, UnevaluatedError, open_target
from shapecheck.config import Config
from shapecheck.templates import Template, of_runs
from shapecheck.worker.messages.entry_messages import ListFiles
from shapecheck.worker.messages.target_messages import AskInventedIntegers, EvaluateTemplate
from shapecheck.worker.spawn import Start


@dataclass(frozen=True)
class EvaluatedTemplate:
    """A template, the numbers that were made up for it, and its dependencies: files, interpreter, packages' folders."""

    template: Template
    integers: Mapping[str, int]
    files: tuple[str, ...]
    python: str
    sites: tuple[str, ...]


def find(request: TargetRequest, config: Config, start: Start | None = None) -> EvaluatedTemplate:
    """Evaluate a target with its stages, in a process that is started so.

    Raises ConfigError, with the remedy, for what cannot be evaluated; TargetGoneError where only the name, or its
    file, is not there.
    """
    with open_target(request, config, start) as opened:
        return _request_template(opened, config, request)


def _request_template(opened: OpenTarget, config: Config, request: TargetRequest) -> EvaluatedTemplate:
    worker, limit, command = opened.worker, config.timeout, request.command
    if config.python is not None:
        command += ["--python", str(config.python)]
    answer = worker.ask(EvaluateTemplate(given=opened.given, seconds=limit, flops=request.flops), limit)
    invented = worker.ask(AskInventedIntegers(), limit)
    made, places = invented.integers, invented.places
    if (refusal := answer.refusal) is not None:
        if refusal.gone:
            raise TargetGoneError(refusal.error)
        remedy = suggestions.suggest_for_refusal(command, refusal, made, places)
        raise UnevaluatedError(refusal.error, remedy)
    runs = answer.runs
    try:
        template = of_runs(request.target, runs)
    except ValueError as error:
        reason, free = (runs[0].reason, [name for name, _ in runs[0].sizes]) if runs else ("", [])
        raise UnevaluatedError(
            str(error), suggestions.suggest_for_invented(command, reason, made, places, free)
        ) from None
    files = worker.ask(ListFiles(), limit)
    loaded = {*files.loaded, *([opened.plan.file] if opened.plan is not None else [])}
    return EvaluatedTemplate(template, made, tuple(sorted(loaded)), worker.python, files.sites)
