"""Runs beside the first one that evaluates: other numbers, inventions, ranks and shapes, for which a claim holds too.

Some of them make a verdict surer, some take another reading that is as good, and some show what a claim leaves open
though the code does not.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Sequence

from shapecheck.evaluate.inputs.facts.namesakes import are_different_things, are_namesakes, is_count, words
from shapecheck.evaluate.inputs.synthesis.made_integers import EVEN, ODD
from shapecheck.evaluate.inputs.synthesis.real_values import VALUES
from shapecheck.evaluate.inputs.synthesis.synthesise_values import INVENTIONS, CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.choices import (
    AS_DECORATED,
    AS_FILE_MAKES,
    LEFT_OUT,
    LENGTH,
    OTHER_LENGTHS,
    OTHER_SIZE,
    Choices,
    as_assumption,
    default_key,
    is_absence_key,
    is_length_key,
    is_rank_key,
)
from shapecheck.evaluate.inputs.trials.size_assignment import (
    CHEAP,
    CHEAP_TOO,
    DIVISIBLE,
    DIVISIBLE_TOO,
    LARGE,
    LARGE_TOO,
    Substitution,
    UnknownSizeError,
)
from shapecheck.evaluate.inputs.trials.ties import CallSignature, relations_of
from shapecheck.evaluate.inputs.trials.trial import INDEPENDENT, BoundCall, CallSpec, SearchResult, Trial, TrialOutcome
from shapecheck.evaluate.inputs.trials.written_relations import written_relations
from shapecheck.evaluate.probes.decided_conditions import DECISIONS
from shapecheck.evaluate.search.attempts import Attempts
from shapecheck.evaluate.search.size_search import SizeSearch, says_division
from shapecheck.model import Assumption, arrays_in
from shapecheck.model.assumption import MADE_FUNCTION, OF_VALUES, ON_PATH, SEVERAL
from shapecheck.shapes import FixedDim, parse_spec

_OTHER_RANKS, _OTHER_RANKS_SECONDS = 24, 1.0  # attempts and seconds for another guess
_OTHER_DEFAULTS, _OTHER_DEFAULTS_SECONDS = 24, 1.0
_WITH_VALUES, _WITH_VALUES_SECONDS = 24, 2.0
_DECIDED, _DECIDED_SECONDS = 24, 2.0
_OTHER_LENGTHS, _OTHER_LENGTHS_SECONDS = 24, 1.0
_MOST_COUNTS = 4  # sizes that records may have from the model
_AS_MADE, _AS_MADE_SECONDS = 40, 1.5
_MOST_RANKS = 2  # of one array that are tried
_SIZES = re.compile(r"\(\d+(?:, ?\d+)*,?\)|\bsize \d+|\bfrom \d+")  # in the words of NumPy
_NUMBER = re.compile(r"\d+")
_BOUNDS = frozenset({"max", "min", "total"})  # in names of integers that are another number than how many there are
_MOST_BUILT = 2  # sizes of a model's values, the last ones first


class FurtherRuns:
    """Runs one entry again, as an earlier run with other choices. It `accuses` if its errors are to be shown."""

    def __init__(self, call_spec: CallSpec, attempts: Attempts, sizes: SizeSearch, *, accuses: bool) -> None:
        self._call_spec, self._attempts, self._sizes = call_spec, attempts, sizes
        self._accuses = accuses
        self.only_even = False  # whether integers of constructors were seen to go where they are even alone

    def again(self, found: Sequence[TrialOutcome]) -> tuple[TrialOutcome, ...]:
        """A second run with other numbers, and another invention if anything was invented."""
        first = found[0]
        invents = (first.has_invented() and self._accuses) or self.has_other_integers(first)
        if not first.has_free_names() and not invents:
            return ()
        tried = {first.trial.variant}
        divides = False  # whether the odd sizes of an invention are what does not go
        self.only_even = False
        for invention in (ODD, EVEN, 0) if invents else (0,):
            if invention == EVEN and not divides:
                continue
            usual = (LARGE_TOO,) if first.trial.variant == LARGE else (1, 0, 2, DIVISIBLE, DIVISIBLE_TOO)
            for variant in self._call_spec.variants or usual:
                trial = dataclasses.replace(first.trial, variant=variant, invention=invention)
                if variant in tried and not invention:
                    continue
                other = self._attempts.run_if_possible(self.with_other_sizes(trial, first))
                if other is not None and other.ok:
                    self.only_even = self.only_even and invention != ODD
                    return (other, *self._other_callables(other))
                if other is not None and other.failure is not None:
                    is_of_sizes = other.failure.kind == "shape" and invents and not first.has_invented()
                    divides = divides or is_of_sizes or says_division(other.failure.message)
                    self.only_even = self.only_even or (is_of_sizes and invention == ODD)
                if self._attempts.is_exhausted():
                    break
            tied = self._of_other_ranks(first) if invention == ODD else None
            if tied is not None:
                return (tied,)
            if self._attempts.is_exhausted():
                break
        return ()

    def _of_other_ranks(self, first: TrialOutcome) -> TrialOutcome | None:
        """A run where an array of which nothing says the rank has another one, with the sizes that this needs."""
        if first.bound_call is None or not first.has_guessed_rank():
            return None
        others = first.bound_call.options.others
        chosen = dict(first.trial.choices)
        with self._attempts.apart(_OTHER_RANKS, _OTHER_RANKS_SECONDS):
            for key in others:
                if not is_rank_key(key) or key in chosen:
                    continue
                for option in others[key][:_MOST_RANKS]:
                    trial = dataclasses.replace(first.trial, choices=(*first.trial.choices, (key, option)))
                    found = self._with_other_numbers(dataclasses.replace(trial, variant=0, substitution=INDEPENDENT))
                    if found is not None:
                        return found
        return None

    def _with_other_numbers(self, start: Trial) -> TrialOutcome | None:
        if self._attempts.is_exhausted():
            return None
        try:
            found = self._sizes.first_runs(start, of_rank=True)
        except CannotSynthesiseError:
            return None
        if not found.ok:
            return None
        other = self._attempts.run(dataclasses.replace(found.ok[0].trial, variant=1))
        return dataclasses.replace(other if other.ok else found.ok[0], other_guess=True)

    def _other_callables(self, second: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """The runs where callables that were made up do something else again: their results are as made up."""
        found = second.bound_call.assumptions if second.bound_call is not None else ()
        if second.trial.invention == 0 or not any(a.value.startswith(MADE_FUNCTION) for a in found):
            return ()
        more = (dataclasses.replace(second.trial, invention=each) for each in range(2, INVENTIONS))
        return tuple(each for trial in more if (each := self._attempts.run_if_possible(trial)) is not None and each.ok)

    def has_other_integers(self, outcome: TrialOutcome) -> bool:
        """Whether integers of a constructor or of the call were made up, so that others can be."""
        varies = self._call_spec.varies and self._accuses  # what is shown as it is has one construction
        return varies and outcome.bound_call is not None and bool(outcome.bound_call.integers)

    def with_other_sizes(self, trial: Trial, first: TrialOutcome) -> Trial:
        """A trial of another invention: sizes that names were tied to are others there."""
        if trial.invention == first.trial.invention or not first.trial.substitution.ties:
            return trial
        try:
            bound_call = self._call_spec.prepare(trial)
        except (CannotSynthesiseError, UnknownSizeError):
            return trial
        before = first.bound_call.integers if first.bound_call is not None else {}
        ties = []
        for name, text in first.trial.substitution.ties:
            named = [each for each, size in before.items() if str(size) == text and each in bound_call.integers]
            ties.append((name, str(bound_call.integers[named[0]]) if named else text))
        return dataclasses.replace(trial, substitution=Substitution(tuple(ties)))

    def alternatives(self, trial: Trial) -> tuple[TrialOutcome, ...]:
        """The same for arguments that may have other shapes as well: what a claim says holds for each of them."""
        if trial.choices or self._attempts.is_exhausted():
            return ()
        return tuple(
            self._attempts.run(dataclasses.replace(trial, choices=choices)) for choices in self._call_spec.alternatives
        )

    def with_stacks(self, first: TrialOutcome) -> TrialOutcome | None:
        """The same with stacks of those records of which the first run had one: what is false of both is false.

        What holds for the first is not taken back.
        """
        records = stacked_records(first)
        if not records or self._attempts.is_exhausted():
            return None
        choices = (*first.trial.choices, *((key, SEVERAL) for key in records))
        outcome = self._attempts.run_if_possible(dataclasses.replace(first.trial, choices=choices))
        return dataclasses.replace(outcome, other_guess=True) if outcome is not None else None

    def as_file_makes(self, first: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """The runs where records are as functions of their files make them: what holds of these is not false.

        Such a function knows relations that the fields' names do not tell, as of `h` and `heads * size`.
        """
        ways = ways_of(first, AS_FILE_MAKES)
        if not ways or not self._accuses or self._attempts.is_exhausted():
            return ()
        choices = (*first.trial.choices, *ways)
        start = dataclasses.replace(first.trial, choices=choices, variant=0, substitution=INDEPENDENT)
        with self._attempts.apart(_AS_MADE, _AS_MADE_SECONDS):
            found = self._runs_of(start)
            other = dataclasses.replace(found[0].trial, invention=ODD) if found else None
            again = self._attempts.run_if_possible(other) if other is not None else None
        return (*found, *([again] if again is not None and again.ok else []))

    def left_out(self, first: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """The runs with None in place of arrays of any shape, as annotations admit: what holds then is not false."""
        options = first.bound_call.options.others if first.bound_call is not None else {}
        absent = tuple((key, LEFT_OUT) for key in options if is_absence_key(key))
        if not absent or not self._accuses or self._attempts.is_exhausted():
            return ()
        choices = (*first.trial.choices, *absent)
        start = dataclasses.replace(first.trial, choices=choices, variant=0, substitution=INDEPENDENT)
        with self._attempts.apart(_AS_MADE, _AS_MADE_SECONDS):
            return self._runs_of(start)

    def _runs_of(self, start: Trial) -> tuple[TrialOutcome, ...]:
        """The runs of a trial that evaluate, with the sizes that it needs; none if its arguments cannot be made."""
        try:
            return self._sizes.first_runs(start).ok
        except CannotSynthesiseError:
            return ()

    def as_decorated(self, first: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """The run of a function as `vmap` decorates it, with what its callers give: its claims may be of that."""
        if not self._call_spec.is_mapped or self._attempts.is_exhausted():
            return ()
        trial = dataclasses.replace(first.trial, choices=(*first.trial.choices, AS_DECORATED))
        outcome = self._attempts.run_if_possible(trial)
        return (outcome,) if outcome is not None and outcome.ok else ()

    def as_settled(self, first: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """The run where a constructor gets the integers that all the project's calls give it.

        `FeedForward(dim, 4)`: a comment `# (T, 4*D)` in that class is no error because it might be given another.
        """
        if not self._accuses or first.trial.init or self._attempts.is_exhausted():
            return ()
        integers = tuple(self._call_spec.settled().items())
        if not integers:
            return ()
        found = self._attempts.run_if_possible(dataclasses.replace(first.trial, init=integers))
        return (found,) if found is not None and found.ok else ()

    def other_lengths(self, first: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """The same with longer and shorter sequences, where they were made up: `shape: Sequence[int]` of a vector.

        Nobody says how long they are: what is false for one length alone is no claim's fault. If the code runs with
        no other, the length is its own.
        """
        keys = length_keys(first)
        if not keys or not self._accuses:
            return ()
        choices = (tuple((key, str(length)) for key in keys) for length in OTHER_LENGTHS)
        trials = (dataclasses.replace(first.trial, choices=(*first.trial.choices, *each)) for each in choices)
        runs = [None if self._attempts.is_exhausted() else self._with_length(each) for each in trials]
        found = (_without_further_items(each) for each in runs if each is not None and each.ok)
        return tuple(dataclasses.replace(each, other_guess=True) for each in found)

    def _with_length(self, trial: Trial) -> TrialOutcome | None:
        """A run with sequences of another length, to which names may be tied anew that had to be as long as them."""
        found = self._attempts.run_if_possible(trial)
        if found is None or found.ok or not trial.substitution.ties:
            return found
        with self._attempts.apart(_OTHER_LENGTHS, _OTHER_LENGTHS_SECONDS):
            return next(iter(self._runs_of(dataclasses.replace(trial, substitution=INDEPENDENT))), found)

    def as_counted(self, first: TrialOutcome) -> Iterator[TrialOutcome]:
        """The runs where what a dim counts is as many as the model counts: `num_states` of its `num_agents`.

        So may an axis of one letter be as long as an argument says that there are nodes: `max_nodes` of arrays `"D"`.
        What is false because both were made up apart is no claim's fault.
        """
        call, signature = first.bound_call, self._call_spec.signature
        if call is None or not self._accuses:
            return
        ties = dict(first.trial.substitution.ties)
        free = [name for name, _ in call.chosen if name not in ties]
        of_model = {name.rpartition(".")[2]: size for name, size in call.integers.items() if name not in call.arguments}
        counts = {name: size for name, size in of_model.items() if is_count(name)}
        pairs = [(n, str(counts[i])) for n, i in itertools.product(free, counts) if signature.may_count_as(n, i)]
        of_call = [name for name in call.arguments if signature.counts_nothing_said(name)]
        letters = [name for name in free if len(name) == 1]
        pairs += [(n, str(call.integers[i])) for n, i in itertools.product(letters, of_call)]
        for tie in itertools.islice(dict.fromkeys(pairs), _MOST_COUNTS):
            if self._attempts.is_exhausted():
                return
            outcome = self._sizes.with_alias(first.trial, tie)
            if outcome.ok:
                yield outcome

    def named_elsewhere(self, seen: Sequence[TrialOutcome]) -> tuple[TrialOutcome, ...]:
        """Free names that the class or the code gives a size after all: what holds with that size is not false.

        Dims may have one size for a whole class, of the constructor's arrays too; and a local integer may have the
        name of a dim (`P = self.num_outputs`). Integers that follow the free sizes, `h // 2` in a callee, are none. The
        `seq_len` that a call takes beside `x: "batch seq"` is how long that is.
        """
        first = seen[0]
        if first.bound_call is None:
            return ()
        ties = dict(first.trial.substitution.ties)
        lasting = set.intersection(*(set(_local_integers(outcome)) for outcome in seen))
        integers = {name: str(first.bound_call.integers.get(meaning, meaning)) for name, meaning in sorted(lasting)}
        integers |= _namesake_arguments(first.bound_call, self._call_spec.signature)
        shared = tuple((n, size) for n, size in {**dict(first.bound_call.shared), **integers}.items() if n not in ties)
        if not shared:
            return ()
        substitution = Substitution((*first.trial.substitution.ties, *shared))
        outcome = self._attempts.run(dataclasses.replace(first.trial, substitution=substitution))
        return (outcome,) if outcome.ok else ()

    def as_built(self, first: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """The runs where a free feature axis has a size that the model gives its values, if it takes inputs of any.

        Layers that are built for whatever comes in let nothing fail if `x: "batch d"` has not the model's `width`, in a
        residual block that gives back as many. Nor if it is not what the file says that it is: `M = H * D`. But its
        `features` are no `latents`.
        """
        call = next((each for each in first.calls if each.caller is None), None)
        if not self._call_spec.infers_inputs or call is None or first.bound_call is None:
            return ()
        integers = {str(size) for size in first.bound_call.tie_candidates()}
        last = [array.shape[-1] for o in call.observations for array in arrays_in(o.value) if array.shape]
        sizes = [size for size in dict.fromkeys(last[::-1]) if size in integers][:_MOST_BUILT]
        signature, known = self._call_spec.signature, first.bound_call.sizes().by_name()
        free = [name for name, text in first.bound_call.chosen if name in signature.features()]
        tied = dict(first.trial.substitution.ties)
        integer = {str(size): name for name, size in reversed([*first.bound_call.integers.items()])}
        pairs = itertools.product(free, sizes)
        ties = [each for each in pairs if not are_different_things(each[0], integer[each[1]].rpartition(".")[2])]
        said = {each.name for each in written_relations(signature.function)}
        for name in (name for name, _ in first.bound_call.chosen if name in said):
            related = (e for e in relations_of(name, known, signature.function) if e.name or e.of_model)
            ties += [(name, each.text) for each in related if str(each.size(known)) in last][:_MOST_BUILT]
        outcomes = (
            self._sizes.with_tie(first.trial, tie)
            for tie in ties
            if tie[0] not in tied and self._sizes.explanations.is_explained(tie, first)
        )
        return tuple(outcome for outcome in outcomes if outcome.ok)

    def with_values(self, failed: Sequence[TrialOutcome]) -> SearchResult:
        """The runs with arrays that have values, where the code decides by these: twice, with values of two kinds.

        Or those that show why none goes.
        """
        needing = next((each for each in failed if each.needs_values and each.bound_call is not None), None)
        if needing is None or not self._call_spec.takes_values:
            return SearchResult()
        with self._attempts.apart(_WITH_VALUES, _WITH_VALUES_SECONDS):
            try:
                found = self._sizes.first_runs(dataclasses.replace(needing.trial, mode="sized", values=1))
            except CannotSynthesiseError:
                return SearchResult()
            if not found.ok:
                return self._whatever_values(found)
            inventions = (1, 0) if found.ok[0].has_invented() else (0,)
            more = itertools.product(inventions, range(2, len(VALUES)))
            first = found.ok[0].trial
            others = (dataclasses.replace(first, values=kind, invention=invention) for invention, kind in more)
            runs = (self._second(trial) for trial in others)
            second = next((each for each in runs if each is not None and each.ok), None)
        return SearchResult(ok=tuple(_with_kind(each) for each in (found.ok[0], second) if each is not None))

    def _second(self, trial: Trial) -> TrialOutcome | None:
        """The same with other sizes, small ones if with the usual ones it takes too long."""
        variants = (CHEAP_TOO,) if trial.variant == CHEAP else (1, CHEAP_TOO)
        for variant in variants:
            other = self._attempts.run_if_possible(dataclasses.replace(trial, variant=variant))
            if other is None or not other.takes_long:
                return other
        return None

    def _whatever_values(self, found: SearchResult) -> SearchResult:
        """Runs that failed, if values of other kinds end them alike; what is too large to be computed shows nothing.

        How many labels differ is no size of an argument: all that do not fit must be such.
        """
        failed = tuple(each for each in found.failed if not each.takes_long)
        if not all(map(self._names_given_sizes, failed)):
            return SearchResult()
        for kind in range(2, len(VALUES)) if failed else ():
            other = self._attempts.run_if_possible(dataclasses.replace(failed[0].trial, values=kind))
            if other is None or other.failure is None or failed[0].failure is None:
                return SearchResult()
            if (other.place, other.failure.message) != (failed[0].place, failed[0].failure.message):
                return SearchResult()
        return dataclasses.replace(found, failed=failed)

    def _names_given_sizes(self, outcome: TrialOutcome) -> bool:
        """Whether the sizes in the words of a failed run are those of arguments, as claims and integers give them."""
        if outcome.failure is None or outcome.bound_call is None:
            return False
        sizes = outcome.bound_call.sizes()
        specs = [each.spec for each in self._call_spec.signature.arrays]
        fixed = (dim for spec in (*specs, *outcome.bound_call.inner_specs) for dim in parse_spec(spec).dims)
        known = {1, *sizes.by_name().values(), *sizes.own, *(dim.size for dim in fixed if isinstance(dim, FixedDim))}
        found = (
            number for each in _SIZES.finditer(outcome.failure.message) for number in _NUMBER.findall(each.group())
        )
        return known.issuperset(map(int, found))

    def along_paths(self, failed: Sequence[TrialOutcome]) -> tuple[SearchResult, ...]:
        """The runs along paths that conditions choose which nothing determines: both ways, and mixed where one ends."""
        needing = next((each for each in failed if each.needs_values and each.bound_call is not None), None)
        if needing is None or not self._call_spec.takes_values or not _is_condition(needing):
            return ()
        paths: list[SearchResult] = []
        with self._attempts.apart(_DECIDED, _DECIDED_SECONDS):
            for number, decisions in enumerate(DECISIONS):
                if number > 1 and (all(each.ok for each in paths) or all(map(_has_one_condition, paths))):
                    break  # both went to their end, or there is no other path
                trial = dataclasses.replace(needing.trial, mode="sized", decisions=decisions)
                try:
                    found = self._sizes.first_runs(trial)
                except CannotSynthesiseError:
                    break
                if found.ok:
                    again = self._second(found.ok[0].trial)
                    found = SearchResult(ok=(found.ok[0], again) if again is not None and again.ok else found.ok[:1])
                paths.append(found)
        return tuple(paths)

    def other_defaults(self, first: TrialOutcome) -> Iterator[tuple[str, SearchResult]]:
        """For each integer of the call that claims use as a size, the runs where it has another than its default.

        What claims say of it holds for any size, or not at all.
        """
        for name, _ in self._call_spec.defaults if self._accuses else ():
            choices = (*first.trial.choices, (default_key(name), OTHER_SIZE))
            start = dataclasses.replace(first.trial, choices=choices, variant=0, substitution=INDEPENDENT)
            with self._attempts.apart(_OTHER_DEFAULTS, _OTHER_DEFAULTS_SECONDS):
                found = self._sizes.first_runs(start, of_rank=True)
                last = found.ok or found.failed
                again = self._attempts.run(dataclasses.replace(last[0].trial, variant=1, invention=1))
                if again.ok == bool(found.ok):
                    last = (*last, again)
                yield name, SearchResult(ok=last) if found.ok else SearchResult(failed=last)

    def other_ranks(self, first: TrialOutcome) -> tuple[TrialOutcome, ...]:
        """The same with none and two axes for variadic dims: a claim holds for each number of them, or not at all.

        With three too where they do not stand in front: space has as many, and texts may speak of just these.
        """
        if self._call_spec.model_axes(first) is not None:
            return ()
        ranks = (2, 0, 3) if self._call_spec.signature.has_inner_variadics() else (2, 0)
        others = (rank for rank in ranks if len(self._call_spec.ranks) > 1 and rank != first.trial.rank)
        return tuple(self._attempts.run(dataclasses.replace(first.trial, rank=rank)) for rank in others)


def _with_kind(outcome: TrialOutcome) -> TrialOutcome:
    """A run with values, which rests on these."""
    if outcome.bound_call is None:
        return outcome
    made = Assumption("value", OF_VALUES, VALUES[outcome.trial.values], "invented")
    bound_call = dataclasses.replace(outcome.bound_call, assumptions=(*outcome.bound_call.assumptions, made))
    return dataclasses.replace(outcome, bound_call=bound_call)


def _is_condition(outcome: TrialOutcome) -> bool:
    """Whether what ended a run is a condition, and no number that is asked for."""
    return outcome.failure is not None and "bool" in outcome.failure.message.lower()


def follows_one_condition(outcome: TrialOutcome) -> bool:
    """Whether a single condition was decided for a run, so that the code itself says that it may be so."""
    return outcome.bound_call is not None and outcome.bound_call.conditions.total() == 1


def _has_one_condition(path: SearchResult) -> bool:
    return all(map(follows_one_condition, (*path.ok, *path.failed)))


def with_decisions(outcome: TrialOutcome) -> TrialOutcome:
    """A run along one path, which rests on that.

    Of several conditions, one may have the answer of another, so that the path is none of the program's.
    """
    if outcome.bound_call is None:
        return outcome
    texts = " then ".join(str(each).lower() for each in outcome.trial.decisions)
    path = Assumption("value", f"{ON_PATH} {texts}", "", "written" if follows_one_condition(outcome) else "invented")
    bound_call = dataclasses.replace(outcome.bound_call, assumptions=(*outcome.bound_call.assumptions, path))
    return dataclasses.replace(outcome, bound_call=bound_call)


def _namesake_arguments(call: BoundCall, signature: CallSignature) -> dict[str, str]:
    """The free names that one integer argument goes by, and no other name: by the size that this has.

    None that a claim uses itself. The most that there may be is another number.
    """
    found: dict[str, list[str]] = {}
    every = {name for array in signature.arrays for name in parse_spec(array.spec).names()}
    for argument in sorted(call.arguments):
        if signature.uses(argument) or not _BOUNDS.isdisjoint(words(argument)):
            continue
        names = [name for name in every if are_namesakes(name, argument)]
        if len(names) == 1 and names[0] in dict(call.chosen):
            found.setdefault(names[0], []).append(str(call.integers[argument]))
    return {name: sizes[0] for name, sizes in found.items() if len(sizes) == 1}


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


def length_keys(outcome: TrialOutcome) -> tuple[str, ...]:
    """The choices of how long sequences are that were made up for a run."""
    others = outcome.bound_call.options.others if outcome.bound_call is not None else {}
    return tuple(filter(is_length_key, others))


def ways_of(outcome: TrialOutcome, way: str) -> Choices:
    """The choice of this way for all arguments of a run that may be made so."""
    others = outcome.bound_call.options.others if outcome.bound_call is not None else {}
    return tuple((key, way) for key, options in others.items() if way in options)


def as_another_guess(outcome: TrialOutcome) -> TrialOutcome:
    """A run that takes nothing back which holds in another."""
    return dataclasses.replace(outcome, other_guess=True)


def with_usual_length(outcome: TrialOutcome) -> TrialOutcome:
    """A run which rests on how long the sequences are that were made up for it."""
    if outcome.bound_call is None:
        return outcome
    made = (as_assumption(key, str(LENGTH), is_needed=False) for key in length_keys(outcome))
    bound_call = dataclasses.replace(outcome.bound_call, assumptions=(*outcome.bound_call.assumptions, *made))
    return dataclasses.replace(outcome, bound_call=bound_call)


def _without_further_items(outcome: TrialOutcome) -> TrialOutcome:
    """A run which does not rest on the items that only a longer sequence has: it rests on that."""
    if outcome.bound_call is None:
        return outcome
    further = f"[{LENGTH}]"
    assumptions = tuple(each for each in outcome.bound_call.assumptions if further not in each.subject)
    return dataclasses.replace(outcome, bound_call=dataclasses.replace(outcome.bound_call, assumptions=assumptions))


def stacked_records(outcome: TrialOutcome) -> dict[str, str]:
    """The names of the records of a run that may as well be stacks of them, by what chooses that."""
    return outcome.bound_call.stacked_records() if outcome.bound_call is not None else {}
