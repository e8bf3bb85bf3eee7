"""Sizes inside of instances that were made up for arguments and fields: they follow what they meet.

`Step(net=Net(in_size, out_size))` is made with some sizes, and whoever makes a real one takes those that fit. So where
JAX finds that such a size does not fit another one, it takes that, until the code runs or other sizes are what is
wrong. What no choice of them mends is the code's own error; what depends on them in a way that is not seen is none.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shapecheck.evaluate.inputs.facts.namesakes import are_namesakes, counts_examples
from shapecheck.evaluate.inputs.trials.choices import integer_key
from shapecheck.evaluate.inputs.trials.size_assignment import Substitution
from shapecheck.evaluate.inputs.trials.ties import CallSignature
from shapecheck.evaluate.inputs.trials.trial import Trial, TrialOutcome
from shapecheck.evaluate.own_errors import lines_of
from shapecheck.evaluate.search.failure_excuses import have_two_names
from shapecheck.evaluate.search.unfit_sizes import opposite_sizes
from shapecheck.shapes import FixedDim, parse_spec

MOST_ATTEMPTS: Final = 24
_NUMBER = re.compile(r"(?<![\w/.])\d+")
_WIDTH = re.compile(r"(.*)\[(\d+)\]")  # one of a list of sizes
_LEAST, _LARGEST = 1, 4096  # numbers beyond are no sizes of one axis
_OTHERS = (1021, 5)  # the least sizes of two other looks: of what follows from them, some ratio is another in one


@dataclass(frozen=True)
class Settlement:
    """The run whose nested sizes fit or come further, if there is one, and whether it is `open` that others might."""

    outcome: TrialOutcome | None = None
    open: bool = False


class NestedSizes:
    """Chooses the nested sizes of failed runs anew. `attempt` runs a trial, or gives None if no more are to be run."""

    def __init__(self, attempt: Callable[[Trial], TrialOutcome | None], signature: CallSignature) -> None:
        self._attempt, self._signature = attempt, signature
        self._left = MOST_ATTEMPTS

    def settle(self, failed: TrialOutcome) -> Settlement:
        """What other sizes inside of instances make of a run that failed in a shape error.

        Each that stands in the error is given each other size that stands there. Where none lets the run go to its
        end, but some lets it come further, what stops it there is what does not fit.
        """
        if not _nested_sizes(failed):
            return Settlement()
        if failed.failure is None or failed.failure.kind != "shape":
            return Settlement(open=True)
        if _has_two_dims(failed) or have_two_names(failed, self._signature):
            return Settlement()
        is_open, is_met, further = False, False, None
        for trial in _mending_trials(failed):
            is_met = True
            if trial is None:
                continue
            outcome = self._run(trial)
            if outcome is None:
                return Settlement(open=True)
            if outcome.ok and _has_equal_widths(trial, failed):
                is_open = True
                continue
            if outcome.ok or outcome.needs_values:
                return Settlement(outcome)
            found = self.settle(outcome)
            if found.outcome is not None and (found.outcome.ok or found.outcome.needs_values):
                return found
            is_open |= found.open
            if (outcome.depth, lines_of(outcome.trace)) > (failed.depth, lines_of(failed.trace)):
                further = further or found.outcome or outcome
        return Settlement(further, open=is_open or (not is_met and self._depends(failed)))

    def _run(self, trial: Trial) -> TrialOutcome | None:
        self._left -= 1
        return self._attempt(trial) if self._left >= 0 else None

    def _depends(self, failed: TrialOutcome) -> bool:
        """Whether an error is another one with other sizes inside: it follows from some, perhaps as their product.

        The dims that are tied to such a size follow it.
        """
        chosen, nested = dict(failed.trial.choices), _nested_sizes(failed)
        free = {place: size for place, size in nested.items() if integer_key(place) not in chosen}
        if not free:
            return False
        message = failed.failure.message if failed.failure is not None else ""
        return any(self._message_with_others(failed, free, first) != message for first in _OTHERS)

    def _message_with_others(self, failed: TrialOutcome, free: Mapping[str, int], first: int) -> str:
        others = {size: str(first + 2 * index) for index, size in enumerate(dict.fromkeys(free.values()))}
        choices = tuple((integer_key(place), others[size]) for place, size in free.items())
        followed = {str(size): other for size, other in others.items()}
        ties = tuple((name, followed.get(text, text)) for name, text in failed.trial.substitution.ties)
        trial = dataclasses.replace(
            failed.trial, choices=(*failed.trial.choices, *choices), substitution=Substitution(ties)
        )
        outcome = self._run(trial)
        return outcome.failure.message if outcome is not None and outcome.failure is not None else ""


def _nested_sizes(outcome: TrialOutcome) -> dict[str, int]:
    return dict(outcome.bound_call.options.integers) if outcome.bound_call is not None else {}


def meets_inner_array(failed: TrialOutcome) -> bool:
    """Whether an axis of an array that an inner instance was given does not fit."""
    owners = _owners(failed)
    return any(size in owners for axes in _unfit(failed) for size in axes)


def meets_written_size(failed: TrialOutcome, signature: CallSignature) -> bool:
    """Whether a size inside of an argument does not fit a number that is written: `image: (784,)` of any layers.

    Not one that code computes, or an integer: whether the inner one has to be that is what is to be found out.
    """
    dims = (dim for array in signature.arrays for dim in parse_spec(array.spec).dims)
    written = {str(dim.size) for dim in dims if isinstance(dim, FixedDim)}
    nested = {str(size) for size in _nested_sizes(failed).values()} - written
    return any(nested & set(axes) and written & set(axes) for axes in _unfit(failed))


def _has_two_dims(failed: TrialOutcome) -> bool:
    """Whether what does not fit are two dims of one instance, which its class names differently."""
    owners, pairs = _owners(failed), _unfit(failed)
    return bool(pairs) and all(set.intersection(*(owners.get(size, set()) for size in axes)) for axes in pairs)


def _owners(failed: TrialOutcome) -> dict[str, set[str]]:
    """The inner instances whose arrays have a size, by that size."""
    built = set(failed.bound_call.built) if failed.bound_call is not None else set()
    found: dict[str, set[str]] = {}
    for place, size in _nested_sizes(failed).items():
        owner, _, name = place.rpartition(".")
        if (name, str(size)) in built:
            found.setdefault(str(size), set()).add(owner)
    return found


def _unfit(failed: TrialOutcome) -> list[tuple[str, ...]]:
    return opposite_sizes(failed.failure.message) if failed.failure is not None else []


def _mending_trials(failed: TrialOutcome) -> Iterator[Trial | None]:
    """The run with nested sizes of its error in place of other sizes there, each that was not chosen yet.

    Dims that such a size follows keep it, whatever other sizes are tried later. None stands for a size that would have
    to follow the number of examples: no model has that, but under such a name.
    """
    if failed.failure is None or failed.bound_call is None:
        return
    chosen = dict(failed.trial.choices)
    texts = (failed.failure.message, *(text for _, text in failed.failure.arrays))
    numbers = dict.fromkeys(int(each) for text in texts for each in _NUMBER.findall(text))
    places: dict[int, list[str]] = {}
    for place, size in _nested_sizes(failed).items():
        if integer_key(place) not in chosen and size in numbers:
            places.setdefault(size, []).append(place)
    for size, alike in places.items():
        for number in numbers:
            if number == size or not _LEAST <= number <= _LARGEST:
                continue
            if _is_of_examples(failed, number, alike):
                yield None
                continue
            for some in (alike, *([each] for each in alike if len(alike) > 1)):
                choices = tuple((integer_key(place), str(number)) for place in some)
                yield dataclasses.replace(
                    failed.trial,
                    choices=(*failed.trial.choices, *choices),
                    substitution=_ties_with(failed, number),
                )
    if not places and any(integer_key(place) in chosen for place in _nested_sizes(failed)):
        yield from _tying_trials(failed, numbers)


def _has_equal_widths(trial: Trial, failed: TrialOutcome) -> bool:
    """Whether neighbours of one list of widths are made equal: a transposed layer runs so, and a residual one as well.

    So it neither proves what depends on it, nor is what fails without it the code's own error.
    """
    chosen = {place: int(size) for place, size in _chosen_integers(trial)}
    sizes = {**_nested_sizes(failed), **chosen}
    for place in chosen:
        found = _WIDTH.fullmatch(place)
        for step in (-1, 1) if found is not None else ():
            if found is not None and sizes.get(f"{found[1]}[{int(found[2]) + step}]") == sizes[place]:
                return True
    return False


def _chosen_integers(trial: Trial) -> Iterator[tuple[str, str]]:
    """The nested sizes that a run has chosen, by place."""
    end = integer_key("")
    yield from ((key.removesuffix(end), size) for key, size in trial.choices if key.endswith(end))


def _is_of_examples(failed: TrialOutcome, number: int, places: Sequence[str]) -> bool:
    """Whether a size is that of dims which count examples, and by their names none of these sizes does."""
    free = failed.bound_call.chosen if failed.bound_call is not None else ()
    names = [name for name, size in free if size == str(number)]
    integers = [place.rpartition(".")[2] for place in places]
    alike = any(are_namesakes(name, each) for name in names for each in integers)
    return bool(names) and all(map(counts_examples, names)) and not alike


def _tying_trials(failed: TrialOutcome, numbers: Mapping[int, None]) -> Iterator[Trial]:
    """With a free dim of the error as the model's arrays have it: what a nested size has hidden until it was mended."""
    if failed.bound_call is None:
        return
    ties, built = failed.trial.substitution.ties, dict(failed.bound_call.built)
    for name, size in failed.bound_call.chosen:
        own = built.get(name, "")
        if name not in dict(ties) and size != own and own.isdigit() and int(own) in numbers:
            yield dataclasses.replace(failed.trial, substitution=Substitution((*ties, (name, own))))


def _ties_with(failed: TrialOutcome, number: int) -> Substitution:
    """The ties of a run, and with them the dim that has this size, or nearly: what follows it is a number."""
    ties = failed.trial.substitution.ties
    free = dict(failed.bound_call.chosen) if failed.bound_call is not None else {}
    near = [name for step in (0, 1, -1) for name, size in free.items() if size == str(number - step)]
    new = [(name, free[name]) for name in near[:1] if name not in dict(ties)]
    return Substitution((*ties, *new))
