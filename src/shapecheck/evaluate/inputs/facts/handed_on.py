"""Parameters that a function only hands on: what they are is written where they go.

`composite(rgb, sigma)` says nothing of `sigma`, but calls `weights(sigma)`, whose comment does: `# sigma: [R, S]`.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shapecheck.evaluate.inputs.facts.body_shapes import body_dtypes
from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.inputs.facts.parameter_facts import called_name, is_variable
from shapecheck.evaluate.inputs.facts.runtime_annotations import MISSING, annotation_of, array_type, signature_of
from shapecheck.evaluate.inputs.facts.transformations import hands_on_arguments
from shapecheck.worker.messages.plans import ParameterSpec

Descriptions = Mapping[str, ParameterSpec]

_DEPTH = 3  # functions that hand it on to each other


def descriptions_of(
    function: Callable[..., object], describe: Callable[[object], Descriptions], depth: int = _DEPTH
) -> dict[str, ParameterSpec]:
    """What comments and docstrings say of a function's parameters, or else those of what it hands them on to."""
    found = body_dtypes(function, describe(function))
    own = inspect.unwrap(function) if callable(function) else function
    own = getattr(own, "__func__", own)
    if not depth or not isinstance(own, types.FunctionType):
        return found
    open_ones = [name for name in _open_parameters(own) if name not in found]
    source = defining_source(own) if open_ones else None
    if source is None:
        return found
    for name in open_ones:
        if _is_bound_again(source.tree, name):
            continue
        for inner, parameter in _receivers(source.tree, name, own.__globals__):
            said = descriptions_of(inner, describe, depth - 1).get(parameter) or _annotation_spec(inner, parameter)
            if said is not None:
                found[name] = dataclasses.replace(said, parameter=name)
                break
    return found


def _open_parameters(function: types.FunctionType) -> Iterator[str]:
    """The parameters that must be given, and of which no annotation says anything."""
    try:
        parameters = signature_of(function).parameters.values()
    except (TypeError, ValueError):
        return
    for each in parameters:
        is_open = each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) and each.default is MISSING
        if is_open and annotation_of(function, each.name, each.annotation) in (MISSING, Any):
            yield each.name


def _is_bound_again(tree: ast.AST, name: str) -> bool:
    """Whether the name may mean something else in a part of the function."""
    nodes = list(ast.walk(tree))
    inner = (node.args for node in nodes if isinstance(node, (ast.FunctionDef, ast.Lambda)) and node is not tree)
    own = {each.arg for args in inner for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    stored = (node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    return name in own or name in stored


def _receivers(tree: ast.AST, name: str, module: Mapping[str, object]) -> Iterator[tuple[types.FunctionType, str]]:
    """The functions of the same file that are given the variable as it is, and the parameter that it is there."""
    for node in ast.walk(tree):
        function = _without_transformation(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or not isinstance(function, ast.Name):
            continue
        called = module.get(function.id)
        inner = inspect.unwrap(called) if callable(called) else None
        if not isinstance(inner, types.FunctionType) or inner.__globals__ is not module:
            continue
        parameters = list(inspect.signature(inner).parameters)
        before_stars = [each for each in node.args if not isinstance(each, ast.Starred)]
        if len(before_stars) == len(node.args):
            for parameter, given in zip(parameters, node.args, strict=False):
                if is_variable(given, name):
                    yield inner, parameter
        for each in node.keywords:
            if each.arg in parameters and is_variable(each.value, name):
                yield inner, each.arg


def _without_transformation(function: ast.expr) -> ast.expr:
    """What is called, inside of transformations that hand on their arguments as they are: `jax.grad(loss)(params)`."""
    while isinstance(function, ast.Call) and function.args:
        if not hands_on_arguments(called_name(function.func)[0]):
            break
        function = function.args[0]
    return function


def _annotation_spec(function: types.FunctionType, parameter: str) -> ParameterSpec | None:
    """The array that an annotation describes, as a comment would."""
    each = inspect.signature(function).parameters[parameter]
    found = array_type(annotation_of(function, parameter, each.annotation))
    if found is None or found.shape.strip() == "...":
        return None
    return ParameterSpec(scope=0, parameter=parameter, spec=found.shape, dtype=found.dtype)
