"""Other choices for arguments that nobody describes, one after the other, as long as that leads further.

How many axes an argument has, what kind of number it holds, whether what may be left out is given: a guess of these
that is wrong ends in an error, often one that the code raises itself. What comes further with another choice keeps it.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from shapecheck.evaluate.inputs.facts.body_shapes import axis_of
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.choices import (
    AS_FILE_MAKES,
    NO_OPTIONS,
    OTHERWISE,
    Choices,
    Options,
    is_absence_key,
    is_dtype_key,
    is_length_key,
    is_likeness_key,
    is_rank_key,
    is_stack_key,
)
from shapecheck.evaluate.inputs.trials.size_assignment import Substitution
from shapecheck.evaluate.inputs.trials.trial import INDEPENDENT, SearchResult, Trial, TrialOutcome
from shapecheck.evaluate.own_errors import Trace, lines_of
from shapecheck.evaluate.search.attempts import Attempts

_ATTEMPTS = 40
_SECONDS = 1.5
_OTHER_AXES, _OTHER_AXES_SECONDS = 24, 0.5  # for the sizes of another number of axes, if there are any
_MOST_CHANGES = 4
_NUMBERS = re.compile(r"[\d,() ]+")
_OF_INDEX = re.compile(r"\bindex\w*\b.*\binteger", re.IGNORECASE)
# A scan says this of a carry that begins as integers, and that its body makes something else of.
_OF_DTYPES = re.compile(r"\bdtypes? (?:do(?:es)? not|don't) match\b")
_OF_ONE_RECORD = re.compile(r"vmap was requested to map its argument|no leading axis to scan over")
_INTEGER = "int32"

Place = tuple[str, int]
Progress = tuple[bool, int, Trace]
"""Whether the call was begun, the values that were observed, and where it ended."""


@dataclass(frozen=True)
class ChoicesFound:
    """A trial that evaluates, its `runs`, and which of its choices are `needed`: with the others tried it does not.

    If there is none, the shape error of the first runs `persists` where each of the others ends on the same line, as
    far as it goes with their dtypes. Or
    arrays of another dtype end it `further` on: what stopped the first runs was no more than a guess.
    """

    trial: Trial | None = None
    needed: frozenset[str] = frozenset()
    persists: bool = False
    further: Trial | None = None
    runs: SearchResult = field(default_factory=SearchResult)


@dataclass(frozen=True)
class _Step:
    """How far a trial came, under which ties, what it said, and what could be chosen instead."""

    trial: Trial
    progress: Progress
    message: str
    options: Options
    arrays: tuple[str, ...] = ()
    shape_error: Place | None = None
    needs_values: bool = False
    ties: Substitution = INDEPENDENT


def search_choices(
    failed: Sequence[TrialOutcome],
    problem: CannotSynthesiseError | None,
    attempts: Attempts,
    search_sizes: Callable[[Trial], SearchResult],
) -> ChoicesFound:
    """The choices under which an entry evaluates, where it did not with the usual ones, if there are any.

    `failed` are its runs until now, or `problem` is what its construction raised.
    """
    start = max(map(_step, failed), key=lambda step: step.progress) if failed else None
    if start is None and problem is not None:
        start = _step_of_refusal(Trial(mode="sized"), problem)
    if start is None:
        return ChoicesFound()
    with attempts.apart(_ATTEMPTS, _SECONDS):
        return _search_from(start, attempts, search_sizes)


def _search_from(start: _Step, attempts: Attempts, search_sizes: Callable[[Trial], SearchResult]) -> ChoicesFound:
    # With the sizes that came furthest: what stops others, as `assert width % heads == 0` does, is none of the choice.
    kept = Trial(mode="sized", construction=start.trial.construction, variant=start.trial.variant)
    best = dataclasses.replace(start, trial=kept)
    ties = start.trial.substitution  # with which it came so far: what stops without is none of the choice either
    persists = start.shape_error is not None
    unlike: _Step | None = None  # without a likeness to what goes by the same name elsewhere, which may mislead
    for _ in range(_MOST_CHANGES):
        further = None
        for trial in _changed_trials(best):
            if attempts.is_exhausted():
                return ChoicesFound()
            step = _attempt(dataclasses.replace(trial, substitution=ties), attempts)
            if step is not None and _is_refused_dtype(step, best):
                if step.progress > best.progress:
                    continue
            else:
                persists &= step is not None and step.shape_error == start.shape_error
            last_key = trial.choices[-1][0]
            is_open = (
                is_likeness_key(last_key)
                or is_stack_key(last_key)  # which may be of another length
                or _fits_otherwise(step, best)
                or _is_untied(step, best, ties)
            )
            if step is None or step.progress > best.progress or is_open:
                found = _with_sizes(trial, search_sizes)
                if found is None and is_open:
                    continue
                if found is None:
                    return ChoicesFound()
                if found.ok:
                    needed = _needed_ranks(found.ok[0].trial, best, attempts, search_sizes)
                    return ChoicesFound(trial, needed, runs=found)
                last = max([*map(_step, found.failed), *filter(None, [step])], key=lambda each: each.progress)
                if is_open and last.progress <= best.progress:
                    if trial.choices[-1][1] == OTHERWISE:
                        unlike = unlike or dataclasses.replace(last, trial=trial, ties=last.trial.substitution)
                    continue
                further = dataclasses.replace(last, trial=trial, ties=last.trial.substitution)
                break
        if further is None:
            further, unlike = unlike, None
        if further is None:
            break
        best, ties = further, further.ties
    chosen = [key for key, _ in best.trial.choices]
    is_of_dtypes = bool(chosen) and all(map(is_dtype_key, chosen)) and best.shape_error is not None
    is_further = is_of_dtypes or (bool(chosen) and best.needs_values)
    return ChoicesFound(persists=persists, further=best.trial if is_further else None)


def _is_refused_dtype(step: _Step, before: _Step) -> bool:
    """Whether an array of another dtype ends a run earlier, as a boolean that is negated does: it shows nothing.

    Or for its dtype, where the dtype before was none that the code refused.
    """
    is_for_dtype = _OF_DTYPES.search(step.message) is not None and _OF_DTYPES.search(before.message) is None
    return is_dtype_key(step.trial.choices[-1][0]) and (is_for_dtype or step.progress < before.progress)


def _fits_otherwise(step: _Step | None, before: _Step) -> bool:
    """Whether another number of axes ends a run on the same line for another reason, such as the sizes of these.

    How far it comes shows with the sizes that it needs.
    """
    if step is None or not is_rank_key(step.trial.choices[-1][0]):
        return False
    if step.progress[:2] != before.progress[:2] or lines_of(step.progress[2]) != lines_of(before.progress[2]):
        return False
    return step.shape_error is not None and _NUMBERS.sub("", step.message) != _NUMBERS.sub("", before.message)


def _is_untied(step: _Step | None, before: _Step, ties: Substitution) -> bool:
    """Whether an array with another number of axes lacks the sizes that the axes it had were tied to."""
    is_of_shapes = step is not None and step.shape_error is not None and before.shape_error is not None
    key = step.trial.choices[-1][0] if step is not None and is_of_shapes else ""
    axes = axis_of(key.rpartition(" ")[0].rpartition(".")[2])
    return is_rank_key(key) and any(map(axes.search, itertools.chain(*ties.ties)))


def _attempt(trial: Trial, attempts: Attempts) -> _Step | None:
    """How far one trial comes; None if to its end."""
    try:
        outcome = attempts.run(trial)
    except CannotSynthesiseError as error:
        return _step_of_refusal(trial, error)
    return None if outcome.ok else _step(outcome)


def _with_sizes(trial: Trial, search_sizes: Callable[[Trial], SearchResult]) -> SearchResult | None:
    try:
        return search_sizes(trial)
    except CannotSynthesiseError:
        return None


def _step(outcome: TrialOutcome) -> _Step:
    failure = outcome.failure
    return _Step(
        outcome.trial,
        (True, outcome.depth, outcome.trace),
        failure.message if failure is not None else "",
        outcome.bound_call.options if outcome.bound_call is not None else NO_OPTIONS,
        tuple(name for name, _ in failure.arrays) if failure is not None else (),
        outcome.place if failure is not None and failure.kind == "shape" and outcome.place[0] else None,
        outcome.needs_values,
    )


def _step_of_refusal(trial: Trial, error: CannotSynthesiseError) -> _Step:
    return _Step(trial, (False, 0, error.trace), str(error), error.options)


def asks_for_stack(message: str) -> bool:
    """Whether JAX says that what is mapped or scanned over has no axis for that."""
    return _OF_ONE_RECORD.search(message) is not None


def _changed_trials(step: _Step) -> Iterator[Trial]:
    """The trial with one more choice, first of arguments that the failure names.

    At last the same dtype for all arrays of one shape: `concatenate([chosen, rejected])` has that of both. What is
    joined and then indexes something else may be of several shapes: all of them are integers then, at first if that is
    what the failure is about.
    """
    chosen = dict(step.trial.choices)
    is_of_index = _OF_INDEX.search(step.message) is not None
    takes_several = asks_for_stack(step.message)
    integers = [(key, _INTEGER) for key, options in step.options.others.items() if _INTEGER in options]
    integers = [each for each in integers if is_dtype_key(each[0]) and each[0] not in chosen]
    if is_of_index and len(integers) > 1:
        yield dataclasses.replace(step.trial, choices=(*step.trial.choices, *integers))
    for key in step.options.named_in(step.message, step.arrays):
        is_left = is_length_key(key) or (is_stack_key(key) and not takes_several) or is_absence_key(key)
        others = step.options.others[key] if key not in chosen and not is_left else ()
        for option in (each for each in others if each != AS_FILE_MAKES):
            yield dataclasses.replace(step.trial, choices=(*step.trial.choices, (key, option)))
    alike: dict[tuple[frozenset[str], str], list[tuple[str, str]]] = {}
    for key, options in step.options.others.items():
        sizes = step.options.sizes.get(key.partition(" ")[0], frozenset())
        for option in options if sizes and is_dtype_key(key) and key not in chosen else ():
            alike.setdefault((sizes, option), []).append((key, option))
    for together in alike.values():
        if len(together) > 1:
            yield dataclasses.replace(step.trial, choices=(*step.trial.choices, *together))


def _needed_ranks(
    trial: Trial, before: _Step, attempts: Attempts, search_sizes: Callable[[Trial], SearchResult]
) -> frozenset[str]:
    """The choices of a number of axes in whose place no other does: then it is the code's own."""
    found: set[str] = set()
    for key, choice in trial.choices:
        others = [each for each in before.options.others.get(key, ()) if each != choice]
        if not key.endswith(" rank") or not others:
            continue
        if not any(_runs_with(trial, key, each, attempts, search_sizes) for each in others):
            found.add(key)
    return frozenset(found)


def _runs_with(
    trial: Trial, key: str, other: str, attempts: Attempts, search_sizes: Callable[[Trial], SearchResult]
) -> bool:
    """Whether a trial evaluates with another choice; so it may, where no attempt is left to see it.

    What the axes of the one choice were tied to is nothing that those of another are.
    """
    choices: Choices = tuple((each, other if each == key else choice) for each, choice in trial.choices)
    changed = dataclasses.replace(trial, choices=choices)
    if attempts.is_exhausted() or _attempt(changed, attempts) is None:
        return True
    axes = axis_of(key.rpartition(" ")[0].rpartition(".")[2])
    kept = tuple(tie for tie in trial.substitution.ties if not any(map(axes.search, tie)))
    if len(kept) == len(trial.substitution.ties):
        return False
    with attempts.apart(_OTHER_AXES, _OTHER_AXES_SECONDS):
        found = _with_sizes(dataclasses.replace(changed, substitution=Substitution(kept)), search_sizes)
    return found is not None and bool(found.ok)
