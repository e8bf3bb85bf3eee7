"""What stands in a value for the type parameter of its generic class: the array of `Variable[Float[Array, "n"]]`."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from functools import cache

from shapecheck.evaluate.framework_protocol import is_holder


def held_part(cls: type, names: Sequence[str]) -> int | None:
    """Which of the parts of these names it is, in a value of the class; None where nothing says so."""
    if is_holder(cls):
        return 0 if len(names) == 1 else None
    field = _held_field(cls)
    return names.index(field) if field in names else None


@cache
def _held_field(cls: type) -> str:
    """The only field whose type is the only type parameter of a class; "" if there is none, or several."""
    parameters: dict[str, typing.TypeVar] = {}
    for base in cls.__mro__:
        for each in vars(base).get("__parameters__", ()):
            if isinstance(each, typing.TypeVar):
                parameters[each.__name__] = each
    if len(parameters) != 1:
        return ""
    (name, parameter), *_ = parameters.items()
    fields: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        fields.update(vars(base).get("__annotations__", {}))
    held = [field for field, annotation in fields.items() if annotation in (name, parameter)]
    return held[0] if len(held) == 1 else ""
