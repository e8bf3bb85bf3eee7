"""The shape errors of one entry, with the tie that lets the code run nevertheless: a finding, unless it is explained.

What explains it is that nobody says of the two that they differ: sizes that callers choose, records of which there may
be several, arguments that were left out.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Collection

from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.choices import GIVEN, is_value_key
from shapecheck.evaluate.inputs.trials.ties import Sizes
from shapecheck.evaluate.inputs.trials.trial import INDEPENDENT, CallSpec, ChosenSizes, SearchResult, TrialOutcome
from shapecheck.evaluate.search.attempts import Attempts
from shapecheck.evaluate.search.code_errors import CodeErrors
from shapecheck.evaluate.search.failure_excuses import reshapes_to_made
from shapecheck.evaluate.search.further_runs import FurtherRuns, stacked_records
from shapecheck.evaluate.search.size_search import SizeSearch
from shapecheck.evaluate.search.sizes_of_callers import are_chosen_together, is_left_to_callers
from shapecheck.evaluate.search.solved_sizes import (
    with_shares,
    with_solved_sizes,
    with_square_images,
    with_whole_chunks,
)
from shapecheck.model import Assumption
from shapecheck.worker.messages.plans import EntryPlan

_STACKS, _STACKS_SECONDS = 2, 5.0
_GIVEN, _GIVEN_SECONDS = 60, 2.0
_SOLVED, _SOLVED_SECONDS = 30, 2.0


class TiedErrors:
    """Finds them for one entry; it `accuses` if its errors are to be shown."""

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

    def errors_and_ties(self, found: SearchResult) -> tuple[TrialOutcome, ...]:
        """The runs that show a shape error of the code, with the tie that it needs, and those under this tie."""
        errors = self._errors.errors(found)
        further = self._sizes.under_any_tie(found) if errors else found
        if any(self._errors.is_open(tie) for each in further.tied for tie in each.trial.substitution.ties):
            errors = ()
        if further.tied and further.requires is None:  # sizes under some limit, and no tie
            return (*further.tied, *self._further.again(further.tied))
        if not errors or (further.requires is None and self._entry.origin == "seen"):
            return ()
        if errors[0].refused is not None:  # what a check asks for is written: sizes that meet it are no mistake
            is_met = further.tied or further.requires is not None or self._errors.equality(errors[0])
            return () if is_met or any(each.has_invented() for each in errors) else errors
        if self._accuses and are_chosen_together(errors[0], self._call_spec.signature):
            return ()
        if further.tied and further.requires is not None:
            signature = self._call_spec.signature
            is_open = self._accuses and is_left_to_callers(further.requires, further.tied[0], signature)
            # What a claim of the result has two names for is no size that callers make fit, nor is a batch summed over.
            explanations = self._sizes.explanations
            is_open = is_open and not explanations.is_denied_by_results(further.tied[0])
            is_open = is_open and explanations.contracted.isdisjoint(further.tied[0].trial.substitution.ties)
            if is_open or _counts_sequence(further.requires, further.tied[0]):
                return further.tied
            if self._accuses and self._runs_without(further.requires, errors[0]):
                return further.tied
        is_number = further.requires is not None and further.requires.value.isdigit()
        made = self._with_made_sizes(errors[0]) if not further.tied or is_number else None
        if made is not None:
            return (made,) if made.ok else ()
        is_equality = further.requires is not None and further.requires.value.isidentifier()
        if (not further.tied or is_equality) and self._sizes.follows_others(errors[0]):
            return ()
        if further.requires is None and (reshapes_to_made(errors[0]) or self._errors.fits_for_multiples(errors[0])):
            return ()
        requires = self._errors.equality(errors[0])
        if further.requires is not None:
            requires = f"{further.requires.subject} = {further.requires.value}"
        if self._accuses and self._takes_no_stacks(errors[0]):
            single = set(stacked_records(errors[0]).values())
            errors = tuple(without_doubt(each, single) for each in errors)
        ties = {tie for each in further.tied for tie in each.trial.substitution.ties}
        apart = not ties.isdisjoint(self._sizes.explanations.apart)
        return (*(outcome.with_requirement(requires, has_two_names=apart) for outcome in errors), *further.tied)

    def _runs_without(self, tie: Assumption, error: TrialOutcome) -> bool:
        """Whether the code runs with arguments given that were left out, where a tie does not hold that it needs else.

        A mask has as many keys as there are tokens, or as the cache has places if there is one. That a size would then
        have to be an integer of the model is no better.
        """
        options = error.bound_call.options.others if error.bound_call is not None else ()
        given = tuple((key, GIVEN) for key in options if is_value_key(key))
        if not given:
            return False
        trial = dataclasses.replace(
            error.trial, choices=(*error.trial.choices, *given), variant=0, substitution=INDEPENDENT
        )
        with self._attempts.apart(_GIVEN, _GIVEN_SECONDS):
            try:
                found = self._sizes.first_runs(trial)
                further = found if found.ok else self._sizes.under_any_tie(found)
            except CannotSynthesiseError:
                return False
        runs = (*further.ok, *further.tied)
        of_dims = further.requires is None or all(further.requires.value in dict(_chosen_by(each)) for each in runs)
        return of_dims and any(not _are_equal(tie, each) for each in runs)

    def _with_made_sizes(self, error: TrialOutcome) -> TrialOutcome | None:
        """A run that comes further where a free size meets the one that made-up integers come to, if that is all."""
        with self._attempts.apart(_SOLVED, _SOLVED_SECONDS):
            attempt = self._attempts.run_if_possible
            runs = itertools.chain(
                with_solved_sizes(error, attempt, self._call_spec.signature),
                with_shares(error, attempt, self._call_spec.signature),
                with_square_images(error, attempt),
                with_whole_chunks(error, attempt),
            )
            found = next((each for each in runs if each.ok or is_further(each, error)), None)
        # What a claim of the result has two names for is no size that callers make fit.
        return None if found is not None and self._sizes.explanations.is_denied_by_results(found) else found

    def _takes_no_stacks(self, outcome: TrialOutcome) -> bool:
        """Whether the code cannot have stacks of the records of a run: then these are one each, as comments say."""
        with self._attempts.apart(_STACKS, _STACKS_SECONDS):
            stacks = self._further.with_stacks(outcome)
        return stacks is not None and stacks.failure is not None and stacks.failure.kind == "shape"

    def errors_of_no_guess(self, found: SearchResult) -> tuple[TrialOutcome, ...]:
        """The runs that show an error that is the same for other ranks of the arrays that nothing describes.

        While it may be about these it is not searched for long, so this has all the attempts that others have.
        """
        first = found.failed[0]
        if not self._accuses or self._attempts.complete or not self._errors.is_of_no_guess(first):
            return ()
        with self._attempts.apart(self._call_spec.attempts, self._call_spec.seconds):
            self._sizes.nested_open = False
            again = self._sizes.first_runs(dataclasses.replace(first.trial, variant=0, substitution=INDEPENDENT))
            return self.errors_and_ties(again) if again.failed else ()


def _chosen_by(outcome: TrialOutcome) -> ChosenSizes:
    """The free names of a run, with their sizes."""
    return outcome.bound_call.chosen if outcome.bound_call is not None else ()


def _are_equal(tie: Assumption, outcome: TrialOutcome) -> bool:
    """Whether the two of a tie have one size in a run."""
    sizes = outcome.bound_call.sizes() if outcome.bound_call is not None else Sizes({})
    known = {name: str(size) for name, size in (*sizes.integers.items(), *sizes.chosen.items())}

    def size_of(name: str) -> str:
        return size_of(known[name]) if known.get(name, name) != name else name

    return tie.subject not in known or size_of(tie.subject) == size_of(tie.value)


def _counts_sequence(requires: Assumption, tied: TrialOutcome) -> bool:
    """Whether the size that something has to have is what the integers of one argument come to: those are made up.

    Of `x.reshape(batch, *spatial_shape)` the patches are as many as that shape says, which callers give.
    """
    products: defaultdict[str, int] = defaultdict(lambda: 1)
    for name, size in tied.bound_call.integers.items() if tied.bound_call is not None else ():
        sequence, is_item, _ = name.partition("[")
        if is_item:
            products[sequence] *= size
    return requires.value.isdigit() and int(requires.value) in products.values()


def without_doubt(found: TrialOutcome, records: Collection[str]) -> TrialOutcome:
    """A run whose records cannot be stacks: each is one, as its class is written."""
    if found.bound_call is None:
        return found
    assumptions = tuple(
        dataclasses.replace(each, provenance="written") if each.kind == "value" and each.subject in records else each
        for each in found.bound_call.assumptions
    )
    return dataclasses.replace(found, bound_call=dataclasses.replace(found.bound_call, assumptions=assumptions))


def is_further(outcome: TrialOutcome, before: TrialOutcome) -> bool:
    """Whether a run ended further on than another, for whatever reason."""
    return outcome.place != before.place and (outcome.depth, outcome.trace) > (before.depth, before.trace)
