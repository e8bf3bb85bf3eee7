"""Runs with numbers: untied where that goes, else under ties, first those that something explains.

Sizes are all different at first. Where these do not evaluate, dims are tied to each other or to sizes of the model: by
what explains a tie, and then by anything, to see what the code would need.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Final

from shapecheck.evaluate.inputs.trials.multiples import flattened_axis
from shapecheck.evaluate.inputs.trials.size_assignment import (
    CHEAP,
    DIVISIBLE,
    DIVISIBLE_TOO,
    LARGE,
    LARGE_TOO,
    SQUARES,
    UNNAMED,
    Substitution,
    closes_circle,
    substitutions,
)
from shapecheck.evaluate.inputs.trials.ties import (
    Tie,
    relations_in_code,
)
from shapecheck.evaluate.inputs.trials.trial import Apart, CallSpec, SearchResult, Trial, TrialOutcome
from shapecheck.evaluate.search.attempts import Attempts
from shapecheck.evaluate.search.called_claims import axes_of_any, checked_ties, related_sizes, sizes_as_before
from shapecheck.evaluate.search.derived_sizes import derived_ties, is_computed, meets_derived, varying_sizes
from shapecheck.evaluate.search.nested_sizes import NestedSizes, meets_inner_array, meets_written_size
from shapecheck.evaluate.search.suggest_ties import (
    as_number,
    proposals,
    written_ties,
)
from shapecheck.evaluate.search.tie_explanations import TieExplanations
from shapecheck.evaluate.search.unfit_sizes import fails_elsewhere, lies_with_sizes, unfit_axes
from shapecheck.model import Assumption, FunctionKey
from shapecheck.shapes.expressions import divisors


def _has_rank_for(other: TrialOutcome, outcome: TrialOutcome) -> bool:
    """Whether a run has as many axes as the code takes, where `other` has not: sizes that do not fit can be tied."""
    is_there = outcome.place == other.place and outcome.depth == other.depth
    return is_there and outcome.trial.rank != other.trial.rank and lies_with_sizes(outcome)


def loosen(found: TrialOutcome, attempt: Callable[[Trial], TrialOutcome]) -> TrialOutcome:
    """What `found` shows without the ties that it has no need of.

    Names that were tied to others are free, and those that were tied to a size of the model have another number.
    """
    found = without_needless(found, attempt)
    apart = found.bound_call.apart if found.bound_call is not None else Apart()
    for name, text in found.trial.substitution.ties:
        ties = dict(found.trial.substitution.ties)
        taken = {*apart.own, *(int(t) for t in ties.values() if t.isdigit())}
        if not text.isdigit() or int(text) not in apart.own or apart.before.get(name) == int(text):
            continue
        for size in dict.fromkeys([*filter(None, [apart.before.get(name)]), *_others(int(text), taken)]):
            substitution = Substitution(tuple((n, str(size) if n == name else t) for n, t in ties.items()))
            other = attempt(dataclasses.replace(found.trial, substitution=substitution))
            if other.ok:
                found = other
                break
    return found


def without_needless(found: TrialOutcome, attempt: Callable[[Trial], TrialOutcome]) -> TrialOutcome:
    """What `found` shows where names are free that it has no need to tie to others."""
    for name, text in found.trial.substitution.ties:
        rest = tuple(tie for tie in found.trial.substitution.ties if tie[0] != name)
        if text.isdigit() or not rest:
            continue
        other = attempt(dataclasses.replace(found.trial, substitution=Substitution(rest)))
        if other.ok:
            found = other
    return found


def try_as_limits(tied: TrialOutcome, attempt: Callable[[Trial], TrialOutcome]) -> TrialOutcome | None:
    """What `tied` shows with a smaller number for each that a name was tied to: that was only an upper limit, then."""
    bound_call = tied.bound_call
    ties = dict(tied.trial.substitution.ties)
    if bound_call is None or not ties or not all(text.isdigit() for text in ties.values()):
        return None
    taken = {*bound_call.integers.values(), *bound_call.own, *bound_call.apart.own, *(int(t) for t in ties.values())}
    smaller: dict[str, str] = {}
    for name, text in ties.items():
        size = next(_others(int(text), taken), None)
        if size is None:
            return None
        taken.add(size)
        smaller[name] = str(size)
    other = attempt(dataclasses.replace(tied.trial, substitution=Substitution(tuple(smaller.items()))))
    return other if other.ok else None


def _others(size: int, taken: Collection[int]) -> Iterator[int]:
    """Numbers in place of this one: smaller, as most limits are upper ones, those first that divide well."""
    for step in (64, 16, 8, 1):
        free = (n for n in range((size - 1) // step * step, 2, -step) if n not in taken)
        yield from itertools.islice(free, 1)


MOST_TIES: Final = 6
_SPECIAL = (DIVISIBLE, DIVISIBLE_TOO, SQUARES)
_LARGE = (LARGE, LARGE_TOO)
_VARIANTS = (0, 1, 2, *_SPECIAL, *_LARGE)
_DIVIDING = re.compile(
    r"reshape|divi|modulo|multiple|split|partition|rearrange|\beven(?:ly)?\b|power|square|root|equal", re.IGNORECASE
)
_ORDER = re.compile(
    r"no larger|no more|at most|at least|not exceed|exceeds|larger than|smaller than|greater|less|fewer|negative"
    r"|out of bounds|out of range|[<>]=?",
    re.IGNORECASE,
)
_FURTHER = 60  # attempts at ties that nothing explains: they only name what the code would need


class SizeSearch:
    """Chooses the sizes of one entry's runs. With `nested_open`, others inside of made-up instances might mend some."""

    def __init__(self, call_spec: CallSpec, attempts: Attempts, scope: FunctionKey | None = None) -> None:
        self._call_spec, self._attempts, self._scope = call_spec, attempts, scope
        self.nested_open = False
        recorder = attempts.recorder
        self.explanations = TieExplanations(
            call_spec.signature, recorder.claimed_shapes, recorder.claimed_fields, scope
        )

    def first_runs(self, start: Trial, *, of_rank: bool = False) -> SearchResult:
        """The first run with numbers that goes to its end, untied if that goes, else under ties that are explained.

        It has any of the numbers of axes for variadic dims, or that `of_rank` of the start.
        """
        found = self._run_first(start, of_rank=of_rank)
        return found if found.ok else dataclasses.replace(found, complete=self._attempts.complete)

    def _run_first(self, start: Trial, *, of_rank: bool) -> SearchResult:
        failed: list[TrialOutcome] = []
        ranks = [start.rank] if of_rank else list(self._call_spec.ranks)
        for rank in ranks:
            if failed and self._attempts.is_exhausted():
                break
            if failed and self._call_spec.model_axes(failed[0]) not in (None, rank):
                continue  # with none, an argument goes with whatever the model has
            asked = self._call_spec.variants
            for variant in asked or (_VARIANTS if rank == ranks[0] else (0, 2)):
                if variant in _SPECIAL and not asked and not any(map(_may_divide, failed)):
                    continue
                if variant in _LARGE and not asked and not _is_too_small(failed[0]):
                    break
                flattened = self._with_columns(failed) if variant == _SPECIAL[0] and failed else None
                if flattened is not None:
                    return SearchResult(ok=self._loosen(flattened))
                if failed and failed[-1].takes_long:
                    variant = CHEAP  # noqa: PLW2901
                outcome = self._as_called(self._attempts.run(dataclasses.replace(start, rank=rank, variant=variant)))
                if len(ranks) == 1 and not of_rank and outcome.has_variadics_inside():
                    # A class may leave open how many axes its arrays have in front; who takes one mostly means none.
                    in_front = outcome.has_variadics_in_front()
                    alone = (
                        self._attempts.run(dataclasses.replace(start, rank=0, variant=variant)) if in_front else None
                    )
                    if alone is not None and alone.ok:
                        return SearchResult(ok=self._loosen(alone))
                    ranks += [each for each in (0, 2) if each not in ranks]
                if outcome.ok:
                    return SearchResult(ok=self._loosen(outcome))
                # What has to be loaded first makes one run with values long, and no second one.
                is_long = outcome.takes_long and (not start.values or any(each.takes_long for each in failed))
                if outcome.needs_values or outcome.lacks_package or outcome.blames_dtypes() or is_long:
                    # No other sizes help.
                    return SearchResult(failed=(outcome, *failed))
                failed.append(outcome)
                if not outcome.has_free_names() or self._attempts.is_exhausted():
                    break
        deepest = max(failed, key=lambda each: (each.depth, each.trial.rank == ranks[0], -unfit_axes(each)))
        if not self._call_spec.open_ranks and not lies_with_sizes(deepest):
            deepest = next(filter(partial(_has_rank_for, deepest), failed), deepest)
        if not deepest.has_free_names():
            # Which integers inside of an argument are equal is for its class to say; arrays follow what they meet.
            is_met = meets_inner_array(deepest) or meets_written_size(deepest, self._call_spec.signature)
            mended = self._with_nested(deepest) if is_met else None
            return mended or SearchResult(failed=tuple(failed))
        untied, deepest = deepest, self._with_fields(deepest)
        tied = deepest if deepest.ok else self._with_ties(deepest, self.explanations.is_explained)
        if tied.ok:
            return SearchResult(ok=self._loosen(self._as_called(tied)))
        if tied.needs_values:
            return SearchResult(failed=(tied,))
        single = self._tied_without_axes(failed)
        if single is not None:
            return SearchResult(ok=self._loosen(self._as_called(single)))
        nested = self._with_nested(tied)
        if nested is not None:
            return nested
        if tied.trial.substitution != untied.trial.substitution:
            # Explained ties have led further: what fails there is what fails, unless other numbers do without.
            again = self._with_usual_numbers(tied.trial)
            ended = next((each for each in again if each.ok), None)
            return SearchResult(ok=self._loosen(ended)) if ended is not None else SearchResult(failed=again)
        of_fields = self._field_ties(untied) if len({each.place for each in failed}) > 1 else ()
        if of_fields:  # and so it is where sizes that only some numbers have end a run elsewhere
            again = self._with_usual_numbers(dataclasses.replace(untied.trial, substitution=Substitution(of_fields)))
            again = tuple(each for each in again if not each.ok)
            if len(again) > 1 and len({each.place for each in again}) == 1:
                return SearchResult(failed=again)
        return SearchResult(failed=tuple(failed))

    def _tied_without_axes(self, failed: Sequence[TrialOutcome]) -> TrialOutcome | None:
        """The run with no axes for what stands in front of dims as `...` that goes to its end under explained ties."""
        first = next((each for each in failed if each.trial.rank == 0), None)
        if first is None or self._call_spec.open_ranks or self._call_spec.signature.has_inner_variadics():
            return None
        found = self._with_ties(first, self.explanations.is_explained) if first.has_free_names() else first
        return found if found.ok else None

    def _with_columns(self, failed: Sequence[TrialOutcome]) -> TrialOutcome | None:
        """What runs where a last axis is as long as the code flattens all to: `x.reshape(-1, size)` of `(b, t, d)`.

        Any sizes that divide evaluate as well, and rows that break off anywhere are not meant; unless claims use the
        integer, too. Of several, as in `x.reshape(-1, heads, size)`, it has all parts, and is none of them.
        """
        first = failed[0]
        axis = flattened_axis(first.failure.message) if first.failure is not None else None
        if axis is None or first.bound_call is None or first.trial.substitution.ties:
            return None
        names = [name for name, text in first.bound_call.chosen if text == axis[0]]
        integers = first.bound_call.integers
        columns = [next((name for name, size in integers.items() if str(size) == text), "") for text in axis[1]]
        of_columns = [name for name, size in integers.items() if str(size) in axis[1]]
        if len(names) != 1 or not all(columns):
            return None
        if len(columns) == 1 and any(map(self._call_spec.signature.uses, of_columns)):
            return None
        found = self.with_tie(first.trial, (names[0], str(math.prod(map(int, axis[1])))))
        if not found.ok:
            return None
        self.explanations.columns[names[0]] = tuple(columns)
        return found

    def _with_usual_numbers(self, trial: Trial) -> tuple[TrialOutcome, ...]:
        """What a trial shows with each of the usual numbers for what is free."""
        return tuple(self._attempts.run(dataclasses.replace(trial, variant=variant)) for variant in (0, 1, 2))

    def _with_nested(self, failed: TrialOutcome) -> SearchResult | None:
        """What other sizes inside of made-up instances show, if with some of them it runs, or comes further."""
        nested = NestedSizes(self._attempt_if_left, self._call_spec.signature).settle(failed)
        self.nested_open |= nested.open
        if nested.outcome is None:
            return None
        return SearchResult(ok=(nested.outcome,)) if nested.outcome.ok else SearchResult(failed=(nested.outcome,))

    def _attempt_if_left(self, trial: Trial) -> TrialOutcome | None:
        return None if self._attempts.is_exhausted() else self._attempts.run_if_possible(trial)

    def _loosen(self, found: TrialOutcome) -> tuple[TrialOutcome, ...]:
        return (loosen(found, self._attempts.run),)

    def _with_fields(self, deepest: TrialOutcome) -> TrialOutcome:
        """The run where all names that the class's own arrays have too have the sizes of these, if it comes further.

        So have those that integers are called by which made-up arguments are made of: `init_flow(key, dim)`.
        """
        ties = self._field_ties(deepest)
        if not ties:
            return deepest
        found = self._attempts.run(dataclasses.replace(deepest.trial, substitution=Substitution(ties)))
        return found if found.ok or self.is_further(found, deepest) else deepest

    @staticmethod
    def _field_ties(outcome: TrialOutcome) -> tuple[Tie, ...]:
        """The ties of a run, and those of such names; nothing if there are none of these."""
        bound_call, ties = outcome.bound_call, dict(outcome.trial.substitution.ties)
        shared = (*bound_call.fields, *bound_call.shared, *bound_call.made_integers()) if bound_call is not None else ()
        new = tuple((name, size) for name, size in dict(shared).items() if name not in ties)
        return (*ties.items(), *new) if new else ()

    def _with_ties(self, outcome: TrialOutcome, admits: Callable[[Tie, TrialOutcome], bool]) -> TrialOutcome:
        """The run under the first ties that let it go to its end, or come to where it needs values; else the furthest.

        First what JAX says does not fit is tied, one pair of sizes after the other, as long as that leads further.
        """
        first = outcome
        for _ in range(MOST_TIES):
            relations = relations_in_code(self._call_spec.signature)
            for tie in [*written_ties(outcome, relations), *self._related_ties(outcome), *self._proposals(outcome)]:
                ties = dict(outcome.trial.substitution.ties)
                if tie[0] in ties or closes_circle(tie, ties) or not admits(tie, outcome):
                    continue
                found = self.with_tie(outcome.trial, tie)
                if self._ends(found, admits):
                    return found
                if self._attempts.is_exhausted():
                    return found if not found.ok and self.is_further(found, outcome) else outcome
                if found.ok:  # by a number that happened to be twice another
                    number = as_number(tie, outcome)
                    if number is not None and admits(number, outcome):
                        alone = self.with_tie(outcome.trial, number)
                        if self._ends(alone, admits):
                            return alone
                    continue
                if self.is_further(found, outcome):
                    outcome = found
                    break
            else:
                break
        # What has led further by explained ties may lack more of them: several sizes may stand in one product.
        starts = (first,) if outcome is first or admits != self.explanations.is_explained else (outcome, first)
        for start in starts:
            last = self._with_any_of(start, admits)
            if last is not None:
                return last
        return outcome

    def mend(self, outcome: TrialOutcome) -> TrialOutcome:
        """The furthest run under explained ties of what JAX says does not fit, pair by pair, and no further search."""
        for _ in range(MOST_TIES):
            further = None
            for tie in proposals(outcome):
                ties = dict(outcome.trial.substitution.ties)
                if tie[0] in ties or closes_circle(tie, ties) or not self.explanations.is_explained(tie, outcome):
                    continue
                if self._attempts.is_exhausted():
                    return outcome
                found = self.with_tie(outcome.trial, tie)
                if found.ok or self.is_further(found, outcome):
                    further = found
                    break
            if further is None or further.ok:
                return further or outcome
            outcome = further
        return outcome

    def _as_called(self, outcome: TrialOutcome) -> TrialOutcome:
        """The run with sizes as the function demands itself, and those that it calls, if it comes as far with these."""
        recorder = self._attempts.recorder
        checked = tuple(checked_ties(outcome, recorder.claimed_shapes, recorder.claimed_parameters, self._scope))
        if checked and not outcome.trial.substitution.ties:
            self.explanations.related.update(checked)
            demanded = self._attempts.run(dataclasses.replace(outcome.trial, substitution=Substitution(checked)))
            outcome = demanded if demanded.ok or self.is_further(demanded, outcome) else outcome
        for _ in range(MOST_TIES):
            found = (self.with_tie(outcome.trial, tie) for tie in self._related_ties(outcome))
            as_far = next((each for each in found if each.ok or self.is_further(each, outcome)), None)
            if as_far is None or self._attempts.is_exhausted():
                break
            outcome = as_far
        return outcome

    def _related_ties(self, outcome: TrialOutcome) -> list[Tie]:
        """The ties under which functions that are called have the arguments that they say.

        But a name that the caller's own claims tell from a number is not that number.
        """
        signature, recorder = self._call_spec.signature, self._attempts.recorder
        ties = dict(outcome.trial.substitution.ties)
        said = related_sizes(outcome, recorder.claimed_parameters, self._scope)
        kept = sizes_as_before(outcome, recorder.claimed_shapes, recorder.claimed_parameters)
        along = axes_of_any(outcome, recorder.claimed_parameters, self._scope, signature.variadics())
        open_ones = (tie for tie in itertools.chain(said, kept, along) if not closes_circle(tie, ties))
        found = [(name, text) for name, text in open_ones if not signature.distinguishes_number(name, text)]
        self.explanations.related.update(found)
        return found

    def _proposals(self, outcome: TrialOutcome) -> list[Tie]:
        """The ties that a failure suggests, first those of a free name to what follows from other sizes.

        A number that follows from others is no size that another name could have.
        """
        other = self._with_other_numbers(outcome)
        if other is None:
            return proposals(outcome)
        varying = {*varying_sizes(outcome, other).values()}
        return [*derived_ties(outcome, other), *(tie for tie in proposals(outcome) if tie[1] not in varying)]

    def _with_other_numbers(self, outcome: TrialOutcome) -> TrialOutcome | None:
        """The same with other sizes, where a free name meets a number that may follow from these."""
        if not meets_derived(outcome) or self._attempts.is_exhausted():
            return None
        variant = 2 if outcome.trial.variant != 2 else 0
        return self._attempts.run_if_possible(dataclasses.replace(outcome.trial, variant=variant))

    def follows_others(self, failed: TrialOutcome) -> bool:
        """Whether a free name meets a size that follows from others and not from its own: nobody knows how."""
        other = self._with_other_numbers(failed)
        if other is None or is_computed(failed, other):
            return False
        sizes = dict(failed.bound_call.chosen) if failed.bound_call is not None else {}
        for name, number in varying_sizes(failed, other).items():
            alone = self.with_tie(failed.trial, (name, str(5 * int(sizes[name]) + 7)))  # no plain multiple of its own
            message = alone.failure.message if alone.failure is not None else ""
            if alone.place == failed.place and number in re.findall(r"\d+", message):
                return True
        return False

    def _with_any_of(self, start: TrialOutcome, admits: Callable[[Tie, TrialOutcome], bool]) -> TrialOutcome | None:
        """The first run under some more ties, of all that there are, that goes to its end or to where it needs values.

        Else the first that comes further; None if there is none before the attempts are over.
        """
        further: TrialOutcome | None = None
        bound_call, before = start.bound_call, start.trial.substitution.ties
        if bound_call is None:
            return None
        message = start.failure.message if start.failure is not None else ""
        # What is named is perhaps one less than an axis, as the differences of its items are.
        named = {str(size + step) for size in map(int, re.findall(r"(?<!\w)\d+", message)) for step in (0, 1)}
        chosen = [(name, text) for name, text in bound_call.chosen if name not in dict(before)]
        names = tuple(name for name, text in chosen if name not in UNNAMED or text in named)
        for substitution in substitutions(names, bound_call.tie_candidates(), relations=self._call_spec.relations):
            if self._attempts.is_exhausted():
                break
            if all(admits(tie, start) for tie in substitution.ties):
                ties = Substitution((*before, *substitution.ties))
                found = self._attempts.run(dataclasses.replace(start.trial, substitution=ties))
                # Two that are explained each for itself may together make equal what claims tell apart.
                if not all(admits(tie, found) for tie in substitution.ties):
                    continue
                if self._ends(found, admits):
                    return found
                if further is None and not found.ok and (found.depth > start.depth or _lacks_package(found, start)):
                    further = found
        return further

    def _ends(self, found: TrialOutcome, admits: Callable[[Tie, TrialOutcome], bool]) -> bool:
        """Whether a run goes to its end, or to where it needs values: for other sizes too, where they follow others.

        A number that no integer has may be what another axis comes to, as the rows of `x[::every]` do.
        """
        bound_call, variant = found.bound_call, found.trial.variant
        texts = [text for _, text in found.trial.substitution.ties]
        if not found.ok or bound_call is None:
            return found.ok or found.needs_values
        if admits == self.explanations.is_explained and self.explanations.is_denied_by_results(found):
            return False
        if not all(text.isdigit() or text.isidentifier() for text in texts):
            return self._attempts.run(dataclasses.replace(found.trial, variant=1 if variant != 1 else 2)).ok
        known = {*map(str, (*bound_call.integers.values(), *bound_call.own, *bound_call.lengths))}
        if variant == SQUARES or all(text in known or text.isidentifier() for text in texts):
            return True
        others = (each for each in _VARIANTS if each not in (variant, SQUARES))
        runs = [self._attempts.run(dataclasses.replace(found.trial, variant=each)) for each in others]
        # What the code refuses by itself, "too many patches", is no size that does not fit.
        return any(each.ok for each in runs) or all(each.failure and each.failure.kind != "shape" for each in runs)

    @staticmethod
    def is_further(found: TrialOutcome, before: TrialOutcome) -> bool:
        """Whether a tie leads further: to more values, later code, or other axes that do not fit there.

        What a line calls comes later than the line.
        """
        # One `raise` for several comparisons stands more than once in what Python compiles.
        in_one_check = found.refused is not None and before.refused is not None and found.place == before.place
        if found.depth != before.depth or (found.trace != before.trace and not in_one_check):
            return (found.depth, found.trace) > (before.depth, before.trace)
        return fails_elsewhere(found, before)

    def with_alias(self, trial: Trial, tie: Tie) -> TrialOutcome:
        """A run with one more tie, of two names that may be those of one size."""
        self.explanations.met.add(tie)
        return self.with_tie(trial, tie)

    def with_tie(self, trial: Trial, tie: Tie) -> TrialOutcome:
        """A run with one more tie."""
        substitution = Substitution((*trial.substitution.ties, tie))
        return self._attempts.run(dataclasses.replace(trial, substitution=substitution))

    def under_any_tie(self, found: SearchResult) -> SearchResult:
        """The tie under which the code runs after all, though nothing explains it."""
        if not found.failed:
            return found
        deepest = max(found.failed, key=lambda outcome: outcome.depth)
        if not deepest.has_free_names():
            return found
        self._attempts.allow(_FURTHER)
        tied = self._with_ties(deepest, lambda tie, outcome: True)
        if not tied.ok:
            return dataclasses.replace(found, requires=self._needed_by_line(deepest, tied))
        tied = without_needless(tied, self._attempts.run)
        bare = try_as_limits(tied, self._attempts.run)
        if bare is not None:
            return dataclasses.replace(found, tied=(bare,))
        multiple = self._with_multiple(tied)
        if multiple is not None:
            return dataclasses.replace(found, tied=(multiple,))
        ties = (self.explanations.explain(tie, tied) for tie in tied.trial.substitution.ties)
        requires = next((each for each in ties if each.provenance == "invented"), None)
        return dataclasses.replace(found, requires=requires, tied=(tied,))

    def _needed_by_line(self, before: TrialOutcome, tied: TrialOutcome) -> Assumption | None:
        """The one tie with which a run passes the line where it failed before, if what ends it then is no shape."""
        new = [tie for tie in tied.trial.substitution.ties if tie not in before.trial.substitution.ties]
        is_past = tied.place != before.place and self.is_further(tied, before)
        if len(new) != 1 or not is_past or tied.failure is None or tied.failure.kind == "shape":
            return None
        needed = self.explanations.explain(new[0], tied)
        return needed if needed.provenance == "invented" else None

    def _with_multiple(self, tied: TrialOutcome) -> TrialOutcome | None:
        """What `tied` shows where one of the two sizes that it made equal is a multiple of the other, if that goes too.

        So it is with `q.shape[2] // k.shape[2]` heads that share a key: equal ones are only the first case.
        """
        ties = tied.trial.substitution.ties
        for tie in (tie for tie in ties if tie[1].isidentifier()):
            if self.explanations.explain(tie, tied).provenance != "invented":
                continue
            others = tuple(each for each in ties if each != tie)
            for relation in ((tie[0], f"2*{tie[1]}"), (tie[1], f"2*{tie[0]}")):
                substitution = Substitution((*others, relation))
                outcome = self._attempts.run(dataclasses.replace(tied.trial, substitution=substitution))
                if outcome.ok:
                    return outcome
        return None


def _lacks_package(outcome: TrialOutcome, before: TrialOutcome) -> bool:
    """Whether a run came further than another, to what only a package has that is not there."""
    return outcome.lacks_package and outcome.trace > before.trace


def _is_too_small(outcome: TrialOutcome) -> bool:
    """Whether JAX says that a number is too large beside the size of an axis: with others it may fit."""
    is_of_sizes = outcome.failure is not None and outcome.failure.kind == "shape" and not outcome.has_guessed_rank()
    return is_of_sizes and outcome.failure is not None and says_order(outcome.failure.message)


def _may_divide(outcome: TrialOutcome) -> bool:
    """Whether the code may take only sizes of a special kind: JAX says so, or a check of the user's own failed."""
    failure = outcome.failure
    if failure is None:
        return False
    if outcome.has_guessed_rank():  # then more may be wrong than a size
        return "divide" in failure.message
    if failure.kind == "other" or outcome.refused is not None or says_division(failure.message):
        return True
    computed = outcome.bound_call.computed if outcome.bound_call is not None else {}
    written = set(re.findall(r"\d+", failure.message))
    return any(str(size) in written and any(divisors(dim.expression)) for size, dim in computed.items())


def says_division(message: str) -> bool:
    """Whether a failure speaks of what other sizes may mend: such as divide evenly, or have a root."""
    return _DIVIDING.search(message) is not None


def says_order(message: str) -> bool:
    """Whether a failure speaks of one number that is too large beside another."""
    return _ORDER.search(message) is not None
