"""Python's operators and functions on one sample's numbers, with bounds, so that nothing takes for ever."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

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
