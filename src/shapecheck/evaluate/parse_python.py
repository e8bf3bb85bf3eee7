"""Python's parser in a process in which the user's threads run, and whatever is collected as garbage."""

from __future__ import annotations

import ast
import inspect
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

_T = TypeVar("_T")

# Python parses in one thread at a time only: where JAX, called as garbage is collected, lets another thread go on
# meanwhile, a SystemError says that the depths of their recursion differ. So it may where a finaliser runs in between.
_parsing: Final = threading.Lock()
_TRIES: Final = 3


def parse_python(text: str | bytes, filename: str = "<unknown>") -> ast.Module:
    """The tree of a module. Raises SyntaxError, or ValueError of a null byte, as `ast.parse` does."""
    return _alone(lambda: ast.parse(text, filename))


def source_lines(value: Any) -> tuple[list[str], int]:
    """The lines of a function or class, and the number of the first, for which Python parses the file of a class.

    Raises OSError, TypeError or SyntaxError, as `inspect.getsourcelines` does.
    """
    return _alone(lambda: inspect.getsourcelines(value))


def _alone(parse: Callable[[], _T]) -> _T:
    for _ in range(_TRIES):
        try:
            with _parsing:
                return parse()
        except SystemError:
            continue
    raise SyntaxError("Python's parser did not come to its end")
