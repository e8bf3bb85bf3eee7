"""Sizes that callers choose: integers that were made up and that no claim names fit what callers give besides them.

`x + self.rows` of `x: "places d"` runs only where there are as many places as the made-up table has rows. Whoever makes
that table knows how many it is for, and no claim tells the two apart.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator

from shapecheck.evaluate.inputs.facts.namesakes import (
    counts_examples,
    counts_parts,
    is_of_features,
    significant_words,
)
from shapecheck.evaluate.inputs.synthesis.made_integers import EVEN, ODD
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.choices import Choices, integer_key, number_key
from shapecheck.evaluate.inputs.trials.size_assignment import UnknownSizeError
from shapecheck.evaluate.inputs.trials.ties import CallSignature, Sizes
from shapecheck.evaluate.inputs.trials.trial import BoundCall, CallSpec, Trial, TrialOutcome
from shapecheck.evaluate.search.unfit_sizes import unfit_pairs
from shapecheck.model import Assumption

_NUMBER = re.compile(r"\d+")
_Attempt = Callable[[Trial], TrialOutcome | None]


def is_left_to_callers(tie: Assumption, tied: TrialOutcome, signature: CallSignature) -> bool:
    """Whether the size that a dim has to have, as in a run that is `tied` so, is one that callers can make equal to it.

    What counts examples is never as many as a model likes, and no axis as long as there are layers; features that may
    be equal go by an alias. Two sizes that claims name are told apart by these.
    """
    sizes = tied.bound_call.sizes() if tied.bound_call is not None else Sizes({})
    integers = [name.rpartition(".")[2] for name, size in sizes.integers.items() if tie.value in (name, str(size))]
    number = {str(sizes.integers.get(tie.value, tie.value)), tie.value}
    others = {size for name, size in sizes.chosen.items() if name != tie.subject}
    return number.isdisjoint(others) and bool(integers) and all(_may_be(tie.subject, n, signature) for n in integers)


def is_of_made_integers(error: TrialOutcome, attempt: _Attempt, call_spec: CallSpec) -> bool:
    """Whether what does not fit is, each time, a size that made-up integers come to beside one that arguments have.

    So `zeros(n + 1) * zeros(n - 1)` fits no `n`, and `x * zeros(2 * n + 1)` some; a layer for `hidden` features that is
    given `dim` of them is wrong, since both are integers of one model. Those that claims name are for any number.
    """
    call, trial = error.bound_call, error.trial
    if not _unfit(error) or call is None:
        return False
    init = (*trial.init, *_taken_by_constructor(trial, call, call_spec))
    choices = (*trial.choices, *_claimed_choices(call, call_spec))
    freed = _which_move(error, [dataclasses.replace(trial, variant=0 if trial.variant == 1 else 1)], attempt)
    every = _which_move(error, [dataclasses.replace(trial, invention=each) for each in (ODD, EVEN)], attempt)
    kept = dataclasses.replace(trial, init=init, choices=choices)
    unclaimed = _which_move(error, [dataclasses.replace(kept, invention=each) for each in (ODD, EVEN)], attempt)
    is_apart = bool(freed) and all(map(_is_one_each, freed, every, unclaimed))
    return is_apart and all(_may_fit(*each, call, call_spec.signature) for each in _unfit(error))


def _which_move(error: TrialOutcome, trials: Iterable[Trial], attempt: _Attempt) -> list[tuple[bool, bool]]:
    """Which of each pair of sizes that do not fit is another one in the first of some trials that fails alike."""
    before = _unfit(error)
    for other in map(attempt, trials):
        after = _unfit(other) if other is not None and _is_same_failure(other, error) else []
        if len(after) == len(before):
            return [(one != other, its != more) for (one, its), (other, more) in zip(before, after, strict=True)]
    return [(False, False)] * len(before)


def _is_one_each(freed: tuple[bool, bool], every: tuple[bool, bool], unclaimed: tuple[bool, bool]) -> bool:
    """Whether arguments alone move one of two sizes, and integers alone, of which no claim knows, the other one."""
    return every == unclaimed == (not freed[0], not freed[1]) and any(every) and any(freed)


def _taken_by_constructor(trial: Trial, call: BoundCall, call_spec: CallSpec) -> Iterator[tuple[str, int]]:
    """The integers that claims name and the constructor takes."""
    for name, size in call.integers.items():
        if name in call.arguments or not _is_claimed(name, size, call, call_spec.signature):
            continue
        try:
            call_spec.prepare(dataclasses.replace(trial, init=(*trial.init, (name, size))))
        except (CannotSynthesiseError, UnknownSizeError):
            continue
        yield name, size


def _claimed_choices(call: BoundCall, call_spec: CallSpec) -> Choices:
    """The choice of its present size for each integer of the call, or of an instance in it, that claims name."""
    own = ((number_key(name), name, size) for name, size in call.integers.items() if name in call.arguments)
    inner = ((integer_key(place), place, size) for place, size in call.options.integers.items())
    claimed = (each for each in (*own, *inner) if _is_claimed(*each[1:], call, call_spec.signature))
    return tuple((key, str(size)) for key, _, size in claimed)


def _is_claimed(name: str, size: int, call: BoundCall, signature: CallSignature) -> bool:
    """Whether claims name an integer, or an axis of a model's own arrays that has its size."""
    return size in call.held.values() or signature.names_integer(name)


def _may_fit(one: int, other: int, call: BoundCall, signature: CallSignature) -> bool:
    """Whether nothing that two sizes are called keeps callers from giving a model the size of what they give it."""
    for axis, size in ((one, other), (other, one)):
        dims = [name for name, text in call.chosen if text == str(axis)]
        integers = [name.rpartition(".")[2] for name, made in call.integers.items() if made == size]
        if any(map(counts_examples, dims)):
            return False
        if not all(_may_be(dim, integer, signature) for dim in dims for integer in integers):
            return False
    return True


def _may_be(dim: str, integer: str, signature: CallSignature) -> bool:
    """Whether an integer that no claim names, not even in records or what is called, may be how long an axis is."""
    if signature.uses(integer) or any(integer in names for names in (*signature.reached, *signature.records)):
        return False
    if len(dim) == 1 and any(word.startswith(dim.lower()) for word in significant_words(integer)):
        return True  # the b of `num_bins`
    is_feature = dim in signature.features() or is_of_features(integer)
    return not (is_feature or counts_examples(dim) or counts_parts(integer))


def _is_same_failure(outcome: TrialOutcome, error: TrialOutcome) -> bool:
    """Whether two runs ended on one line with the same words, whatever the sizes."""
    words = {_NUMBER.sub("", each.failure.message) for each in (outcome, error) if each.failure is not None}
    return outcome.failure is not None and outcome.place == error.place and len(words) == 1


def _unfit(outcome: TrialOutcome) -> list[tuple[int, int]]:
    return [(int(axes[0]), int(axes[1])) for axes in unfit_pairs(outcome)]
