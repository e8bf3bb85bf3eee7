"""What a stage calls, with its fields: `GRUCell(weight_ih=f32[150,8], hidden_size=50, use_bias=True)`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from enum import Enum

from shapecheck.evaluate.framework_protocol import has_identity, hidden_fields
from shapecheck.evaluate.probes.describe_value import array_text, is_array

_LONGEST = 600  # letters of all
_LONGEST_FIELD = 80
_MOST_ITEMS = 3  # of a list
_DEEPEST = 2  # modules in modules
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def callable_text(part: object, name: str) -> str:
    """A method of a module, called `name`, with the module's fields; of what has none the name as it is."""
    cls, _, method = name.rpartition(".")
    if isinstance(part, type) or not cls or cls.rpartition(".")[2] != type(part).__name__ or not _has_fields(part):
        return name
    text = _module(part, cls, _DEEPEST)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...)"
    return text if method == "__call__" else f"{text}.{method}"


def _has_fields(value: object) -> bool:
    return not isinstance(value, type) and (dataclasses.is_dataclass(value) or has_identity(value))


def _module(value: object, name: str, depth: int) -> str:
    if not depth:
        return f"{name}(...)"
    return f"{name}({', '.join(f'{field}={_field(each, depth - 1)}' for field, each in _fields(value))})"


def _fields(value: object) -> Iterator[tuple[str, object]]:
    """Those that a dataclass has and shows, or public attributes; read without running code of others."""
    own: Mapping[str, object] = getattr(value, "__dict__", {})
    names = [each.name for each in dataclasses.fields(value) if each.repr] if dataclasses.is_dataclass(value) else own
    hidden = hidden_fields()
    for name in names:
        if name in own and not name.startswith("_") and name not in hidden:
            yield name, own[name]


def _field(value: object, depth: int) -> str:
    if is_array(value):
        return array_text(value)
    if has_identity(value) and hasattr(value, "shape") and hasattr(value, "dtype"):  # a variable of a framework
        return array_text(value)
    if _has_fields(value):
        return _module(value, type(value).__name__, depth)
    if isinstance(value, (list, tuple)):
        return _items(value, depth)
    if isinstance(value, dict):
        return f"dict of {len(value)}"
    if isinstance(value, type) or (callable(value) and not isinstance(value, Enum)):
        return str(getattr(value, "__name__", type(value).__name__))
    text = _ADDRESS.sub("", repr(value)) if isinstance(value, (int, float, complex, str, Enum, type(None))) else ""
    return text if 0 < len(text) <= _LONGEST_FIELD else type(value).__name__


def _items(value: list[object] | tuple[object, ...], depth: int) -> str:
    if len(value) > _MOST_ITEMS:
        return f"{type(value).__name__} of {len(value)}"
    inside = ", ".join(_field(each, depth) for each in value)
    if isinstance(value, list):
        return f"[{inside}]"
    return f"({inside},)" if len(value) == 1 else f"({inside})"
