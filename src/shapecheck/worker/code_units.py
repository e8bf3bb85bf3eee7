"""A file as the functions that it consists of: what an edit leaves as it was, and where that stands now.

A unit is a function with all that is inside of it, or, under the name "", what is outside of all functions. Its digest
says what it does and what is observed in it, but not where it stands: comments, blank lines and what surrounds it are
no part of it. What an evaluation has shown is kept with the units that it depends on, and with their places, so that
it can be moved to where these are now.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from shapecheck.model import Call, Evaluation, Failure, Frame, FunctionKey, Observation, Point
from shapecheck.worker.messages.entry_messages import OUTSIDE_FUNCTIONS
from shapecheck.worker.messages.suite_messages import TestResult

_OUTSIDE = ""
_LINE_NUMBER = re.compile(r"\bline \d|\.py:\d")


@dataclass(frozen=True, kw_only=True)
class CodeUnit:
    """A function: where its scopes, its sites and the lines with code are, in order, and its `last` line."""

    digest: str
    scopes: tuple[int, ...]
    sites: tuple[int, ...]
    lines: tuple[int, ...]
    last: int = 0


@dataclass(frozen=True, kw_only=True)
class CodeUnits:
    """All of a file, by name, and a digest of the whole."""

    units: Mapping[str, CodeUnit]
    digest: str

    def names_around(self, functions: Iterable[int], reads: Iterable[int]) -> frozenset[str] | None:
        """The units of these scopes, and those where what was read begins; None for all of the file.

        What is outside of all functions is always among them.
        """
        found = {_OUTSIDE}
        by_scope = {scope: name for name, unit in self.units.items() for scope in unit.scopes}
        for scope in functions:
            if scope not in by_scope:
                return None
            found.add(by_scope[scope])
        for line in reads:
            if line == OUTSIDE_FUNCTIONS:
                continue
            around = [name for name, unit in self.units.items() if name and unit.lines[0] <= line <= unit.last]
            if not around:
                return None
            found.update(around)
        return frozenset(found)


KeptUnits = Mapping[str, Sequence[object]]
"""Of each unit its digest, scopes, sites and lines."""


def kept_units(code: CodeUnits, names: Iterable[str]) -> KeptUnits:
    """What is to be kept with a result that depends on the units of these names."""
    return {
        name: (unit.digest, unit.scopes, unit.sites, unit.lines)
        for name, unit in code.units.items()
        if name in set(names)
    }


@dataclass(frozen=True)
class MovedFile:
    """Where the scopes, sites and lines of some units of a file were, and where they are."""

    scopes: Mapping[int, int]
    sites: Mapping[int, int]
    lines: Mapping[int, int]

    @property
    def is_still(self) -> bool:
        """Whether nothing has moved."""
        return all(old == new for each in (self.scopes, self.sites, self.lines) for old, new in each.items())


def find_move(kept: KeptUnits, code: CodeUnits) -> MovedFile | None:
    """How the units that were kept have moved; None if one of them is not what it was."""
    scopes: dict[int, int] = {}
    sites: dict[int, int] = {}
    lines: dict[int, int] = {}
    for name, (digest, *places) in kept.items():
        unit = code.units.get(name)
        if unit is None or unit.digest != digest:
            return None
        pairs = zip((scopes, sites, lines), places, (unit.scopes, unit.sites, unit.lines), strict=True)
        for known, old, new in pairs:
            if not isinstance(old, tuple) or len(old) != len(new):
                return None
            known.update(zip(old, new, strict=True))
    return MovedFile(scopes, sites, lines)


class Mover:
    """Moves what was shown to where the code is now; `files` are by path, those that are not there stay.

    Raises LookupError for what has no place there, or tells of a line in words.
    """

    def __init__(self, files: Mapping[str, MovedFile]) -> None:
        self._files = files

    def evaluation(self, value: Evaluation) -> Evaluation:
        """An evaluation."""
        texts = [value.reason, *(text for each in value.assumptions for text in (each.subject, each.value))]
        if value.stages or any(map(_LINE_NUMBER.search, texts)):
            raise LookupError
        return replace(
            value,
            line=self._line(value.path, value.line),
            calls=tuple(map(self._call, value.calls)),
            failure=self._failure(value.failure) if value.failure is not None else None,
        )

    def function(self, value: FunctionKey) -> FunctionKey:
        """A function."""
        moved = self._files.get(value[0])
        return value if moved is None else (value[0], moved.scopes[value[1]])

    def test(self, value: TestResult) -> TestResult:
        """What became of a test."""
        return replace(
            value,
            own=tuple(map(self.evaluation, value.own)),
            calls=tuple(map(self.function, map(_function, value.calls))),
            again=tuple(
                (self.function(_function(key)), tuple(map(self.evaluation, runs))) for key, runs in value.again
            ),
            touched=tuple(map(self.function, map(_function, value.touched))),
        )

    def _call(self, value: Call) -> Call:
        moved = self._files.get(value.path)
        caller = self._frame(value.caller) if value.caller is not None else None
        if moved is None:
            return replace(value, caller=caller)
        return replace(
            value,
            scope=moved.scopes[value.scope],
            observations=tuple(_observation(each, moved) for each in value.observations),
            caller=caller,
            paths=tuple(_point(each, moved) for each in value.paths),
        )

    def _failure(self, value: Failure) -> Failure:
        if _LINE_NUMBER.search(value.message) or _LINE_NUMBER.search(value.requires):
            raise LookupError
        return replace(value, frame=self._frame(value.frame) if value.frame is not None else None)

    def _frame(self, value: Frame) -> Frame:
        return replace(value, line=self._line(value.path, value.line))

    def _line(self, path: str, line: int) -> int:
        moved = self._files.get(path)
        return line if moved is None else moved.lines[line]


def _function(value: Sequence[object]) -> FunctionKey:
    path, scope = value
    if not isinstance(path, str) or not isinstance(scope, int):
        raise LookupError
    return path, scope


def _observation(value: Observation, moved: MovedFile) -> Observation:
    return replace(value, site=moved.sites[value.site])


def _point(value: Point, moved: MovedFile) -> Point:
    return moved.lines[value[0]], value[1]
