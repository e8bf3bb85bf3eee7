"""Models that functions are given without a word: `generate(model, prompt)`, which calls `model(token, cache)`."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType

from shapecheck.evaluate.framework_protocol import deferred_classes, model_classes
from shapecheck.evaluate.inputs.facts.handed_parts import FunctionParts, function_parts
from shapecheck.evaluate.inputs.facts.source_reads import note_module_read
from shapecheck.evaluate.probes.attribute_access import unwrap
from shapecheck.model.parameter_parts import Part

_DEPTH = 3  # functions that hand it on to each other
_APPLY = "apply"  # of models that get their variables with the call: `model.apply(params, x)`
_FOR_APPLY = ("rngs", "mutable", "capture_intermediates")  # what is for it, and not for the model


def called_models(function: Callable[..., object], parameter: str, depth: int = _DEPTH) -> list[type]:
    """The only class of models of a function's file that can be called as the function calls a parameter.

    Of several, the one that is no part of another.
    """
    found = function_parts(function)
    module = sys.modules.get(str(getattr(function, "__module__", "")))
    if found is None or module is None:
        return []
    calls = [node for node in ast.walk(found.tree) if isinstance(node, ast.Call)]
    calls = [call for call in calls if _is_called(call, parameter, found)]
    if not calls:
        inner = found.receivers(Part(parameter)) if depth else ()
        return next(filter(None, (called_models(each, name, depth - 1) for each, name in inner)), [])
    note_module_read(module)
    classes = [
        each
        for each in list(vars(module).values())
        if isinstance(each, type) and issubclass(each, model_classes()) and each.__module__ == module.__name__
    ]
    fitting = [each for each in classes if all(_takes(each, call) for call in calls)]
    outer = [each for each in fitting if not any(each.__name__ in _names_of(o) for o in fitting if o is not each)]
    return outer if len(outer) == 1 else []


def _is_called(call: ast.Call, parameter: str, found: FunctionParts) -> bool:
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr == _APPLY:
        function = function.value
    return found.own.part(function) == Part(parameter)


def _takes(cls: type, call: ast.Call) -> bool:
    """Whether instances of a class can be called so; with starred arguments nobody knows."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return False
    args, names = call.args, [str(each.arg) for each in call.keywords]
    if isinstance(call.func, ast.Attribute) and call.func.attr == _APPLY:
        if not issubclass(cls, model_classes()) or issubclass(cls, deferred_classes()) or not hasattr(cls, _APPLY):
            return False
        method = next((each.value for each in call.keywords if each.arg == "method"), None)
        if method is not None:
            return _is_method(method, cls)
        args, names = args[1:], [name for name in names if name not in _FOR_APPLY]
    try:
        inspect.signature(cls.__call__).bind(None, *args, **dict.fromkeys(names))
    except (TypeError, ValueError, AttributeError):
        return False
    return True


def _is_method(method: ast.expr, cls: type) -> bool:
    """Whether a method that is told beside is one of a class: `method=VAE.decode`, `method="decode"`."""
    if isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name):
        return method.value.id == cls.__name__ or (method.value.id[:1].islower() and hasattr(cls, method.attr))
    return isinstance(method, ast.Constant) and isinstance(method.value, str) and hasattr(cls, method.value)


def _names_of(cls: type) -> set[str]:
    """The names that the methods of a class use."""
    methods = (unwrap(each) for each in vars(cls).values() if isinstance(each, FunctionType))
    return {name for each in methods for code in _codes(getattr(each, "__code__", None)) for name in code.co_names}


def _codes(code: CodeType | None) -> Iterator[CodeType]:
    if code is not None:
        yield code
        for inner in code.co_consts:
            yield from _codes(inner if isinstance(inner, CodeType) else None)
