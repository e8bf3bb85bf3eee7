"""Templates as they are kept: what of a template is compared, and how it was made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from shapecheck.model import Frame, OtherValue, Stage, Value, arrays_in
from shapecheck.templates import format_stage, format_value
from shapecheck.templates.fold import StageLocation, fold_locations, unfold_locations
from shapecheck.templates.template_tree import StageTree


@dataclass(frozen=True, kw_only=True)
class Shapes:
    """What a lock says of a stage. Values are text (`f32[batch,48]`), inside of lists and dicts."""

    type: str
    under: tuple[str, ...]
    input: Mapping[str, object]
    state: Mapping[str, object]
    output: object
    params: int
    bytes: int


@dataclass(frozen=True)
class TemplateInputs:
    """How a template is made: `--init` and `--arg` as on the command line, and numbers that were made up.

    `integers` are those of constructors, `dims` those of free dims that had to have a size.
    """

    init: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    integers: Mapping[str, int] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class LockedTemplate:
    """The template of a target, as it is kept. `lines` are those of the file: of its head, and of each stage."""

    target: str
    making: TemplateInputs
    stages: tuple[tuple[StageLocation, Shapes], ...]
    head: int = field(default=1, compare=False)
    lines: tuple[int, ...] = field(default=(), compare=False)

    def each(self) -> Mapping[StageLocation, Shapes]:
        """Every stage on its own."""
        return dict(unfold_locations(self.stages))

    def line(self, place: StageLocation) -> int:
        """The line that tells of a stage."""
        for (where, _), number in zip(self.stages, self.lines, strict=False):
            if any(place == one for one, _ in unfold_locations([(where, None)])):
                return number
        return self.head


def lock_template(target: str, template: StageTree, making: TemplateInputs) -> LockedTemplate:
    """What is kept of a template."""
    return LockedTemplate(
        target, making, tuple(fold_locations((place, shapes) for place, shapes, _ in _stages(template.stages)))
    )


def sources(template: StageTree, known: Mapping[str, str]) -> Mapping[StageLocation, Frame]:
    """Where each stage is written, or else what is around it: in a file of `known`, by the names that they have there.

    A stage of an installed package is none that the user can change.
    """
    return {place: frame for place, _, frame in _stages(template.stages, known) if frame is not None}


def merge_locks(kept: Iterable[LockedTemplate], new: Iterable[LockedTemplate]) -> tuple[LockedTemplate, ...]:
    """What was kept, with the new ones in place of those of the same targets."""
    by_target = {each.target: each for each in (*kept, *new)}
    return tuple(by_target[target] for target in sorted(by_target))


def _stages(
    stages: Iterable[Stage], known: Mapping[str, str] | None = None, above: Frame | None = None
) -> Iterator[tuple[StageLocation, Shapes, Frame | None]]:
    for stage in stages:
        own = stage.source
        frame = above
        if own is not None and known is not None and own.path in known:
            frame = Frame(known[own.path], own.line, own.function)
        yield StageLocation(stage.path, stage.call + 1, stage.call + 1), _shapes(stage), frame
        yield from _stages(stage.children, known, frame)


def _shapes(stage: Stage) -> Shapes:
    return Shapes(
        type=stage.type,
        under=stage.under,
        input={name: _plain(value) for name, value in format_stage.arguments(stage)},
        state={name: _plain(value) for name, value in stage.state if any(arrays_in(value))},
        output=_plain(stage.output),
        params=stage.params,
        bytes=stage.param_bytes,
    )


def _plain(value: Value) -> object:
    """As JSON has it, without the numbers that are no shapes: a rate may change."""
    return format_value.plain(value, _kind_or_text)


def _kind_or_text(value: Value) -> str:
    return format_value.kind(value) if isinstance(value, OtherValue) else format_value.text(value)
