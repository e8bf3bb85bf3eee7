"""What the formats say alike: where a stage lies, what goes in, numbers that people read."""

from __future__ import annotations

from collections.abc import Iterator

from shapecheck.model import ArrayValue, Stage, TreeValue, Value, arrays_in
from shapecheck.templates import format_value
from shapecheck.templates.template_tree import StageTree

_KEYS = frozenset(["key", "rng", "rngs"])  # arguments that are not shown with the others, if they are random


def place(stage: Stage) -> str:
    """The path, with the number of the call if it is not the first, and what it runs under."""
    return f"{stage.path or stage.type}{call(stage)}{''.join(f' {text}' for text in stage.under)}"


def call(stage: Stage) -> str:
    """The number of the call, if it is not the first."""
    return f" #{stage.call + 1}" if stage.call else ""


def arguments(stage: Stage) -> tuple[tuple[str, Value], ...]:
    """The arguments that hold arrays and are no random keys."""
    found = ((name, value) for name, value in stage.input if any(arrays_in(value)))
    return tuple((name, value) for name, value in found if name not in _KEYS or not _is_random(value))


def kind(stage: Stage) -> str:
    """The type; of another method than the call itself that method, `LSTM.initial_state`."""
    method = stage.callable.removeprefix(f"{stage.type}.")
    return stage.callable if method not in (stage.callable, "__call__") and "." not in method else stage.type


def inputs(stage: Stage) -> str:
    """These arguments, on one line that leaves out the parts of large ones."""
    return _line(arguments(stage))


def states(stage: Stage) -> str:
    """The arguments that are state, on one line."""
    return _line(stage.state)


def count(number: int) -> str:
    """A number of parameters: 1234567 is `1.23M`."""
    return _scale(number, 1000, ("", "k", "M", "G", "T", "P", "E"))


def size(number: int) -> str:
    """A number of bytes: `4.7 MiB`."""
    return _scale(number, 1024, (" B", " KiB", " MiB", " GiB", " TiB"))


def flops(found: Stage | StageTree) -> str:
    """The operations, "" if nobody asked for them."""
    return count(found.flops) if isinstance(found.flops, int) else found.flops or ""


def total(template: StageTree) -> str:
    """What it comes to."""
    many = "stage" if template.count == 1 else "stages"
    operations = f", {flops(template)} flops" if template.flops is not None else ""
    return f"{template.count} {many}, {count(template.params)} parameters, {size(template.param_bytes)}{operations}"


def dims(template: StageTree) -> str:
    """The free names, with their sizes if they have any: `batch, seq=7`."""
    return ", ".join(_sizes(template))


def _is_random(value: Value) -> bool:
    """Whether it is a random key, or holds nothing else: the keys of an attention are numbers."""
    if isinstance(value, TreeValue):
        return all(map(_is_random, value.children))
    return not isinstance(value, ArrayValue) or value.dtype == "uint32" or value.dtype.startswith("key<")


def _line(values: tuple[tuple[str, Value], ...]) -> str:
    if len(values) == 1:
        return format_value.brief(values[0][1])
    return ", ".join(f"{name}={format_value.brief(value)}" for name, value in values)


def _sizes(template: StageTree) -> Iterator[str]:
    for name, text in template.dims:
        yield name if name == text else f"{name}={text}"


def _scale(number: int, step: int, units: tuple[str, ...]) -> str:
    value, left = float(number), list(units)
    while round(value) >= step and len(left) > 1:  # by what is written: 999999 is no `1000k`
        value /= step
        left.pop(0)
    digits = f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
    return digits + left[0]
