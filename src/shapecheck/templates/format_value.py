"""Values as text: `f32[batch,seq,48]`, inside the structure of their pytree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from shapecheck.model import SHORT_DTYPES, ArrayValue, OtherValue, TreeValue, Value

_LONG = {short: full for full, short in SHORT_DTYPES.items()}
_ARRAY = re.compile(r"(?:(f|bf|i|u|c)(\d\w*)|(bool|key<\w+>))\[(.*)\]\Z", re.DOTALL)
_INDENT = "  "
_NONE = "NoneType"


def text(value: Value) -> str:
    """One line."""
    if not isinstance(value, TreeValue):
        return str(value) if isinstance(value, ArrayValue) else value.number or kind(value)
    opening, closing = _brackets(value)
    inner = ", ".join(f"{name}{text(part)}" for name, part in zip(_names(value), value.children, strict=True))
    return f"{opening}{inner}{',' if opening == '(' and len(value.children) == 1 else ''}{closing}"


def kind(value: OtherValue) -> str:
    """What a value is that is no array: its type; of None itself."""
    return "None" if value.type == _NONE else value.type


def brief(value: Value, width: int = 72) -> str:
    """One line, in which parts have only their names and classes if it were wider than `width` otherwise."""
    line = text(value)
    if not isinstance(value, TreeValue) or len(line) <= width:
        return line
    line = text(replace(value, children=tuple(map(_elide, value.children))))
    return line if len(line) <= width else text(_elide(value))


def pretty(value: Value, width: int = 88) -> str:
    """One line if that is not wider than `width`, else a line for each part, and so on inside of these."""
    line = text(value)
    if not isinstance(value, TreeValue) or len(line) <= width or not value.children:
        return line
    opening, closing = _brackets(value)
    lines = [opening]
    for name, part in zip(_names(value), value.children, strict=True):
        lines.append(indent(f"{name}{pretty(part, width - len(_INDENT) - len(name) - 1)},"))
    return "\n".join([*lines, closing])


def indent(lines: str, depth: int = 1) -> str:
    """The lines, further to the right."""
    return "\n".join(_INDENT * depth + line for line in lines.split("\n"))


def plain(value: Value, leaf: Callable[[Value], str] | None = None) -> object:
    """The structure itself, with arrays as text, for JSON; `leaf` gives another text than `text` does."""
    if isinstance(value, TreeValue):
        inner = [plain(part, leaf) for part in value.children]
        return inner if value.kind in ("tuple", "list") else dict(zip(value.keys, inner, strict=True))
    return (leaf or text)(value)


def of_plain(found: object) -> Value:
    """The value of which `plain` makes this; where several do, lists rather than tuples, dicts rather than classes.

    Raises ValueError for what `plain` never makes.
    """
    if isinstance(found, list):
        return TreeValue("list", "list", tuple(map(str, range(len(found)))), tuple(map(of_plain, found)))
    if isinstance(found, dict):
        return TreeValue("dict", "dict", tuple(found), tuple(map(of_plain, found.values())))
    if not isinstance(found, str):
        raise ValueError(f"{found!r} is no shape")
    match = _ARRAY.match(found)
    if match is not None:
        kind, bits, other, dims = match.groups()
        return ArrayValue(other or _LONG[kind] + bits, tuple(_dims(dims)) if dims else ())
    return OtherValue(*_number(found))


def _brackets(value: TreeValue) -> tuple[str, str]:
    if value.kind in ("tuple", "list"):
        return ("(", ")") if value.kind == "tuple" else ("[", "]")
    return ("{", "}") if value.kind == "dict" else (f"{value.type}(", ")")


def _elide(value: Value) -> Value:
    return OtherValue("...".join(_brackets(value))) if isinstance(value, TreeValue) else value


def _names(value: TreeValue) -> Sequence[str]:
    """What stands in front of each part."""
    return [""] * len(value.children) if value.kind in ("tuple", "list") else [f"{key}=" for key in value.keys]


def _dims(found: str) -> Iterator[str]:
    """The dims between the commas, of which those inside of `mod(a, b)` part none."""
    start = depth = 0
    for index, char in enumerate(found):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            yield found[start:index]
            start = index + 1
    yield found[start:]


def _number(found: str) -> tuple[str, str]:
    """The name of a type and the text of a number of it, "" if there is none."""
    if found in ("True", "False"):
        return "bool", found
    for kind in (int, float, complex):
        try:
            kind(found)
        except ValueError:
            continue
        return kind.__name__, found
    return _NONE if found == "None" else found, ""
