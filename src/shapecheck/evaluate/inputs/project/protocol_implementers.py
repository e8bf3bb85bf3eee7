"""Classes that are what a Protocol asks for without deriving from it: they have all of its members."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType

from shapecheck.evaluate.inputs.facts.runtime_annotations import own_annotations
from shapecheck.evaluate.inputs.facts.source_reads import note_module_read


def protocol_implementers(protocol: type, modules: Iterable[ModuleType]) -> Iterator[type]:
    """Those that the modules define; none for what asks for special methods alone, as a Protocol of callables does."""
    wanted = {name for each in protocol.__mro__ if getattr(each, "_is_protocol", False) for name in _members(each)}
    if not any(not name.startswith("_") for name in wanted):
        return
    for module in modules:
        note_module_read(module.__name__)
        for value in list(vars(module).values()):
            if not isinstance(value, type) or value.__module__ != module.__name__:
                continue
            if not getattr(value, "_is_protocol", False) and wanted <= {n for c in value.__mro__ for n in _members(c)}:
                yield value


def _members(cls: type) -> set[str]:
    """The attributes, methods and annotated fields of a class itself, but those that every class has."""
    every = vars(_Empty).keys() | {"__abstractmethods__", "__parameters__", "__orig_bases__", "__annotate__"}
    names = {*vars(cls), *own_annotations(cls)} - every
    return {
        name for name in names if not name.startswith(("_abc_", "_is_", "__protocol", "__non_callable", "__static"))
    }


class _Empty:
    __slots__ = ("__dict__", "__weakref__")
    __annotations__: dict[str, object] = {}

    def __init__(self) -> None: ...
