"""Stages by their places, with those that repeat each other folded into one line, and unfolded again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_T = TypeVar("_T")
_INDEX = re.compile(r"\[(\d+)\]")
_RANGE = re.compile(r"\[(\d+)\.\.(\d+)\]")
_STEP = re.compile(r"(\[\d+\])|(?=\.)")


@dataclass(frozen=True)
class StageLocation:
    """Where stages lie: a path, or several (`blocks[0..11].attn`); and which of its calls, counted from 1."""

    path: str
    first: int = 1
    last: int = 1

    def __str__(self) -> str:
        """The path, with the calls if they are not the first alone: `norm #2`."""
        if self.last == 1:
            return self.path
        return f"{self.path} #{self.first}" + (f"..{self.last}" if self.last > self.first else "")


@dataclass
class _Node(Generic[_T]):
    """A part of paths: what its calls say, and the parts inside."""

    calls: dict[int, _T] = field(default_factory=dict)
    children: dict[str, _Node[_T]] = field(default_factory=dict)


def fold_locations(items: Iterable[tuple[StageLocation, _T]]) -> list[tuple[StageLocation, _T]]:
    """Sorted by place, with parts of equal content and successive indices as one, and so are successive equal calls."""
    top: _Node[_T] = _Node()
    for place, content in sorted(items, key=lambda item: _order(item[0])):
        node = top
        for step in filter(None, _STEP.split(place.path)):
            node = node.children.setdefault(step, _Node())
        node.calls[place.first] = content
    return list(_lines("", _join_indices(top)))


def unfold_locations(items: Iterable[tuple[StageLocation, _T]]) -> Iterator[tuple[StageLocation, _T]]:
    """Each stage on its own: the inverse of `fold_locations`."""
    for place, content in items:
        for path in _paths(place.path):
            for call in range(place.first, place.last + 1):
                yield StageLocation(path, call, call), content


def is_inside(path: str, other: str) -> bool:
    """Whether `path` is of a part of what is at `other`."""
    return path != other and (not other or path.startswith((f"{other}.", f"{other}[")))


def _order(place: StageLocation) -> tuple[list[tuple[str | int, ...]], int]:
    """The order of the lines: parts behind their whole, indices as numbers."""
    steps = [_INDEX.split(part) for part in place.path.split(".")]
    return [tuple(int(s) if i % 2 else s for i, s in enumerate(step)) for step in steps], place.first


def _join_indices(node: _Node[_T]) -> _Node[_T]:
    children: dict[str, _Node[_T]] = {}
    run: tuple[int, int, _Node[_T]] | None = None
    for step, child in node.children.items():
        inner = _join_indices(child)
        found = _INDEX.fullmatch(step)
        index = int(found[1]) if found is not None else -1
        if run is not None and index == run[1] + 1 and inner == run[2]:
            del children[_range(run[0], run[1])]
            run = run[0], index, inner
        else:
            run = (index, index, inner) if found is not None else None
        children[_range(run[0], run[1]) if run is not None else step] = inner
    return _Node(node.calls, children)


def _range(first: int, last: int) -> str:
    return f"[{first}]" if first == last else f"[{first}..{last}]"


def _lines(path: str, node: _Node[_T]) -> Iterator[tuple[StageLocation, _T]]:
    line: tuple[StageLocation, _T] | None = None
    for call, content in node.calls.items():
        if line is not None and line[0].last + 1 == call and line[1] == content:
            line = StageLocation(path, line[0].first, call), content
            continue
        if line is not None:
            yield line
        line = StageLocation(path, call, call), content
    if line is not None:
        yield line
    for step, child in node.children.items():
        yield from _lines(path + step, child)


def _paths(path: str) -> Iterator[str]:
    found = _RANGE.search(path)
    if found is None:
        yield path
        return
    for index in range(int(found[1]), int(found[2]) + 1):
        yield from _paths(f"{path[: found.start()]}[{index}]{path[found.end() :]}")
