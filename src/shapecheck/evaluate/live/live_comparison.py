"""Two models that the user holds in hand, compared in the user's own process."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax

from shapecheck.evaluate.compare.array_store import Keeping
from shapecheck.evaluate.compare.collect_stages import Collecting
from shapecheck.evaluate.compare.stage_difference import Collected, compared
from shapecheck.evaluate.frameworks import ALL, named_scopes
from shapecheck.evaluate.inputs.entries import is_model, unwrapped
from shapecheck.evaluate.inputs.signature_facts import bound
from shapecheck.evaluate.live.live_template import one_at_a_time, title
from shapecheck.evaluate.stages.stage_recorder import StageWatch
from shapecheck.model import Compared, Tolerance

__all__ = ["compare", "title"]


def compare(
    a: Callable[..., Any],
    b: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    rules: Mapping[str, str],
    tolerance: Tolerance,
) -> Compared:
    """Call both, as they are, and compare their stages. Raises ValueError for what cannot be compared."""
    with tempfile.TemporaryDirectory(prefix="shapecheck-") as folder:
        one, other = (_collected(m, args, kwargs, os.path.join(folder, n)) for n, m in (("a", a), ("b", b)))
        return compared(one, other, rules, tolerance)


class _Caches:
    """What JAX has compiled serves the next comparison too, unless there are stages in it: those would not be seen."""

    def __init__(self) -> None:
        self._number = 0

    @contextlib.contextmanager
    def attempt(self, watch: StageWatch) -> Iterator[None]:
        """Around one run of a model."""
        try:
            with watch.attempt(f"compare-{self._number}"):
                yield
        finally:
            self._number += watch.traced


_caches = _Caches()


def _collected(model: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], file: str) -> Collected:
    keeping = Keeping(file)
    try:
        collecting = Collecting(keeping)
        watch = StageWatch((*ALL, named_scopes.watching), os.path.relpath, runner=collecting.run)
        with one_at_a_time, watch, _caches.attempt(watch):
            inner = unwrapped(model)
            watch.know("", getattr(inner, "__self__", inner))
            for name, value in bound(model, args, kwargs).items():
                watch.know(name, value)
            jax.block_until_ready((model if is_model(model) else watch.function(model))(*args, **kwargs))
            jax.effects_barrier()
        return Collected(collecting.ran(), file)
    finally:
        keeping.close()
