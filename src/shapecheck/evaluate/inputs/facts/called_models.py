"""Models that functions are given without a word: `generate(model, prompt)`, which calls `model(token, cache)`."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable

from shapecheck.evaluate.framework_protocol import model_classes
from shapecheck.evaluate.inputs.facts.handed_parts import function_parts
from shapecheck.evaluate.inputs.facts.source_reads import note_module_read
from shapecheck.model.parameter_parts import Part


def called_models(function: Callable[..., object], parameter: str) -> list[type]:
    """The only class of models of a function's file that can be called as the function calls a parameter."""
    found = function_parts(function)
    module = sys.modules.get(str(getattr(function, "__module__", "")))
    if found is None or module is None:
        return []
    calls = [
        node
        for node in ast.walk(found.tree)
        if isinstance(node, ast.Call) and found.own.part(node.func) == Part(parameter)
    ]
    if not calls:
        return []
    note_module_read(module.__name__)
    classes = [
        each
        for each in list(vars(module).values())
        if isinstance(each, type) and issubclass(each, model_classes()) and each.__module__ == module.__name__
    ]
    fitting = [each for each in classes if all(_takes(each, call) for call in calls)]
    return fitting if len(fitting) == 1 else []


def _takes(cls: type, call: ast.Call) -> bool:
    """Whether instances of a class can be called so; with starred arguments nobody knows."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return False
    try:
        signature = inspect.signature(cls.__call__)
        signature.bind(None, *call.args, **{str(each.arg): None for each in call.keywords})
    except (TypeError, ValueError, AttributeError):
        return False
    return True
