"""The arithmetic of dims: a small syntax tree, how it is printed, and what it is worth.

A size is a tuple of ints, one for each sample, because symbolic dims are compared numerically: every free symbol is
given several distinct numbers at once, and two dims are equal if they are equal in every sample.

Arithmetic is Python's own (`/` gives a float, `//` rounds down), because jaxtyping evaluates its expressions with
Python. What cannot be the size of an axis (a fraction, a division by zero, a number beyond any memory) raises
`UndefinedSizeError`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

Number = int | float

# No array has more elements than this, and arithmetic on more digits could take for ever.
MAX_BITS = 64


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and exponent > MAX_BITS and abs(base) > 1:
        raise OverflowError
    value = base**exponent
    if isinstance(value, (int, float)):
        return value
    raise ValueError  # a root of a negative number is complex


def _shift(left: Number, right: Number) -> Number:
    if isinstance(right, int) and right > MAX_BITS and left != 0:
        raise OverflowError
    return _integral(operator.lshift)(left, right)


def _integral(operation: Callable[[int, int], int]) -> Callable[[Number, Number], Number]:
    """A bit operation, which is for ints only."""

    def apply(left: Number, right: Number) -> Number:
        if isinstance(left, int) and isinstance(right, int):
            return operation(left, right)
        raise TypeError

    return apply


def _invert(value: Number) -> Number:
    if isinstance(value, int):
        return ~value
    raise TypeError


UNARY: Mapping[str, Callable[[Number], Number]] = {"-": operator.neg, "+": operator.pos, "~": _invert}
BINARY: Mapping[str, Callable[[Number, Number], Number]] = {
    "|": _integral(operator.or_),
    "^": _integral(operator.xor),
    "&": _integral(operator.and_),
    "<<": _shift,
    ">>": _integral(operator.rshift),
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": _power,
}
CALLS: Mapping[str, Callable[..., Number]] = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "int": int,
    "max": max,
    "min": min,
    "round": round,
}


Size = tuple[int, ...]
"""The size of a dim under K samples; a plain int n is `(n,) * K`."""


class EvaluationError(ValueError):
    """An expression has no value."""


class UnboundName(EvaluationError):  # noqa: N818
    """An expression uses a name whose size is not known."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the size of {name} is not known")
        self.name = name


class UndefinedSizeError(EvaluationError):
    """An expression whose names are known, but whose value is no size: a fraction, a division by zero, too large."""


@dataclass(frozen=True)
class Int:
    """A whole number, not negative."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Name:
    """A name with a size: an identifier, or what only the code around can tell (`self.n`, `x.shape[0]`, `len(x)`)."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class BracedExpression:
    """jaxtyping's `{...}`: its names are the function's arguments, never dims."""

    inner: Expression

    def __str__(self) -> str:
        return f"{{{self.inner}}}"


@dataclass(frozen=True)
class Unary:
    """`-x`, `+x` or `~x`."""

    operator: str
    operand: Expression

    def __str__(self) -> str:
        return self.operator + _parenthesize(self.operand, UNARY_PRECEDENCE)


@dataclass(frozen=True)
class Binary:
    """Two operands and a Python operator between them."""

    operator: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        level = PRECEDENCE[self.operator]
        if self.operator == "**":  # binds to the right, and its exponent may carry a sign
            return f"{_parenthesize(self.left, level + 1)}**{_parenthesize(self.right, UNARY_PRECEDENCE)}"
        return f"{_parenthesize(self.left, level)}{self.operator}{_parenthesize(self.right, level + 1)}"


@dataclass(frozen=True)
class FunctionCall:
    """A call of one of the known `FUNCTIONS`."""

    function: str
    arguments: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{self.function}({','.join(map(str, self.arguments))})"


Expression = Int | Name | BracedExpression | Unary | Binary | FunctionCall

PRECEDENCE: Mapping[str, int] = {
    "|": 1,
    "^": 2,
    "&": 3,
    "<<": 4,
    ">>": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "//": 6,
    "%": 6,
    "**": 8,
}
UNARY_PRECEDENCE = 7
_ATOM_PRECEDENCE = 9

FUNCTIONS: Mapping[str, tuple[int, int]] = {
    "abs": (1, 1),
    "ceil": (1, 1),
    "floor": (1, 1),
    "int": (1, 1),
    "max": (2, 16),
    "min": (2, 16),
    "round": (1, 1),
}
"""The functions that an expression may call, with the least and the greatest number of arguments."""


def names(expression: Expression) -> Iterator[str]:
    """Every name that the expression uses, in order, repeated as often as it is used."""
    if isinstance(expression, Name):
        yield expression.text
    for child in _children(expression):
        yield from names(child)


def unbraced_names(expression: Expression) -> Iterator[str]:
    """As `names`, without those in braces."""
    if isinstance(expression, Name):
        yield expression.text
    if not isinstance(expression, BracedExpression):
        for child in _children(expression):
            yield from unbraced_names(child)


def divisors(expression: Expression) -> Iterator[int]:
    """The whole numbers greater than one by which something is divided (by `/` or `//`), in order."""
    for child in _children(expression):
        yield from divisors(child)
    if isinstance(expression, Binary) and expression.operator in {"/", "//"}:
        yield from _factors(expression.right)


def exponents(expression: Expression) -> Iterator[str]:
    """The names that powers have as exponents, or numbers are shifted left by, in order."""
    for child in _children(expression):
        yield from exponents(child)
    if isinstance(expression, Binary) and expression.operator in {"**", "<<"}:
        yield from names(expression.right)


def constant(expression: Expression) -> int | None:
    """The value of an expression without names, if it has one."""
    try:
        return evaluate(expression, {}, 1)[0]
    except EvaluationError:
        return None


def evaluate(
    expression: Expression, env: Mapping[str, Size], count: int, *, arguments: Mapping[str, Size] | None = None
) -> Size:
    """The size of an expression under `count` samples.

    `env` gives the sizes of names, each with `count` entries; `arguments` those of names inside braces (by default
    the same). Raises `UnboundName` where a name has no size, and `UndefinedSizeError` where a sample's value is none.
    """
    values = _values(expression, env, env if arguments is None else arguments, count)
    return tuple(_whole(value, expression) for value in values)


def _parenthesize(expression: Expression, level: int) -> str:
    """The expression's text, in parentheses if it binds less tightly than `level`."""
    if isinstance(expression, Binary):
        own = PRECEDENCE[expression.operator]
    elif isinstance(expression, Unary):
        own = UNARY_PRECEDENCE
    else:
        own = _ATOM_PRECEDENCE
    return str(expression) if own >= level else f"({expression})"


def _children(expression: Expression) -> tuple[Expression, ...]:
    if isinstance(expression, Binary):
        return (expression.left, expression.right)
    if isinstance(expression, Unary):
        return (expression.operand,)
    if isinstance(expression, FunctionCall):
        return expression.arguments
    if isinstance(expression, BracedExpression):
        return (expression.inner,)
    return ()


def _factors(divisor: Expression) -> Iterator[int]:
    """The known whole factors of a divisor: 6 of `6`, 2 of `2*k`, 4 of `2**2`."""
    value = constant(divisor)
    if value is not None:
        if abs(value) > 1:
            yield abs(value)
    elif isinstance(divisor, Binary) and divisor.operator == "*":
        yield from _factors(divisor.left)
        yield from _factors(divisor.right)


def _values(
    expression: Expression, env: Mapping[str, Size], arguments: Mapping[str, Size], count: int
) -> tuple[Number, ...]:
    if isinstance(expression, Int):
        return (expression.value,) * count
    if isinstance(expression, Name):
        return _lookup(expression.text, env, count)
    if isinstance(expression, BracedExpression):
        return _values(expression.inner, arguments, arguments, count)
    children = [_values(child, env, arguments, count) for child in _children(expression)]
    return tuple(_apply(expression, operands) for operands in zip(*children, strict=True))


def _lookup(name: str, env: Mapping[str, Size], count: int) -> Size:
    try:
        size = env[name]
    except KeyError:
        raise UnboundName(name) from None
    if len(size) != count:
        raise ValueError(f"the size of {name} has {len(size)} samples, not {count}")
    return size


def _apply(expression: Unary | Binary | FunctionCall, operands: tuple[Number, ...]) -> Number:
    """One operation on one sample."""
    try:
        if isinstance(expression, Unary):
            value = UNARY[expression.operator](operands[0])
        elif isinstance(expression, Binary):
            value = BINARY[expression.operator](*operands)
        else:
            value = CALLS[expression.function](*operands)
    except ZeroDivisionError:
        raise UndefinedSizeError(f"{expression} divides by zero") from None
    except (ArithmeticError, TypeError, ValueError):  # float overflow, bit operations on floats, negative shifts
        raise UndefinedSizeError(f"{expression} has no value") from None
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise UndefinedSizeError(f"{expression} is too large")
    return value


def _whole(value: Number, expression: Expression) -> int:
    if isinstance(value, int):
        return value
    if math.isfinite(value) and value.is_integer():
        return int(value)
    raise UndefinedSizeError(f"{expression} is not a whole number")
