"""The array types of kauldron (`Float["b t"]`): jaxtyping's notation, but for what is said here.

https://github.com/google-research/kauldron: `kauldron.ktyping` has classes of its own, `kauldron.typing` makes
jaxtyping's of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from shapecheck.shapes.dialects import UnsupportedSpec
from shapecheck.shapes.dtypes import DTYPES

_PACKAGE = "kauldron"
_OTHERS: Mapping[str, Mapping[str, str]] = {
    "typing": {"Array": "Shaped"},
    "ktyping": {"Array": "Shaped", "Int": "Integer", "SInt": "Int", "Fry": "Key"},
}
# At least one axis (`+b`), perhaps an axis (`b?`), one of several (`3|4`), and what is made of several axes.
_OWN = re.compile(r"(?:^|\s)\+|\?(?:\s|$)|\||\b(?:sum|prod)\(")


def is_kauldron(module: str) -> bool:
    """Whether a module's classes are kauldron's: `kauldron.ktyping`, `kauldron.kd.typing`, and what lies below."""
    first, *rest = module.split(".")
    return first == _PACKAGE and bool({*rest} & _OTHERS.keys())


def jaxtyping_class(module: str, name: str) -> str | None:
    """What jaxtyping calls a class of one of kauldron's modules: `Integer` for ktyping's `Int`. None if nothing."""
    others = _OTHERS["ktyping" if "ktyping" in module.split(".") else "typing"]
    plain = name[1:] if name[:1] == "X" else name  # those of all frameworks
    found = others.get(plain, plain)
    return found if found in DTYPES else None


def jaxtyping_text(text: str) -> str:
    """A shape as jaxtyping has it. Raises `UnsupportedSpec` where only kauldron can say it."""
    if _OWN.search(text):
        raise UnsupportedSpec(f"{text!r} is written as only kauldron has it")
    return text
