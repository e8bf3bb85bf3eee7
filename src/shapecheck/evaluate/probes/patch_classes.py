"""Classes of the user's and of frameworks, changed for the time of an evaluation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


def subclasses(base: type) -> Iterator[type]:
    """A class and all that inherit from it, each once."""
    todo, seen = [base], set()
    while todo:
        cls = todo.pop()
        if cls not in seen:
            seen.add(cls)
            todo += type.__subclasses__(cls)
            yield cls


@contextlib.contextmanager
def patch_attribute(cls: type, name: str, value: Any) -> Iterator[None]:
    """Meanwhile a class has another attribute in place of its own. Metaclasses that would wrap it are not asked."""
    before = vars(cls)[name]
    type.__setattr__(cls, name, value)
    try:
        yield
    finally:
        type.__setattr__(cls, name, before)
