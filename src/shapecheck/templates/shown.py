"""Values as text: `f32[batch,seq,48]`, inside the structure of their pytree."""

from __future__ import annotations

import re
from typing import Any

from shapecheck.facts import ArrayValue, OtherValue, TreeValue, Value

_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}
_PARTS = re.compile(r"(float|bfloat|int|uint|complex)(\d\w*)\Z")


def array(value: ArrayValue) -> str:
    """`f32[8]`, as jaxprs have it."""
    found = _PARTS.match(value.dtype)
    dtype = f"{_SHORT[found.group(1)]}{found.group(2)}" if found else value.dtype
    return f"{dtype}[{','.join(value.shape)}]"


def text(value: Value) -> str:
    """One line."""
    if isinstance(value, ArrayValue):
        return array(value)
    if isinstance(value, OtherValue):
        return value.number or value.type
    inner = [text(part) for part in value.children]
    if value.kind in ("tuple", "list"):
        opening, closing = "()" if value.kind == "tuple" else "[]"
        return f"{opening}{', '.join(inner)}{',' if value.kind == 'tuple' and len(inner) == 1 else ''}{closing}"
    named = ", ".join(f"{key}={part}" for key, part in zip(value.keys, inner, strict=True))
    return f"{{{named}}}" if value.kind == "dict" else f"{value.type}({named})"


def plain(value: Value) -> Any:
    """The structure itself, with arrays as text, for JSON."""
    if isinstance(value, TreeValue):
        inner = [plain(part) for part in value.children]
        return inner if value.kind in ("tuple", "list") else dict(zip(value.keys, inner, strict=True))
    return text(value)


def holds_arrays(value: Value) -> bool:
    """Whether there is any array in it."""
    if isinstance(value, TreeValue):
        return any(map(holds_arrays, value.children))
    return isinstance(value, ArrayValue)
