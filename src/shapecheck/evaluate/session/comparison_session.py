"""The part of a session that runs models with values, to compare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from shapecheck.evaluate.compare import comparison_inputs
from shapecheck.evaluate.compare.array_store import ArrayStore
from shapecheck.evaluate.compare.collect_stages import StageCollector, TooLargeError
from shapecheck.evaluate.compare.rename_stages import RenameError
from shapecheck.evaluate.compare.stage_difference import CollectedRuns, compare_runs
from shapecheck.evaluate.inputs.project.data_arguments import by_argument
from shapecheck.evaluate.inputs.project.user_examples import ExampleError
from shapecheck.evaluate.inputs.synthesis.call_builder import CallBuilder
from shapecheck.evaluate.inputs.trials import abstract_call
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall, force
from shapecheck.evaluate.inputs.trials.failure_reasons import explain
from shapecheck.evaluate.inputs.trials.size_assignment import InventedSizes
from shapecheck.evaluate.inputs.trials.trial import CallSpec, Trial
from shapecheck.evaluate.limits import TimeLimitError
from shapecheck.evaluate.own_errors import is_own
from shapecheck.evaluate.read_only_disk import writable
from shapecheck.evaluate.search.attempts import under
from shapecheck.evaluate.session.target_calls import call_spec, describe_refusal
from shapecheck.evaluate.session.target_context import USER_ERRORS, ArgumentRecorder, TargetContext
from shapecheck.model import StageRun, Tolerance
from shapecheck.worker.messages.plans import ConfiguredExample
from shapecheck.worker.messages.target_messages import CollectedModel, ComparisonResult

BuildCall = Callable[[CallBuilder], CallSpec]


class ComparisonSession:
    """Runs one model for a comparison, and compares it with another. Its numbers are those of `settings`, if any."""

    def __init__(self, context: TargetContext) -> None:
        self._context = context
        self._made = InventedSizes()

    def collect(
        self, *, given: ConfiguredExample, seconds: float, batch: str, file: str, other: str, seed: int
    ) -> CollectedModel:
        """Run what `given` calls, and keep what its stages give in `file`.

        Inputs may be those in the file `batch`, if there is one, or be kept in the `other` file.

        The answer tells the runs, the inputs for another model like it, what was made up, and whether inputs that
        were made up for another model gave way to its own; or an error.
        """
        with writable():
            keeping = ArrayStore(file)
        collecting = StageCollector(keeping)
        watch = _InputRecorder(self._context.importer.shown_path, collecting, seed)
        called = owner = None
        try:
            called, owner = self._context.find(given.call, watch)
            values = {
                part: comparison_inputs.with_values(getattr(given, part), other)
                for part in ("init", "args", "kwargs", "borrowed")
            }
            arrays = comparison_inputs.read_arrays(batch) if batch else {}
            batched = by_argument({name: jnp.asarray(array) for name, array in arrays.items()})
            given = replace(given, fill=True, **{**values, "borrowed": {**values["borrowed"], **batched}})

            def build_call(builder: CallBuilder) -> CallSpec:
                return call_spec(builder, called, given, owner)

            trial, axes = self._trial(build_call, given.call, seconds)
            made = self._run_with_values(build_call, trial, axes, watch, seed)
            return CollectedModel(
                runs=collecting.runs(),
                inputs=comparison_inputs.passed_on(watch.given, keeping),
                made=dict(made.chosen),
                invented=_describe_arguments(watch.invented_arguments()),
                given=_describe_arguments(watch.given.items(), made=False),
                own=given.borrowed_invented and not watch.was_given(given.borrowed),
            )
        except (*USER_ERRORS, TooLargeError) as error:
            return CollectedModel(
                refusal=describe_refusal(error, called, owner),
                made=dict(self._made.chosen),
                places=dict(self._made.places),
                invented=_describe_arguments(watch.invented_arguments()),
                given=_describe_arguments(watch.given.items(), made=False),
            )
        finally:
            keeping.close()

    def compare(
        self,
        *,
        a: tuple[StageRun, ...],
        b: tuple[StageRun, ...],
        files: tuple[str, str],
        rules: Mapping[str, str],
        tolerance: Tolerance,
    ) -> ComparisonResult:
        """Compare the runs of two models, whose arrays are in `files`."""
        try:
            found = compare_runs(CollectedRuns(a, files[0]), CollectedRuns(b, files[1]), rules, tolerance)
        except RenameError as error:
            return ComparisonResult(error=f"--map {error}")
        return ComparisonResult(found=found)

    def _run_with_values(
        self, making: BuildCall, trial: Trial | None, axes: Sequence[str], watch: _InputRecorder, seed: int
    ) -> InventedSizes:
        """Run it with values, and tell which integers were made up. Raises ExampleError for what the code raises."""

        def build(deferred: LazyCall) -> object:
            structs, rebuild = abstract_call.split_arrays(deferred)
            return force(rebuild(comparison_inputs.random(structs, seed)))

        builder = self._call_builder(build)
        with self._context.watch_with(watch):
            try:
                chosen = making(builder)
                trial = trial or Trial(mode="sized", construction=chosen.constructions[0])
                bound_call = chosen.prepare(trial)
                with watch.attempt():
                    under(axes, bound_call.call)
                    jax.effects_barrier()
            except (TimeLimitError, *USER_ERRORS):
                raise
            except BaseException as error:  # the user's code may raise anything
                if is_own(error) and not isinstance(error, MemoryError):
                    raise
                raise ExampleError(f"it cannot be run: {self._explain_error(error)}") from None
        return builder.models.made

    def _trial(self, making: BuildCall, call: str, seconds: float) -> tuple[Trial | None, Sequence[str]]:
        """The sizes with which it can be evaluated, abstractly; None if that cannot be known so."""
        try:
            search = self._context.search(call, making(self._call_builder()), seconds, "compare")
            return search.numbers(), search.attempts.axes
        except USER_ERRORS:
            return None, ()  # with values it may be otherwise; and else that is reported

    def _call_builder(self, build: Callable[[LazyCall], object] | None = None) -> CallBuilder:
        self._made = self._context.invented_before()
        return CallBuilder(self._context.recorder, self._context.models(self._made, build=build))

    def _explain_error(self, error: BaseException) -> str:
        failure = explain(error, self._context.recorder)
        at = f" ({failure.frame.path}:{failure.frame.line}, in {failure.frame.function})" if failure.frame else ""
        remedy = " (`memory` in the configuration sets the limit)" if isinstance(error, MemoryError) else ""
        return f"{type(error).__name__}: {failure.message}{at}{remedy}"


def _describe_arguments(arguments: Iterable[tuple[str, object]], *, made: bool = True) -> tuple[str, ...]:
    return tuple(
        filter(None, (comparison_inputs.describe_argument(name, value, made=made) for name, value in arguments))
    )


class _InputRecorder(ArgumentRecorder):
    """Watches a model that computes. What is abstract in its arguments becomes random numbers."""

    def __init__(self, show: Callable[[str], str], collecting: StageCollector, seed: int) -> None:
        super().__init__(show, runner=collecting.run_stage, settle=jax.block_until_ready)
        self._collecting, self._seed = collecting, seed
        self._made: set[int] = set()

    def invented_arguments(self) -> list[tuple[str, object]]:
        """The arguments that were made up."""
        return [
            (name, value)
            for name, value in self.given.items()
            if any(id(leaf) in self._made for leaf in jax.tree_util.tree_leaves(value))
        ]

    def know(self, name: str, model: object) -> None:
        """What is called from outside begins now."""
        if self.top() is None:
            self._collecting.begin()
        super().know(name, model)

    def was_given(self, arguments: Mapping[str, object]) -> bool:
        """Whether one of these arrays is among the arguments."""
        known = set(map(id, jax.tree_util.tree_leaves(arguments)))
        return any(id(leaf) in known for leaf in jax.tree_util.tree_leaves(self.given))

    def evaluate(self, function: Callable[..., object], *args: Any) -> None:
        """Call a function with numbers for its abstract arrays."""
        (structs,) = args
        values = comparison_inputs.random(structs, self._seed)
        self._made = set(map(id, values))
        function(values)
