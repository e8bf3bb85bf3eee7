"""The classes of what the methods of a model call on `self`: of `self.attention = Attention(width)` it is Attention.

They are read off what its constructor (or Flax's `setup`) assigns, or else off the annotations of its fields.
"""

from __future__ import annotations

import ast
import types
import typing
from collections.abc import Iterator

from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.inputs.facts.parameter_facts import named_value
from shapecheck.evaluate.inputs.facts.runtime_annotations import annotation_of_field, own_annotations
from shapecheck.evaluate.inputs.facts.source_reads import note_read
from shapecheck.evaluate.probes.attribute_access import underlying_function
from shapecheck.model.parameter_parts import parameter_names

_CONSTRUCTORS = ("__init__", "setup")


def attribute_class(owner: type, attribute: str, *, is_element: bool = False) -> type | None:
    """The class of an attribute, or of each element of a sequence that is one; None if nobody knows, or it varies."""
    for cls in owner.__mro__:
        assigned = [_class_made(value, init, is_element) for value, init in _assignments(cls, attribute)]
        if assigned:
            return assigned[0] if len(set(assigned)) == 1 else None
        if attribute in own_annotations(cls):
            annotation = annotation_of_field(cls, attribute)
            if is_element:
                annotation = next(iter(typing.get_args(annotation)), None)
            return annotation if isinstance(annotation, type) else None
    return None


def note_constructors(owner: type) -> None:
    """Note that the source of what assigns attributes is looked at."""
    for cls in owner.__mro__:
        for constructor in _constructors(cls):
            note_read(constructor)


def _constructors(cls: type) -> Iterator[types.FunctionType]:
    for name in _CONSTRUCTORS:
        found = underlying_function(vars(cls).get(name))
        if isinstance(found, types.FunctionType):
            yield found


def _assignments(cls: type, attribute: str) -> Iterator[tuple[ast.expr, types.FunctionType]]:
    """What the constructors in the body of a class assign to an attribute, and which of them does."""
    for constructor in _constructors(cls):
        source = defining_source(constructor) if attribute in constructor.__code__.co_names else None
        self_name = next(iter(parameter_names(source.tree)), "") if source is not None else ""
        for node in ast.walk(source.tree) if source is not None else ():
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            value = getattr(node, "value", None)
            if isinstance(value, ast.expr) and f"{self_name}.{attribute}" in map(_text, targets):
                yield value, constructor


def _text(node: object) -> str:
    return ast.unparse(node) if isinstance(node, ast.Attribute) else ""


def _class_made(value: ast.expr, constructor: types.FunctionType, is_element: bool) -> type | None:
    """The class whose instance an expression makes, or of which it makes a sequence: all its elements of that one."""
    if is_element:
        if isinstance(value, ast.ListComp | ast.GeneratorExp):
            return _class_made(value.elt, constructor, is_element=False)
        if (
            isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords
        ):  # tuple(...), nn.Sequential(...)
            return _class_made(value.args[0], constructor, is_element=True)
        elements = value.elts if isinstance(value, ast.List | ast.Tuple) else ()
        classes = {_class_made(each, constructor, is_element=False) for each in elements}
        return classes.pop() if len(classes) == 1 else None
    called = value.func if isinstance(value, ast.Call) else None
    found = named_value(called, constructor.__globals__) if called is not None else None
    return found if isinstance(found, type) else None
