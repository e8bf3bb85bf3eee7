"""Whether a shape error lies with a size that made-up integers come to, as `image_size // patch_size + 1` does.

Whoever makes such a model gives it arrays that fit. Two sizes that do not fit are functions of the free ones. Where one
free size alone moves the difference of the two, the size at which there is none is found as a root is, from two runs.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from shapecheck.evaluate.inputs.facts.namesakes import are_height_and_width
from shapecheck.evaluate.inputs.synthesis.made_integers import ODD
from shapecheck.evaluate.inputs.trials.size_assignment import UNNAMED, Substitution
from shapecheck.evaluate.inputs.trials.ties import CallSignature
from shapecheck.evaluate.inputs.trials.trial import INDEPENDENT, Trial, TrialOutcome
from shapecheck.evaluate.search.unfit_sizes import contracts, unfit_pairs
from shapecheck.shapes.expressions import names

_MOST_NAMES = 8  # free sizes of one call that are looked at
_LARGEST = 1 << 14
_LARGEST_IMAGE = 1 << 10
_CHANNELS = re.compile(r"c|ch|(?:\w*_)?channels?(?:_\w+)?", re.IGNORECASE)
_CHUNKS = re.compile(r"can't divide axis of length (\d+) in chunks of (\d+)")
_FEW = (2, 3)  # arrays that are joined
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


def with_square_images(error: TrialOutcome, attempt: _Attempt) -> Iterator[TrialOutcome]:
    """The run with images of the one size for which a layer was made that takes all of one: `Linear(256 * 6 * 6, d)`.

    What convolutions leave of an image grows with it, so that is found by halves.
    """
    bound_call, pairs = error.bound_call, unfit_pairs(error)
    free = [name for name, text in bound_call.chosen if text.isdigit()] if bound_call is not None else []
    sides = [pair for pair in itertools.combinations(free, 2) if are_height_and_width(*pair)]
    if len(pairs) != 1 or len(sides) != 1 or not contracts(error):
        return
    least, most = 1, _LARGEST_IMAGE
    wanted = _constant(pairs[0], error, sides[0], attempt)
    while wanted is not None and least <= most:
        size = (least + most) // 2
        outcome = attempt(_with_sizes(error.trial, dict.fromkeys(sides[0], size)))
        left = [int(each) for pair in _unfit_there(outcome, error) for each in pair if int(each) != wanted]
        if outcome is None or (outcome.place == error.place and not left):
            return
        if outcome.place != error.place and (outcome.ok or outcome.depth >= error.depth):
            yield outcome
            return
        if left and left[0] > wanted:
            most = size - 1
        else:  # also where nothing is left of an image
            least = size + 1


def with_whole_chunks(error: TrialOutcome, attempt: _Attempt) -> Iterator[TrialOutcome]:
    """The runs with as many items in an axis as made-up integers divide it into: `(b h w) -> b h w` of `h = H // size`.

    The axis counts free sizes alone, `windows*batch`, and one of them is so many.
    """
    message, bound_call = error.failure.message if error.failure is not None else "", error.bound_call
    found = _CHUNKS.search(message)
    if found is None or bound_call is None:
        return
    length, chunk = int(found[1]), int(found[2])
    free = {name: int(text) for name, text in bound_call.chosen if text.isdigit()}
    dim = bound_call.computed.get(length)
    counted = [*names(dim.expression)] if dim is not None else [name for name, size in free.items() if size == length]
    varied = attempt(dataclasses.replace(error.trial, invention=ODD))
    other = _CHUNKS.search(varied.failure.message) if varied is not None and varied.failure is not None else None
    if not set(counted) <= free.keys() or other is None or other[2] == found[2]:
        return
    for name in counted:
        solved = attempt(_with_size(error.trial, name, chunk))
        if solved is not None:
            yield solved


def with_shares(error: TrialOutcome, attempt: _Attempt, signature: CallSignature) -> Iterator[TrialOutcome]:
    """The run with features that are as many together as a layer takes: `Linear(in_size, d)` of `concatenate([x, t])`.

    None where claims name what the layer is made for.
    """
    untied = attempt(dataclasses.replace(error.trial, substitution=INDEPENDENT))
    if untied is None or untied.bound_call is None or untied.place != error.place:
        return
    bound_call, pairs = untied.bound_call, unfit_pairs(untied)
    if len(pairs) != 1 or not contracts(untied):
        return
    made = {
        str(size): name.rpartition(".")[2]
        for name, size in bound_call.integers.items()
        if name not in bound_call.arguments
    }
    free = {name: int(text) for name, text in bound_call.chosen if text.isdigit()}
    for wanted, joined in itertools.permutations(pairs[0]):
        for number in _FEW:
            for shares in itertools.combinations(free, number):
                if wanted not in made or signature.uses(made[wanted]) or sum(free[n] for n in shares) != int(joined):
                    continue
                sizes = _parts_of(int(wanted), number)
                solved = attempt(_with_sizes(untied.trial, dict(zip(shares, sizes, strict=True)))) if sizes else None
                if solved is not None:
                    yield solved


def _parts_of(size: int, parts: int) -> Sequence[int]:
    """So many numbers, no two alike, that come to a size together; none if it is too small."""
    sizes = [size // parts - step for step in range(1, parts)]
    sizes.append(size - sum(sizes))
    return sizes if min(sizes) > 1 else ()


def _constant(pair: tuple[str, ...], error: TrialOutcome, sides: tuple[str, str], attempt: _Attempt) -> int | None:
    """Which size of a pair does not follow from those of the sides, if the other follows from both: it is flattened."""
    chosen = dict(error.bound_call.chosen) if error.bound_call is not None else {}
    stay = [*pair]
    for name in sides:
        after = _unfit_there(attempt(_with_size(error.trial, name, _STEP * int(chosen[name]))), error)
        stay = [one for one, other in zip(pair, after[0], strict=True) if one == other] if len(after) == 1 else []
        if len(stay) != 1:
            return None
    return int(stay[0])


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
    return _with_sizes(trial, {name: size})


def _with_sizes(trial: Trial, sizes: Mapping[str, int]) -> Trial:
    others = (tie for tie in trial.substitution.ties if tie[0] not in sizes)  # it may have met another size before
    ties = ((name, str(size)) for name, size in sizes.items())
    return dataclasses.replace(trial, substitution=Substitution((*others, *ties)))


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
