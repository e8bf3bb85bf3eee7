"""Models that functions are given without a word: `generate(model, prompt)`, which calls `model(token, cache)`."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType

from shapecheck.evaluate.framework_protocol import deferred_classes, model_classes
from shapecheck.evaluate.inputs.facts.handed_arguments import called_function
from shapecheck.evaluate.inputs.facts.handed_parts import FunctionParts, function_parts
from shapecheck.evaluate.inputs.facts.parameter_facts import is_variable
from shapecheck.evaluate.inputs.facts.runtime_annotations import own_annotations
from shapecheck.evaluate.inputs.facts.source_reads import note_module_read
from shapecheck.evaluate.probes.attribute_access import unwrap
from shapecheck.model.parameter_parts import Part, parameter_names

_DEPTH = 3  # functions that hand it on to each other
_APPLY = ("apply", "init", "init_with_output")  # of models that get their variables, or a key for them, with the call
_OF_MODELS = frozenset({*_APPLY, "bind", "lazy_init", "tabulate", "unbind", "clone"})
_FOR_APPLY = ("rngs", "mutable", "capture_intermediates")  # what is for it, and not for the model


def called_models(function: Callable[..., object], parameter: str, depth: int = _DEPTH) -> list[type]:
    """The only class of models of a function's file that can be called as the function calls a parameter.

    It has what the function reads off it besides. Of several, the one that is no part of another.
    """
    found = function_parts(function)
    module = sys.modules.get(str(getattr(function, "__module__", "")))
    if found is None or module is None:
        return []
    calls, reads, methods = _uses(found, parameter)
    if not calls and not methods:
        inner = found.receivers(Part(parameter)) if depth else ()
        return next(filter(None, (called_models(each, name, depth - 1) for each, name in inner)), [])
    note_module_read(module)
    classes = [
        each
        for each in list(vars(module).values())
        if isinstance(each, type) and issubclass(each, model_classes()) and each.__module__ == module.__name__
    ]
    fitting = [
        each
        for each in classes
        if all(_takes(each, call) for call in calls)
        and all(_has(each, name) for name in reads)
        and all(callable(getattr(each, name, None)) for name in methods)
    ]
    outer = [each for each in fitting if not any(each.__name__ in _names_of(o) for o in fitting if o is not each)]
    return outer if len(outer) == 1 else []


def models_by_name(function: Callable[..., object], parameters: Iterable[str]) -> dict[str, type]:
    """The classes of those parameters that such models are, and of those of functions inside which are given them."""
    found = function_parts(function)
    classes: dict[str, type] = {}
    if found is None:
        return classes
    for parameter in parameters:
        for cls in called_models(function, parameter, depth=0):
            classes[parameter] = cls
            classes.update({name: cls for _, name in _inner_parameters(found.tree, parameter)})
    return classes


def _uses(found: FunctionParts, parameter: str) -> tuple[list[ast.Call], set[str], set[str]]:
    """The calls of a model, the names of what is read off it, and of its methods that are called, but for those of all.

    A function inside may have it as its own parameter, as `def loss(model)` under `filter_value_and_grad(loss)(model)`.
    """
    calls: list[ast.Call] = []
    reads: set[str] = set()
    methods: set[str] = set()

    def is_whole(node: ast.expr) -> bool:
        return found.own.part(node) == Part(parameter)

    def note(tree: ast.AST, is_model: Callable[[ast.expr], bool]) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                function = node.func if is_model(node.func) else called_function(node)
                applied = isinstance(function, ast.Attribute) and function.attr in _APPLY
                if is_model(function.value if applied and isinstance(function, ast.Attribute) else function):
                    calls.append(node)
                elif isinstance(node.func, ast.Attribute) and is_model(node.func.value):
                    methods.add(node.func.attr)
            elif isinstance(node, ast.Attribute) and is_model(node.value):
                reads.add(node.attr)

    note(found.tree, is_whole)
    for inner, name in _inner_parameters(found.tree, parameter):
        note(inner, functools.partial(is_variable, name=name))
    return calls, reads - _OF_MODELS, methods - _OF_MODELS


def _inner_parameters(tree: ast.AST, parameter: str) -> Iterator[tuple[ast.FunctionDef, str]]:
    """The functions inside of one that are given its parameter, through transformations too, and as which of theirs."""
    inside = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node is not tree}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        function = called_function(call)
        inner = inside.get(function.id) if isinstance(function, ast.Name) else None
        if inner is not None:
            pairs = zip(parameter_names(inner), call.args, strict=False)
            yield from ((inner, name) for name, given in pairs if is_variable(given, parameter))


def _has(cls: type, name: str) -> bool:
    """Whether instances of a class have an attribute: a field, a method, a property, or what their constructor sets."""
    made = vars(cls).get("__init__")
    is_set = isinstance(made, FunctionType) and name in made.__code__.co_names
    return is_set or hasattr(cls, name) or any(name in own_annotations(each) for each in cls.__mro__)


def _takes(cls: type, call: ast.Call) -> bool:
    """Whether instances of a class can be called so; with starred arguments nobody knows."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return False
    args, names = call.args, [str(each.arg) for each in call.keywords]
    if isinstance(call.func, ast.Attribute) and call.func.attr in _APPLY:
        if not issubclass(cls, model_classes()) or issubclass(cls, deferred_classes()) or not hasattr(cls, _APPLY[0]):
            return False
        method = next((each.value for each in call.keywords if each.arg == "method"), None)
        if method is not None:
            return _is_method(method, cls)
        args, names = args[1:], [name for name in names if name not in _FOR_APPLY]
    if not any("__call__" in vars(each) for each in cls.__mro__):
        return False
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
