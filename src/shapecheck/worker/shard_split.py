"""Which tests, models and functions a shard evaluates, of a run that is split over several machines."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_LARGEST_GROUP = 1 / 8  # of what one shard has to do


@dataclass(frozen=True)
class Shard:
    """One of `total` parts of a run, which together evaluate everything once; `number` counts from 1."""

    number: int
    total: int

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"


def split_keys(keys: Sequence[str], durations: Mapping[str, float], total: int) -> tuple[frozenset[str], ...]:
    """The keys that each of `total` shards takes, the same for the same arguments: each key in exactly one part.

    What nobody has measured counts as the median of what was, so that without any measurement all count alike. With
    some, tests of one file stay together, as far as that leaves the parts alike: they call the same functions, which
    each shard that sees them has to evaluate with free sizes. What takes longest comes first, each to the shard that
    has least.
    """
    known = [durations[key] for key in keys if key in durations]
    usual = statistics.median(known) if known else 1.0
    seconds = {key: durations.get(key, usual) for key in keys}
    # Where nobody knows which files take long, a part of each is the best guess.
    groups = _group(seconds, sum(seconds.values()) / total * _LARGEST_GROUP if known else 0.0)
    loads = [(0.0, 0)] * total
    parts: list[set[str]] = [set() for _ in range(total)]
    for group in sorted(groups, key=lambda each: -sum(seconds[key] for key in each)):  # equal ones as they come
        least = min(range(total), key=lambda number: (*loads[number], number))
        load, count = loads[least]
        loads[least] = (load + sum(seconds[key] for key in group), count + len(group))
        parts[least].update(group)
    return tuple(map(frozenset, parts))


def _group(seconds: Mapping[str, float], most: float) -> list[list[str]]:
    """The keys by the files of their tests, in groups that take no more than the `most` seconds, or are one key."""
    groups: list[list[str]] = []
    latest: dict[str, tuple[list[str], float]] = {}
    for key, each in seconds.items():
        file = key.partition("::")[0]
        group, sum_of_group = latest.get(file, ([], 0.0))
        if not group or sum_of_group + each > most:
            group, sum_of_group = [], 0.0
            groups.append(group)
        group.append(key)
        latest[file] = (group, sum_of_group + each)
    return groups
