"""The plain type of a parameter that nothing describes, as its function's code alone tells it: a flag, a text, None.

`if mean_only:`, `diag if not full else x`, `use and ready` ask of a value whether it is true, and nothing else;
`mode == "first"` and `TABLE[mode]` take a text. Only source is read.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Iterator, Mapping

from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.handed_parts import FunctionParts, function_parts
from shapecheck.evaluate.inputs.facts.known_modes import known_modes
from shapecheck.evaluate.inputs.facts.known_texts import known_texts
from shapecheck.evaluate.inputs.facts.runtime_annotations import MISSING, annotation_of, signature_of
from shapecheck.evaluate.probes.attribute_access import underlying_function
from shapecheck.model.parameter_parts import Part

_DEPTH = 3  # functions that hand it on to each other


def type_by_use(function: Callable[..., object], parameter: str) -> object:
    """`bool` if the code only asks whether a parameter is true; else `str` or `int` if it knows some; else MISSING."""
    if name_hints.flag(parameter) is None and takes_flag(function, parameter):
        return bool
    if known_modes(function, parameter):
        return int
    return str if known_texts(function, parameter) else MISSING


def takes_flag(function: Callable[..., object], parameter: str, depth: int = _DEPTH) -> bool:
    """Whether a function, and all that it hands the parameter on to, use it as what is true or false."""
    source = function_parts(_body(function))
    if source is None:
        return False
    around, uses = source.around, source.names.get(parameter, ())
    if not uses or any(not isinstance(node.ctx, ast.Load) for node in uses):
        return False
    handed = [node for node in uses if not _is_condition(node, around)]
    if not handed:
        return True
    # Each of the other uses has to be an argument of a function that is known to take a flag there.
    receivers = list(source.receivers(Part(parameter))) if depth else []
    if sum(isinstance(around.get(node), (ast.Call, ast.keyword)) for node in handed) != len(handed):
        return False
    return len(receivers) >= len(handed) and all(_is_flag(inner, name, depth) for inner, name in receivers)


def admits_none(function: Callable[..., object], parameter: str) -> bool:
    """Whether a function does something else where it is given None: `if weights is None: weights = ...`."""
    source = function_parts(_body(function))
    return source is not None and any(_goes_on(test) for test in _tests_for_none(source, parameter))


def default_where_it_goes(function: Callable[..., object], parameter: str, depth: int = _DEPTH) -> object:
    """The default of a parameter that is only handed on where another has one, as `mask` to `attend(x, mask=None)`.

    MISSING if it is used otherwise, or where it goes has no default, or another one.
    """
    source = function_parts(_body(function))
    uses = source.names.get(parameter, ()) if source is not None else ()
    receivers = list(source.receivers(Part(parameter))) if source is not None and uses else []
    if source is None or not receivers or len(receivers) < len(uses):
        return MISSING
    if not all(isinstance(source.around.get(each), (ast.Call, ast.keyword)) for each in uses):
        return MISSING
    defaults = [_default_of(inner, name, depth) for inner, name in receivers]
    return defaults[0] if all(type(each) is type(defaults[0]) and each == defaults[0] for each in defaults) else MISSING


def _default_of(function: types.FunctionType, parameter: str, depth: int) -> object:
    """A plain default, which can be told from another."""
    found = signature_of(function).parameters.get(parameter)
    if found is None:
        return MISSING
    if found.default is MISSING:
        return default_where_it_goes(function, parameter, depth - 1) if depth else MISSING
    return found.default if isinstance(found.default, bool | int | float | str | None) else MISSING


def _goes_on(statement: ast.If | ast.IfExp) -> bool:
    return isinstance(statement, ast.IfExp) or not any(isinstance(each, ast.Raise) for each in statement.body)


def _tests_for_none(source: FunctionParts, parameter: str) -> Iterator[ast.If | ast.IfExp]:
    for name in source.names.get(parameter, ()):
        node = source.around.get(name)
        if not isinstance(node, ast.Compare) or node.left is not name:
            continue
        if not (isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None):
            continue
        test: ast.AST = node
        while isinstance(source.around.get(test), (ast.BoolOp, ast.UnaryOp)):
            test = source.around[test]
        outer = source.around.get(test)
        if isinstance(outer, (ast.If, ast.IfExp)) and outer.test is test:
            yield outer


def _is_flag(function: types.FunctionType, parameter: str, depth: int) -> bool:
    found = signature_of(function).parameters.get(parameter)
    if found is None:
        return False
    if isinstance(found.default, bool):
        return True
    annotation = annotation_of(function, parameter, found.annotation)
    return annotation is bool or (annotation is MISSING and takes_flag(function, parameter, depth - 1))


def _is_condition(node: ast.AST, around: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether an expression is asked for its truth alone, at last by a statement, or by `x if flag else y`."""
    outer = around.get(node)
    if isinstance(outer, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return outer.test is node
    if isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not):
        return True
    if isinstance(outer, ast.BoolOp):
        return _is_condition(outer, around)
    if isinstance(outer, ast.Compare) and outer.left is node and len(outer.comparators) == 1:
        other = outer.comparators[0]
        is_truth = isinstance(other, ast.Constant) and isinstance(other.value, bool)
        return is_truth and isinstance(outer.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq))
    return False


def _body(function: Callable[..., object]) -> Callable[..., object]:
    """What runs: of a class its constructor."""
    if isinstance(function, type):
        function = inspect.getattr_static(function, "__init__")
    own: Callable[..., object] = underlying_function(function)
    return own
