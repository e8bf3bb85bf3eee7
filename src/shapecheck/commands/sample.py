"""A small batch for a target: the text on the command line -> a worker -> a file of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shapecheck.commands import suggestions
from shapecheck.commands.template import (
    TargetRequest,
    UnevaluatedError,
    plan_target,
    start_worker,
    worker_errors_as_config,
)
from shapecheck.config import Config
from shapecheck.evaluate.scratch_folders import scratch_folder
from shapecheck.files.atomic_write import write_bytes
from shapecheck.worker.messages.plans import WorkerSettings
from shapecheck.worker.messages.target_messages import SampleInputs, SampleResult


@dataclass(frozen=True, kw_only=True)
class SampleRequest:
    """For what the arrays are, and of which sizes: `batch` is that of the axis of examples, 0 if it is like others."""

    target: TargetRequest
    seed: int = 0
    batch: int = 0
    sizes: Mapping[str, int] = field(default_factory=dict)


def sample(request: SampleRequest, config: Config, file: Path) -> SampleResult:
    """Write arrays for the arguments of a target to a file. Raises ConfigError, with the remedy, if that fails."""
    target = request.target
    plans, given = plan_target(target, config)
    settings = WorkerSettings(memory=config.memory, sizes=dict(config.sizes))
    with (
        scratch_folder() as folder,
        worker_errors_as_config(target.target),
        start_worker(target, plans, settings, config) as worker,
    ):
        scratch = Path(folder, "batch.npz")
        question = SampleInputs(
            given=given,
            seconds=config.timeout,
            file=str(scratch),
            seed=request.seed,
            sizes=request.sizes,
            batch=request.batch,
        )
        answer = worker.ask(question, config.timeout)
        if (refusal := answer.refusal) is not None:
            raise UnevaluatedError(f"{target.target}: {refusal.error}", _remedy(target, answer))
        write_bytes(file, scratch.read_bytes())
    return answer


def _remedy(target: TargetRequest, answer: SampleResult) -> str:
    refusal = answer.refusal
    if refusal is not None and refusal.missing:
        return suggestions.suggest_for_missing(
            target.command, refusal.missing, constructing=refusal.constructing, factory=refusal.factory
        )
    text = refusal.error if refusal is not None else ""
    return suggestions.suggest_for_invented(target.command, text, answer.made, answer.places)
