"""A small batch for a target: the text on the command line -> a worker -> a file of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shapecheck.commands import suggestions
from shapecheck.commands.target_request import TargetRequest, UnevaluatedError, open_target
from shapecheck.config import Config
from shapecheck.evaluate.scratch_folders import scratch_folder
from shapecheck.files.atomic_write import write_bytes
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
    with scratch_folder() as folder, open_target(target, config) as opened:
        scratch = Path(folder, "batch.npz")
        question = SampleInputs(
            given=opened.given,
            seconds=config.timeout,
            file=str(scratch),
            seed=request.seed,
            sizes=request.sizes,
            batch=request.batch,
        )
        answer = opened.worker.ask(question, config.timeout)
        if (refusal := answer.refusal) is not None:
            remedy = suggestions.suggest_for_refusal(target.command, refusal, answer.made, answer.places)
            raise UnevaluatedError(f"{target.target}: {refusal.error}", remedy)
        write_bytes(file, scratch.read_bytes())
    return answer
