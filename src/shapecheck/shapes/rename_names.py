"""A spec in other words: what one function calls `batch d_in`, the function that calls it calls `n d`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from shapecheck.shapes.expressions import Binary, BracedExpression, Expression, FunctionCall, Int, Name, Unary
from shapecheck.shapes.spec import AnyDim, AnyDims, Dim, FixedDim, NamedDim, RepeatedDim, Spec, SymbolicDim, VariadicDim

_OF_FURTHER = "__"  # d_out__linear_2
_NO_WORD = re.compile(r"\W+")


def rename_names(spec: Spec, words: Mapping[str, str | int]) -> Spec:
    """The spec with other names, or sizes, in place of those that `words` has, also inside of its expressions.

    Variadic dims keep their names unless they get a name: they are several axes, and no size.
    """
    return Spec(tuple(_dim(dim, words) for dim in spec.dims))


def _dim(dim: Dim, words: Mapping[str, str | int]) -> Dim:
    match dim:
        case NamedDim(name=name):
            word = words.get(name, name)
            return FixedDim(word, dim.broadcastable, dim.label) if isinstance(word, int) else replace(dim, name=word)
        case VariadicDim(name=name):
            word = words.get(name, name)
            return dim if isinstance(word, int) else replace(dim, name=word)
        case SymbolicDim(expression=expression):
            return replace(dim, expression=_expression(expression, words))
        case RepeatedDim(dim=inner, times=times):
            renamed = _dim(inner, words)
            one = renamed if isinstance(renamed, (FixedDim, NamedDim, SymbolicDim)) else inner
            return RepeatedDim(one, _expression(times, words) if times is not None else None)
        case FixedDim() | AnyDim() | AnyDims():
            return dim


def _expression(expression: Expression, words: Mapping[str, str | int]) -> Expression:
    match expression:
        case Name(text=text):
            word = words.get(text, text)
            return Int(word) if isinstance(word, int) else Name(word)
        case BracedExpression(inner=inner):
            return BracedExpression(_expression(inner, words))
        case Unary(operator=operator, operand=operand):
            return Unary(operator, _expression(operand, words))
        case Binary(operator=operator, left=left, right=right):
            return Binary(operator, _expression(left, words), _expression(right, words))
        case FunctionCall(function=function, arguments=arguments):
            return FunctionCall(function, tuple(_expression(each, words) for each in arguments))
        case Int():
            return expression


def further_name(name: str, place: str) -> str:
    """The name that one of several instances of a class, or calls of a function, has for itself."""
    return f"{name}{_OF_FURTHER}{_NO_WORD.sub('_', place).strip('_')}"


def is_further_name(name: str) -> bool:
    """Whether a name is such a one."""
    return _OF_FURTHER in name.strip("_")
