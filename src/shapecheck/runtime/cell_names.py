"""What the names in a cell's text stand for before it runs, as statements that would make them so.

A cell finds its imports and its type aliases in the notebook, wherever they came from. Nothing is asked of values but
what they are: no code of theirs runs.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping
from typing import Any

_NAME = re.compile(r"[^\W\d]\w*")
_JAXTYPING = "jaxtyping"
_LONGEST = 500  # characters of a text that may be an annotation


def context_statements(text: str, mentioned: frozenset[str], variables: Mapping[str, object]) -> str:
    """The statements. Plain variables are stated only where the code has `mentioned` them: the others are left over."""
    lines: list[str] = []
    used: set[str] = set()
    for name in sorted({*_NAME.findall(text)} & variables.keys()):
        line = _import_statement(name, variables[name]) or _alias(name, variables[name], used)
        if not line and name in mentioned and not _has_own_name(variables[name]):
            line = f"{name} = {_plain(variables[name])}"
        lines += [line] if line else []
    first = [f"from {_JAXTYPING} import {', '.join(sorted(used))}"] if used else []
    return "\n".join([*first, *lines])


def _import_statement(name: str, value: Any) -> str:
    """The import of a module, or of something that a module calls by a name; "" if it is none."""
    if type(value) is types.ModuleType:
        return f"import {value.__name__} as {name}" if _is_dotted(value.__name__) else ""
    module = value.__module__ if _has_own_name(value) else ""
    return f"from {module} import {value.__name__} as {name}" if _is_dotted(module) and module != "__main__" else ""


def _has_own_name(value: object) -> bool:
    """Whether a value is a function or a class, or a word of typing."""
    if typing.get_origin(value) is not None:
        return False
    if isinstance(value, (type, types.FunctionType)) or type(value).__module__ == "typing":
        return str(getattr(value, "__name__", "")).isidentifier()
    return False


def _alias(name: str, value: object, used: set[str]) -> str:
    """The assignment of a type with shapes in it; `used` gets what has to be imported for it."""
    found: set[str] = set()
    annotation = _annotation(value, found)
    used |= found
    return f"{name} = {annotation}" if found else ""


def _plain(value: object) -> str:
    """An integer or a text as it is written."""
    return repr(value) if type(value) in (int, str) and len(str(value)) <= _LONGEST else "..."


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _annotation(value: object, used: set[str]) -> str:
    """A type as it is written."""
    if isinstance(value, type) and value.__module__ == _JAXTYPING:
        return _of_jaxtyping(value, used)
    origin = typing.get_origin(value)
    arguments = [_annotation(each, used) for each in typing.get_args(value)]
    if origin is typing.Union or isinstance(value, types.UnionType):
        return " | ".join(arguments)
    if origin is typing.Annotated:
        return arguments[0]
    if origin is not None and arguments:
        return f"{_type_name(origin)}[{', '.join(arguments)}]"
    return "..." if value is Ellipsis else "None" if value is type(None) else _type_name(value)


def _type_name(value: object) -> str:
    name = value.__name__.rpartition(".")[2] if isinstance(value, type) else ""
    return name if name.isidentifier() else "object"


def _of_jaxtyping(value: Any, used: set[str]) -> str:
    """`Float[Array, "b s"]`, `PyTree[Float[Array, "b"], "T"]`, or the name of such a class alone."""
    first: str = value.__name__.partition("[")[0]
    if not first.isidentifier():
        return "object"
    used.add(first)
    if isinstance(dims := getattr(value, "dim_str", None), str):
        return f"{first}[{_type_name(value.array_type)}, {dims!r}]"
    if "[" in value.__name__ and hasattr(value, "leaftype"):
        structure = getattr(value, "structure", None)
        suffix = f", {structure!r}" if isinstance(structure, str) else ""
        return f"{first}[{_annotation(value.leaftype, used)}{suffix}]"
    return first
