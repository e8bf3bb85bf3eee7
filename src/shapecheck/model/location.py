"""Where something stands: in a line, in a syntax tree, in a file."""

from __future__ import annotations

import os
from dataclasses import dataclass

Point = tuple[int, int]
"""Where a syntax node begins: its line from 1, its column in UTF-8 bytes from 0."""
FunctionKey = tuple[str, int]
"""A function by its file, as messages show it, and the index of its scope there."""
SCRIPT_FOLDERS = ("examples", "example", "scripts", "tutorials", "tutorial", "notebooks", "demos", "demo")
"""Where projects keep programs that show how they are called."""


@dataclass(frozen=True)
class Span:
    """A stretch of source text for people: lines and columns count from 1, columns in characters, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class Position:
    """A syntax node as `ast` gives it: lines count from 1, columns count UTF-8 bytes from 0, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


def is_test_file(path: str) -> bool:
    """Whether a file has a name that pytest takes for one of tests."""
    name = os.path.basename(path)
    return name.startswith("test_") or name.endswith("_test.py")


def is_program(path: str) -> bool:
    """Whether a file is run rather than imported, by its name and place: of tests, an example, a notebook."""
    return is_test_file(path) or ".ipynb" in path or not {*SCRIPT_FOLDERS}.isdisjoint(path.split("/")[:-1])
