"""Ties to an integer that was made up and that no claim names: callers may well give the two one size.

`x + self.rows` of `x: "places d"` runs only where there are as many places as the made-up table has rows. Whoever makes
that table knows how many it is for, and no claim tells the two apart.
"""

from __future__ import annotations

from shapecheck.evaluate.inputs.facts.namesakes import (
    counts_examples,
    counts_parts,
    is_of_features,
    significant_words,
)
from shapecheck.evaluate.inputs.trials.ties import CallSignature, Sizes
from shapecheck.evaluate.inputs.trials.trial import TrialOutcome
from shapecheck.evaluate.search.unfit_sizes import RESHAPE, left_over_axes
from shapecheck.model import Assumption


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


def are_chosen_together(error: TrialOutcome, signature: CallSignature) -> bool:
    """Whether what cannot be reshaped are integers of a constructor on one side, and of the call on the other.

    `x.reshape(n, size, size, channels)` of a layer made for `dim`: who calls it with a size knows what it was made for.
    """
    call, failure = error.bound_call, error.failure
    if call is None or failure is None or not failure.message.startswith(RESHAPE):
        return False
    of_call = {size for name, size in call.integers.items() if name in call.arguments}
    of_model = {size for name, size in call.integers.items() if name not in call.arguments}
    claimed = {size for name, size in call.integers.items() if signature.uses(name.rpartition(".")[2])}
    before, after = map(set, left_over_axes(failure.message))
    sides = ((before, after), (after, before))
    is_apart = any(one and other and one <= of_model and other <= of_call - of_model for one, other in sides)
    return is_apart and claimed.isdisjoint(before | after)


def _may_be(dim: str, integer: str, signature: CallSignature) -> bool:
    """Whether an integer that no claim names, not even in records or what is called, may be how long an axis is."""
    if signature.uses(integer) or any(integer in names for names in (*signature.reached, *signature.records)):
        return False
    if len(dim) == 1 and any(word.startswith(dim.lower()) for word in significant_words(integer)):
        return True  # the b of `num_bins`
    is_feature = dim in signature.features() or is_of_features(integer)
    return not (is_feature or counts_examples(dim) or counts_parts(integer))
