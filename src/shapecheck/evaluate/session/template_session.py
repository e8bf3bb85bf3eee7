"""The part of a session that evaluates models with their stages."""

from __future__ import annotations

from dataclasses import replace

from shapecheck.evaluate.inputs.project.user_examples import ExampleError
from shapecheck.evaluate.inputs.synthesis.call_builder import CallBuilder
from shapecheck.evaluate.probes.recorder import Watch
from shapecheck.evaluate.session.target_calls import call_spec, describe_refusal, with_batches
from shapecheck.evaluate.session.target_context import USER_ERRORS, NameGoneError, TargetContext
from shapecheck.evaluate.stages import named_scopes
from shapecheck.evaluate.stages.stage_recorder import StageRecorder, record_stages
from shapecheck.worker.messages.plans import ConfiguredExample
from shapecheck.worker.messages.target_messages import InventedIntegers, TemplateResults


class TemplateSession:
    """Evaluates what is named. Where the settings have numbers that an earlier evaluation made up, they serve again."""

    def __init__(self, context: TargetContext) -> None:
        self._context = context
        self._made = context.invented_before(own=set())
        self._builder = CallBuilder(context.recorder, context.models(self._made))
        self._stages = StageRecorder((record_stages,), context.importer.shown_path)

    def evaluate(self, *, given: ConfiguredExample, seconds: float, flops: bool = False) -> TemplateResults:
        """Evaluate what `given` calls, with its stages; the answer is an error that the user can mend.

        It tells of which parameters nothing is known, with examples, and whether they are a constructor's, or maybe a
        factory's.
        """
        self._stages.flops = flops
        called = owner = None
        try:
            called, owner = self._context.find(given.call, self._stages)
            with self._stages as self._context.recorder.watch, named_scopes.record_stages(self._stages):
                chosen = call_spec(
                    self._builder, called, replace(with_batches(given), fill=True, as_annotated=True), owner
                )
                search = self._context.search(given.call, chosen, seconds)
                found = search.evaluate()
            if search.shown is not None and not search.shown.ok:
                self._builder.models.recall(search.shown.trial.construction)
            # Parameters that are made to measure can be counted only where all sizes are numbers.
            counted = tuple(each for each in found if all(type(stage.params) is int for stage in each.stages))
            if found and not counted:
                raise ExampleError(f"{given.call}: its parameters depend on sizes that are open; give them as numbers")
            return TemplateResults(runs=counted)
        except USER_ERRORS as error:
            refusal = describe_refusal(error, called, owner)
            return TemplateResults(refusal=replace(refusal, gone=isinstance(error, NameGoneError)))
        finally:
            self._context.recorder.watch = Watch()

    def invented_integers(self) -> InventedIntegers:
        """The integers that were made up, and where constructors take them."""
        return InventedIntegers(integers=dict(self._made.chosen), places=dict(self._made.places))
