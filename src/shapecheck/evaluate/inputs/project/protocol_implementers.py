"""Classes that are what a Protocol asks for without deriving from it: they have all of its members."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType

from shapecheck.evaluate.inputs.facts.runtime_annotations import own_annotations
from shapecheck.evaluate.inputs.facts.source_reads import note_module_read


def protocol_implementers(protocol: type, modules: Iterable[ModuleType]) -> Iterator[type]:
    """Those that the modules define; none for what asks for nothing but calls."""
    wanted = {name for each in protocol.__mro__ if getattr(each, "_is_protocol", False) for name in _members(each)}
    if not wanted - {"__call__"}:
        return
    for module in modules:
        note_module_read(module.__name__)
        for value in list(vars(module).values()):
            if not isinstance(value, type) or value.__module__ != module.__name__:
                continue
            if not getattr(value, "_is_protocol", False) and wanted <= {n for c in value.__mro__ for n in _members(c)}:
                yield value


def _members(cls: type) -> set[str]:
    """The attributes, methods and annotated fields that a class itself has for others; Python's own do not count."""
    return {name for name in {*vars(cls), *own_annotations(cls)} if not name.startswith("_") or name == "__call__"}
