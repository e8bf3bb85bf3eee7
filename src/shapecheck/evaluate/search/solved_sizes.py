"""Whether a shape error lies with a size that made-up integers come to, as `image_size // patch_size + 1` does.

Whoever makes such a model gives it arrays that fit. Two sizes that do not fit are functions of the free ones. Where one
free size alone moves the difference of the two, the size at which there is none is found as a root is, from two runs.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from fractions import Fraction

from shapecheck.evaluate.inputs.synthesis.made_integers import ODD
from shapecheck.evaluate.inputs.trials.size_assignment import UNNAMED, Substitution
from shapecheck.evaluate.inputs.trials.ties import CallSignature
from shapecheck.evaluate.inputs.trials.trial import Trial, TrialOutcome
from shapecheck.evaluate.search.unfit_sizes import contracts, unfit_pairs

_MOST_NAMES = 8  # free sizes of one call that are looked at
_LARGEST = 1 << 14
_CHANNELS = re.compile(r"c|ch|(?:\w*_)?channels?(?:_\w+)?", re.IGNORECASE)
_STEP = 2  # times its size is where another look is taken: what splits the one splits the other

_Attempt = Callable[[Trial], TrialOutcome | None]
_Pairs = list[tuple[str, ...]]


def with_solved_sizes(error: TrialOutcome, attempt: _Attempt, signature: CallSignature) -> Iterator[TrialOutcome]:
    """The runs with a free size at which what does not fit meets a size that made-up integers come to.

    None that some name has already: that two are equal is a mix-up. Nor where axes are contracted, as a layer that
    takes so many features was made for these, and for no extent; and channels are as many as the model has.
    """
    pairs, bound_call, ties = unfit_pairs(error), error.bound_call, dict(error.trial.substitution.ties)
    made = _made_sizes(error, attempt) if pairs and not contracts(error) else set()
    if bound_call is None:
        return
    # What claims name is a dim, and none that a model's maker chooses: `chains*steps`.
    claimed = [
        size for name, size in bound_call.integers.items() if size > 1 and signature.uses(name.rpartition(".")[2])
    ]
    made = {each for each in made if all(int(each) % size for size in claimed)}
    named = {*bound_call.integers.values(), *bound_call.own, *bound_call.apart.own, *bound_call.held.values()}
    named |= {int(text) for _, text in bound_call.chosen if text.isdigit()}
    held = {name for name, text in ties.items() if not text.isdigit()}
    free = [(name, int(text)) for name, text in bound_call.chosen if text.isdigit() and name not in (*UNNAMED, *held)]
    for name, size in [each for each in free if not _CHANNELS.fullmatch(each[0])][:_MOST_NAMES]:
        moved = _unfit_there(attempt(_with_size(error.trial, name, _STEP * size)), error)
        for before, after in zip(pairs, moved, strict=False):
            root = _root((size, _STEP * size), before, after)
            stays = {one for one, other in zip(before, after, strict=True) if one == other}
            if root is not None and 1 < root <= _LARGEST and root not in named and stays and stays <= made:
                solved = attempt(_with_size(error.trial, name, root))
                if solved is not None:
                    yield solved


def _made_sizes(error: TrialOutcome, attempt: _Attempt) -> set[str]:
    """The sizes that do not fit and are the same with other free sizes, but others with other made-up integers."""
    variant = 1 if error.trial.variant != 1 else 0
    freed = _unfit_there(attempt(dataclasses.replace(error.trial, variant=variant)), error)
    varied = _unfit_there(attempt(dataclasses.replace(error.trial, invention=ODD)), error)
    found: set[str] = set()
    for here, with_others, with_odd in zip(unfit_pairs(error), freed, varied, strict=False):
        sizes = zip(here, with_others, with_odd, strict=True)
        found |= {size for size, other, odd in sizes if size == other != odd}
    return found


def _with_size(trial: Trial, name: str, size: int) -> Trial:
    others = (tie for tie in trial.substitution.ties if tie[0] != name)  # it may have met another size before
    return dataclasses.replace(trial, substitution=Substitution((*others, (name, str(size)))))


def _root(sizes: tuple[int, int], before: tuple[str, ...], after: tuple[str, ...]) -> int | None:
    """The size at which two numbers are equal, on the line through their differences at two sizes; None if at none."""
    first, second = (int(one) - int(other) for one, other in (before, after))
    if first == second:
        return None
    root = sizes[0] - Fraction(first * (sizes[1] - sizes[0]), second - first)
    return int(root) if root.denominator == 1 else None


def _unfit_there(outcome: TrialOutcome | None, error: TrialOutcome) -> _Pairs:
    """The pairs of sizes that do not fit in a run, where that is in the place of an error, and are as many."""
    found = unfit_pairs(outcome) if outcome is not None and outcome.place == error.place else []
    return found if len(found) == len(unfit_pairs(error)) else []
