"""The plain type that a docstring gives a parameter: `white_bkgd: bool.`, `n (int): how many`."""

from __future__ import annotations

import re
from typing import Final

_TYPES: Final = {
    "bool": "bool",
    "boolean": "bool",
    "float": "float",
    "int": "int",
    "integer": "int",
    "str": "str",
    "string": "str",
}
MAY_SAY_TYPE = re.compile(rf"\b(?:{'|'.join(_TYPES)})\b", re.IGNORECASE)
_TYPE = rf"`?(?P<{{}}>{'|'.join(_TYPES)})`?"
_FORMS = re.compile(
    # Behind a plain word comes something else, or nothing: in `float array` it is the array's.
    rf"[ \t]*(?:\([ \t]*{_TYPE.format('inside')}[ \t]*(?:,[^()\n]*)?\)"
    rf"|:?[ \t]*(?:an?[ \t]+)?{_TYPE.format('alone')}[ \t]*(?:[.,;:\n]|$))",
    re.IGNORECASE,
)


def type_of(description: str) -> str:
    """The name of the plain type that a description of a parameter begins with, behind its name; "" for none."""
    found = _FORMS.match(description)
    return _TYPES[(found["inside"] or found["alone"]).lower()] if found is not None else ""
