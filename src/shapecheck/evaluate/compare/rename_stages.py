"""Which stage of one model is which of the other: by path, some renamed; and rules to choose from for others."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shapecheck.model import StageRun, Tensor


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


_MOST = 400  # stages on one side: more take too long
_NUMBER = re.compile(r"\d+")
_LAST_INDEX = re.compile(r"\[\d+\]$")
_SIMILAR = 0.6  # names, of 1

Sizes = list[tuple[str, list[int]]]


@dataclass(frozen=True)
class _StageCalls:
    """A path of a model: its first run, how many there are, and whether there are stages inside."""

    run: StageRun
    calls: int
    is_leaf: bool


def propose_renames(
    a: Sequence[StageRun], b: Sequence[StageRun], found: Sequence[tuple[int, int]], rules: Mapping[str, str]
) -> dict[str, str]:
    """Rules `old -> new` for stages that are not among those `found`, beside the `rules` that there are.

    Two belong together perhaps if they give the same sizes, at the same place in the order, and have the same
    parameters, the same kind, or similar names. Stages of one path that give other sizes may belong elsewhere.
    """
    settled = {a[one].path: b[other].path for one, other in found if _sizes(a[one].outputs) == _sizes(b[other].outputs)}
    left = [s for s in _stages(a) if s.run.path and s.run.path not in settled]
    right = [s for s in _stages(b) if s.run.path and s.run.path not in settled.values()]
    if not left or not right or max(len(left), len(right)) > _MOST:
        return {}
    matches = {one.run.path: other.run.path for one, other in _align(left, right)}
    stacked = {s.run.path for s in right if s.calls > 1}
    made: dict[str, str] = {}
    known = dict(settled)
    for old, new in matches.items():
        known[old] = new
        if Renames({**rules, **made})(old) == new:
            continue
        for rule in _candidates(old, new, is_stacked=new in stacked):
            renamed = Renames({**rules, **made, rule[0]: rule[1]})
            others = [path for stage in left if (path := stage.run.path) not in matches]
            taken = {name for name in matches.values() if name not in stacked}
            if all(renamed(a) == b for a, b in known.items()) and not any(renamed(path) in taken for path in others):
                made[rule[0]] = rule[1]
                break
    return made


def _candidates(old: str, new: str, *, is_stacked: bool) -> Iterator[tuple[str, str]]:
    """Rules that give `old` the name `new`, those for the most stages first."""
    ends = [_LAST_INDEX.search(path) for path in (old, new)]
    if ends[0] and ends[1] and ends[0].group() == ends[1].group():
        yield _LAST_INDEX.sub("", old), _LAST_INDEX.sub("", new)
    if is_stacked and _NUMBER.search(old) and not _NUMBER.search(new):
        yield _NUMBER.sub("*", old), new
    both = zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=False)
    same = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], both)))
    for number in range(same, 0, -1):
        yield _NUMBER.sub("*", old, count=number), _NUMBER.sub("*", new, count=number)
    yield old, new


def _stages(ran: Sequence[StageRun]) -> list[_StageCalls]:
    calls: dict[str, list[StageRun]] = {}
    holders = {each.parent for each in ran}
    leaves: dict[str, bool] = {}
    for place, each in enumerate(ran):
        calls.setdefault(each.path, []).append(each)
        leaves[each.path] = leaves.get(each.path, True) and place not in holders
    return [_StageCalls(runs[0], len(runs), leaves[path]) for path, runs in calls.items()]


def _align(a: Sequence[_StageCalls], b: Sequence[_StageCalls]) -> list[tuple[_StageCalls, _StageCalls]]:
    """Those that belong together most likely, in the order that both have."""
    likely = [[_likeness(x, y) for y in b] for x in a]
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            both = best[i + 1][j + 1] + likely[i][j] if likely[i][j] else 0.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], both)
    found, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if likely[i][j] and best[i][j] == best[i + 1][j + 1] + likely[i][j]:
            found.append((a[i], b[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _likeness(a: _StageCalls, b: _StageCalls) -> float:
    """How likely two stages belong together; 0 if nothing speaks for it."""
    if not a.run.outputs or _sizes(a.run.outputs) != _sizes(b.run.outputs):
        return 0.0
    one, other = (_NUMBER.sub("", re.split(r"[./]", stage.run.path)[-1]).lower() for stage in (a, b))
    similar = difflib.SequenceMatcher(None, one, other).ratio()
    reasons = [
        4.0 * (_digests(a) == _digests(b)),
        3.0 * (bool(a.run.parameters) and _numbers(a) == _numbers(b)),
        2.0 * (a.run.type == b.run.type),
        1.0 * (bool(a.run.parameters) and _sizes(a.run.parameters) == _sizes(b.run.parameters)),
        similar * (similar >= _SIMILAR),
    ]
    return sum(reasons) + 0.5 * (a.is_leaf == b.is_leaf) if any(reasons) else 0.0


def _digests(stage: _StageCalls) -> list[str]:
    return [tensor.digest for tensor in stage.run.outputs]


def _numbers(stage: _StageCalls) -> list[str]:
    return sorted(tensor.numbers for tensor in stage.run.parameters)


def _sizes(tensors: Sequence[Tensor]) -> Sizes:
    """The dtypes and sizes, in whatever order the axes are."""
    return sorted((t.dtype, sorted(size for size in t.shape if size != 1)) for t in tensors)
