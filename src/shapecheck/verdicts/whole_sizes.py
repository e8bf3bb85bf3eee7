"""Sizes in the words of the code where a dim was made a multiple: `d//8` for the symbol of which `d` is eight.

An evaluation that divides `d` by 8 heads takes an array of `8*d` elements there, so that JAX can tell the size of a
head. To who reads the result, `d` is the whole size.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence

from shapecheck.model import Evaluation
from shapecheck.model.assumption import A_MULTIPLE
from shapecheck.shapes import SpecError, parse_dim
from shapecheck.shapes.expressions import Binary, Expression, FunctionCall, Int, Name, Unary

_NAME = re.compile(r"[^\W\d]\w*")


def whole_sizes(evaluation: Evaluation) -> Callable[[str], str]:
    """What makes of a size in an evaluation the text that is shown for it."""
    values = {
        a.subject: a.value for a in evaluation.assumptions if a.kind == "value" and a.value.startswith(A_MULTIPLE)
    }
    factors = {name: value.removeprefix(A_MULTIPLE).strip() for name, value in values.items()}
    numbers = {name: int(text) for name, text in factors.items() if text.isdigit()}
    if evaluation.mode != "symbolic" or not numbers:
        return str
    return functools.partial(in_whole_sizes, factors=numbers)


def in_whole_sizes(size: str, factors: Mapping[str, int]) -> str:
    """A size over symbols of which names are multiples by these factors: `d` for `8*d`, `d//4` for `2*d`."""
    if factors.keys().isdisjoint(_NAME.findall(size)):
        return size
    try:
        return str(_in_whole_sizes(parse_dim(size), factors))
    except SpecError:
        return size


def _in_whole_sizes(expression: Expression, factors: Mapping[str, int]) -> Expression:
    again = functools.partial(_in_whole_sizes, factors=factors)
    match expression:
        case Name():
            return _product([expression], factors)
        case Binary("*"):
            return _product(
                [each if isinstance(each, Int | Name) else again(each) for each in _terms(expression)], factors
            )
        case Binary():
            return Binary(expression.operator, again(expression.left), again(expression.right))
        case Unary():
            return Unary(expression.operator, again(expression.operand))
        case FunctionCall():
            return FunctionCall(expression.function, tuple(map(again, expression.arguments)))
    return expression


def _terms(product: Expression) -> list[Expression]:
    """What is multiplied, one by one."""
    if isinstance(product, Binary) and product.operator == "*":
        return [*_terms(product.left), *_terms(product.right)]
    return [product]


def _product(terms: Sequence[Expression], factors: Mapping[str, int]) -> Expression:
    """The product of these, in which a name stands for one of so many equal parts: numbers put them together."""
    count = math.prod(each.value for each in terms if isinstance(each, Int))
    found: list[Expression] = []
    for each in terms:
        if isinstance(each, Name):
            parts = factors.get(each.text, 1)
            common = math.gcd(count, parts)
            count, parts = count // common, parts // common
            found.append(Binary("//", each, Int(parts)) if parts > 1 else each)
        elif not isinstance(each, Int):
            found.append(each)
    return functools.reduce(_times, [Int(count), *found] if count != 1 or not found else found)


def _times(left: Expression, right: Expression) -> Expression:
    return Binary("*", left, right)
