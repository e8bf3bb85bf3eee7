"""Free sizes that differ from all sizes of a model, where that goes: `seq=32` beside `d_model=32` would mislead."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterator

from shapecheck.evaluate.inputs.size_assignment import Substitution
from shapecheck.evaluate.inputs.trial import Apart, Trial, TrialOutcome


def loosen(found: TrialOutcome, attempt: Callable[[Trial], TrialOutcome]) -> TrialOutcome:
    """What `found` shows without the ties that it has no need of.

    Names that were tied to others are free, and those that were tied to a size of the model have another number.
    """
    for name, text in found.trial.substitution.ties:
        rest = tuple(tie for tie in found.trial.substitution.ties if tie[0] != name)
        if text.isdigit() or not rest:
            continue
        other = attempt(dataclasses.replace(found.trial, substitution=Substitution(rest)))
        if other.ok:
            found = other
    apart = found.bound_call.apart if found.bound_call is not None else Apart()
    for name, text in found.trial.substitution.ties:
        ties = dict(found.trial.substitution.ties)
        taken = {*apart.own, *(int(t) for t in ties.values() if t.isdigit())}
        if not text.isdigit() or int(text) not in apart.own or apart.before.get(name) == int(text):
            continue
        for size in dict.fromkeys([*filter(None, [apart.before.get(name)]), *_others(int(text), taken)]):
            substitution = Substitution(tuple((n, str(size) if n == name else t) for n, t in ties.items()))
            other = attempt(dataclasses.replace(found.trial, substitution=substitution))
            if other.ok:
                found = other
                break
    return found


def try_as_limits(tied: TrialOutcome, attempt: Callable[[Trial], TrialOutcome]) -> TrialOutcome | None:
    """What `tied` shows with a smaller number for each that a name was tied to: that was only an upper limit, then."""
    bound_call = tied.bound_call
    ties = dict(tied.trial.substitution.ties)
    if bound_call is None or not ties or not all(text.isdigit() for text in ties.values()):
        return None
    taken = {*bound_call.integers.values(), *bound_call.own, *bound_call.apart.own, *(int(t) for t in ties.values())}
    smaller: dict[str, str] = {}
    for name, text in ties.items():
        size = next(_others(int(text), taken), None)
        if size is None:
            return None
        taken.add(size)
        smaller[name] = str(size)
    other = attempt(dataclasses.replace(tied.trial, substitution=Substitution(tuple(smaller.items()))))
    return other if other.ok else None


def _others(size: int, taken: Collection[int]) -> Iterator[int]:
    """Numbers in place of this one: smaller, as most limits are upper ones, those first that divide well."""
    for step in (64, 16, 8, 1):
        free = (n for n in range((size - 1) // step * step, 2, -step) if n not in taken)
        yield from itertools.islice(free, 1)
