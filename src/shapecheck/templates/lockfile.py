"""`shapes.lock`: what is kept of templates, as TOML with a line for each stage, so that merges go by stages."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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


VERSION = 1
_HEAD = f"""\
# The shapes of models, as `shapecheck template --write-lock` found them. `shapecheck check` tells what has changed.
# Not to be edited by hand; of a merge conflict take either side, then run `shapecheck template --write-lock`.
version = {VERSION}
"""
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_MARKER = re.compile(r"(<{7}|\|{7}|={7}|>{7})( |$)")
_CALLS = re.compile(r"(\d+)(?:\.\.(\d+))?\Z")


class LockError(Exception):
    """The text is no lock that we can read; the message has the line, the reason and the remedy."""


def dump(templates: Iterable[LockedTemplate]) -> str:
    """The text of templates. Raises LockError for names that TOML cannot hold."""
    text = "".join([_HEAD, *(line for each in templates for line in _template(each))])
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise LockError(f"a lock is UTF-8, and cannot hold {text[error.start : error.end]!r}") from None
    return text


def parse(text: str, name: str) -> tuple[LockedTemplate, ...]:
    """The templates of a text, which messages call `name`; raises LockError."""
    lines = text.replace("\r\n", "\n").split("\n")  # not at the other ends of lines that strings may hold
    marker = next((number for number, line in enumerate(lines, 1) if _MARKER.match(line)), None)
    if marker is not None:
        remedy = "take either side of each, then run `shapecheck template --write-lock`, which evaluates anew"
        raise LockError(f"{name}:{marker}: a merge conflict is not resolved: {remedy}")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LockError(f"{name}: is not valid TOML: {error}; restore it, or delete it and write it anew") from None
    version = document.pop("version", None)
    if isinstance(version, int) and version > VERSION:
        raise LockError(f"{name}: a newer shapecheck wrote it (version {version}, this one reads {VERSION}): upgrade")
    if version != VERSION:
        raise LockError(f"{name}: is no lock of shapecheck: it needs `version = {VERSION}`")
    places = _places(lines)
    found = []
    for target, table in document.items():
        head, stages = places.get(target, (1, []))
        try:
            found.append(_read_target(target, table, head, stages))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            remedy = f"delete this part, and run `shapecheck template {target} --write-lock`"
            raise LockError(f"{name}:{head}: {target}: is damaged ({error}): {remedy}") from None
    return tuple(found)


def _template(each: LockedTemplate) -> Iterator[str]:
    yield f"\n[{_text(each.target)}]\n"
    for key, texts in (("init", each.making.init), ("args", each.making.args)):
        if texts:
            yield f"{key} = {_value(texts)}\n"
    for key, sizes in (("made_up", each.making.integers), ("dims", each.making.dims)):
        if sizes:
            yield f"{key} = {_value(dict(sorted(sizes.items())))}\n"
    yield "stages = [\n"
    for place, shapes in each.stages:
        yield f"  {_value(_line(place, shapes))},\n"
    yield "]\n"


def _line(place: StageLocation, shapes: Shapes) -> Mapping[str, object]:
    calls = f"{place.first}" if place.first == place.last else f"{place.first}..{place.last}"
    return {
        "path": place.path,
        **({"calls": calls} if place.last > 1 else {}),
        "type": shapes.type,
        **({"under": shapes.under} if shapes.under else {}),
        **({"input": shapes.input} if shapes.input else {}),
        **({"state": shapes.state} if shapes.state else {}),
        "output": shapes.output,
        **({"params": shapes.params, "bytes": shapes.bytes} if shapes.params or shapes.bytes else {}),
    }


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {_value(part)}" for key, part in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)


def _key(text: str) -> str:
    return text if _BARE.match(text) else _text(text)


def _text(text: str) -> str:
    """As a basic string, which is one of JSON but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _read_target(target: str, table: Mapping[str, Any], head: int, lines: Sequence[int]) -> LockedTemplate:
    sizes = [{str(k): int(v) for k, v in table.get(key, {}).items()} for key in ("made_up", "dims")]
    making = TemplateInputs(tuple(map(str, table.get("init", ()))), tuple(map(str, table.get("args", ()))), *sizes)
    stages = tuple(_stage(stage) for stage in table["stages"])
    return LockedTemplate(target, making, stages, head, tuple(lines) if len(lines) == len(stages) else ())


def _stage(stage: Mapping[str, Any]) -> tuple[StageLocation, Shapes]:
    calls = _CALLS.match(stage.get("calls", "1"))
    if calls is None:
        raise ValueError(f"calls = {stage['calls']!r}")
    shapes = Shapes(
        type=stage["type"],
        under=tuple(stage.get("under", ())),
        input=dict(stage.get("input", {})),
        state=dict(stage.get("state", {})),
        output=stage["output"],
        params=int(stage.get("params", 0)),
        bytes=int(stage.get("bytes", 0)),
    )
    return StageLocation(stage["path"], int(calls[1]), int(calls[2] or calls[1])), shapes


def _places(lines: Sequence[str]) -> Mapping[str, tuple[int, list[int]]]:
    """The line of each target's head, and those of its stages, where they stand as we write them."""
    found: dict[str, tuple[int, list[int]]] = {}
    stages: list[int] = []
    for number, line in enumerate(lines, 1):
        if line.startswith("["):
            stages = []
            try:
                found[next(iter(tomllib.loads(line)))] = number, stages
            except tomllib.TOMLDecodeError:  # written by hand, over several lines
                continue
        elif line.lstrip().startswith("{ path = "):
            stages.append(number)
    return found
