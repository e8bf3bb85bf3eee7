"""The part of a session that evaluates models with their stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shapecheck.evaluate import framework_protocol
from shapecheck.evaluate.inputs.call_builder import CallBuilder
from shapecheck.evaluate.inputs.construct_models import Models
from shapecheck.evaluate.inputs.made_integers import DEFAULTS_FIRST
from shapecheck.evaluate.inputs.signature_facts import Descriptions
from shapecheck.evaluate.inputs.size_assignment import InventedSizes, UnknownSizeError
from shapecheck.evaluate.inputs.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.user_examples import ExampleError
from shapecheck.evaluate.probes.probe_importer import PlanImporter
from shapecheck.evaluate.probes.recorder import Recorder, Watch
from shapecheck.evaluate.search.entry_search import EntrySearch
from shapecheck.evaluate.session.resolve_target import NameGoneError, target
from shapecheck.evaluate.session.target_calls import call_spec, with_batches
from shapecheck.evaluate.session.target_errors import describe_refusal
from shapecheck.evaluate.stages import named_scopes
from shapecheck.evaluate.stages.stage_recorder import StageRecorder
from shapecheck.worker.rpc import ConfiguredExample, EntryPlan, InventedIntegers, TemplateResults, WorkerSettings


class TemplateSession:
    """Evaluates what is named. Where `settings` have numbers that an earlier evaluation made up, they serve again."""

    def __init__(
        self,
        importer: PlanImporter,
        recorder: Recorder,
        settings: WorkerSettings,
        described: Callable[[object], Descriptions],
        subclasses: Callable[[type], Sequence[type]],
    ) -> None:
        self._importer, self._recorder = importer, recorder
        self._made = InventedSizes(settings.made.get("integers", {}), settings.made.get("dims", {}), own=set())
        sizes = settings.sizes
        models = Models(recorder, sizes, described, subclasses, self._made, DEFAULTS_FIRST)
        self._builder = CallBuilder(recorder, models)
        self._stages = StageRecorder((framework_protocol.record_stages,), importer.shown_path)

    def evaluate(self, *, given: ConfiguredExample, seconds: float, flops: bool = False) -> TemplateResults:
        """Evaluate what `given` calls, with its stages; the answer is an error that the user can mend.

        It tells of which parameters nothing is known, with examples, and whether they are a constructor's, or maybe a
        factory's.
        """
        self._stages.flops = flops
        entry = EntryPlan(
            key="template", target=given.call, origin="template", path="", line=1, scope=None, whole=False
        )
        called = owner = None
        try:
            with named_scopes.record_stages(self._stages):  # functions that it decorates while it is imported
                called, owner = target(given.call, self._importer)
            with self._stages as self._recorder.watch, named_scopes.record_stages(self._stages):
                chosen = call_spec(
                    self._builder, called, replace(with_batches(given), fill=True, as_annotated=True), owner
                )
                search = EntrySearch(entry, chosen, self._recorder, seconds)
                found = search.evaluate()
            if search.shown is not None and not search.shown.ok:
                self._builder.models.recall(search.shown.trial.construction)
            # Parameters that are made to measure can be counted only where all sizes are numbers.
            counted = tuple(each for each in found if all(type(stage.params) is int for stage in each.stages))
            if found and not counted:
                raise ExampleError(f"{given.call}: its parameters depend on sizes that are open; give them as numbers")
            return TemplateResults(runs=counted)
        except (CannotSynthesiseError, UnknownSizeError, ExampleError) as error:
            refusal = describe_refusal(error, called, owner)
            return TemplateResults(refusal=replace(refusal, gone=isinstance(error, NameGoneError)))
        finally:
            self._recorder.watch = Watch()

    def invented_integers(self) -> InventedIntegers:
        """The integers that were made up, and where constructors take them."""
        return InventedIntegers(integers=dict(self._made.chosen), places=dict(self._made.places))
