"""One entry, run until it is known what it shows: with numbers, with symbols, with other constructions and inventions.

Numbers come first. What runs only under a tie that nothing explains is shown by the untied runs, which fail, with the
tie in their failure.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

from shapecheck.evaluate.inputs.facts.mocks import OF_MOCKS, uses_mocks
from shapecheck.evaluate.inputs.facts.signature_facts import optional_sizes
from shapecheck.evaluate.inputs.synthesis.made_integers import (
    ALL_EQUAL,
    AS_CALLED,
    DEFAULTS_KEPT,
    DESCENDING,
    DIVIDING,
    OVER_NONE,
    SMALL,
)
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError, NotCalledError
from shapecheck.evaluate.inputs.trials.choices import (
    AS_FILE_MAKES,
    AS_MADE,
    OTHERWISE,
    OWN_SIZES,
    as_assumption,
    is_case_key,
    is_likeness_key,
    is_result_key,
    is_stack_key,
    is_turns_key,
)
from shapecheck.evaluate.inputs.trials.integer_relations import blamed_relations
from shapecheck.evaluate.inputs.trials.size_assignment import DIVISIBLE, SQUARES, UNNAMED
from shapecheck.evaluate.inputs.trials.ties import Tie
from shapecheck.evaluate.inputs.trials.trial import INDEPENDENT, CallSpec, SearchResult, Trial, TrialOutcome
from shapecheck.evaluate.inputs.trials.written_relations import written_relations
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.evaluate.search.attempts import Attempts
from shapecheck.evaluate.search.choice_search import asks_for_stack, search_choices
from shapecheck.evaluate.search.code_errors import CodeErrors
from shapecheck.evaluate.search.failure_excuses import may_blame_dtype, meets_default
from shapecheck.evaluate.search.follow_claims import ClaimFollower
from shapecheck.evaluate.search.further_runs import (
    FurtherRuns,
    as_another_guess,
    follows_one_condition,
    stacked_records,
    ways_of,
    with_decisions,
    with_usual_length,
)
from shapecheck.evaluate.search.made_functions import made_functions
from shapecheck.evaluate.search.narrower_code import NarrowerCode
from shapecheck.evaluate.search.refused_shapes import RefusedShape, find_refused
from shapecheck.evaluate.search.size_search import SizeSearch, says_division, says_order
from shapecheck.evaluate.search.tied_errors import TiedErrors, is_further, without_doubt
from shapecheck.model import Assumption, Evaluation
from shapecheck.model.assumption import A_MULTIPLE, AS_CLAIMED, AT_MOST, NO_AXES
from shapecheck.worker.messages.plans import EntryPlan

_DOUBTS, _DOUBTS_SECONDS = 30, 2.0
_OVER_NONE, _OVER_NONE_SECONDS = 30, 2.0
_UNVERIFIED = ("template", "compare")  # what is shown as it is: any sizes that go will do
_OF_USERS = ("example", "config", "seen")  # with the integers that somebody chose


class EntrySearch:
    """Runs one entry until its evaluations are known."""

    def __init__(
        self,
        entry: EntryPlan,
        call_spec: CallSpec,
        recorder: Recorder,
        seconds: float = math.inf,
        renewed: Callable[[], AbstractContextManager[None]] | None = None,
    ) -> None:
        self._entry, self._call_spec = entry, call_spec
        is_asked = entry.origin in (*_UNVERIFIED, *_OF_USERS)
        self.attempts = Attempts(call_spec, recorder, seconds, renewed, is_limited=not is_asked)
        self.shown: TrialOutcome | None = None  # the latest of the evaluations
        self._accuses = entry.origin not in _UNVERIFIED
        own = (entry.path, entry.scope) if entry.scope is not None else None
        self._sizes = SizeSearch(call_spec, self.attempts, own)
        self._further = FurtherRuns(call_spec, self.attempts, self._sizes, accuses=self._accuses)
        self._errors = CodeErrors(entry, call_spec, self.attempts, self._sizes, self._further, accuses=self._accuses)
        self._narrower = NarrowerCode(
            entry, call_spec, self.attempts, self._sizes, self._further, self._errors, accuses=self._accuses
        )
        self._tied = TiedErrors(
            entry, call_spec, self.attempts, self._sizes, self._further, self._errors, accuses=self._accuses
        )
        self._follower = ClaimFollower(
            recorder.claimed_shapes,
            recorder.claimed_parameters,
            call_spec.signature,
            own,
            self.attempts,
            self._sizes.mend,
        )
        self._needed: frozenset[str] = frozenset()  # the choices without which the code does not run
        self._followed: frozenset[Tie] = frozenset()  # the ties that claims give

    def evaluate(self) -> tuple[Evaluation, ...]:
        """All evaluations that say something of the entry: symbolic and sized where both go, else what stopped them.

        Those that go have besides them those that do not where a claim leaves more axes open than the code takes.

        Raises CannotSynthesiseError if the model cannot be constructed in any way.
        """
        problem: CannotSynthesiseError | None = None
        first: SearchResult | None = None
        for construction in self._call_spec.constructions:
            if construction == AS_CALLED and first is not None:
                break  # sizes that are equal by chance excuse nothing
            if construction == DEFAULTS_KEPT and first is not None and not self._replaces_defaults(first):
                continue
            if not self._may_mend(construction, first, problem):
                continue
            try:
                found = self._try(Trial(mode="sized", construction=construction))
            except NotCalledError as error:
                problem = problem or error
                continue
            except CannotSynthesiseError as error:
                problem = error  # the last construction came the furthest
                continue
            if found.ok and first is not None and self._errors.is_mix_up(first, found.ok[0]):
                break
            if found.ok:
                return tuple(self._result(outcome) for outcome in found.ok)
            if construction == DEFAULTS_KEPT and self._needs_defaults(first, found):
                first = found  # what ends it with other sizes is no matter to who keeps the defaults
            first = first or found
        apart = self._with_own_sizes(first)
        if apart.ok:
            return tuple(self._result(outcome) for outcome in apart.ok)
        first = apart if apart.failed else first
        related = self._with_related_integers(first)
        if related.ok:
            return tuple(self._result(outcome) for outcome in related.ok)
        first = related if related.failed else first
        chosen = self._other_choices(first, problem)
        if chosen.ok:
            return tuple(self._result(outcome) for outcome in chosen.ok)
        if chosen.failed:  # by what the usual choices did not come to
            related = self._with_related_integers(chosen)
            if related.ok:
                return tuple(self._result(outcome) for outcome in related.ok)
            first = related if related.failed else chosen
        if first is None:
            if problem is not None:
                raise problem
            return ()
        return self._failure_evaluations(first)

    def _may_mend(self, construction: int, first: SearchResult | None, problem: CannotSynthesiseError | None) -> bool:
        """Whether integers in a relation to each other are worth a search: they may be what was missing, and go."""
        needs = {DIVIDING: says_division, SMALL: says_division, DESCENDING: says_order}.get(construction)
        several = construction != SMALL
        return needs is None or (_fails_so(first, problem, needs, several=several) and self._goes(construction))

    def _goes(self, construction: int) -> bool:
        """Whether a run goes to its end; if none does, nothing more is spent on this construction.

        What small integers have to divide may have to be a multiple of their squares.
        """
        variants = (0, DIVISIBLE) if construction == SMALL else (0,)
        trials = (Trial(mode="sized", construction=construction, variant=variant) for variant in variants)
        return any(found is not None and found.ok for found in map(self.attempts.run_if_possible, trials))

    def _replaces_defaults(self, first: SearchResult) -> bool:
        """Whether some defaults may be kept instead: of the model's constructor, or in what an argument is made of."""
        calls = [each.bound_call for each in first.failed]
        return not self._call_spec.relations or any(each is None or each.defaults_replaced for each in calls)

    def _needs_defaults(self, first: SearchResult | None, kept: SearchResult) -> bool:
        """Whether the code comes further with the defaults `kept`, which the first runs did not have and it needs."""
        if first is None or not _ends_elsewhere(first, kept):
            return False
        return self._call_spec.relations or meets_default(first.failed[0], kept.failed[0])

    def numbers(self) -> Trial | None:
        """The first trial with numbers that evaluates, or that comes to where it needs values; None if none does.

        Raises CannotSynthesiseError as `evaluate` does.
        """
        problem: CannotSynthesiseError | None = None
        first: SearchResult | None = None
        for construction in self._call_spec.constructions:
            if not self._may_mend(construction, first, problem):
                continue
            try:
                found = self._sizes.first_runs(Trial(mode="sized", construction=construction))
            except NotCalledError as error:
                problem = problem or error
                continue
            except CannotSynthesiseError as error:
                problem = error
                continue
            if found.ok:
                return found.ok[0].trial
            if any(each.needs_values for each in found.failed):
                return found.failed[0].trial
            first = first or found
        if first is None and problem is not None:
            raise problem
        further = self._sizes.under_any_tie(first) if first is not None else None
        return further.tied[0].trial if further is not None and further.tied else None

    def _with_own_sizes(self, first: SearchResult | None) -> SearchResult:
        """What shows once each instance of a class has sizes of its own, where several had the same and do not fit.

        The fields of two layers in a row go by the same names, and the second takes what the first one gives.
        """
        failed = first.failed[0] if first is not None and first.failed else None
        if failed is None or failed.bound_call is None or not failed.bound_call.options.alike:
            return SearchResult()
        if failed.failure is None or failed.failure.kind != "shape":
            return SearchResult()
        return self._try(dataclasses.replace(failed.trial, substitution=INDEPENDENT, choices=(OWN_SIZES,)))

    def _with_related_integers(self, first: SearchResult | None) -> SearchResult:
        """What shows once integers have the relation that the file writes, where they fit so and only so.

        What fails further on with them is shown with them, and so is what fails alike where one is a multiple of
        another, as the file divides them.
        """
        failed = first.failed[0] if first is not None and first.failed else None
        if failed is None or failed.failure is None or failed.failure.kind != "shape" or failed.bound_call is None:
            return SearchResult()
        for relation in blamed_relations(failed, written_relations(self._call_spec.signature.function)):
            choices = (*failed.trial.choices, *relation.choices)
            trial = dataclasses.replace(failed.trial, substitution=INDEPENDENT, init=relation.init, choices=choices)
            ran = self.attempts.run_if_possible(trial)
            if ran is None or (ran.failure is not None and ran.place == failed.place and not relation.choices):
                continue
            found = self._try(trial)
            if found.failed and all(is_further(each, failed) for each in found.failed):
                return found
            if relation.choices and found.failed and all(_is_as_far(each, failed) for each in found.failed):
                return found
            if found.ok:
                shown = found.ok
                for assumption in relation.assumptions():
                    shown = tuple(_add_assumption(each, assumption) for each in shown)
                return SearchResult(ok=shown)
        return SearchResult()

    def _other_choices(self, first: SearchResult | None, problem: CannotSynthesiseError | None) -> SearchResult:
        """What evaluates once other choices are made for arguments that nobody describes, if anything does."""
        is_certain = (
            first is not None
            and self._errors.first_error(first) is not None
            and not any(map(may_blame_dtype, first.failed))
            and not any(is_likeness_key(key) for each in first.failed for key in each.options())
            and not any(map(_may_take_several, first.failed))
        )
        if is_certain or (first is not None and any(each.needs_values or each.lacks_package for each in first.failed)):
            return SearchResult()
        failed = first.failed if first is not None else ()
        found = search_choices(failed, problem, self.attempts, self._sizes.first_runs)
        self._needed, self._errors.persists = found.needed, found.persists
        if found.trial is None:
            return self._sizes.first_runs(found.further) if found.further is not None else SearchResult()
        return self._try(found.trial, found.runs)

    def _try(self, start: Trial, found: SearchResult | None = None) -> SearchResult:
        """What a trial shows with the sizes that it needs, which may be `found` already."""
        found = found or self._sizes.first_runs(start)
        if not found.ok and not self._accuses:
            further = self._sizes.under_any_tie(found)
            found = SearchResult(ok=further.tied) if further.tied else found
        found = self._as_claims_say(found)
        if not found.ok:
            return found
        first = found.ok[0]
        symbolic = [outcome for outcome in self._symbolic(first) if outcome.ok]
        if self.attempts.is_exhausted():  # a large model: one look has to do
            return SearchResult(ok=(*symbolic, first))
        again = self._further.again(found.ok)
        if not again and first.has_free_names():
            first = _by_chance(first)
        if self._further.only_even:
            even = Assumption("size", "integers", "even", "written")
            again = tuple(_add_assumption(each, even) for each in again)
            first, *symbolic = (_add_assumption(each, even) for each in (first, *symbolic))
        runs = [first, *self._as_claimed(again, first)]
        ranks = self._as_claimed(self._further.other_ranks(first), first)
        if self._call_spec.model_axes(first) is not None or any(not outcome.ok for outcome in ranks):
            # what is seen is seen for that number of axes
            axes = Assumption("rank", "variadic dims", f"{first.trial.rank} axes", "written")
            symbolic, runs = ([_add_assumption(each, axes) for each in some] for some in (symbolic, runs))
        others = [outcome for outcome in (*ranks, *self._further.alternatives(first.trial)) if outcome.ok]
        stacks = self._further.with_stacks(first)
        if stacks is not None and stacks.ok:
            others.append(stacks)
        elif stacks is not None and stacks.failure is not None and stacks.failure.kind == "shape":
            single = set(stacked_records(first).values())  # the code takes no stacks of them
            symbolic, runs = ([without_doubt(each, single) for each in some] for some in (symbolic, runs))
        sized = list(self._further.named_elsewhere(runs))
        for outcome in (first, *ranks):
            sized += self._further.as_built(outcome) if outcome.ok else ()
        for name, found in self._further.other_defaults(first):
            others += found.ok or self._narrower.narrow_default(name, found)
        narrow = self._narrower.narrow(first, ranks) or self._narrower.narrow_to_none(first)
        narrow = (*narrow, *self._errors_over_none(first))
        if self._narrower.runs_without_axes_alone(first):
            none = Assumption("rank", "...", NO_AXES, "written")
            symbolic, runs = ([_add_assumption(each, none) for each in some] for some in (symbolic, runs))
        shown = (*symbolic, *runs, *sized, *others, *narrow)
        if lengths := self._further.other_lengths(first):
            shown = (*map(with_usual_length, shown), *lengths)
        settled = self._further.as_settled(first) if self._follower.meets_numbers(first) else ()
        if made := (
            *self._further.as_file_makes(first),
            *self._further.as_counted(first),
            *self._further.left_out(first),
            *self._further.as_decorated(first),
            *settled,
        ):
            shown = tuple(map(as_another_guess, (*shown, *made)))
        return SearchResult(ok=self._in_doubt(first, shown))

    def _errors_over_none(self, first: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """The runs that show that sizes of the constructor have to be left out, which may be None or any number."""
        if not self._accuses or OVER_NONE not in self._call_spec.constructions or first.trial.construction == OVER_NONE:
            return ()
        if not (names := optional_sizes(self._call_spec.signature.function)):
            return ()
        trial = dataclasses.replace(first.trial, construction=OVER_NONE, variant=0, substitution=INDEPENDENT)
        with self.attempts.apart(_OVER_NONE, _OVER_NONE_SECONDS):
            try:
                found = self._sizes.first_runs(trial)
            except CannotSynthesiseError:
                return ()
            errors = self._tied.errors_and_ties(found) if not found.ok else ()
        requires = f"{' and '.join(names)} is None"
        failed = (each for each in errors if each.failure is not None)
        return tuple(each.with_requirement(requires) for each in failed)

    def _as_claimed(self, runs: Iterable[TrialOutcome], first: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """Runs without those with another number of axes for what nobody describes, if claims are further from these.

        Of how many there may be in front of an annotated array, all count.
        """
        if not self._accuses or not first.has_guessed_rank() or self._call_spec.signature.variadics():
            return tuple(runs)
        left = self._follower.distance(first)
        return tuple(each for each in runs if not each.ok or self._follower.distance(each) <= left)

    def _as_claims_say(self, found: SearchResult) -> SearchResult:
        """What runs with the arrays that nobody describes made as claims say, if anything does; else what was found."""
        start = found.ok[0] if found.ok else max(found.failed, key=lambda each: each.depth, default=None)
        followed = self._follower.follow(start) if start is not None and self._accuses else None
        if followed is None or not followed.outcome.ok:
            return found
        self._needed |= followed.choices
        self._followed |= followed.ties
        return SearchResult(ok=(followed.outcome,))

    def _in_doubt(self, first: TrialOutcome, shown: tuple[TrialOutcome, ...]) -> tuple[TrialOutcome, ...]:
        """Runs with arrays that claims describe, and in which some claim has another number of axes all the same.

        Then these claims prove nothing about numbers of axes but what is the same without them.
        """
        made = first.bound_call.assumptions if first.bound_call is not None else ()
        names = [each.subject for each in made if each.value.endswith(AS_CLAIMED)]
        if not self._accuses or not names or not self._follower.distance(first):
            return shown
        doubtful = [Assumption("rank", name, AS_CLAIMED, "invented") for name in names]
        for each in doubtful:
            shown = tuple(_add_assumption(outcome, each) for outcome in shown)
        choices = tuple((key, OTHERWISE) for key in first.options() if is_likeness_key(key))
        trial = dataclasses.replace(first.trial, choices=(*first.trial.choices, *choices), substitution=INDEPENDENT)
        with self.attempts.apart(_DOUBTS, _DOUBTS_SECONDS):
            try:
                return (*shown, *self._sizes.first_runs(dataclasses.replace(trial, variant=0)).ok)
            except CannotSynthesiseError:
                return shown

    def _symbolic(self, sized: TrialOutcome) -> Iterator[TrialOutcome]:
        """The same with symbols. That JAX cannot go on with them is no matter where numbers do."""
        if self._call_spec.symbolic:
            yield self.attempts.run(dataclasses.replace(sized.trial, mode="symbolic", variant=0))

    def _failure_evaluations(self, found: SearchResult) -> tuple[Evaluation, ...]:
        """What to show of an entry that does not evaluate: a shape error if it is one of the code, else the reason."""
        if any(each.needs_values for each in found.failed):
            again: tuple[TrialOutcome, ...] = ()
            if self._accuses:
                valued = self._further.with_values(found.failed)
                if valued.failed and (shown := self._tied.errors_and_ties(valued)):  # as NumPy says
                    return tuple(self._result(outcome) for outcome in shown)
                again = (*valued.ok, *self._along_paths(found.failed))
            return tuple(self._result(outcome) for outcome in (found.failed[0], *again))
        other = self._as_at_times(found)
        if other.ok:
            return tuple(self._result(outcome) for outcome in other.ok)
        made = self._as_made(found, AS_FILE_MAKES)
        if made.ok:
            return tuple(self._result(outcome) for outcome in made.ok)
        shown = self._tied.errors_and_ties(found) or self._tied.errors_of_no_guess(found)
        if shown:
            return tuple(self._result(outcome) for outcome in shown)
        made = self._as_made(found, AS_MADE)
        if made.ok:
            return tuple(self._result(outcome) for outcome in made.ok)
        may_refuse = self._accuses and not found.failed[0].lacks_package
        refused = find_refused(found.failed, self._call_spec, self.attempts) if may_refuse else None
        # A check of several arguments may ask for no more than that sizes are equal, in whatever words.
        if refused is not None and not self._sizes.under_any_tie(found).tied:
            return (self._result(found.failed[0]), self._result_of_refused(refused, found.failed[0]))
        deepest = max(found.failed, key=lambda outcome: outcome.depth)
        if deepest.failure is not None and deepest.failure.kind == "shape":
            excused = dataclasses.replace(deepest.failure, kind="other", may_be_made_up=True)
            deepest = dataclasses.replace(deepest, failure=excused)
        return (self._result(deepest),)

    def _as_at_times(self, found: SearchResult) -> SearchResult:
        """What evaluates where arguments have the shapes that they are said to have under some condition.

        "Labels of shape [b, m]. If `one_hot`, then [b, m, c]": with that flag only the second is meant.
        """
        first = found.failed[0]
        for choices in self._call_spec.at_times:
            trial = dataclasses.replace(first.trial, choices=(*first.trial.choices, *choices), variant=0)
            with self.attempts.apart(self._call_spec.attempts, self._call_spec.seconds):
                try:
                    other = self._try(dataclasses.replace(trial, substitution=INDEPENDENT))
                except CannotSynthesiseError:
                    continue
            if other.ok:
                return other
        return SearchResult()

    def _as_made(self, found: SearchResult, way: str) -> SearchResult:
        """What evaluates where arguments that another method of the model makes, or a function, are as that makes them.

        Their annotations may leave open what only both together say: that a carry is as wide as the model.
        """
        first = found.failed[0]
        ways = ways_of(first, way)
        if not ways:
            return SearchResult()
        trial = dataclasses.replace(
            first.trial, choices=(*first.trial.choices, *ways), variant=0, substitution=INDEPENDENT
        )
        is_open = self._sizes.nested_open
        with self.attempts.apart(self._call_spec.attempts, self._call_spec.seconds):
            try:
                return self._try(trial)
            except CannotSynthesiseError:
                return SearchResult()
            finally:
                self._sizes.nested_open = is_open  # what holds of these arguments says nothing of the others

    def _along_paths(self, failed: Sequence[TrialOutcome]) -> Iterator[TrialOutcome]:
        """What runs along paths show that undetermined conditions choose: errors too, where one condition does."""
        for path in self._further.along_paths(failed):
            shown = path.ok
            if not shown and path.failed and follows_one_condition(path.failed[0]):
                shown = self._tied.errors_and_ties(path)
            yield from map(with_decisions, shown)

    def _result_of_refused(self, refused: RefusedShape, failed: TrialOutcome) -> Evaluation:
        reason = failed.failure.message if failed.failure is not None else ""
        return dataclasses.replace(self._result(refused.outcome), refused=refused.parameter, reason=reason)

    def _result(self, outcome: TrialOutcome) -> Evaluation:
        failure, entry, bound_call = outcome.failure, self._entry, outcome.bound_call
        self.shown = outcome
        return Evaluation(
            target=entry.target,
            origin=entry.origin,
            path=entry.path,
            line=entry.line,
            # Sizes of the constructor that are all equal are one case, whatever the other dims are.
            mode="sized" if outcome.trial.construction == ALL_EQUAL else outcome.trial.mode,
            status="ok" if failure is None else "stopped",
            reason=failure.message if failure is not None else "",
            calls=outcome.calls,
            failure=failure,
            sizes=tuple(each for each in bound_call.chosen if each[0] not in UNNAMED) if bound_call is not None else (),
            tried=self.attempts.tried,
            assumptions=tuple(dict.fromkeys(self._assumptions(outcome))),
            features=tuple(sorted(self._call_spec.signature.features())),
            rank=outcome.trial.rank,
            case=", ".join(f"{key} {choice}" for key, choice in outcome.trial.choices if is_case_key(key)),
            stages=outcome.stages,
            integers=tuple((n, str(i)) for n, i in bound_call.integers.items()) if bound_call is not None else (),
            other_guess=outcome.other_guess,
        )

    def _assumptions(self, outcome: TrialOutcome) -> Iterator[Assumption]:
        yield from self._call_spec.lasting
        if (function := self._call_spec.signature.function) is not None and uses_mocks(function):
            yield OF_MOCKS  # a method of a test class is a function, too
        if outcome.bound_call is None:
            return
        yield from outcome.bound_call.assumptions
        for tie in outcome.trial.substitution.ties:
            followed = Assumption("tie", *tie, "written") if tie in self._followed else None
            yield followed or self._sizes.explanations.explain(tie, outcome)
        # What is made without a likeness is among the assumptions itself.
        chosen = (each for each in outcome.trial.choices if each[1] != OTHERWISE and not is_turns_key(each[0]))
        # Whether what a made-up function gives goes may lie with another one that takes it.
        is_open = len(made_functions(outcome.bound_call.assumptions)) > 1
        needed = {key for key in self._needed if not (is_open and is_result_key(key))}
        yield from (as_assumption(*each, is_needed=each[0] in needed) for each in chosen)
        if outcome.trial.construction == ALL_EQUAL:
            yield Assumption("size", "the constructor's integers", "all equal", "invented")
        for name, factor in outcome.trial.multiples:
            yield Assumption("value", name, f"{A_MULTIPLE} {factor}", "written")
        for name, limit in outcome.trial.limits:
            yield Assumption("value", name, f"{AT_MOST} {limit}", "written")
        if outcome.trial.variant == SQUARES:
            yield Assumption("size", "free dims", "powers of four", "invented")


def _by_chance(found: TrialOutcome) -> TrialOutcome:
    """A run with sizes that evaluate once and never again: they fit by chance, and prove nothing."""
    chosen = found.bound_call.chosen if found.bound_call is not None else ()
    sizes = ", ".join(f"{name}={size}" for name, size in chosen)
    return _add_assumption(found, Assumption("size", "free dims", sizes, "invented"))


def _add_assumption(found: TrialOutcome, assumption: Assumption) -> TrialOutcome:
    if found.bound_call is None:
        return found
    assumptions = (*found.bound_call.assumptions, assumption)
    return dataclasses.replace(found, bound_call=dataclasses.replace(found.bound_call, assumptions=assumptions))


def _fails_so(
    first: SearchResult | None,
    problem: CannotSynthesiseError | None,
    needs: Callable[[str], bool],
    *,
    several: bool,
) -> bool:
    """Whether other integers, if there are any, or `several`, may mend what ended the first construction."""
    failed = first.failed if first is not None else ()
    messages = [each.failure.message for each in failed if each.failure is not None]
    integers = {name for each in failed if each.bound_call is not None for name in each.bound_call.integers}
    has_some = len(integers) > several or (not failed and problem is not None)
    return has_some and any(map(needs, [*messages, *filter(None, [str(problem or "")])]))


def _ends_elsewhere(first: SearchResult | None, found: SearchResult) -> bool:
    """Whether none of these runs ended where the first ones did, or sooner."""
    if first is None or not found.failed or not first.failed:
        return False
    apart = {each.place for each in first.failed}.isdisjoint(each.place for each in found.failed)
    return apart and _depth(found) >= _depth(first)


def _may_take_several(outcome: TrialOutcome) -> bool:
    """Whether the code maps over what was made as one record, and could be made as a stack of them."""
    message = outcome.failure.message if outcome.failure is not None else ""
    return asks_for_stack(message) and any(map(is_stack_key, outcome.options()))


def _is_as_far(outcome: TrialOutcome, before: TrialOutcome) -> bool:
    """Whether a run ended in a shape error, where another did or further on."""
    is_of_shapes = outcome.failure is not None and outcome.failure.kind == "shape"
    return is_of_shapes and (outcome.place == before.place or outcome.depth > before.depth)


def _depth(found: SearchResult) -> int:
    return max(each.depth for each in found.failed)
