"""Whose source an evaluation has looked at: what it shows depends on that, whether or not it has run."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from types import CodeType, ModuleType

from shapecheck.evaluate.probes.attribute_access import underlying_function
from shapecheck.worker.messages.entry_messages import OUTSIDE_FUNCTIONS, WHOLE_FILE

_GENERATED = "<string>"  # what dataclasses compile has no file of its own: it is made of the fields of the class
_reads: ContextVar[set[tuple[str, int]] | None] = ContextVar("_reads", default=None)


@contextlib.contextmanager
def noted_reads() -> Iterator[set[tuple[str, int]]]:
    """While it is entered, it collects whose source is read: the file, and where, as `SourceRead` has it."""
    found: set[tuple[str, int]] = set()
    token = _reads.set(found)
    try:
        yield found
    finally:
        _reads.reset(token)


def note_read(value: object) -> None:
    """Note that the source or the code of a function is looked at, or that of a class: then of its whole file."""
    found = _reads.get()
    if found is None:
        return
    own = underlying_function(value)
    code = own if isinstance(own, CodeType) else getattr(own, "__code__", None)
    module = sys.modules.get(str(getattr(own, "__module__", "")))
    if not isinstance(code, CodeType):
        note_module_read(module)
    elif code.co_filename == _GENERATED:
        _note(module, OUTSIDE_FUNCTIONS)
    else:
        found.add((code.co_filename, code.co_firstlineno))


def note_module_read(module: ModuleType | None) -> None:
    """Note that the source of a module is looked at."""
    _note(module, WHOLE_FILE)


def _note(module: ModuleType | None, line: int) -> None:
    found, file = _reads.get(), getattr(module, "__file__", None)
    if found is not None and isinstance(file, str):
        found.add((file, line))
