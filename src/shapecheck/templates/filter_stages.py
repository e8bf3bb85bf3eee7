"""Parts of a template: down to a depth, of some paths, with stages that repeat each other folded into one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shapecheck.model import Stage
from shapecheck.templates.template_object import Template

_INDEXED = re.compile(r"(?P<stem>.*(?:\[|_))(?P<index>\d+)(?P<close>\]?)\Z")


def down_to(template: Template, depth: int) -> Template:
    """Without what lies more than `depth` levels below the whole."""
    return _part(template, _limit_depth(template.stages, depth))


def filter_matching(template: Template, glob: str) -> Template:
    """The stages whose paths match, and those around them; `*` and `?` are wild, brackets are not."""
    pattern = re.compile(re.escape(glob).replace(r"\*", ".*").replace(r"\?", "."))
    return _part(template, _filter_matching(template.stages, pattern))


def fold_repeats(template: Template) -> Template:
    """Equal neighbours become one stage: `blocks[0]` to `blocks[11]` are `blocks[0..11]`, and so are `Block_0..11`.

    In the order in which they run, and within what calls them. (A lock, which goes by places alone, has `repeats`.)
    """
    return _part(template, _fold_repeats(template.stages))


def _part(template: Template, stages: Iterator[Stage]) -> Template:
    return replace(template, stages=tuple(stages), whole=template.whole or template.stages)


def _limit_depth(stages: Sequence[Stage], depth: int) -> Iterator[Stage]:
    for stage in stages:
        yield replace(stage, children=tuple(_limit_depth(stage.children, depth - 1)) if depth > 0 else ())


def _filter_matching(stages: Sequence[Stage], pattern: re.Pattern[str]) -> Iterator[Stage]:
    for stage in stages:
        children = tuple(_filter_matching(stage.children, pattern))
        if children or pattern.fullmatch(stage.path):
            yield replace(stage, children=children)


def _fold_repeats(stages: Sequence[Stage]) -> Iterator[Stage]:
    left = list(stages)
    while left:
        first = left.pop(0)
        place = _INDEXED.match(first.path)
        last = int(place["index"]) if place is not None else 0
        while place is not None and left and _repeats(first, left[0], f"{place['stem']}{last + 1}{place['close']}"):
            left.pop(0)
            last += 1
        if place is not None and last > int(place["index"]):
            first = _move_stage(first, first.path, f"{place['stem']}{place['index']}..{last}{place['close']}")
        yield replace(first, children=tuple(_fold_repeats(first.children)))


def _repeats(first: Stage, other: Stage, path: str) -> bool:
    """Whether `other` stands at `path`, and differs from `first` in nothing else."""
    return other.path == path and _move_stage(other, path, first.path) == first


def _move_stage(stage: Stage, old: str, new: str) -> Stage:
    """The stage and those inside of it, with `new` in place of the beginning `old` of their paths."""
    is_inside = stage.path.startswith(old) and not stage.path[len(old) : len(old) + 1].isdigit()
    path = new + stage.path[len(old) :] if is_inside else stage.path
    children = tuple(_move_stage(child, old, new) for child in stage.children)
    return replace(stage, path=path, label=path.rpartition(".")[2], children=children)
