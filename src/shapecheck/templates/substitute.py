"""Templates with numbers in place of free dims.

What was evaluated for any `batch` and is now evaluated for 68 has the same shapes, if they are the same for 68.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from shapecheck.templates.lockfile import LockedTemplate, Shapes

_ARRAY = re.compile(r"([^\[\]]+)\[(.+)\]\Z", re.DOTALL)
_UNDER = re.compile(r"(\w+)\((.+)\)\Z", re.DOTALL)
_COMMA = re.compile(r",(?![^()]*\))")
_OPERATIONS: Final[Mapping[type, Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., int]]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
}


def substitute_sizes(template: LockedTemplate, sizes: Mapping[str, int]) -> LockedTemplate:
    """The template with these sizes of names."""
    if not sizes:
        return template
    return replace(template, stages=tuple((place, _shapes(shapes, sizes)) for place, shapes in template.stages))


def _shapes(shapes: Shapes, sizes: Mapping[str, int]) -> Shapes:
    return replace(
        shapes,
        under=tuple(_inside(_UNDER, text, "{}({})", sizes) for text in shapes.under),
        input={name: _value(value, sizes) for name, value in shapes.input.items()},
        state={name: _value(value, sizes) for name, value in shapes.state.items()},
        output=_value(shapes.output, sizes),
    )


def _value(value: object, sizes: Mapping[str, int]) -> object:
    if isinstance(value, Mapping):
        return {key: _value(part, sizes) for key, part in value.items()}
    if isinstance(value, list):
        return [_value(part, sizes) for part in value]
    return _inside(_ARRAY, str(value), "{}[{}]", sizes)


def _inside(pattern: re.Pattern[str], text: str, form: str, sizes: Mapping[str, int]) -> str:
    found = pattern.match(text)
    if found is None:
        return text
    return form.format(found[1], ",".join(_dim(dim, sizes) for dim in _COMMA.split(found[2])))


def _dim(text: str, sizes: Mapping[str, int]) -> str:
    """The number of a dim as JAX writes it, `4*batch + floordiv(h, 2)`; the dim itself if any name of it is free."""
    try:
        return str(_evaluate(ast.parse(text.strip().replace("^", "**"), mode="eval").body, sizes))
    except (KeyError, SyntaxError, ArithmeticError, TypeError):
        return text


def _evaluate(node: ast.expr, sizes: Mapping[str, int]) -> int:
    """Raises KeyError for a name without a size, and for whatever is no expression of sizes."""
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return sizes[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATIONS[type(op)](_evaluate(left, sizes), _evaluate(right, sizes))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, sizes)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name](*(_evaluate(each, sizes) for each in args))
    raise KeyError(ast.unparse(node))
