"""The records that functions are given without a word: `loss(pred, batch)`, which reads `pred.boxes`."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

from shapecheck.evaluate.framework_protocol import deferred_classes, model_classes
from shapecheck.evaluate.inputs.facts.attribute_reads import attribute_reads
from shapecheck.evaluate.inputs.facts.namesakes import words
from shapecheck.evaluate.inputs.facts.runtime_annotations import own_annotations
from shapecheck.evaluate.inputs.facts.source_reads import note_module_read

_LEAST_READS = 2  # attributes that tell a record of another module from the rest


def record_classes(function: Callable[..., object], parameter: str) -> list[type]:
    """The class among the variables of a function's file that has all that the code reads off a parameter.

    Of several, the one that the parameter is named after; none if that does not tell.
    """
    reads = attribute_reads(function, parameter)
    module = sys.modules.get(str(getattr(function, "__module__", "")))
    if not reads or module is None:
        return []
    note_module_read(module)
    home = module.__name__.partition(".")[0]
    fitting = [each for each in _records_of(module, home) if _has(each, set(reads))]
    if not fitting and len(reads) >= _LEAST_READS:
        fitting = list(_records_elsewhere(module, home, set(reads)))
    if len(fitting) > 1:
        fitting = [each for each in fitting if words(each.__name__)[-1:] == words(parameter)[-1:]]
    return fitting if len(fitting) == 1 else []


def _records_of(module: ModuleType, home: str) -> list[type]:
    """The records of a package that a module of it has among its variables."""
    records = {
        id(each): each
        for each in list(vars(module).values())
        if isinstance(each, type) and str(each.__module__).partition(".")[0] == home and _is_record(each)
    }
    return list(records.values())


def _records_elsewhere(module: ModuleType, home: str, reads: set[str]) -> Iterator[type]:
    """The records that other modules of a package define and that have all that is read, two fields at least."""
    for name, other in list(sys.modules.items()):
        if other is module or name.partition(".")[0] != home or not isinstance(other, ModuleType):
            continue
        for cls in _records_of(other, home):
            if cls.__module__ == name:
                note_module_read(other)
                if _has(cls, reads) and len(reads & {*_fields(cls)}) >= _LEAST_READS:
                    yield cls


def _is_record(cls: type) -> bool:
    """Whether instances are made of their fields: a NamedTuple, a dataclass, no model whose variables come later."""
    if issubclass(cls, deferred_classes()) or (dataclasses.is_dataclass(cls) and issubclass(cls, model_classes())):
        return False
    return dataclasses.is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def _has(cls: type, names: set[str]) -> bool:
    """Whether instances have all these attributes, and one of them at least is a field."""
    fields = {*_fields(cls)}
    return bool(names & fields) and all(name in fields or hasattr(cls, name) for name in names)


def _fields(cls: type) -> Iterator[str]:
    for each in cls.__mro__:
        yield from own_annotations(each)
    yield from getattr(cls, "_fields", ())
