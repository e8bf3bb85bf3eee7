"""Whether a failure is an error of the code itself: a shape error that no sizes and no inventions mend."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Sequence

from shapecheck.evaluate.inputs.facts.namesakes import are_namesakes
from shapecheck.evaluate.inputs.facts.runtime_annotations import annotation_of, array_type, signature_of
from shapecheck.evaluate.inputs.synthesis.made_integers import ALL_EQUAL, EVEN, ODD
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.choices import (
    GIVEN,
    LENGTH,
    NO_OPTIONS,
    is_length_key,
    is_member_key,
    is_rank_key,
    is_stack_key,
    is_table_key,
    is_value_key,
    number_key,
)
from shapecheck.evaluate.inputs.trials.size_assignment import DIVISIBLE, DIVISIBLE_TOO, UNNAMED, Substitution
from shapecheck.evaluate.inputs.trials.ties import Tie
from shapecheck.evaluate.inputs.trials.trial import CallSpec, SearchResult, Trial, TrialOutcome
from shapecheck.evaluate.search.attempts import Attempts
from shapecheck.evaluate.search.choice_search import asks_for_stack
from shapecheck.evaluate.search.failure_excuses import is_excused, lacks_layer
from shapecheck.evaluate.search.further_runs import FurtherRuns
from shapecheck.evaluate.search.size_search import MOST_TIES, SizeSearch, says_division
from shapecheck.evaluate.search.unfit_sizes import RESHAPE, compared_integers, opposite_sizes, unfit_pairs
from shapecheck.model.assumption import SEVERAL
from shapecheck.shapes import parse_spec
from shapecheck.worker.messages.plans import EntryPlan

_EMPTY = re.compile(r"(?<![\w.])0(?![\w.])")
_NUMBERS = re.compile(r"\d+")
_SIZES = re.compile(r"[\d,() ]+")
_SHAPES = re.compile(r"[(\[][\d, ]*[)\]]")
_NO_AXIS = "no such axis"
_IS_AXIS = re.compile(r"(?:\w+_)?axis|dim")
_SEVERAL = 2  # axes of a variadic dim, which then are more than one
_MEMBER, _MEMBER_SECONDS = 120, 2.0  # attempts and seconds for one member of a union
_RANKS, _RANKS_SECONDS = 24, 2.0  # attempts and seconds for other ranks of arrays that nothing describes
LEAST_FAILURES = 2  # assignments of different sizes that must fail alike
_MOST_PAIRS = 30  # of integers of a constructor


class CodeErrors:
    """Judges the failures of one entry. An error `persists` if it is the same for all choices that nobody describes."""

    def __init__(
        self,
        entry: EntryPlan,
        call_spec: CallSpec,
        attempts: Attempts,
        sizes: SizeSearch,
        further: FurtherRuns,
        *,
        accuses: bool,
    ) -> None:
        self._entry, self._call_spec, self._attempts = entry, call_spec, attempts
        self._sizes, self._further, self._accuses = sizes, further, accuses
        self.persists = False
        self._alternatives_fail: bool | None = None
        self._no_member_fits: bool | None = None
        self._of_no_guess: dict[Trial, bool] = {}

    def is_mix_up(self, first: SearchResult, other: TrialOutcome) -> bool:
        """Whether sizes that happen to be equal in another construction are what an error of distinct ones is about.

        That they fit where they are equal does not excuse a mix-up of two that the claims tell apart.
        """
        if self.first_error(first) is not None:
            if other.trial.construction == ALL_EQUAL and self._entry.whole:
                return True
        elif not first.failed or not all(map(is_shape_error, first.failed)) or len({o.place for o in first.failed}) > 1:
            return False
        sizes = other.bound_call.integers if other.bound_call is not None else {}
        for outcome in () if lacks_layer(first.failed[0]) else first.failed[:1]:
            for left, right in compared_integers(outcome):
                if (
                    left in sizes
                    and sizes[left] == sizes.get(right)
                    and self._call_spec.signature.names_both(left, right)
                ):
                    return True
        return False

    def first_error(self, found: SearchResult) -> TrialOutcome | None:
        """The attempt to show for a shape error of the code itself: every untied run raised one, on the same line."""
        found = _of_even_sizes(found)
        failed = found.failed
        if not failed or self._sizes.nested_open or not (found.complete and self._attempts.complete):
            return None
        if not self._call_spec.certain and not (self._call_spec.has_union and self.persists):
            return None
        if any(o.failure is None or o.failure.kind != "shape" for o in failed):
            return None
        if self._call_spec.open_ranks and (not self.persists or any(o.has_made_values() for o in failed)):
            return None
        if not self._is_one_place(failed) or not failed[0].place[0] or is_excused(failed, self._call_spec):
            return None
        if self._follows_open(failed[0]) or self._goes_on_for_open(failed[0]):
            return None
        is_error = self._fails_alike(failed[0]) and self._fails_complete(failed[0]) and self._fails_as_any(found)
        if not is_error or not self._fails_for_any_length(failed[0]) or self._fits_with_one(failed[0]):
            return None
        if self._fits_with_number(failed[0]) or self._fits_as_axis(failed[0]) or self._goes_on_with_several(failed[0]):
            return None
        if self._fits_for_one_width(failed[0]) or self._fits_with_other_axes(failed):
            return None
        return failed[0] if not failed[0].has_guessed_rank() or self.is_of_no_guess(failed[0]) else None

    def is_of_no_guess(self, outcome: TrialOutcome) -> bool:
        """Whether a run with arrays of guessed ranks ended in a shape error that is not about these.

        With other ranks it has the same words, sizes and all. A run that ends earlier, as one that indexes a number
        does, shows nothing; none may come further, or to other words. In place of what may be a number there is an
        array, with which other sizes are made up too.
        """
        if not is_shape_error(outcome) or not outcome.has_guessed_rank():
            return False
        if outcome.trial not in self._of_no_guess:
            with self._attempts.apart(_RANKS, _RANKS_SECONDS):
                self._of_no_guess[outcome.trial] = self._stays_for_ranks(outcome)
        return self._of_no_guess[outcome.trial]

    def _stays_for_ranks(self, error: TrialOutcome) -> bool:
        options = error.bound_call.options.others if error.bound_call is not None else {}
        keys = [key for key in options if is_rank_key(key)]
        for key in keys:
            trials = (dataclasses.replace(error.trial, choices=(*error.trial.choices, (key, o))) for o in options[key])
            ran = [other for trial in trials if (other := self._run_up_to(trial, error)) is not None]
            later = [other for other in ran if _comes_as_far(other, error)]
            if not later or not all(_has_same_words(other, error) for other in later):
                return False
        numbers = error.guessed_numbers()
        if numbers:
            varied = dataclasses.replace(error.trial, invention=ODD)
            other = self._run_up_to(self._further.with_other_sizes(varied, error), error)
            if other is None or numbers & other.guessed_numbers() or not _has_same_axes(other, error):
                return False
        return bool(keys or numbers)

    def _run_up_to(self, trial: Trial, error: TrialOutcome) -> TrialOutcome | None:
        """A run, with such sizes for what nothing describes that it comes to where an error is, if it ends before."""
        found = self._attempts.run_if_possible(trial)
        if found is None or _comes_as_far(found, error) or not is_shape_error(found) or self._attempts.is_exhausted():
            return found
        mended = self._sizes.mend(found)
        return mended if _comes_as_far(mended, error) else found

    def _is_one_place(self, failed: Sequence[TrialOutcome]) -> bool:
        """Whether all runs failed on one line: those with as many axes for a variadic dim that has a name.

        With more of them another line may be the first that does not fit. Of `...` nobody may have counted the axes, so
        that all of none, one and two have to fail where these stand in front of others.
        """
        in_front = self._call_spec.signature.variadics() and not self._call_spec.signature.has_inner_variadics()
        is_counted = self._call_spec.signature.has_named_variadics() or (
            in_front and {0, 1, 2} <= {o.trial.rank for o in failed}
        )
        places = {(o.trial.rank if is_counted else 0, o.place) for o in failed}
        return len(places) == len({rank for rank, _ in places})

    def _fits_with_other_axes(self, failed: Sequence[TrialOutcome]) -> bool:
        """Whether the code runs with another number of axes for `...` once two sizes are equal, as a square's are.

        What fails with one axis as with none may then be for `(n, n, d)`, if nobody has counted them.
        """
        first = failed[0]
        if self._call_spec.signature.has_named_variadics() or not self._call_spec.signature.variadics():
            return False
        trials = [
            dataclasses.replace(first.trial, rank=rank) for rank in self._call_spec.ranks if rank > first.trial.rank
        ]
        others = [other for each in trials if (other := self._attempts.run_if_possible(each)) is not None]
        unlike = (o for o in others if not o.ok and not _is_same_error(o, first) and o.has_free_names())
        tied = (run for each in unlike for run in self._sizes.under_any_tie(SearchResult(failed=(each,))).tied)
        ties = [{*run.trial.substitution.ties} - {*first.trial.substitution.ties} for run in tied]
        return any(o.ok for o in others) or any(each and all({*tie} <= {*UNNAMED} for tie in each) for each in ties)

    def _follows_open(self, error: TrialOutcome) -> bool:
        """Whether what does not fit is computed of a size that nobody says: half of a vector of any length.

        One that is such a size itself has been tied to all that it meets.
        """
        chosen = dict(error.bound_call.chosen) if error.bound_call is not None else {}
        sizes = {name: size for name, size in chosen.items() if name in self._call_spec.open_names and size.isdigit()}
        if not sizes or error.failure is None:
            return False
        ties = dict(error.trial.substitution.ties)
        doubled = {name: str(2 * int(size)) for name, size in sizes.items() if name not in ties}
        substitution = Substitution((*ties.items(), *doubled.items()))
        other = self._attempts.run_if_possible(dataclasses.replace(error.trial, substitution=substitution))
        if other is None or other.failure is None or other.place != error.place:
            return other is not None and other.ok
        pairs = zip(*(_NUMBERS.findall(each.message) for each in (error.failure, other.failure)), strict=False)
        return any(before != after and before not in sizes.values() for before, after in pairs)

    def _goes_on_for_open(self, error: TrialOutcome) -> bool:
        """Whether the code comes further where an axis that nobody says anything of has the size that it meets there.

        That it ends behind that line, whatever this axis is, may be the fault of others of which nobody says more.
        """
        chosen = dict(error.bound_call.chosen) if error.bound_call is not None else {}
        met = dict.fromkeys(_NUMBERS.findall(error.failure.message)) if error.failure is not None else {}
        ties = error.trial.substitution.ties
        pairs = (
            (name, number)
            for name, size in chosen.items()
            if name in self._call_spec.open_names and size in met and name not in dict(ties)
            for number in met
            if number != size and int(number) > 1
        )
        for tie in itertools.islice(pairs, MOST_TIES):
            trial = dataclasses.replace(error.trial, substitution=Substitution((*ties, tie)))
            other = self._attempts.run_if_possible(trial)
            if other is not None and (other.ok or self._sizes.is_further(other, error)):
                return True
        return False

    def _fails_alike(self, error: TrialOutcome) -> bool:
        """Whether the other shapes that arguments may have end in shape errors too."""
        if self._alternatives_fail is None:
            kinds = {o.failure.kind if o.failure else "" for o in self._further.alternatives(error.trial)}
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
        whole = self._attempts.run_if_possible(dataclasses.replace(error.trial, choices=(*error.trial.choices, *given)))
        if whole is not None and whole.ok:
            return False
        return error.failure is None or not _EMPTY.search(error.failure.message)

    def _fails_for_any_length(self, error: TrialOutcome) -> bool:
        """Whether it is no matter how long the sequences are that were made up: `padding: Sequence[tuple[int, int]]`.

        Others let the code run, or come to something else that does not fit, if they are what does not fit. Those of
        constructors may be what there are layers of: of a model with fewer of them, less can fail. But a table is data.
        What is stacked and cut into other axes, `jnp.stack(members).reshape(*shape, n)`, has as many as these need.
        """
        others = error.bound_call.options.others if error.bound_call is not None else {}
        keys = [key for key in filter(is_length_key, others) if "." not in key or is_table_key(key)]
        for options in zip(*(others[key] for key in keys), strict=True):
            choices = (*error.trial.choices, *zip(keys, options, strict=True))
            if self._is_another(dataclasses.replace(error.trial, choices=choices), error):
                return False
        is_cut = error.failure is not None and error.failure.message.startswith(RESHAPE)
        counts = [(key, others[key]) for key in others if is_length_key(key) and (is_cut or key not in keys)]
        return not any(self._is_of_length(key, options, error) for key, options in counts)

    def _is_of_length(self, key: str, options: Sequence[str], error: TrialOutcome) -> bool:
        """Whether what does not fit is how many items a made-up sequence has: with more of them it is another size."""
        sizes = unfit_pairs(error)
        if not any(str(LENGTH) in pair for pair in sizes):
            return False
        for option in options:
            choices = (*error.trial.choices, (key, option))
            other = self._attempts.run_if_possible(dataclasses.replace(error.trial, choices=choices))
            changed = unfit_pairs(other) if other is not None else []
            if changed == [
                tuple(option.split()[0] if size == str(LENGTH) else size for size in pair) for pair in sizes
            ]:
                return True
        return False

    def follows_length(self, error: TrialOutcome) -> bool:
        """Whether what does not fit is another with sequences of another length that were made up: so may axes be many.

        A model that is made for `(out, in, *modes)` takes as many axes as that has.
        """
        others = error.bound_call.options.others if error.bound_call is not None else {}
        keys = [key for key in others if is_length_key(key)]
        for options in zip(*(others[key] for key in keys), strict=True):
            choices = (*error.trial.choices, *zip(keys, options, strict=True))
            found = self._attempts.run_if_possible(dataclasses.replace(error.trial, choices=choices))
            if found is not None and not _has_same_words(found, error):
                return True
        return False

    def _fits_for_one_width(self, error: TrialOutcome) -> bool:
        """Whether two integers of a constructor are joined, and claims have one name for what has the size of both.

        Of `Linear(local + shared, 1)` of two arrays "n d", joined, the claims say that both are d. Where it is the two
        themselves that do not fit, the code mixes them up.
        """
        call, message = error.bound_call, error.failure.message if error.failure is not None else ""
        if call is None or not self._accuses:
            return False
        unfit = set(_NUMBERS.findall(message))
        named = {text for name, text in call.chosen if self._call_spec.signature.uses(name)}
        own = {name: size for name, size in call.integers.items() if name not in call.arguments}
        for known, other in itertools.islice(itertools.permutations(own, 2), _MOST_PAIRS):
            size, second = own[known], own[other]
            if str(size) not in named or str(second) in unfit or str(size + second) not in unfit:
                continue
            equal = self._attempts.run_if_possible(
                dataclasses.replace(error.trial, init=((known, size), (other, size)))
            )
            if equal is not None and equal.ok:
                return True
        return False

    def _goes_on_with_several(self, error: TrialOutcome) -> bool:
        """Whether code that maps over one record comes further with a stack of them: whoever calls it passes that."""
        stacks = tuple((key, SEVERAL) for key in error.options() if is_stack_key(key))
        if error.failure is None or not stacks or not asks_for_stack(error.failure.message):
            return False
        choices = (*error.trial.choices, *stacks)
        other = self._attempts.run_if_possible(dataclasses.replace(error.trial, choices=choices))
        return other is not None and (other.failure is None or not asks_for_stack(other.failure.message))

    def _fits_with_one(self, error: TrialOutcome) -> bool:
        """Whether a made-up integer is what does not fit: with 1 in its place, as one group, the rest fits.

        None that is the size of an axis there: where that is 1, what does not fit may broadcast.
        """
        call, message = error.bound_call, error.failure.message if error.failure is not None else ""
        if call is None or error.failure is None:
            return False
        shapes = " ".join([*_SHAPES.findall(message), *(shape for _, shape in error.failure.arrays)])
        axes = set(_NUMBERS.findall(shapes))
        sizes = {
            name: str(call.integers[name])
            for name in sorted(call.arguments)
            if not self._call_spec.signature.uses(name)
        }
        names = [name for name, size in sizes.items() if size in _NUMBERS.findall(message) and size not in axes]
        trials = (dataclasses.replace(error.trial, choices=(*error.trial.choices, (number_key(n), "1"))) for n in names)
        return any(self._is_another(trial, error) for trial in trials)

    def _fits_as_axis(self, error: TrialOutcome) -> bool:
        """Whether an array has no axis of a number that was made up, and the code runs with its first axis instead."""
        call, message = error.bound_call, error.failure.message if error.failure is not None else ""
        if call is None or _NO_AXIS not in message:
            return False
        for name in (name for name in call.integers if _IS_AXIS.fullmatch(name)):
            first = dataclasses.replace(error.trial, init=(*error.trial.init, (name, 0)))
            if name in call.arguments:
                first = dataclasses.replace(error.trial, choices=(*error.trial.choices, (number_key(name), "0")))
            other = self._attempts.run_if_possible(first)
            if other is not None and other.ok:
                return True
        return False

    def _fits_with_number(self, error: TrialOutcome) -> bool:
        """Whether a made-up integer does not fit a number of the code's own, and the rest fits with that in its place.

        `weights.at[:].set(_TABLE[:n_bodies])` is for as many bodies as the table has rows, and callers know that. But
        an annotation that has the integer as a size is for any number.
        """
        call, message = error.bound_call, error.failure.message if error.failure is not None else ""
        if call is None:
            return False
        annotated = _annotated_names(self._call_spec.signature.function)
        names = sorted(call.arguments - annotated)
        known = {*dict(call.chosen).values(), *map(str, call.integers.values())}
        met = [*itertools.chain(*((pair, pair[::-1]) for pair in opposite_sizes(message)))]
        pairs = ((n, other) for size, other, *_ in met for n in names if str(call.integers[n]) == size)
        choices = ((number_key(n), other) for n, other in dict.fromkeys(pairs) if other not in known)
        trials = (dataclasses.replace(error.trial, choices=(*error.trial.choices, each)) for each in choices)
        return any(self._is_another(trial, error) for trial in itertools.islice(trials, MOST_TIES))

    def _is_another(self, trial: Trial, error: TrialOutcome) -> bool:
        """Whether a trial evaluates, or comes to something else that does not fit."""
        other = self._attempts.run_if_possible(trial)
        return other is not None and (other.ok or (is_shape_error(other) and not _is_same_error(other, error)))

    def _fails_as_any(self, found: SearchResult) -> bool:
        """Whether no member of a union fits, whatever is tied: the code rarely treats them all alike.

        Where they come from an alias, their names are seldom those of the other arguments.
        """
        if self._no_member_fits is None and self._call_spec.has_union:
            error = found.failed[0]
            others = error.bound_call.options.others if error.bound_call is not None else {}
            trials = (
                dataclasses.replace(error.trial, choices=(*error.trial.choices, (key, each)))
                for key in filter(is_member_key, others)
                for each in others[key]
            )
            self._no_member_fits = not self._may_fit(found) and not any(map(self._may_run, trials))
        return self._no_member_fits is not False

    def _may_run(self, trial: Trial) -> bool:
        """Whether the code runs from some trial on; so it may, where its arguments cannot be made."""
        with self._attempts.apart(_MEMBER, _MEMBER_SECONDS):
            try:
                found = self._sizes.first_runs(trial)
            except CannotSynthesiseError:
                return True
        return bool(found.ok) or self._may_fit(found)

    def _may_fit(self, found: SearchResult) -> bool:
        """Whether what failed runs under some tie; so it may, where not all were tried."""
        with self._attempts.apart(_MEMBER, _MEMBER_SECONDS):
            return bool(self._sizes.under_any_tie(found).tied) or self._attempts.is_exhausted()

    def errors(self, found: SearchResult) -> tuple[TrialOutcome, ...]:
        """The runs that show a shape error of the code: it stays on its line, whatever the sizes and inventions are."""
        found = _of_even_sizes(found)
        error = self.first_error(found)
        if error is None:
            return ()
        if not self._accuses:
            return (error,)
        if not error.has_invented() and self._call_spec.constructions == (0,):
            return found.failed[:LEAST_FAILURES]
        for invention in (ODD, EVEN):
            variant = error.trial.variant if error.trial.variant in (DIVISIBLE, DIVISIBLE_TOO) else 1
            varied = dataclasses.replace(error.trial, variant=variant, invention=invention)
            other = self._attempts.run_if_possible(self._further.with_other_sizes(varied, error))
            if other is None:  # a constructor that refuses odd sizes says nothing of even ones
                continue
            if other.failure is None:
                return ()
            if other.failure.kind == "shape" and other.place == error.place:
                return error, other
            # Odd sizes may end before, as halves of them do that do not fit.
            ends_before = other.failure.kind == "shape" and self._sizes.is_further(error, other)
            if not (says_division(other.failure.message) or ends_before):
                return ()
        return ()

    def is_open(self, tie: Tie) -> bool:
        """Whether nobody says that the sizes which a tie makes equal differ."""
        names = {tie[0], *re.findall(r"[^\W\d]\w*", tie[1])}
        return bool(names & self._call_spec.open_names)

    def equality(self, error: TrialOutcome) -> str:
        """The two integers of a constructor that have to be equal, as JAX has it.

        Of a template they are told if claims name both, since another size of one of them may fit as well.
        """
        sizes = error.bound_call.integers if error.bound_call is not None else {}
        for left, right in itertools.islice(compared_integers(error), MOST_TIES):
            matters = self._accuses or self._call_spec.signature.names_both(left, right)
            if self._entry.origin == "seen" or not matters:
                continue
            if sizes[left] == sizes[right] or are_namesakes(left, right):
                continue
            both = ((left, sizes[right]), (right, sizes[right]))
            equal = self._attempts.run_if_possible(dataclasses.replace(error.trial, init=both))
            if equal is not None and equal.ok:
                return f"{left} = {right}"
        return ""

    def fits_for_multiples(self, error: TrialOutcome) -> bool:
        """Whether what does not divide evenly are two integers of a constructor, and a multiple of one goes.

        Whoever makes the instance knows that one is to divide the other.
        """
        message = error.failure.message if error.failure is not None else ""
        sizes = error.bound_call.integers if error.bound_call is not None else {}
        if not self._accuses or not says_division(message):
            return False
        for pair in itertools.islice(compared_integers(error), MOST_TIES):
            for whole, part in (pair, pair[::-1]):
                both = ((part, sizes[part]), (whole, 2 * sizes[part]))
                multiple = self._attempts.run_if_possible(dataclasses.replace(error.trial, init=both))
                if multiple is None or multiple.place == error.place:
                    continue
                if multiple.ok or self._sizes.is_further(multiple, error):
                    return True
        return False


def _of_even_sizes(found: SearchResult) -> SearchResult:
    """What failed with sizes whose divisions come out even, if all of it came further than where others do not.

    The others say nothing of the code behind: `x.reshape(n // chunk, chunk)` is meant for multiples of chunk.
    """
    uneven = [o for o in found.failed if o.failure is not None and says_division(o.failure.message)]
    even = tuple(o for o in found.failed if o not in uneven)
    if not uneven or len(even) < LEAST_FAILURES:
        return found
    goes_on = all(_ends_behind(o, other) for o in even for other in uneven)
    return dataclasses.replace(found, failed=even) if goes_on else found


def _ends_behind(outcome: TrialOutcome, other: TrialOutcome) -> bool:
    """Whether a run came further than another: it showed more, or ended further down in the same file."""
    (file, line), (other_file, other_line) = outcome.place, other.place
    return outcome.depth > other.depth or (outcome.depth == other.depth and file == other_file and line > other_line)


def is_shape_error(outcome: TrialOutcome) -> bool:
    """Whether a run ended in one."""
    return outcome.failure is not None and outcome.failure.kind == "shape"


def _comes_as_far(other: TrialOutcome, error: TrialOutcome) -> bool:
    """Whether a run came to where an error is, or may have come further."""
    return other.ok or other.place == error.place or other.depth >= error.depth


def _has_same_words(one: TrialOutcome, other: TrialOutcome) -> bool:
    """Whether two runs ended on one line with the same words, sizes included."""
    messages = {each.failure.message for each in (one, other) if each.failure is not None}
    return one.place == other.place and is_shape_error(one) and len(messages) == 1


def _is_same_error(one: TrialOutcome, other: TrialOutcome) -> bool:
    """Whether two runs ended on one line with the same words, whatever the sizes."""
    words = {_SIZES.sub("", each.failure.message) for each in (one, other) if each.failure is not None}
    return one.place == other.place and len(words) == 1


def _has_same_axes(one: TrialOutcome, other: TrialOutcome) -> bool:
    """Whether two runs ended on one line with the same words, about arrays of as many axes."""
    words = {_NUMBERS.sub("#", each.failure.message) for each in (one, other) if each.failure is not None}
    return one.place == other.place and len(words) == 1


def _annotated_names(function: Callable[..., object] | None) -> set[str]:
    """The names of dims in the annotations of a function's arrays."""
    if function is None:
        return set()
    signature = signature_of(function)
    raw = {name: each.annotation for name, each in signature.parameters.items()}
    raw["return"] = signature.return_annotation
    found = (array_type(annotation_of(function, name, each)) for name, each in raw.items())
    return {name for each in found if each is not None for name in parse_spec(each.shape).names()}
