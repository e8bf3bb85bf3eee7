"""Which stage of one model is which of the other: by path, some of them renamed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shapecheck.model import StageRun


class RenameError(ValueError):
    """A rule `old=new` that cannot be followed; the text says why."""


class Renames:
    """Rules `old -> new` for the beginnings of paths. A star stands for any text, the same on both sides.

    The rule that says the most of a path is followed.
    """

    def __init__(self, rules: Mapping[str, str]) -> None:
        self._rules: list[tuple[str, re.Pattern[str], str]] = []
        for old, new in rules.items():
            if new.count("*") > old.count("*"):
                raise RenameError(f"{old}={new}: there are more stars in the new name than in the old one")
            parts = "(.*?)".join(map(re.escape, old.split("*")))
            self._rules.append((old, re.compile(rf"{parts}(?=$|[.\[/])" if old else "(?=.|$)"), new))

    def __call__(self, path: str) -> str:
        """The path in the other model."""
        found = [(m, rule) for rule in self._rules if (m := rule[1].match(path)) is not None]
        if not found:
            return path
        # Of what stars stand for, nothing is said.
        match, (_, _, new) = max(found, key=lambda each: each[0].end() - sum(map(len, each[0].groups())))
        groups = iter(match.groups())
        name = re.sub(r"\*", lambda _: next(groups), new)
        rest = path[match.end() :]
        joined = f"{name}.{rest}" if name and rest and not match.end() and rest[0] not in ".[/" else f"{name}{rest}"
        return joined.lstrip("./") if not name else joined

    def check(self, paths: Sequence[str]) -> None:
        """Raises RenameError for a rule that concerns none of these paths."""
        for old, pattern, new in self._rules:
            if not any(pattern.match(path) for path in paths):
                known = ", ".join(path for path in dict.fromkeys(paths) if path) or "only the whole"
                raise RenameError(f"{old}={new}: the first model has no stage with such a path; it has {known}")


def pairs(a: Sequence[StageRun], b: Sequence[StageRun], renames: Renames) -> list[tuple[int, int]]:
    """The places of runs that belong together: those with one path and one number of the call."""
    renames.check([ran.path for ran in a])
    places = {(ran.path, ran.call): place for place, ran in enumerate(b)}
    calls: dict[str, int] = {}
    found = []
    for place, ran in enumerate(a):
        path = renames(ran.path)
        call = calls.get(path, 0)
        calls[path] = call + 1
        if (path, call) in places:
            found.append((place, places[path, call]))
    return found
