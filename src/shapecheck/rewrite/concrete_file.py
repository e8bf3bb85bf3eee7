"""One file as libcst reads it: every byte of it, and which of libcst's statements is which of Python's syntax tree.

What is claimed is found in the syntax tree of `ast`. Both trees hold the same statements in the same order, so that
counting finds the libcst node of a statement, and no position has to be computed for any other node.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from shapecheck.rewrite.insertion_points import blocks
from shapecheck.syntax.owners import UnreadableError
from shapecheck.syntax.parse_concrete import libcst_failures

Suite = cst.Module | cst.IndentedBlock | cst.SimpleStatementSuite
Line = cst.SimpleStatementLine | cst.BaseCompoundStatement
Compound = (
    cst.BaseSuite,
    cst.BaseCompoundStatement,
    cst.Else,
    cst.Finally,
    cst.ExceptHandler,
    cst.ExceptStarHandler,
    cst.MatchCase,
    cst.Module,
)
"""The nodes in which statements stand: a transformer that changes statements need not look into others."""

# libcst recurs several frames deep for each `elif` and each operand; `ast` takes as many of them as memory allows.
_FRAMES = 20_000


class RewriteError(Exception):
    """A file that has to be left alone; the text says why."""


@dataclass(frozen=True)
class StatementPlace:
    """Where a statement stands: on the `index`-th line of a suite, which is `line`.

    `line` is None where the whole suite stands on the line of its `if` or the like.
    """

    suite: Suite
    index: int
    line: Line | None
    is_first: bool = True

    @property
    def is_alone(self) -> bool:
        """Whether a simple statement has its lines for itself: no other behind a semicolon, and no semicolon."""
        if not isinstance(self.line, cst.SimpleStatementLine) or len(self.line.body) != 1:
            return False
        return isinstance(self.line.body[0].semicolon, cst.MaybeSentinel)


class ConcreteFile:
    """The bytes of a file with both of its trees. Parses when it is asked for a node: that raises RewriteError."""

    def __init__(self, data: bytes, tree: ast.Module) -> None:
        self.data = data
        self.tree = tree

    @cached_property
    def module(self) -> cst.Module:
        """The tree of libcst."""
        return _parse(self.data)

    @cached_property
    def _places(self) -> dict[int, StatementPlace]:
        return _places(self.tree, self.module)

    def place(self, statement: ast.stmt) -> StatementPlace:
        """Where a statement stands."""
        return self._places[id(statement)]

    def verify(self) -> None:
        """Raise RewriteError where libcst loses bytes: form feeds before code, for one, which stand in no node."""
        with _deep_recursion():
            kept = self.module.bytes
        if kept != self.data:
            pairs = zip(kept.splitlines(), self.data.splitlines(), strict=False)
            line = next((number for number, (new, old) in enumerate(pairs, 1) if new != old), 1)
            raise RewriteError(f"line {line}: libcst would not give it back as it is (a form feed before code, say)")

    def apply(self, transformer: cst.CSTTransformer) -> bytes:
        """The bytes that a transformer makes of the file."""
        with _deep_recursion():
            module = self.module.visit(transformer)
            if not isinstance(module, cst.Module):
                raise TypeError("a transformer gives no module for a module")
            return module.bytes


def leading_lines(line: cst.BaseStatement | cst.Decorator) -> Sequence[cst.EmptyLine]:
    """The blank lines and comments that libcst counts to a statement, since they stand right above it."""
    found: Sequence[cst.EmptyLine] = getattr(line, "leading_lines")  # noqa: B009  # every statement in a suite has them
    return found


def _parse(data: bytes) -> cst.Module:
    with _deep_recursion():
        try:
            with libcst_failures():
                module = cst.parse_module(data)
        except UnreadableError as error:
            raise RewriteError(str(error)) from error
    # libcst does not take a single carriage return for the end of the last line.
    return module.with_changes(has_trailing_newline=True) if data.endswith(b"\r") else module


@contextmanager
def _deep_recursion() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _FRAMES))
    try:
        yield
    except RecursionError as error:
        raise RewriteError("it nests too deeply for libcst") from error
    finally:
        sys.setrecursionlimit(limit)


def _places(tree: ast.Module, module: cst.Module) -> dict[int, StatementPlace]:
    found: dict[int, StatementPlace] = {}
    stack: list[tuple[list[ast.stmt], cst.CSTNode]] = [(tree.body, module)]
    while stack:
        block, suite = stack.pop()
        if isinstance(suite, cst.If):  # an `elif`, which is an `if` in no suite of its own
            stack += zip(blocks(block[0]), _suites(suite), strict=True)
            continue
        for statement, place in zip(block, _in_suite(suite), strict=True):
            found[id(statement)] = place
            if place.line is not None:
                stack += zip(blocks(statement), _suites(place.line), strict=True)
    return found


def _in_suite(suite: cst.CSTNode) -> Iterator[StatementPlace]:
    if isinstance(suite, cst.SimpleStatementSuite):
        yield from (StatementPlace(suite, index, None) for index in range(len(suite.body)))
    elif isinstance(suite, cst.Module | cst.IndentedBlock):
        for index, line in enumerate(suite.body):
            if isinstance(line, cst.SimpleStatementLine):
                yield from (StatementPlace(suite, index, line, number == 0) for number in range(len(line.body)))
            elif isinstance(line, cst.BaseCompoundStatement):
                yield StatementPlace(suite, index, line)


def _suites(node: Line) -> Iterator[cst.CSTNode]:
    """The suites inside a statement, in the order of `layout.blocks`; an `elif` is given as it is."""
    if isinstance(node, cst.BaseCompoundStatement):
        for name in ("body", "orelse", "finalbody"):
            part = getattr(node, name, None)
            if part is not None:
                yield part.body if isinstance(part, cst.Else | cst.Finally) else part
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield part.body
