"""Sizes inside of instances that were made up for arguments and fields: they follow what they meet.

`Step(net=Net(in_size, out_size))` is made with some sizes, and whoever makes a real one takes those that fit. So where
JAX finds that such a size does not fit another one, it takes that, until the code runs or other sizes are what is
wrong. What no choice of them mends is the code's own error; what depends on them in a way that is not seen is none.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from shapecheck.evaluate.inputs.choices import integer_key
from shapecheck.evaluate.inputs.size_assignment import Substitution
from shapecheck.evaluate.inputs.trial import Trial, TrialOutcome

MOST_ATTEMPTS: Final = 24
_NUMBER = re.compile(r"(?<![\w/.])\d+")
_LEAST, _LARGEST = 1, 4096  # numbers beyond are no sizes of one axis
_OTHERS = (1021, 5)  # the least sizes of two other looks: of what follows from them, some ratio is another in one


@dataclass(frozen=True)
class Settlement:
    """The run whose nested sizes fit, if there is one; else whether it is `open` that any might."""

    outcome: TrialOutcome | None = None
    open: bool = False


class NestedSizes:
    """Chooses the nested sizes of failed runs anew. `attempt` runs a trial, or gives None if no more are to be run."""

    def __init__(self, attempt: Callable[[Trial], TrialOutcome | None]) -> None:
        self._attempt = attempt
        self._left = MOST_ATTEMPTS

    def settle(self, failed: TrialOutcome) -> Settlement:
        """What other sizes inside of instances make of a run that failed in a shape error.

        Each that stands in the error is given each other size that stands there.
        """
        if not _nested_sizes(failed):
            return Settlement()
        if failed.failure is None or failed.failure.kind != "shape":
            return Settlement(open=True)
        is_open, is_met = False, False
        for trial in _mending_trials(failed):
            is_met = True
            outcome = self._run(trial)
            if outcome is None:
                return Settlement(open=True)
            if outcome.ok or (outcome.failure is not None and outcome.failure.kind == "value"):
                return Settlement(outcome)
            found = self.settle(outcome)
            if found.outcome is not None:
                return found
            is_open |= found.open
        return Settlement(open=is_open or (not is_met and self._depends(failed)))

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


def _mending_trials(failed: TrialOutcome) -> Iterator[Trial]:
    """The run with nested sizes of its error in place of other sizes there, each that was not chosen yet.

    Dims that such a size follows keep it, whatever other sizes are tried later.
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
            for some in (alike, *([each] for each in alike if len(alike) > 1)):
                choices = tuple((integer_key(place), str(number)) for place in some)
                yield dataclasses.replace(
                    failed.trial,
                    choices=(*failed.trial.choices, *choices),
                    substitution=_ties_with(failed, number),
                )
    if not places and any(integer_key(place) in chosen for place in _nested_sizes(failed)):
        yield from _tying_trials(failed, numbers)


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
