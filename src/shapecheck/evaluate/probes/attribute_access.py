"""Attributes of the user's objects, read without letting what their classes do about it reach anybody.

A property or a `__getattr__` may raise whatever it likes, as `raise RuntimeError("call setup() first")`, and `hasattr`
passes all but an AttributeError on: to the user's program, where a probe has asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from types import MemberDescriptorType
from typing import Any

from shapecheck.evaluate.own_errors import raise_own_within

UNREADABLE: Any = object()
"""What an attribute is that is not there, or cannot be read."""

_MOST = 100  # decorators around each other
_namespace_of = vars(type)["__dict__"].__get__


def read_attribute(owner: object, name: str, default: Any = UNREADABLE) -> Any:
    """An attribute, or the default if it is not there or cannot be read."""
    try:
        return getattr(owner, name, default)
    except Exception as error:  # the user's property may raise anything; a probe in it, perhaps
        raise_own_within(error)
        return default


def has_attribute(owner: object, name: str) -> bool:
    """Whether an attribute can be read."""
    return read_attribute(owner, name) is not UNREADABLE


def unwrap(function: Any) -> Any:
    """The function that decorators are around; what claims to wrap itself is left as it is."""
    inner = function
    for _ in range(_MOST):
        wrapped = read_attribute(inner, "__wrapped__")
        if wrapped is UNREADABLE:
            return inner
        inner = wrapped
    return function


def underlying_function(function: Any) -> Any:
    """The function that decorators are around, without the instance that it is bound to."""
    inner = unwrap(function)
    return read_attribute(inner, "__func__", inner)


def own_names(value: object) -> Mapping[str, object]:
    """The attributes that an object itself has; its class may hide them, or say others."""
    try:
        names = object.__getattribute__(value, "__dict__")
    except Exception:  # it has none, or the user's class stands in the way
        return _slots(value)
    return (names or _slots(value)) if type(names) is dict else {}


def _slots(value: object) -> Mapping[str, object]:
    """What stands in the slots of an object, as of a dataclass with `slots=True`."""
    found: dict[str, object] = {}
    for cls in type(value).__mro__:
        for name, member in class_names(cls).items() if "__slots__" in class_names(cls) else ():
            if type(member) is MemberDescriptorType and name not in found:
                with contextlib.suppress(AttributeError):  # one that is not set yet
                    found[name] = member.__get__(value)
    return found


def class_names(cls: type) -> Mapping[str, Any]:
    """What stands in the body of a class, whatever its metaclass says of it."""
    names: Mapping[str, Any] = _namespace_of(cls)
    return names
