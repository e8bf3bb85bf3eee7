"""What a check of the user's refuses: `assert n <= 16`, `if x.shape[0] > self.most: raise ValueError("too long")`.

The comparison is read where it stands, above what was raised, and its sides in the frame. What the user is told has
the numbers, and the search learns from them which sizes the check would let pass.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import FrameType
from typing import Final

from shapecheck.evaluate.parse_python import parse_python
from shapecheck.evaluate.probes.attribute_access import read_attribute

_SIGNS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_KEPT = 64  # files


@dataclass(frozen=True)
class RefusedComparison:
    """A comparison of two integers for which an error was raised: since it `holds`, or since it does not, by `assert`.

    `where` has those of its sides that are no numbers, with theirs: "n = 76".
    """

    condition: str
    left: int
    how: str
    right: int
    holds: bool
    where: str

    def behind(self, message: str) -> str:
        """What to add to what was raised: ` (n > 16, where n = 76)`; ` (where n = 76)` where that cites it."""
        cited = "" if message.endswith(self.condition) else f"{'' if self.holds else 'not '}{self.condition}, "
        return f" ({cited}where {self.where})"

    def most(self) -> tuple[int, int] | None:
        """The size that is too large for the other, and the largest one that is not; None if both may not differ."""
        if self.how in ("==", "!="):
            return None
        is_strict = ("=" in self.how) is self.holds
        return max(self.left, self.right), min(self.left, self.right) - is_strict


def read_refusal(frame: FrameType, line: int) -> RefusedComparison | None:
    """The comparison for which the code at a line of a frame raises, if there is one of two integers."""
    file = frame.f_code.co_filename
    test, holds = _condition(tuple(linecache.getlines(file)), line)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or type(test.ops[0]) not in _SIGNS:
        return None  # of a division, say, it is the rest that matters
    sides = test.left, test.comparators[0]
    left, right = (_size(frame, side) for side in sides)
    if left is None or right is None:
        return None
    named = {ast.unparse(side): size for side, size in zip(sides, (left, right), strict=True)}
    where = ", ".join(f"{text} = {size}" for text, size in named.items() if not text.lstrip("-").isdigit())
    how = _SIGNS[type(test.ops[0])]
    return RefusedComparison(ast.unparse(test), left, how, right, holds, where) if where else None


def _size(frame: FrameType, side: ast.expr) -> int | None:
    """The integer that a side of a comparison is in a frame: a number, a variable, an attribute, an axis."""
    found: object = None
    if isinstance(side, ast.Constant):
        found = side.value
    elif isinstance(side, ast.Subscript) and isinstance(number := _number(side.slice), int):
        shape = _value(frame, side.value)
        found = shape[number] if type(shape) is tuple and -len(shape) <= number < len(shape) else None
    else:
        found = _value(frame, side)
    return found if type(found) is int else None


def _number(node: ast.expr) -> object:
    """What is written as a number, perhaps a negative one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -inner if isinstance(inner := _number(node.operand), int) else None
    return node.value if isinstance(node, ast.Constant) else None


def _value(frame: FrameType, node: ast.expr) -> object:
    """What a variable, or an attribute of one, is in a frame."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return read_attribute(frame.f_locals.get(node.value.id), node.attr)
    return frame.f_locals.get(node.id) if isinstance(node, ast.Name) else None


@lru_cache(_KEPT)
def _parse(lines: Sequence[str]) -> ast.Module | None:
    try:
        return parse_python("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _condition(lines: Sequence[str], line: int) -> tuple[ast.expr | None, bool]:
    """The condition of an `assert` on a line, or of the `if` that raises there; and whether that is one that holds."""
    found: tuple[ast.expr | None, bool] = (None, False)
    tree = _parse(lines)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Assert) and _is_on(node, line):
            return node.test, False
        if isinstance(node, ast.If) and any(isinstance(each, ast.Raise) and _is_on(each, line) for each in node.body):
            found = node.test, True
    return found


def _is_on(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or line)
