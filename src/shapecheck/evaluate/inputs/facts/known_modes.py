"""The integers of which a parameter is one, as its code knows them: `if kind == CUBE: ... elif kind == SPHERE: ...`."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Iterator, Mapping

from shapecheck.evaluate.inputs.facts.handed_parts import function_parts
from shapecheck.evaluate.inputs.facts.parameter_facts import literal_integer, named_value
from shapecheck.evaluate.inputs.facts.runtime_annotations import signature_of
from shapecheck.evaluate.probes.attribute_access import unwrap

_EQUALITIES = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
_LISTS = (ast.Tuple, ast.List, ast.Set)
_FEWEST = 2  # one alone is an exception among sizes: `if pad == 0: return x`


def known_modes(function: Callable[..., object], parameter: str) -> tuple[int, ...]:
    """The integers that the code of a function compares a parameter with, in order, if it does nothing else with it.

    Its default is one of them. Others are only told in errors: `raise ValueError(kind)`. One alone is no mode.
    """
    own = inspect.getattr_static(function, "__init__") if isinstance(function, type) else unwrap(function)
    own = getattr(own, "__func__", own)
    source = function_parts(own) if isinstance(own, types.FunctionType) else None
    if source is None:
        return ()
    found: dict[int, None] = {}
    for name in source.names.get(parameter, ()):
        known = tuple(_integers_beside(name, source.around, own.__globals__))
        if not known and not _is_in_error(name, source.around):
            return ()
        found.update(dict.fromkeys(known))
    default = _default(function, parameter) if found else None
    if type(default) is int:
        found[default] = None
    return tuple(found) if len(found) >= _FEWEST else ()


def _default(function: Callable[..., object], parameter: str) -> object:
    try:
        return signature_of(function).parameters[parameter].default
    except (KeyError, TypeError, ValueError):
        return None


def _integers_beside(name: ast.Name, around: Mapping[ast.AST, ast.AST], module: Mapping[str, object]) -> Iterator[int]:
    """The integers that it is compared with there; none, if there is anything else among them."""
    node = around.get(name)
    others: list[ast.expr] = []
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _EQUALITIES):
        other = node.comparators[0] if node.left is name else node.left
        others = other.elts if isinstance(other, _LISTS) else [other]
    elif isinstance(node, ast.Match) and node.subject is name:
        patterns = (each for case in node.cases for each in ast.walk(case.pattern))
        others = [each.value for each in patterns if isinstance(each, ast.MatchValue)]
    values = [
        literal_integer(each) if isinstance(each, ast.Constant | ast.UnaryOp) else named_value(each, module)
        for each in others
    ]
    if all(type(each) is int for each in values):
        yield from (each for each in values if isinstance(each, int))


def _is_in_error(name: ast.Name, around: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether it is only told in an error that is raised there."""
    node: ast.AST | None = name
    while node is not None and not isinstance(node, ast.stmt):
        node = around.get(node)
    return isinstance(node, ast.Raise)
