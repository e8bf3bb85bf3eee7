"""Whether code is narrower than its claims: it runs for one number of axes alone, or for the default of an integer."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable, Sequence

from shapecheck.evaluate.inputs.facts.defining_source import owner_of
from shapecheck.evaluate.inputs.facts.runtime_annotations import MISSING, annotation_of
from shapecheck.evaluate.inputs.trials.size_assignment import DIVISIBLE, SQUARES, UNNAMED
from shapecheck.evaluate.inputs.trials.trial import CallSpec, SearchResult, TrialOutcome
from shapecheck.evaluate.search.attempts import Attempts
from shapecheck.evaluate.search.code_errors import LEAST_FAILURES, CodeErrors, is_shape_error
from shapecheck.evaluate.search.failure_excuses import unpacks
from shapecheck.evaluate.search.further_runs import FurtherRuns
from shapecheck.evaluate.search.size_search import SizeSearch, says_division
from shapecheck.worker.messages.plans import EntryPlan

_SEVERAL = 2  # axes of a variadic dim, which then are more than one


class NarrowerCode:
    """Finds the runs of one entry that show it, where `errors` tells what is an error of the code at all."""

    def __init__(
        self,
        entry: EntryPlan,
        call_spec: CallSpec,
        attempts: Attempts,
        sizes: SizeSearch,
        further: FurtherRuns,
        errors: CodeErrors,
        *,
        accuses: bool,
    ) -> None:
        self._entry, self._call_spec, self._attempts = entry, call_spec, attempts
        self._sizes, self._further, self._errors, self._accuses = sizes, further, errors, accuses

    def narrow_default(self, name: str, found: SearchResult) -> tuple[TrialOutcome, ...]:
        """The runs that show that an integer has to be its default, though claims use it as a size.

        Sizes that divide others or follow them in another way are no errors: here only what broadcasts, or joins.
        """
        error = self._errors.first_error(found)
        messages = [each.failure.message for each in found.failed if each.failure is not None]
        if error is None or len({each.trial.invention for each in found.failed}) < LEAST_FAILURES:
            return ()
        if self._entry.origin == "seen" or any(map(says_division, messages)) or error.has_invented():
            return ()
        requires = f"{name} = {dict(self._call_spec.defaults)[name]}"
        return tuple(each.with_requirement(requires) for each in (error, found.failed[-1]))

    def narrow(self, first: TrialOutcome, ranks: Sequence[TrialOutcome]) -> tuple[TrialOutcome, ...]:
        """The runs that show that a variadic dim has to be one axis, though the claims leave that open.

        Of two axes, and for two assignments of sizes: that there are none is nothing that callers are likely to try.
        What runs with none alone may need sizes of its axes that nobody says.
        """
        two = next((outcome for outcome in ranks if outcome.trial.rank == _SEVERAL), None)
        if not self._accuses or self._entry.origin == "seen" or two is None or not self._call_spec.certain:
            return ()
        if first.trial.rank != 1 or first.trial.substitution.ties or first.has_invented() or two.bound_call is None:
            return ()
        if two.bound_call.shared:  # the model's arrays decide
            return ()
        varied = dataclasses.replace(two.trial, variant=1, invention=int(self._further.has_other_integers(two)))
        failed = [two, self._attempts.run_if_possible(varied)]
        shown = [each for each in failed if each is not None and each.failure is not None]
        if len(shown) < len(failed) or {each.failure.kind for each in shown if each.failure} != {"shape"}:
            return ()
        if len({each.place for each in shown}) > 1 or not two.place[0] or any(each.has_invented() for each in shown):
            return ()
        if unpacks(two):  # the code says how many there are
            return ()
        if self._errors.follows_length(two) or self._takes_sequences(two):
            return ()
        none = self._attempts.run_if_possible(dataclasses.replace(first.trial, rank=0))
        most = "at most one axis" if none is not None and none.ok else "one axis"
        requires = f"{' and '.join(self._call_spec.signature.variadics())} is {most}"
        return tuple(each.with_requirement(requires) for each in shown)

    def _takes_sequences(self, outcome: TrialOutcome) -> bool:
        """Whether a constructor was given one number for what may be one for each axis: `kernel: int | Sequence[int]`.

        As many axes as that has an array may have.
        """
        owner = owner_of(self._call_spec.signature.function)
        call = outcome.bound_call
        names = call.integers.keys() - call.arguments if owner is not None and call is not None else ()
        return any(_admits_sequence(annotation_of(owner, name, MISSING)) for name in names if owner is not None)

    def narrow_to_none(self, first: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """The runs that show that a variadic dim must have no axes at all, though the claims give it a name.

        Three dots in front of the dims of an array (`[..., d]`) that are those of another one, too, are as good as a
        name. Otherwise they may say that nobody has counted: see `runs_without_axes_alone`.
        """
        has_name = self._call_spec.signature.has_named_variadics() or self._call_spec.signature.shares_leading_axes()
        failed = self._with_axes(first) if has_name else ()
        if not failed:
            return ()
        is_for_one_vector = (
            bool(self._sizes.explanations.contracted) and not self._call_spec.signature.has_named_variadics()
        )
        if is_for_one_vector or self._errors.follows_length(failed[0]):
            return ()
        further = self._sizes.under_any_tie(SearchResult(failed=(failed[0],)))
        # That an axis of `...` may have the size of another one by chance excuses nothing; that of another `...` does.
        ties = {tie for each in further.tied for tie in each.trial.substitution.ties}
        are_open = all(self._call_spec.signature.is_nobodys(text) for _, text in ties)
        by_chance = bool(ties) and {name for name, _ in ties}.issubset(UNNAMED) and not are_open
        if (further.tied and further.requires is None and not by_chance) or self._attempts.is_exhausted():
            return ()
        requires = f"{' and '.join(self._call_spec.signature.variadics())} has no axes"
        if further.requires is not None:
            if self._call_spec.signature.has_variadic_features():  # `*shape`, which broadcasts with what the code has
                return ()
            requires += f", or {further.requires.subject} = {further.requires.value}"
        return tuple(each.with_requirement(requires) for each in failed[:2])

    def runs_without_axes_alone(self, first: TrialOutcome) -> bool:
        """Whether what is written as `...` must have no axes, so that a run shows nothing of arrays that have some."""
        variadics = self._call_spec.signature.variadics()
        has_name = self._call_spec.signature.has_named_variadics() or self._call_spec.signature.shares_leading_axes()
        return bool(variadics) and not has_name and bool(self._with_axes(first))

    def _with_axes(self, first: TrialOutcome) -> Sequence[TrialOutcome]:
        """The runs that show that nothing fits with one axis and with two, where a run had none, if they show that.

        Unless one axis has a size that nothing explains, such as that of another axis.
        """
        if not self._accuses or self._entry.origin == "seen" or not self._call_spec.certain:
            return ()
        if first.trial.rank or first.has_invented():
            return ()
        several = ((1, 0), (1, 1), (1, DIVISIBLE), (1, SQUARES), (_SEVERAL, 0))
        trials = (dataclasses.replace(first.trial, rank=rank, variant=variant) for rank, variant in several)
        shown = (self._attempts.run_if_possible(trial) for trial in trials)
        failed = [each for each in shown if each is not None and is_shape_error(each) and not each.has_invented()]
        if len(failed) < len(several) or not failed[0].place[0] or failed[0].place != failed[1].place:
            return ()
        if any(map(unpacks, failed)):
            return ()
        if any(each.bound_call is None or each.bound_call.shared for each in failed):
            return ()
        return failed


def _admits_sequence(annotation: object) -> bool:
    """Whether an annotation is a union of an integer and of what holds several."""
    members = typing.get_args(annotation)
    origins = [typing.get_origin(each) or each for each in members]
    return int in members and any(isinstance(each, type) and issubclass(each, Iterable) for each in origins)
