"""Numbers of axes that claims say, and a search for those of made-up arrays with which they hold.

Of `s = (a + a.T) / 2  # (n, n)` the code runs with an `a` of any number of axes. The claim says of how many.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.choices import is_rank_key
from shapecheck.evaluate.inputs.trials.trial import INDEPENDENT, SearchResult, Trial, TrialOutcome
from shapecheck.evaluate.probes.recorder import RanksBySite
from shapecheck.evaluate.search.attempts import Attempts
from shapecheck.model import ArrayValue, OtherValue, Value
from shapecheck.model.observation import NUMBERS

_ATTEMPTS = 60
_SECONDS = 2.0
_MOST_CHANGES = 4


def search_ranks(
    found: SearchResult, ranks: RanksBySite, attempts: Attempts, search_sizes: Callable[[Trial], SearchResult]
) -> SearchResult | None:
    """Other numbers of axes for arrays of which nothing says any, if more claims hold with them.

    `found` are runs to the end.
    """
    best, left = found.ok[0], rank_distance(found.ok[0], ranks)
    if not left or not any(map(is_rank_key, best.options())):
        return None
    result: SearchResult | None = None
    with attempts.apart(_ATTEMPTS, _SECONDS):
        for _ in range(_MOST_CHANGES):
            nearer = _nearer(best, left, ranks, attempts, search_sizes)
            if nearer is None:
                break
            result, best = nearer, nearer.ok[0]
            left = rank_distance(best, ranks)
            if not left:
                break
    return result


def _nearer(
    before: TrialOutcome,
    left: int,
    ranks: RanksBySite,
    attempts: Attempts,
    search_sizes: Callable[[Trial], SearchResult],
) -> SearchResult | None:
    """The nearest to what claims say that one other number of axes leads to."""
    result: SearchResult | None = None
    for trial in _other_trials(before):
        if attempts.is_exhausted():
            break
        runs = _runs(trial, search_sizes)
        distance = rank_distance(runs.ok[0], ranks) if runs.ok else left
        if distance < left:
            result, left = runs, distance
            if not left:
                break
    return result


def _other_trials(outcome: TrialOutcome) -> Iterator[Trial]:
    options = outcome.bound_call.options.others if outcome.bound_call is not None else {}
    chosen = dict(outcome.trial.choices)
    for key in filter(is_rank_key, options):
        for option in options[key] if key not in chosen else ():
            yield dataclasses.replace(outcome.trial, choices=(*outcome.trial.choices, (key, option)))


def _runs(trial: Trial, search_sizes: Callable[[Trial], SearchResult]) -> SearchResult:
    try:
        return search_sizes(dataclasses.replace(trial, substitution=INDEPENDENT, variant=0))
    except CannotSynthesiseError:
        return SearchResult()


def rank_distance(outcome: TrialOutcome, ranks: RanksBySite) -> int:
    """By how many axes values differ from what claims say, in all."""
    found: dict[tuple[str, int], int] = {}
    for call in outcome.calls:
        for each in call.observations:
            key = (call.path, each.site)
            if key in ranks and (difference := _difference(each.value, ranks[key])) is not None:
                found[key] = max(found.get(key, 0), difference)
    return sum(found.values())


def _difference(value: Value, rank: int) -> int | None:
    """By how many axes a value differs; nothing is said of what is neither an array nor a number."""
    if isinstance(value, ArrayValue):
        outer = len(value.mapped) + len(value.hidden)
        return min(abs(len(value.shape) + more - rank) for more in range(outer + 1))
    return rank if isinstance(value, OtherValue) and value.type in NUMBERS else None
