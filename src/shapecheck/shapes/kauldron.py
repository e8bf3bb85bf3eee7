"""The array types of kauldron (`Float["b t"]`): jaxtyping's notation, but for what is said here.

https://github.com/google-research/kauldron: `kauldron.ktyping` has classes of its own, `kauldron.typing` makes
jaxtyping's of them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping

from shapecheck.shapes.dialects import UnsupportedSpec
from shapecheck.shapes.dtypes import DTYPES

_PACKAGE = "kauldron"
_OTHERS: Mapping[str, Mapping[str, str]] = {
    "typing": {"Array": "Shaped"},
    "ktyping": {"Array": "Shaped", "Int": "Integer", "SInt": "Int", "Fry": "Key"},
}
_COMPUTED = re.compile(r"\b(?:sum|prod)\(")  # what is made of several axes
_MOST = 8  # alternatives


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


def jaxtyping_texts(text: str) -> tuple[str, ...]:
    """A shape as jaxtyping has it; several where any of them will do. Raises `UnsupportedSpec` where it cannot say it.

    `3|4` is one size or the other, `t?` an axis or none, and `+b` one axis or more: its first one and the rest, under
    names of their own, since `*b` beside it may be none at all.
    """
    if _COMPUTED.search(text):
        raise UnsupportedSpec(f"{text!r} is written as only kauldron has it")
    choices = [list(_choices(axis)) for axis in text.split()]
    found = tuple(" ".join(axis for axis in axes if axis) for axes in itertools.product(*choices))
    if len(found) > _MOST:
        raise UnsupportedSpec(f"{text!r} has more than {_MOST} alternatives")
    return found


def _choices(axis: str) -> Iterator[str]:
    if "|" in axis and "(" not in axis and "{" not in axis:
        yield from axis.split("|")
    elif axis.endswith("?"):
        yield from (axis[:-1], "")
    elif axis[0] == "+" and axis[1:].isidentifier():
        yield f"{axis[1:]}__0 *{axis[1:]}__rest"
    else:
        yield axis
