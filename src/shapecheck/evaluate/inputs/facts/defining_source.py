"""The source of a function or class, as far as there is any."""

from __future__ import annotations

import ast
import inspect
import textwrap
import threading
from dataclasses import dataclass
from typing import Any

from shapecheck.evaluate.inputs.facts.source_reads import note_read

# Python parses in one thread at a time only: where JAX, called as garbage is collected, lets another thread go on
# meanwhile, a SystemError says that the depths of their recursion differ.
_parsing = threading.Lock()


@dataclass(frozen=True)
class DefiningSource:
    """The statement that defines it, whose lines count from 1, and the line of the file that is the first of them."""

    tree: ast.stmt
    first_line: int


def defining_source(value: Any) -> DefiningSource | None:
    """The source of a function or class; None where there is none, or none that is Python by itself."""
    try:
        note_read(value)
        with _parsing:
            lines, first = inspect.getsourcelines(value)  # which parses the file of a class
            return DefiningSource(ast.parse(textwrap.dedent("".join(lines))).body[0], first)
    except (OSError, TypeError, SyntaxError, ValueError, IndexError, AttributeError):  # of what stands for its module
        return None
