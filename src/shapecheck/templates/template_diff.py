"""How a template differs from the one that is kept: stage by stage, what was and what is.

What was evaluated for any `batch` and is now evaluated for 68 has the same shapes, if they are the same for 68: so
numbers stand in the place of free dims first.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from shapecheck.templates.fold import StageLocation, fold_locations, is_inside
from shapecheck.templates.lockfile import LockedTemplate, Shapes

Kind = Literal["changed", "added", "removed"]
_PARAMETERS = "number of parameters"


@dataclass(frozen=True)
class StagePart:
    """One thing that a stage shows, `input x` for example, as text."""

    name: str
    was: str
    now: str


@dataclass(frozen=True, kw_only=True)
class Drift:
    """A stage, or several that differ alike. `parts` differ, the most telling first.

    One that is `added` or `removed` has its `shapes`, and counts the stages `inside` of it, which are not listed.
    """

    kind: Kind
    place: StageLocation
    type: str
    parts: tuple[StagePart, ...] = ()
    shapes: str = ""
    inside: int = 0


_Change = tuple[Kind, str, tuple[StagePart, ...], str, int]


def drift(was: LockedTemplate, now: LockedTemplate) -> list[Drift]:
    """All differences, sorted by place; what repeats itself is listed once.

    Where only one of the two had to be evaluated for some size of a free dim, that is no difference.
    """
    sizes = {**was.making.dims, **now.making.dims}
    before, after = _substitute_sizes(was, sizes).each(), _substitute_sizes(now, sizes).each()
    found: dict[StageLocation, _Change] = {}
    for place in before.keys() & after.keys():
        parts = tuple(_parts(before[place], after[place]))
        if parts:
            found[place] = "changed", after[place].type, parts, "", 0
    for place, own, inside in _alone(before, after):
        found[place] = "removed", own.type, (), _signature(own), inside
    for place, own, inside in _alone(after, before):
        found[place] = "added", own.type, (), _signature(own), inside
    explained = {above for place, change in found.items() if _changes_params(change) for above in wholes(place.path)}
    for place in [
        place for place, change in found.items() if place.path in explained and _changes_params(change, alone=True)
    ]:
        del found[place]
    return [
        Drift(kind=kind, place=at, type=own, parts=parts, shapes=text, inside=more)
        for at, (kind, own, parts, text, more) in fold_locations(found.items())
    ]


def _parts(was: Shapes, now: Shapes) -> Iterator[StagePart]:
    if was.type != now.type:
        yield StagePart("type", was.type, now.type)
    yield from _values("output", was.output, now.output)
    for kind, before, after in (("input", was.input, now.input), ("state", was.state, now.state)):
        for name in dict.fromkeys([*before, *after]):
            yield from _values(f"{kind} {name}", before.get(name), after.get(name))
    if was.under != now.under:
        yield StagePart("transformation", " ".join(was.under) or "none", " ".join(now.under) or "none")
    if (was.params, was.bytes) != (now.params, now.bytes):
        yield StagePart(_PARAMETERS, _format_parameters(was), _format_parameters(now))


def _values(name: str, was: object, now: object) -> Iterator[StagePart]:
    """The leaves that differ, where the structure is the same."""
    if was == now:
        return
    if isinstance(was, Mapping) and isinstance(now, Mapping) and was.keys() == now.keys():
        for key in was:
            yield from _values(f"{name}.{key}", was[key], now[key])
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for index, (before, after) in enumerate(zip(was, now, strict=True)):
            yield from _values(f"{name}[{index}]", before, after)
    else:
        yield StagePart(name, text(was), text(now))


def text(value: object) -> str:
    """Shapes on one line; None is what is not there."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}={text(part)}' for key, part in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(text, value))}]"
    return "none" if value is None else str(value)


def _signature(shapes: Shapes) -> str:
    given = list(shapes.input.values())
    before = text(given[0]) if len(given) == 1 else ", ".join(f"{n}={text(v)}" for n, v in shapes.input.items())
    return f"{before or '()'} -> {text(shapes.output)}"


def _format_parameters(shapes: Shapes) -> str:
    return f"{shapes.params} ({shapes.bytes} bytes)"


def _alone(
    some: Mapping[StageLocation, Shapes], others: Mapping[StageLocation, Shapes]
) -> Iterator[tuple[StageLocation, Shapes, int]]:
    """The stages that only `some` has, with how many more there are inside: those are not listed by themselves."""
    alone = [place for place in some if place not in others]
    outer = _outermost(alone)
    for place in outer:
        yield place, some[place], sum(is_inside(other.path, place.path) for other in alone if place.first == 1)


def _outermost(places: Sequence[StageLocation]) -> list[StageLocation]:
    paths = {place.path for place in places}
    return [place for place in places if not any(above in paths for above in wholes(place.path))]


def wholes(path: str) -> Iterator[str]:
    """The paths of what a part is inside of, the outermost first."""
    if path:
        yield ""
    for index, char in enumerate(path):
        if char in ".[" and index:
            yield path[:index]


def _changes_params(change: _Change, *, alone: bool = False) -> bool:
    """Whether a stage holds more or fewer parameters than before; with `alone`, whether it differs in nothing else.

    One that a part of it explains is not listed: a single layer would be listed for each of those around it.
    """
    kind, _, parts, _, _ = change
    if kind != "changed":
        return not alone
    names = {part.name for part in parts}
    return names == {_PARAMETERS} if alone else _PARAMETERS in names


_ARRAY = re.compile(r"([^\[\]]+)\[(.+)\]\Z", re.DOTALL)
_UNDER = re.compile(r"(\w+)\((.+)\)\Z", re.DOTALL)
_COMMA = re.compile(r",(?![^()]*\))")
_OPERATIONS: Final[Mapping[type, Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., int]]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
}


def _substitute_sizes(template: LockedTemplate, sizes: Mapping[str, int]) -> LockedTemplate:
    """The template with these sizes of names."""
    if not sizes:
        return template
    return replace(template, stages=tuple((place, _shapes(shapes, sizes)) for place, shapes in template.stages))


def _shapes(shapes: Shapes, sizes: Mapping[str, int]) -> Shapes:
    return replace(
        shapes,
        under=tuple(_inside(_UNDER, text, "{}({})", sizes) for text in shapes.under),
        input={name: _value(value, sizes) for name, value in shapes.input.items()},
        state={name: _value(value, sizes) for name, value in shapes.state.items()},
        output=_value(shapes.output, sizes),
    )


def _value(value: object, sizes: Mapping[str, int]) -> object:
    if isinstance(value, Mapping):
        return {key: _value(part, sizes) for key, part in value.items()}
    if isinstance(value, list):
        return [_value(part, sizes) for part in value]
    return _inside(_ARRAY, str(value), "{}[{}]", sizes)


def _inside(pattern: re.Pattern[str], text: str, form: str, sizes: Mapping[str, int]) -> str:
    found = pattern.match(text)
    if found is None:
        return text
    return form.format(found[1], ",".join(_dim(dim, sizes) for dim in _COMMA.split(found[2])))


def _dim(text: str, sizes: Mapping[str, int]) -> str:
    """The number of a dim as JAX writes it, `4*batch + floordiv(h, 2)`; the dim itself if any name of it is free."""
    try:
        return str(_evaluate(ast.parse(text.strip().replace("^", "**"), mode="eval").body, sizes))
    except (KeyError, SyntaxError, ArithmeticError, TypeError):
        return text


def _evaluate(node: ast.expr, sizes: Mapping[str, int]) -> int:
    """Raises KeyError for a name without a size, and for whatever is no expression of sizes."""
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return sizes[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATIONS[type(op)](_evaluate(left, sizes), _evaluate(right, sizes))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, sizes)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name](*(_evaluate(each, sizes) for each in args))
    raise KeyError(ast.unparse(node))
