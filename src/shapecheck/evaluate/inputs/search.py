"""One entry, run until it is known what it shows: with numbers, with symbols, with other constructions and inventions.

Numbers come first, with sizes that are all different. Where these do not evaluate, dims are tied to each other or to
sizes of the model: by what explains a tie, and then by anything, to see what the code would need. What runs only under
a tie that nothing explains is shown by the untied runs, which fail, with the tie in their failure.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from shapecheck.evaluate.inputs import loosen_ties
from shapecheck.evaluate.inputs.attempts import Attempts
from shapecheck.evaluate.inputs.choices import GIVEN, NO_OPTIONS, as_assumption, is_value_key
from shapecheck.evaluate.inputs.made_integers import ALL_EQUAL
from shapecheck.evaluate.inputs.namesakes import are_namesakes
from shapecheck.evaluate.inputs.nested_sizes import NestedSizes
from shapecheck.evaluate.inputs.refused_shapes import RefusedShape, find_refused
from shapecheck.evaluate.inputs.search_choices import search_choices
from shapecheck.evaluate.inputs.size_assignment import (
    DIVISIBLE,
    DIVISIBLE_TOO,
    SQUARES,
    UNNAMED,
    Substitution,
    substitutions,
)
from shapecheck.evaluate.inputs.suggest_ties import compared_integers, fails_elsewhere, proposals
from shapecheck.evaluate.inputs.synthesise_values import INVENTIONS, CannotSynthesiseError
from shapecheck.evaluate.inputs.ties import ArgumentSpec, Tie, explain_tie
from shapecheck.evaluate.inputs.trial import CallSpec, SearchResult, Trial, TrialOutcome
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.model import ArrayValue, Assumption, Evaluation, TreeValue, Value
from shapecheck.worker.rpc import EntryPlan

_MOST_TIES = 6
_SPECIAL = (DIVISIBLE, DIVISIBLE_TOO, SQUARES)
_VARIANTS = (0, 1, 2, *_SPECIAL)
# What a failure says that other sizes may mend: such as divide evenly, or have a root.
_DIVIDING = re.compile(r"reshape|divi|multiple|split|partition|rearrange|evenly|power|square|root|equal", re.IGNORECASE)
_EMPTY = re.compile(r"(?<![\w.])0(?![\w.])")
_MOST_BUILT = 2  # sizes of a model's values, the last ones first
_FURTHER = 60  # attempts at ties that nothing explains: they only name what the code would need
_SEVERAL = 2  # axes of a variadic dim, which then are more than one
_LEAST_FAILURES = 2  # assignments of different sizes that must fail alike
_UNVERIFIED = ("template", "compare")  # what is shown as it is: any sizes that go will do


class Search:
    """Runs one entry until its evaluations are known."""

    def __init__(
        self,
        entry: EntryPlan,
        call_spec: CallSpec,
        recorder: Recorder,
        seconds: float = math.inf,
        renewed: Callable[[], AbstractContextManager[None]] | None = None,
    ) -> None:
        self.entry, self.call_spec = entry, call_spec
        self.attempts = Attempts(call_spec, recorder, seconds, renewed)
        self.shown: TrialOutcome | None = None  # the latest of the evaluations
        self._accuses = entry.origin not in _UNVERIFIED
        self._persists = False  # a shape error, whatever is chosen for arguments that nobody describes
        self._alternatives_fail: bool | None = None
        self._nested_open = False  # other sizes inside of made-up instances might mend what fails
        self._needed: frozenset[str] = frozenset()  # the choices without which the code does not run

    def evaluate(self) -> tuple[Evaluation, ...]:
        """All evaluations that say something of the entry: symbolic and sized where both go, else what stopped them.

        Those that go have besides them those that do not where a claim leaves more axes open than the code takes.

        Raises CannotSynthesiseError if the model cannot be constructed in any way.
        """
        problem: CannotSynthesiseError | None = None
        first: SearchResult | None = None
        for construction in self.call_spec.constructions:
            try:
                found = self._try(Trial(mode="sized", construction=construction))
            except CannotSynthesiseError as error:
                problem = error  # the last construction came the furthest
                continue
            if found.ok and first is not None and self._is_mix_up(first, found.ok[0]):
                break
            if found.ok:
                return tuple(self._result(outcome) for outcome in found.ok)
            first = first or found
        chosen = self._other_choices(first, problem)
        if chosen.ok:
            return tuple(self._result(outcome) for outcome in chosen.ok)
        if first is None:
            if problem is not None:
                raise problem
            return ()
        return self._failure_evaluations(first)

    def numbers(self) -> Trial | None:
        """The first trial with numbers that evaluates, or that comes to where it needs values; None if none does.

        Raises CannotSynthesiseError as `evaluate` does.
        """
        problem: CannotSynthesiseError | None = None
        first: SearchResult | None = None
        for construction in self.call_spec.constructions:
            try:
                found = self._search_sizes(Trial(mode="sized", construction=construction))
            except CannotSynthesiseError as error:
                problem = error
                continue
            if found.ok:
                return found.ok[0].trial
            if any(map(_needs_values, found.failed)):
                return found.failed[0].trial
            first = first or found
        if first is None and problem is not None:
            raise problem
        further = self._further(first) if first is not None else None
        return further.tied[0].trial if further is not None and further.tied else None

    def _other_choices(self, first: SearchResult | None, problem: CannotSynthesiseError | None) -> SearchResult:
        """What evaluates once other choices are made for arguments that nobody describes, if anything does."""
        if first is not None and (self._shape_error(first) is not None or any(map(_needs_values, first.failed))):
            return SearchResult()
        failed = first.failed if first is not None else ()
        found = search_choices(failed, problem, self.attempts, self._search_sizes)
        self._needed, self._persists = found.needed, found.persists
        if found.trial is None:
            return SearchResult()
        return self._try(found.trial)

    def _try(self, start: Trial) -> SearchResult:
        found = self._search_sizes(start)
        if not found.ok and not self._accuses:
            further = self._further(found)
            found = SearchResult(ok=further.tied) if further.tied else found
        if not found.ok:
            return found
        first = found.ok[0]
        symbolic = [outcome for outcome in self._symbolic(first) if outcome.ok]
        if self.attempts.is_exhausted():  # a large model: one look has to do
            return SearchResult(ok=(*symbolic, first))
        again = self._again(found.ok)
        if not again and _has_free_names(first):
            first = _by_chance(first)
        runs = [first, *again]
        ranks = self._other_ranks(first)
        if any(not outcome.ok for outcome in ranks):  # what is seen is seen for that number of axes
            axes = Assumption("rank", "variadic dims", f"{first.trial.rank} axes", "written")
            symbolic, runs = ([_add_assumption(each, axes) for each in some] for some in (symbolic, runs))
        others = [outcome for outcome in (*ranks, *self._alternatives(first.trial)) if outcome.ok]
        sized = list(self._named_elsewhere(runs))
        for outcome in (first, *ranks):
            sized += self._as_built(outcome) if outcome.ok else ()
        return SearchResult(ok=(*symbolic, *runs, *sized, *others, *self._narrow(first, ranks)))

    def _search_sizes(self, start: Trial) -> SearchResult:
        """The first run with numbers that goes to its end, untied if that goes, else under ties that are explained."""
        failed: list[TrialOutcome] = []
        for rank in self.call_spec.ranks:
            if failed and self.attempts.is_exhausted():
                break
            for variant in _VARIANTS if rank == self.call_spec.ranks[0] else (0, 2):
                if variant in _SPECIAL and not any(map(_may_divide, failed)):
                    break
                outcome = self.attempts.run(dataclasses.replace(start, rank=rank, variant=variant))
                if outcome.ok:
                    return SearchResult(ok=self._loosen(outcome))
                if _needs_values(outcome):  # other sizes do not help
                    return SearchResult(failed=(outcome, *failed))
                failed.append(outcome)
                if not _has_free_names(outcome) or self.attempts.is_exhausted():
                    break
        deepest = max(failed, key=lambda outcome: outcome.depth)
        if not _has_free_names(deepest):
            return SearchResult(failed=tuple(failed))
        deepest = self._with_fields(deepest)
        tied = deepest if deepest.ok else self._search_ties(deepest, self._is_explained)
        if tied.ok:
            return SearchResult(ok=self._loosen(tied))
        if _needs_values(tied):
            return SearchResult(failed=(tied,))
        nested = NestedSizes(self._attempt_if_left).settle(tied)
        if nested.outcome is not None:
            ok = nested.outcome.ok
            return SearchResult(ok=(nested.outcome,)) if ok else SearchResult(failed=(nested.outcome,))
        self._nested_open |= nested.open
        if tied.trial.substitution == deepest.trial.substitution:
            return SearchResult(failed=tuple(failed))
        # Explained ties have led further: what fails there is what fails.
        again = (self.attempts.run(dataclasses.replace(tied.trial, variant=variant)) for variant in (0, 1, 2))
        return SearchResult(failed=tuple(outcome for outcome in again if not outcome.ok) or (tied,))

    def _attempt_if_left(self, trial: Trial) -> TrialOutcome | None:
        return None if self.attempts.is_exhausted() else self._try_invention(trial)

    def _with_fields(self, deepest: TrialOutcome) -> TrialOutcome:
        """The run where all names that the class's own arrays have too have the sizes of these, if it comes further."""
        shared = deepest.bound_call.shared if deepest.bound_call is not None else ()
        ties = dict(deepest.trial.substitution.ties)
        new = tuple((name, size) for name, size in shared if name not in ties)
        if not new:
            return deepest
        found = self.attempts.run(dataclasses.replace(deepest.trial, substitution=Substitution((*ties.items(), *new))))
        return found if found.ok or self._is_further(found, deepest) else deepest

    def _symbolic(self, sized: TrialOutcome) -> Iterator[TrialOutcome]:
        """The same with symbols. That JAX cannot go on with them is no matter where numbers do."""
        if self.call_spec.symbolic:
            yield self.attempts.run(dataclasses.replace(sized.trial, mode="symbolic", variant=0))

    def _again(self, found: Sequence[TrialOutcome]) -> tuple[TrialOutcome, ...]:
        """A second run with other numbers, and another invention if anything was invented."""
        first = found[0]
        invents = (first.has_invented() and self._accuses) or self._has_other_integers(first)
        if not _has_free_names(first) and not invents:
            return ()
        tried = {first.trial.variant}
        for invention in (1, 0) if invents else (0,):
            for variant in (1, 0, 2, DIVISIBLE, DIVISIBLE_TOO):
                trial = dataclasses.replace(first.trial, variant=variant, invention=invention)
                if variant in tried and not invention:
                    continue
                other = self._try_invention(self._as_tied(trial, first))
                if other is not None and other.ok:
                    return (other, *self._other_callables(other))
                if self.attempts.is_exhausted():
                    return ()
        return ()

    def _other_callables(self, second: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """The runs where callables that were made up do something else again: their results are as made up."""
        found = second.bound_call.assumptions if second.bound_call is not None else ()
        if second.trial.invention == 0 or not any(a.value.startswith("a function that") for a in found):
            return ()
        more = (dataclasses.replace(second.trial, invention=each) for each in range(2, INVENTIONS))
        return tuple(each for trial in more if (each := self._try_invention(trial)) is not None and each.ok)

    def _try_invention(self, trial: Trial) -> TrialOutcome | None:
        """A run of another invention, for which there may be no model."""
        try:
            return self.attempts.run(trial)
        except CannotSynthesiseError:
            return None

    def _has_other_integers(self, outcome: TrialOutcome) -> bool:
        """Whether integers of a constructor or of the call were made up, so that others can be."""
        varies = self.call_spec.varies and self._accuses  # what is shown as it is has one construction
        return varies and outcome.bound_call is not None and bool(outcome.bound_call.integers)

    def _as_tied(self, trial: Trial, first: TrialOutcome) -> Trial:
        """A trial of another invention: sizes that names were tied to are others there."""
        if trial.invention == first.trial.invention or not first.trial.substitution.ties:
            return trial
        try:
            bound_call = self.call_spec.prepare(trial)
        except CannotSynthesiseError:
            return trial
        before = first.bound_call.integers if first.bound_call is not None else {}
        ties = []
        for name, text in first.trial.substitution.ties:
            named = [each for each, size in before.items() if str(size) == text and each in bound_call.integers]
            ties.append((name, str(bound_call.integers[named[0]]) if named else text))
        return dataclasses.replace(trial, substitution=Substitution(tuple(ties)))

    def _alternatives(self, trial: Trial) -> tuple[TrialOutcome, ...]:
        """The same for arguments that may have other shapes as well: what a claim says holds for each of them."""
        if trial.choices or self.attempts.is_exhausted():
            return ()
        return tuple(
            self.attempts.run(dataclasses.replace(trial, choices=choices)) for choices in self.call_spec.alternatives
        )

    def _named_elsewhere(self, seen: Sequence[TrialOutcome]) -> tuple[TrialOutcome, ...]:
        """Free names that the class or the code gives a size after all: what holds with that size is not false.

        Dims may have one size for a whole class, of the constructor's arrays too; and a local integer may have the
        name of a dim (`P = self.num_outputs`). Integers that follow the free sizes, `h // 2` in a callee, are none.
        """
        first = seen[0]
        if first.bound_call is None:
            return ()
        ties = dict(first.trial.substitution.ties)
        lasting = set.intersection(*(set(_local_integers(outcome)) for outcome in seen))
        integers = {name: str(first.bound_call.integers.get(meaning, meaning)) for name, meaning in sorted(lasting)}
        shared = tuple((n, size) for n, size in {**dict(first.bound_call.shared), **integers}.items() if n not in ties)
        if not shared:
            return ()
        substitution = Substitution((*first.trial.substitution.ties, *shared))
        outcome = self.attempts.run(dataclasses.replace(first.trial, substitution=substitution))
        return (outcome,) if outcome.ok else ()

    def _as_built(self, first: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """The runs where a free feature axis has a size that the model gives its values, if it takes inputs of any.

        Layers that are built for whatever comes in let nothing fail if `x: "batch d"` has not the model's `width`, in a
        residual block that gives back as many.
        """
        call = next((each for each in first.calls if each.caller is None), None)
        if not self.call_spec.infers_inputs or call is None or first.bound_call is None:
            return ()
        integers = {str(size) for size in first.bound_call.tie_candidates()}
        last = [array.shape[-1] for o in call.observations for array in _arrays(o.value) if array.shape]
        sizes = [size for size in dict.fromkeys(last[::-1]) if size in integers][:_MOST_BUILT]
        free = [name for name, text in first.bound_call.chosen if name in self.call_spec.signature.features()]
        ties = first.trial.substitution.ties
        outcomes = (
            self._with(first.trial, (name, size))
            for name, size in itertools.product(free, sizes)
            if name not in dict(ties) and self._is_explained((name, size), first)
        )
        return tuple(outcome for outcome in outcomes if outcome.ok)

    def _other_ranks(self, first: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """The same with none and two axes for variadic dims: a claim holds for each number of them, or not at all."""
        others = (rank for rank in (2, 0) if len(self.call_spec.ranks) > 1 and rank != first.trial.rank)
        return tuple(self.attempts.run(dataclasses.replace(first.trial, rank=rank)) for rank in others)

    def _narrow(self, first: TrialOutcome, ranks: Sequence[TrialOutcome]) -> tuple[TrialOutcome, ...]:
        """The runs that show that a variadic dim has to be one axis, though the annotations leave that open.

        Of two axes, and for two assignments of sizes: that there are none is nothing that callers are likely to try.
        Arrays that something else than an annotation describes have their number of axes from there.
        """
        is_written = self.call_spec.certain and all(each.formal for each in self.call_spec.signature.arrays)
        two = next((outcome for outcome in ranks if outcome.trial.rank == _SEVERAL), None)
        if not self._accuses or self.entry.origin == "seen" or two is None or not is_written:
            return ()
        if first.trial.rank != 1 or first.trial.substitution.ties or first.has_invented() or not two.bound_call:
            return ()
        varied = dataclasses.replace(two.trial, variant=1, invention=int(self._has_other_integers(two)))
        failed = [two, self._try_invention(varied)]
        shown = [each for each in failed if each is not None and each.failure is not None]
        if len(shown) < len(failed) or {each.failure.kind for each in shown if each.failure} != {"shape"}:
            return ()
        if len({each.place for each in shown}) > 1 or not two.place[0] or any(each.has_invented() for each in shown):
            return ()
        requires = f"{' and '.join(self.call_spec.signature.variadics())} is one axis"
        return tuple(self._as_error(each, requires) for each in shown)

    def _loosen(self, found: TrialOutcome) -> tuple[TrialOutcome, ...]:
        return (loosen_ties.loosen(found, self.attempts.run),)

    def _search_ties(self, outcome: TrialOutcome, admits: Callable[[Tie, TrialOutcome], bool]) -> TrialOutcome:
        """The run under the first ties that let it go to its end, or come to where it needs values; else the furthest.

        First what JAX says does not fit is tied, one pair of sizes after the other, as long as that leads further.
        """
        first = outcome
        for _ in range(_MOST_TIES):
            for tie in proposals(outcome):
                if tie[0] in dict(outcome.trial.substitution.ties) or not admits(tie, outcome):
                    continue
                found = self._with(outcome.trial, tie)
                if found.ok or _needs_values(found):
                    return found
                if self.attempts.is_exhausted():
                    return outcome
                if self._is_further(found, outcome):
                    outcome = found
                    break
            else:
                break
        bound_call = first.bound_call
        if bound_call is None:
            return outcome
        message = first.failure.message if first.failure is not None else ""
        named = set(re.findall(r"\w+", message))
        names = tuple(name for name, text in bound_call.chosen if name not in UNNAMED or text in named)
        for substitution in substitutions(names, bound_call.tie_candidates(), relations=self.call_spec.relations):
            if self.attempts.is_exhausted():
                break
            if all(admits(tie, first) for tie in substitution.ties):
                found = self.attempts.run(dataclasses.replace(first.trial, substitution=substitution))
                # Two that are explained each for itself may together make equal what claims tell apart.
                if (found.ok or _needs_values(found)) and all(admits(tie, found) for tie in substitution.ties):
                    return found
        return outcome

    @staticmethod
    def _is_further(found: TrialOutcome, before: TrialOutcome) -> bool:
        """Whether a tie leads further: to more values, a later line, or other axes that do not fit on the same line.

        What a line calls comes later than the line.
        """
        if found.depth != before.depth or found.place != before.place:
            return (found.depth, found.trace) > (before.depth, before.trace)
        return fails_elsewhere(found, before)

    def _with(self, trial: Trial, tie: Tie) -> TrialOutcome:
        substitution = Substitution((*trial.substitution.ties, tie))
        return self.attempts.run(dataclasses.replace(trial, substitution=substitution))

    def _is_explained(self, tie: Tie, outcome: TrialOutcome) -> bool:
        return self._explain_tie(tie, outcome).provenance != "invented"

    def _explain_tie(self, tie: Tie, outcome: TrialOutcome) -> Assumption:
        if outcome.bound_call is None:
            return Assumption("tie", *tie, "invented")
        name, text = tie
        sizes = outcome.bound_call.sizes()
        inner = tuple(ArgumentSpec("", spec) for spec in outcome.bound_call.inner_specs)
        signature = dataclasses.replace(self.call_spec.signature, arrays=(*self.call_spec.signature.arrays, *inner))
        number = dict(outcome.trial.substitution.ties).get(text, "")
        if number.isdigit():  # a name that has the size of the model's own axis: it is that axis that both follow
            to_number = explain_tie((name, number), signature, sizes)
            if to_number.provenance != "invented":
                return to_number
        return explain_tie(tie, signature, sizes)

    def _is_mix_up(self, first: SearchResult, other: TrialOutcome) -> bool:
        """Whether sizes that happen to be equal in another construction are what an error of distinct ones is about.

        That they fit where they are equal does not excuse a mix-up of two that the claims tell apart.
        """
        if self._shape_error(first) is None:
            return False
        if other.trial.construction == ALL_EQUAL and self.entry.whole:
            return True
        sizes = other.bound_call.integers if other.bound_call is not None else {}
        for outcome in first.failed[:1]:
            for left, right in compared_integers(outcome):
                if (
                    left in sizes
                    and sizes[left] == sizes.get(right)
                    and self.call_spec.signature.names_both(left, right)
                ):
                    return True
        return False

    def _shape_error(self, found: SearchResult) -> TrialOutcome | None:
        """The attempt to show for a shape error of the code itself: every untied run raised one, on the same line."""
        failed = found.failed
        if not failed or self._nested_open or not self.attempts.complete or not self.call_spec.certain:
            return None
        if any(o.failure is None or o.failure.kind != "shape" or o.has_guessed_rank() for o in failed):
            return None
        if self.call_spec.open_ranks and (not self._persists or any(o.has_made_values() for o in failed)):
            return None
        if len({o.place for o in failed}) > 1 or not failed[0].place[0]:
            return None
        return failed[0] if self._fails_alike(failed[0]) and self._fails_complete(failed[0]) else None

    def _fails_alike(self, error: TrialOutcome) -> bool:
        """Whether the other shapes that arguments may have end in shape errors too."""
        if self._alternatives_fail is None:
            kinds = {o.failure.kind if o.failure else "" for o in self._alternatives(error.trial)}
            self._alternatives_fail = kinds <= {"shape"}
        return self._alternatives_fail

    def _fails_complete(self, error: TrialOutcome) -> bool:
        """Whether it is no matter that arguments were left out: what stands in for them may fit some sizes alone.

        So `jnp.zeros((n, 0))` does, which can only be multiplied with weights for no inputs.
        """
        options = error.bound_call.options if error.bound_call is not None else NO_OPTIONS
        absent = [key for key in options.others if is_value_key(key)]
        if not absent:
            return True
        given = tuple((key, GIVEN) for key in absent)
        whole = self._try_invention(dataclasses.replace(error.trial, choices=(*error.trial.choices, *given)))
        if whole is not None and whole.ok:
            return False
        return error.failure is None or not _EMPTY.search(error.failure.message)

    def _errors(self, found: SearchResult) -> tuple[TrialOutcome, ...]:
        """The runs that show a shape error of the code: it stays on its line, whatever the sizes and inventions are."""
        error = self._shape_error(found)
        if error is None:
            return ()
        if not self._accuses:
            return (error,)
        if not error.has_invented() and self.call_spec.constructions == (0,):
            return found.failed[:_LEAST_FAILURES]
        other = self._try_invention(self._as_tied(dataclasses.replace(error.trial, variant=1, invention=1), error))
        if other is None or other.failure is None or other.failure.kind != "shape" or other.place != error.place:
            return ()
        return error, other

    def _further(self, found: SearchResult) -> SearchResult:
        """The tie under which the code runs after all, though nothing explains it."""
        if not found.failed:
            return found
        deepest = max(found.failed, key=lambda outcome: outcome.depth)
        if not _has_free_names(deepest):
            return found
        self.attempts.allow(_FURTHER)
        tied = self._search_ties(deepest, lambda tie, outcome: True)
        if not tied.ok:
            return found
        bare = loosen_ties.try_as_limits(tied, self.attempts.run)
        if bare is not None:
            return dataclasses.replace(found, tied=(bare,))
        multiple = self._with_multiple(tied)
        if multiple is not None:
            return dataclasses.replace(found, tied=(multiple,))
        ties = (self._explain_tie(tie, tied) for tie in tied.trial.substitution.ties)
        requires = next((each for each in ties if each.provenance == "invented"), None)
        return dataclasses.replace(found, requires=requires, tied=(tied,))

    def _with_multiple(self, tied: TrialOutcome) -> TrialOutcome | None:
        """What `tied` shows where one of the two sizes that it made equal is a multiple of the other, if that goes too.

        So it is with `q.shape[2] // k.shape[2]` heads that share a key: equal ones are only the first case.
        """
        ties = tied.trial.substitution.ties
        if len(ties) != 1 or not ties[0][1].isidentifier():
            return None
        (name, other), *_ = ties
        for relation in ((name, f"2*{other}"), (other, f"2*{name}")):
            outcome = self.attempts.run(dataclasses.replace(tied.trial, substitution=Substitution((relation,))))
            if outcome.ok:
                return outcome
        return None

    def _failure_evaluations(self, found: SearchResult) -> tuple[Evaluation, ...]:
        """What to show of an entry that does not evaluate: a shape error if it is one of the code, else the reason."""
        if any(map(_needs_values, found.failed)):
            return (self._result(found.failed[0]),)
        errors = self._errors(found)
        further = self._further(found) if errors else found
        if any(self._is_open(tie) for each in further.tied for tie in each.trial.substitution.ties):
            errors = ()
        if further.tied and further.requires is None:  # sizes under some limit, and no tie
            return tuple(self._result(outcome) for outcome in (*further.tied, *self._again(further.tied)))
        if errors and (further.requires is not None or self.entry.origin != "seen"):
            requires = self._equality(errors[0])
            if further.requires is not None:
                requires = f"{further.requires.subject} = {further.requires.value}"
            failed = [self._as_error(outcome, requires) for outcome in errors]
            return tuple(self._result(outcome) for outcome in (*failed, *further.tied))
        refused = find_refused(found.failed, self.call_spec, self.attempts) if self._accuses else None
        if refused is not None:
            return (self._result(found.failed[0]), self._result_of_refused(refused, found.failed[0]))
        deepest = max(found.failed, key=lambda outcome: outcome.depth)
        if deepest.failure is not None and deepest.failure.kind == "shape":
            deepest = dataclasses.replace(deepest, failure=dataclasses.replace(deepest.failure, kind="other"))
        return (self._result(deepest),)

    def _result_of_refused(self, refused: RefusedShape, failed: TrialOutcome) -> Evaluation:
        reason = failed.failure.message if failed.failure is not None else ""
        return dataclasses.replace(self._result(refused.outcome), refused=refused.parameter, reason=reason)

    def _is_open(self, tie: Tie) -> bool:
        """Whether nobody says that the sizes which a tie makes equal differ."""
        names = {tie[0], *re.findall(r"[^\W\d]\w*", tie[1])}
        return bool(names & self.call_spec.open_names)

    def _equality(self, error: TrialOutcome) -> str:
        """The two integers of a constructor that have to be equal, as JAX has it, though the claims name both."""
        sizes = error.bound_call.integers if error.bound_call is not None else {}
        for left, right in itertools.islice(compared_integers(error), _MOST_TIES):
            if self.entry.origin == "seen" or not self.call_spec.signature.names_both(left, right):
                continue
            if sizes[left] == sizes[right] or are_namesakes(left, right):
                continue
            both = ((left, sizes[right]), (right, sizes[right]))
            equal = self._try_invention(dataclasses.replace(error.trial, init=both))
            if equal is not None and equal.ok:
                return f"{left} = {right}"
        return ""

    @staticmethod
    def _as_error(outcome: TrialOutcome, requires: str) -> TrialOutcome:
        failure = outcome.failure
        return dataclasses.replace(
            outcome, failure=dataclasses.replace(failure, requires=requires) if failure is not None else None
        )

    def _result(self, outcome: TrialOutcome) -> Evaluation:
        failure, entry, bound_call = outcome.failure, self.entry, outcome.bound_call
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
            features=tuple(sorted(self.call_spec.signature.features())),
            rank=outcome.trial.rank,
            case=", ".join(f"{key} {choice}" for key, choice in outcome.trial.choices if key.endswith(" shape")),
            stages=outcome.stages,
        )

    def _assumptions(self, outcome: TrialOutcome) -> Iterator[Assumption]:
        yield from self.call_spec.lasting
        if outcome.bound_call is None:
            return
        yield from outcome.bound_call.assumptions
        yield from (self._explain_tie(tie, outcome) for tie in outcome.trial.substitution.ties)
        yield from (as_assumption(*each, is_needed=each[0] in self._needed) for each in outcome.trial.choices)
        if outcome.trial.construction == ALL_EQUAL:
            yield Assumption("size", "the constructor's integers", "all equal", "invented")
        for name, factor in outcome.trial.multiples:
            yield Assumption("value", name, f"a multiple of {factor}", "written")
        if outcome.trial.variant == SQUARES:
            yield Assumption("size", "free dims", "powers of four", "invented")


def _arrays(value: Value) -> Iterator[ArrayValue]:
    if isinstance(value, ArrayValue):
        yield value
    elif isinstance(value, TreeValue):
        for child in value.children:
            yield from _arrays(child)


def _may_divide(outcome: TrialOutcome) -> bool:
    """Whether the code may take only sizes of a special kind: JAX says so, or a check of the user's own failed."""
    failure = outcome.failure
    if failure is None or outcome.has_guessed_rank():
        return False
    return failure.kind == "other" or _DIVIDING.search(failure.message) is not None


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


def _has_free_names(outcome: TrialOutcome) -> bool:
    return outcome.bound_call is not None and bool(outcome.bound_call.chosen or outcome.trial.substitution.ties)


def _local_integers(outcome: TrialOutcome) -> Iterator[tuple[str, str]]:
    """The free names of an outcome that local integers have too: each with its size, or the model's integer it is.

    None of those that were made up here for the dims themselves.
    """
    if outcome.bound_call is None:
        return
    free = dict(outcome.bound_call.chosen)
    named = {str(size): name for name, size in reversed(list(outcome.bound_call.integers.items()))}
    for each in itertools.chain.from_iterable(o.names for call in outcome.calls for o in call.observations):
        if each.name in free and each.size.isdigit() and each.size not in free.values():
            yield each.name, named.get(each.size, each.size)


def _needs_values(outcome: TrialOutcome) -> bool:
    return outcome.failure is not None and outcome.failure.kind == "value"
