"""Which tests, models and functions a shard evaluates, of a run that is split over several machines."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Shard:
    """One of `total` parts of a run, which together evaluate everything once; `number` counts from 1."""

    number: int
    total: int

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"


def split_keys(keys: Sequence[str], durations: Mapping[str, float], total: int) -> tuple[frozenset[str], ...]:
    """The keys that each of `total` shards takes, the same for the same arguments: each key in exactly one part.

    The longest come first, each to the shard that has least so far. What nobody has measured counts as the median of
    what was, so that without any measurement all count alike.
    """
    known = [durations[key] for key in keys if key in durations]
    usual = statistics.median(known) if known else 1.0
    seconds = {key: durations.get(key, usual) for key in keys}
    loads = [(0.0, 0)] * total
    parts: list[set[str]] = [set() for _ in range(total)]
    for key in sorted(seconds, key=lambda each: -seconds[each]):  # of equal ones, in the order that they have
        least = min(range(total), key=lambda number: (*loads[number], number))
        load, count = loads[least]
        loads[least] = (load + seconds[key], count + 1)
        parts[least].add(key)
    return tuple(map(frozenset, parts))
