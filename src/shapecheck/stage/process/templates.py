"""The part of a session that evaluates models with their stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shapecheck.facts import Evaluation
from shapecheck.stage.observe.importing import Importer
from shapecheck.stage.observe.recorder import Recorder, Watch
from shapecheck.stage.process.named import GoneError, target
from shapecheck.stage.process.refusals import refused
from shapecheck.stage.protocol import ConfiguredExample, EntryPlan
from shapecheck.stage.search.examples import ExampleError
from shapecheck.stage.search.integers import DEFAULTS_FIRST
from shapecheck.stage.search.models import Models
from shapecheck.stage.search.recipes import Kitchen
from shapecheck.stage.search.signatures import Descriptions
from shapecheck.stage.search.sizes import Made, UnknownSizeError
from shapecheck.stage.search.strategy import Search
from shapecheck.stage.search.values import CannotSynthesiseError
from shapecheck.stage.staging.frameworks import ALL, scopes
from shapecheck.stage.staging.targets import recipe, with_batches
from shapecheck.stage.staging.watching import StageWatch


class Templates:
    """Evaluates what is named. Where `settings` have numbers that an earlier evaluation made up, they serve again."""

    def __init__(
        self,
        importer: Importer,
        recorder: Recorder,
        settings: Mapping[str, Any],
        described: Callable[[Any], Descriptions],
        subclasses: Callable[[type], Sequence[type]],
    ) -> None:
        self._importer, self._recorder = importer, recorder
        self._made = Made(**settings.get("made", {}), own=set())
        sizes = settings.get("sizes", {})
        models = Models(recorder, sizes, described, subclasses, self._made, DEFAULTS_FIRST)
        self._kitchen = Kitchen(recorder, models)
        self._stages = StageWatch(ALL, importer.shown)

    def evaluate(
        self, given: ConfiguredExample, seconds: float, *, flops: bool
    ) -> tuple[Evaluation, ...] | dict[str, Any]:
        """Evaluate what `given` calls, with its stages; the answer is an error that the user can mend.

        It tells of which parameters nothing is known, with examples, and whether they are a constructor's, or maybe a
        factory's.
        """
        self._stages.flops = flops
        entry = EntryPlan("template", given.call, "template", "", 1, None, whole=False)
        called = owner = None
        try:
            with scopes.watching(self._stages):  # functions that it decorates while it is imported
                called, owner = target(given.call, self._importer)
            with self._stages as self._recorder.watch, scopes.watching(self._stages):
                chosen = recipe(self._kitchen, called, replace(with_batches(given), fill=True), owner)
                search = Search(entry, chosen, self._recorder, seconds)
                found = search.evaluate()
            if search.shown is not None and not search.shown.ok:
                self._kitchen.models.recall(search.shown.trial.construction)
            # Parameters that are made to measure can be counted only where all sizes are numbers.
            counted = tuple(each for each in found if all(type(stage.params) is int for stage in each.stages))
            if found and not counted:
                raise ExampleError(f"{given.call}: its parameters depend on sizes that are open; give them as numbers")
            return counted
        except (CannotSynthesiseError, UnknownSizeError, ExampleError) as error:
            return {**refused(error, called, owner), **({"gone": True} if isinstance(error, GoneError) else {})}
        finally:
            self._recorder.watch = Watch()

    def made(self) -> tuple[dict[str, int], dict[str, str]]:
        """The integers that were made up, and where constructors take them."""
        return dict(self._made.chosen), dict(self._made.places)
