"""Sizes that follow from others: `n` of `pos: "n c"` meets the `h*w` rows of a flattened image.

JAX sets the size of a free name against one that nobody has, and that varies with the other sizes. Which function of
them it is shows from two runs with different sizes. Whoever calls such code gives it arrays that fit.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence

from shapecheck.evaluate.inputs.trials.size_assignment import UNNAMED
from shapecheck.evaluate.inputs.trials.ties import Tie
from shapecheck.evaluate.inputs.trials.trial import TrialOutcome
from shapecheck.evaluate.search.unfit_sizes import RESHAPE, opposite_sizes

_MOST_FACTORS = 4
_LARGEST_FACTOR = 16
_STEPS = (0, 1, -1, 2, -2)
_PATCHES = range(2, 33)
_MOST_TIES = 6
_MOST_NAMES = 10  # of one call: more have too many combinations

_Pair = tuple[int, int]
"""A number in each of two runs."""
_Term = tuple[str, _Pair]


def meets_derived(outcome: TrialOutcome) -> bool:
    """Whether a failure sets the size of a free name against a number that no name and no array of the model has."""
    return any(_free_axes(outcome))


def varying_sizes(outcome: TrialOutcome, other: TrialOutcome) -> dict[str, str]:
    """Such names, each with the number that it meets in the first run: in one with other sizes it is another number.

    Both runs failed on one line.
    """
    return {name: str(numbers[0]) for name, numbers in _varying_axes(outcome, other)}


def derived_ties(outcome: TrialOutcome, other: TrialOutcome) -> list[Tie]:
    """Ties of such a name to what its axis meets in both runs, as an expression over other names.

    None of these is an axis beside it, as the rows of `(n, m)` are which meets the `n*d` numbers of `(n, d)`. But the
    size of a block stands beside the number of blocks.
    """
    message = outcome.failure.message if outcome.failure is not None else ""
    beside = {name for name, size in _sizes(outcome).items() if re.search(rf"\b{size}\b", message)}
    return [
        tie
        for tie in _all_ties(outcome, other)
        if beside.isdisjoint(re.findall(r"[^\W\d]\w*", tie[1].partition("//")[0]))
    ]


def is_computed(outcome: TrialOutcome, other: TrialOutcome) -> bool:
    """Whether what such a name meets is some expression over other names."""
    return bool(_all_ties(outcome, other))


def _all_ties(outcome: TrialOutcome, other: TrialOutcome) -> list[Tie]:
    first, second = _sizes(outcome), _sizes(other)
    pairs = {name: (size, second[name]) for name, size in first.items() if name in second}
    found: list[Tie] = []
    for name, numbers in _varying_axes(outcome, other):
        others = [(each, pair) for each, pair in pairs.items() if each != name][:_MOST_NAMES]
        found += ((name, text) for text in dict.fromkeys(_expressions(numbers, others)))
    return found[:_MOST_TIES]


def _free_axes(outcome: TrialOutcome) -> Iterator[tuple[int, str, int]]:
    """The place of a pair of sizes that do not fit, the free name that has one of them, and the other, which is new."""
    bound_call, failure = outcome.bound_call, outcome.failure
    if bound_call is None or failure is None or failure.kind != "shape" or failure.message.startswith(RESHAPE):
        return
    free = {text: name for name, text in bound_call.chosen if text.isdigit() and name not in UNNAMED}
    known = {*free, *map(str, (*bound_call.integers.values(), *bound_call.own, *bound_call.lengths)), "1", "0"}
    ties = dict(outcome.trial.substitution.ties)
    pairs = opposite_sizes(failure.message)
    for place, pair in enumerate(pairs):
        if pair[::-1] in pairs:  # one array is turned, which no size mends but a square one
            continue
        for one, met in itertools.permutations(pair, 2):
            if one in free and free[one] not in ties and met not in known:
                yield place, free[one], int(met)


def _varying_axes(outcome: TrialOutcome, other: TrialOutcome) -> Iterator[tuple[str, _Pair]]:
    if outcome.place != other.place:
        return
    again = {(place, name): number for place, name, number in _free_axes(other)}
    for place, name, number in _free_axes(outcome):
        second = again.get((place, name))
        if second is not None and second != number:
            yield name, (number, second)


def _sizes(outcome: TrialOutcome) -> dict[str, int]:
    """The sizes of the free names of a run, and the integers of the call that may be some."""
    if outcome.bound_call is None:
        return {}
    ties = dict(outcome.trial.substitution.ties)
    free = {n: int(text) for n, text in outcome.bound_call.chosen if text.isdigit() and n not in (*UNNAMED, *ties)}
    integers = {n: outcome.bound_call.integers[n] for n in sorted(outcome.bound_call.arguments)}
    return {name: size for name, size in {**integers, **free}.items() if size > 0}


def _expressions(numbers: _Pair, names: Sequence[_Term]) -> Iterator[str]:
    """What comes to both numbers, the plainest first."""
    products = [_product(each) for n in range(2, _MOST_FACTORS + 1) for each in itertools.combinations(names, n)]
    yield from _multiples(numbers, products)
    terms = [*names, *(_product(each) for each in itertools.combinations(names, 2))]
    for step, sign in itertools.product(_STEPS, (1, -1)):
        for (one, first), (other, second) in itertools.permutations(terms, 2):
            is_new = (sign < 0 or one < other) and not {*one.split("*")} & {*other.split("*")}
            if is_new and _is_sum(numbers, first, second, sign, step):
                yield f"{one}{'+' if sign > 0 else '-'}{other}{_step_text(step)}"
    for step in filter(None, _STEPS):
        yield from (f"{text}{_step_text(step)}" for text in _multiples(_less(numbers, step), products))
    for three in itertools.combinations(names, 3):
        if all(sum(pair[run] for _, pair in three) == numbers[run] for run in (0, 1)):
            yield "+".join(text for text, _ in three)
    for (one, first), (other, second) in itertools.combinations(names, 2):  # the places of one in the other
        for step in (0, 1):
            if all(abs(first[run] - second[run]) + step == numbers[run] for run in (0, 1)):
                yield f"max({one},{other})-min({one},{other}){_step_text(step)}"
    yield from _quotients(numbers, names)
    yield from _cells(numbers, names)
    yield from _of_one(numbers, names)


def _product(terms: Sequence[_Term]) -> _Term:
    pairs = [pair for _, pair in terms]
    return "*".join(text for text, _ in terms), (math.prod(a for a, _ in pairs), math.prod(b for _, b in pairs))


def _multiples(numbers: _Pair, terms: Sequence[_Term]) -> Iterator[str]:
    """The terms that go into the numbers, as often into both."""
    for text, (first, second) in terms:
        factor, rest = divmod(numbers[0], first)
        if not rest and 0 < factor <= _LARGEST_FACTOR and factor * second == numbers[1]:
            yield text if factor == 1 else f"{factor}*{text}"


def _quotients(numbers: _Pair, names: Sequence[_Term]) -> Iterator[str]:
    """How many blocks there are of an axis that is split evenly."""
    for (one, first), (other, second) in itertools.permutations(names, 2):
        if all(first[run] == numbers[run] * second[run] for run in (0, 1)):
            yield f"{one}//{other}"


def _cells(numbers: _Pair, names: Sequence[_Term]) -> Iterator[str]:
    """The rows times columns of an image that is cut into patches."""
    for (one, first), (other, second) in itertools.combinations(names, 2):
        for size in _PATCHES:
            if all((first[run] // size) * (second[run] // size) == numbers[run] for run in (0, 1)):
                yield f"({one}//{size})*({other}//{size})"


def _of_one(numbers: _Pair, names: Sequence[_Term]) -> Iterator[str]:
    """What follows from one other size: `n*n`, the pairs of its items, the frequencies of a signal, every so many."""
    for text, pair in names:
        if tuple(size * size for size in pair) == numbers:
            yield f"{text}*{text}"
        for step in (-1, 1):
            if tuple(size * (size + step) // 2 for size in pair) == numbers:
                yield f"{text}*({text}{_step_text(step)})//2"
        for part, step in itertools.product(range(2, _LARGEST_FACTOR + 1), (0, 1)):
            if tuple(size // part + step for size in pair) == numbers:
                yield f"{text}//{part}{_step_text(step)}"
        for factor, step in itertools.product(range(1, _LARGEST_FACTOR + 1), filter(None, _STEPS)):
            if tuple(size * factor + step for size in pair) == numbers:
                yield f"{text if factor == 1 else f'{factor}*{text}'}{_step_text(step)}"


def _is_sum(numbers: _Pair, first: _Pair, second: _Pair, sign: int, step: int) -> bool:
    return all(first[run] + sign * second[run] + step == numbers[run] for run in (0, 1))


def _less(numbers: _Pair, step: int) -> _Pair:
    return numbers[0] - step, numbers[1] - step


def _step_text(step: int) -> str:
    return f"{step:+d}" if step else ""
