"""The source of a function or class, as far as there is any."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shapecheck.evaluate.inputs.facts.source_reads import note_read
from shapecheck.evaluate.parse_python import parse_python, source_lines


@dataclass(frozen=True)
class DefiningSource:
    """The statement that defines it, whose lines count from 1, and the line of the file that is the first of them."""

    tree: ast.stmt
    first_line: int


def defining_source(value: Any) -> DefiningSource | None:
    """The source of a function or class; None where there is none, or none that is Python by itself."""
    try:
        note_read(value)
        lines, first = source_lines(value)
        return DefiningSource(parse_python(textwrap.dedent("".join(lines))).body[0], first)
    except (OSError, TypeError, SyntaxError, ValueError, IndexError, AttributeError):  # of what stands for its module
        return None


def owner_of(function: Callable[..., object] | None) -> type | None:
    """The class in whose body a method stands; None for a function, or one that stands in another."""
    names = str(getattr(function, "__qualname__", "")).split(".")[:-1]
    owner: object = sys.modules.get(str(getattr(function, "__module__", "")))
    for name in names:
        owner = inspect.getattr_static(owner, name, None)
    return owner if names and isinstance(owner, type) else None
