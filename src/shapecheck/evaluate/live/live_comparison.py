"""Two models that the user holds in hand, compared in the user's own process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence

import jax

from shapecheck.evaluate.compare.array_store import ArrayStore
from shapecheck.evaluate.compare.collect_stages import StageCollector
from shapecheck.evaluate.compare.stage_difference import CollectedRuns, compare_runs
from shapecheck.evaluate.inputs.facts.signature_facts import bind_arguments
from shapecheck.evaluate.inputs.project.entries import is_model
from shapecheck.evaluate.live.live_template import one_at_a_time, title
from shapecheck.evaluate.probes.attribute_access import unwrap
from shapecheck.evaluate.scratch_folders import scratch_folder
from shapecheck.evaluate.stages import named_scopes
from shapecheck.evaluate.stages.stage_recorder import StageRecorder, record_stages
from shapecheck.model import ComparedRuns, Tolerance

__all__ = ["compare", "title"]


def compare(
    a: Callable[..., object],
    b: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    rules: Mapping[str, str],
    tolerance: Tolerance,
) -> ComparedRuns:
    """Call both, as they are, and compare their stages. Raises ValueError for what cannot be compared."""
    with scratch_folder() as folder:
        one, other = (_collect_runs(m, args, kwargs, os.path.join(folder, n)) for n, m in (("a", a), ("b", b)))
        return compare_runs(one, other, rules, tolerance)


class _Caches:
    """What JAX has compiled serves the next comparison too, unless there are stages in it: those would not be seen."""

    def __init__(self) -> None:
        self._number = 0

    @contextlib.contextmanager
    def attempt(self, watch: StageRecorder) -> Iterator[None]:
        """Around one run of a model."""
        try:
            with watch.attempt(f"compare-{self._number}"):
                yield
        finally:
            self._number += watch.traced


_caches = _Caches()


def _collect_runs(
    model: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object], file: str
) -> CollectedRuns:
    keeping = ArrayStore(file)
    try:
        collecting = StageCollector(keeping)
        watch = StageRecorder((record_stages, named_scopes.record_stages), os.path.relpath, runner=collecting.run_stage)
        with one_at_a_time, watch, _caches.attempt(watch):
            inner = unwrap(model)
            watch.know("", getattr(inner, "__self__", inner))
            for name, value in bind_arguments(model, args, kwargs).items():
                watch.know(name, value)
            jax.block_until_ready((model if is_model(model) else watch.function(model))(*args, **kwargs))
            jax.effects_barrier()
        return CollectedRuns(collecting.runs(), file)
    finally:
        keeping.close()
