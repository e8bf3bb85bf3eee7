"""What other functions of a file say of a parameter of the same name: `graph` is a `Graph` wherever it has a type."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Iterator

from shapecheck.evaluate.inputs.facts.runtime_annotations import (
    annotation_of,
    holds_plain_array,
    is_array_type,
    own_annotations,
)
from shapecheck.evaluate.inputs.facts.source_reads import note_module_read, note_read


def namesake_annotations(function: Callable[..., object], parameter: str) -> list[object]:
    """The class that all of them give it, if they agree. Arrays are none: each function wants another shape."""
    module = sys.modules.get(str(getattr(function, "__module__", "")))
    if module is None:
        return []
    note_module_read(module)
    return _only_class(functions_of(module), parameter)


def annotations_of_derived(cls: type, parameter: str) -> list[object]:
    """What the methods of the most derived class say of a parameter, of which a base knows an abstract type alone."""
    for each in cls.__mro__:
        note_read(each)
        if found := _only_class(_methods(each), parameter):
            return found
    return []


def _only_class(functions: Iterable[types.FunctionType], parameter: str) -> list[object]:
    """The class that all of them give a parameter, if they agree."""
    found: list[object] = []
    for each in functions:
        if parameter in own_annotations(each):
            annotation = annotation_of(each, parameter, own_annotations(each)[parameter])
            if annotation not in found:
                found.append(annotation)
    single = found[0] if len(found) == 1 else None
    is_class = isinstance(single, type) and single.__module__ != "builtins"
    return [single] if is_class and not (is_array_type(single) or holds_plain_array(single)) else []


def functions_of(module: types.ModuleType) -> Iterator[types.FunctionType]:
    """The functions of a module, and those of its classes."""
    for value in list(vars(module).values()):
        if isinstance(value, types.FunctionType) and value.__module__ == module.__name__:
            yield value
        elif isinstance(value, type) and value.__module__ == module.__name__:
            yield from _methods(value)


def _methods(cls: type) -> Iterator[types.FunctionType]:
    return (each for each in vars(cls).values() if isinstance(each, types.FunctionType))
