"""Which turn of its loop each observation of a call belongs to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from shapecheck.model import Observation, Site

Loop = tuple[int, ...]
Turn = tuple[Loop, int]
"""A turn of a loop: the lines of the loops around, and the number of the turn, from 0."""


@dataclass
class _Progress:
    """How far the loop has come in its present turn."""

    turn: int = 0
    reached: tuple[int, int] = (0, 0)
    sites: set[int] = field(default_factory=set)


class Turns:
    """The turns of all loops of one call.

    Values of one turn come in the order of the text, so that a site which comes again, or one further up, begins the
    next turn. What stands in an `if` is so counted with the turn that it belongs to.
    """

    def __init__(self, sites: Sequence[Site], observations: Iterable[Observation]) -> None:
        self._sites = sites
        self._of_site: dict[int, list[int]] = defaultdict(list)
        self._last: dict[Loop, _Progress] = defaultdict(_Progress)
        for observation in observations:
            self._note(sites[observation.site])

    def repeats(self, site: int) -> bool:
        """Whether the loop of a site took more than one turn."""
        return self._last[self._sites[site].loop].turn > 0

    def of(self, site: int) -> list[Turn]:
        """The turns of a site's observations, in order."""
        return [(self._sites[site].loop, turn) for turn in self._of_site[site]]

    def _note(self, site: Site) -> None:
        progress = self._last[site.loop]
        point = _point(site)
        if site.index in progress.sites or (site.loop and point < progress.reached):
            progress.turn += 1
            progress.sites = set()
        progress.sites.add(site.index)
        progress.reached = point
        self._of_site[site.index].append(progress.turn)


def _point(site: Site) -> tuple[int, int]:
    """The point of the text at which a value is complete."""
    if site.position is None:
        return (0, 0) if site.kind == "param" else (1 << 31, 0)
    if site.when in ("before", "body"):
        return site.position.line, site.position.column
    return site.position.end_line, site.position.end_column
