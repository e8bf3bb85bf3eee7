"""What a check of the user's refuses: `assert n <= 16`, `if x.shape[0] > self.most: raise ValueError("too long")`.

The comparison is read where it stands, above what was raised, and its sides in the frame. What the user is told has
the numbers, and the search learns from them which sizes the check would let pass.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import FrameType
from typing import Any, Final

from shapecheck.evaluate.inputs.trials.compared_sizes import FrameSizes, Sizes, given_objects
from shapecheck.evaluate.parse_python import parse_python

_SIGNS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_HOLDS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_KEPT = 64  # files
# The assertions of chex, and what of arrays they compare: those of a list with a second argument, or with each other.
_ASSERTIONS: Final[dict[str, str]] = {
    "assert_shape": "shape",
    "assert_rank": "ndim",
    "assert_equal_shape": "shape",
    "assert_equal_rank": "ndim",
    "assert_trees_all_equal_shapes": "shape",
}


@dataclass(frozen=True)
class RefusedComparison:
    """A comparison of sizes for which an error was raised: since it `holds`, or since it does not, by `assert`.

    Each side is a number, or the sizes of a shape. `where` has those of its sides that are no numbers, with theirs:
    "n = 76". With `given` sides, it is the arguments of the checked function that do not go together, and nothing that
    was computed of them; with `computed` ones it is what that function made of them, held against shapes of arrays.
    """

    condition: str
    left: Sizes
    how: str
    right: Sizes
    holds: bool
    where: str
    given: bool = False
    computed: bool = False

    def behind(self, message: str) -> str:
        """What to add to what was raised: ` (n > 16, where n = 76)`; ` (where n = 76)` where that cites it."""
        cited = "" if message.endswith(self.condition) else f"{'' if self.holds else 'not '}{self.condition}, "
        return f" ({cited}where {self.where})"

    def most(self) -> tuple[int, int] | None:
        """The size that is too large for the other, and the largest one that is not; None if both may not differ."""
        if self.how in ("==", "!=") or not isinstance(self.left, int) or not isinstance(self.right, int):
            return None
        is_strict = ("=" in self.how) is self.holds
        return max(self.left, self.right), min(self.left, self.right) - is_strict

    def unequal(self) -> list[tuple[int, int]]:
        """The pairs of sizes that should be equal, and are not."""
        if (self.how == "!=") is not self.holds or self.how not in ("==", "!="):
            return []
        left, right = ((side,) if isinstance(side, int) else side for side in (self.left, self.right))
        return (
            [pair for pair in zip(left, right, strict=False) if pair[0] != pair[1]] if len(left) == len(right) else []
        )


def read_refusal(
    frame: FrameType, line: int, entry: FrameType | None = None, *, by_chex: bool = False
) -> RefusedComparison | None:
    """The comparison for which the code at a line of a frame raises, or an assertion of chex there, if it is of sizes.

    Of several it is one of sizes that should be equal. `entry` is the frame of the checked function.
    """
    file = frame.f_code.co_filename
    checks = _checks_in(tuple(linecache.getlines(file)))
    arguments = None
    if entry is not None:
        other = entry.f_code.co_filename
        of_entry = checks if other == file else _checks_in(tuple(linecache.getlines(other)))
        arguments = given_objects(entry, of_entry.function_of(entry))
    sizes = FrameSizes(frame, checks.function_of(frame), arguments, is_of_entry=frame is entry)
    conditions = ((test, False) for test in checks.conditions_of_chex(line)) if by_chex else checks.conditions(line)
    found = [_read_comparison(sizes, each, holds) for test, holds in conditions for each in _links(test)]
    refused = [each for each in found if each is not None]
    return next((each for each in refused if each.unequal()), next(iter(refused), None))


def _read_comparison(sizes: FrameSizes, test: ast.Compare, holds: bool) -> RefusedComparison | None:
    (how,), sides = map(type, test.ops), (test.left, test.comparators[0])
    if how not in _SIGNS:
        return None  # of a division, say, it is the rest that matters
    left, right = (sizes.find(side) for side in sides)
    if left is None or right is None or isinstance(left.value, int) is not isinstance(right.value, int):
        return None
    sign = _SIGNS[how]
    if not isinstance(left.value, int) and sign not in ("==", "!="):
        return None
    if _HOLDS[sign](left.value, right.value) is not holds:
        return None  # it is another part of the condition that decides
    named = {ast.unparse(side): each.value for side, each in zip(sides, (left, right), strict=True)}
    where = ", ".join(f"{text} = {each}" for text, each in named.items() if text != str(each))
    given = left.given and right.given
    is_of_ranks = all(isinstance(side, ast.Constant) or _is_rank(side) for side in sides)
    computed = not given and left.of_arrays and right.of_arrays and (is_of_ranks or not _has_number(*sides))
    if not where:
        return None
    found = RefusedComparison(ast.unparse(test), left.value, sign, right.value, holds, where, given)
    return replace(found, computed=computed and sizes.is_of_entry and bool(found.unequal()))


def _is_rank(side: ast.expr) -> bool:
    """Whether an expression is the number of axes of an array: `x.ndim`, `len(x.shape)`, `jnp.ndim(x)`."""
    if isinstance(side, ast.Call) and len(side.args) == 1:
        name = _function_name(side)
        return name == "ndim" or (name == "len" and ast.unparse(side.args[0]).endswith(".shape"))
    return isinstance(side, ast.Attribute) and side.attr == "ndim"


def _has_number(*sides: ast.expr) -> bool:
    """Whether a size is written as a number, alone or in a shape."""
    parts = (part for side in sides for part in (side.elts if isinstance(side, ast.Tuple | ast.List) else (side,)))
    return any(isinstance(part, ast.Constant) for part in parts)


@dataclass(frozen=True)
class _Checks:
    """What a file has that may raise for sizes, and its functions: looked for once, and not in each attempt."""

    statements: tuple[ast.Assert | ast.If, ...] = ()
    assertions: tuple[ast.Call, ...] = ()
    functions: tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...] = ()

    def conditions(self, line: int) -> Iterator[tuple[ast.expr, bool]]:
        """The parts of conditions that may have decided that an `assert` on a line fails, or that an `if` raises there.

        With each, whether it is one that holds then.
        """
        for node in self.statements:
            if isinstance(node, ast.Assert):
                yield from _parts(node.test, holds=False) if _is_on(node, line) else ()
                continue
            for body, holds in ((node.body, True), (node.orelse, False)):
                if any(isinstance(each, ast.Raise) and _is_on(each, line) for each in body):
                    yield from _parts(node.test, holds=holds)

    def conditions_of_chex(self, line: int) -> Iterator[ast.Compare]:
        """What an assertion of chex on a line compares, as one would write it: `x.shape == (n, d)`."""
        for call in self.assertions:
            arrays, others = call.args[:1], call.args[1:]
            if not call.lineno <= line <= (call.end_lineno or line) or not arrays:
                continue
            if isinstance(arrays[0], (ast.List, ast.Tuple)):
                arrays = arrays[0].elts
            elif "tree" in _function_name(call):
                arrays, others = call.args, []
            attribute = _ASSERTIONS[_function_name(call)]
            sides: list[ast.expr] = [ast.Attribute(each, attribute, ast.Load()) for each in arrays]
            wanted = others[:1] or sides[:1]
            yield from (ast.Compare(each, [ast.Eq()], [wanted[0]]) for each in sides if each is not wanted[0])

    def function_of(self, frame: FrameType) -> ast.AST | None:
        """The function whose code a frame runs."""
        found: ast.AST | None = None
        for node in self.functions:
            first = min((node.lineno, *(each.lineno for each in node.decorator_list)))
            if node.name == frame.f_code.co_name and first <= frame.f_code.co_firstlineno <= node.lineno:
                found = node
        return found


@lru_cache(_KEPT)
def _checks_in(lines: Sequence[str]) -> _Checks:
    try:
        nodes = list(ast.walk(parse_python("".join(lines))))
    except (SyntaxError, ValueError, RecursionError):
        return _Checks()
    return _Checks(
        tuple(node for node in nodes if isinstance(node, (ast.Assert, ast.If))),
        tuple(node for node in nodes if isinstance(node, ast.Call) and _function_name(node) in _ASSERTIONS),
        tuple(node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))),
    )


def _function_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _parts(test: ast.expr, *, holds: bool) -> Iterator[tuple[ast.expr, bool]]:
    """The parts of a condition that `and`, `or` and `not` make of others."""
    if isinstance(test, ast.BoolOp):
        for each in test.values:
            yield from _parts(each, holds=holds)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _parts(test.operand, holds=not holds)
    else:
        yield test, holds


def _links(test: ast.expr) -> Iterator[ast.Compare]:
    """The comparisons of two in a row of them: of `0 < n <= 16` there are two."""
    sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) else []
    for (left, right), how in zip(
        itertools.pairwise(sides), test.ops if isinstance(test, ast.Compare) else (), strict=False
    ):
        yield ast.Compare(left, [how], [right])


def _is_on(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or line)
