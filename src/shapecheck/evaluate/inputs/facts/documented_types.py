"""The type that a docstring gives a parameter without an annotation: `white_bkgd: bool.`, `n (int): how many`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

_TYPES: Final[Mapping[str, type]] = {
    "bool": bool,
    "boolean": bool,
    "float": float,
    "int": int,
    "integer": int,
    "str": str,
    "string": str,
}
_WORD = rf"`?(?P<type>{'|'.join(_TYPES)})`?"
_FORMS = (
    r"^[ \t]*(?:[-*][ \t]+)?`?{name}`?[ \t]*\([ \t]*{word}[ \t]*(?:,[^()\n]*)?\)",
    # Behind a plain word comes something else, or nothing: in `float array` it is the array's.
    r"^[ \t]*(?:[-*][ \t]+)?`?{name}`?[ \t]*:[ \t]*(?:an?[ \t]+)?{word}[ \t]*(?:[.,;:]|$)",
    r"^[ \t]*:param[ \t]+{word}[ \t]+{name}[ \t]*:",
    r"^[ \t]*:type[ \t]+{name}[ \t]*:[ \t]*{word}[ \t]*$",
)


def documented_type(function: Callable[..., object], parameter: str) -> type | None:
    """The plain type that the docstring gives a parameter, in Google's, NumPy's or Sphinx's style; None for none."""
    text = inspect.unwrap(function).__doc__ if callable(function) else None
    if isinstance(function, type):
        own = inspect.getattr_static(function, "__init__").__doc__
        text = f"{text or ''}\n{own or ''}"
    return _type_in(text, parameter) if isinstance(text, str) and parameter in text else None


@lru_cache(maxsize=1024)
def _type_in(text: str, parameter: str) -> type | None:
    for form in _FORMS:
        found = re.search(form.format(name=re.escape(parameter), word=_WORD), text, re.MULTILINE | re.IGNORECASE)
        if found is not None:
            return _TYPES[found["type"].lower()]
    return None
