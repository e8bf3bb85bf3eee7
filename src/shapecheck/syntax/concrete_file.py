"""One file as libcst reads it, and which of libcst's statements is which of Python's syntax tree.

What is claimed is found in the syntax tree of `ast`. Both trees hold the same statements in the same order, so that
counting finds the libcst node of a statement, and no position has to be computed for any other node. Whoever reads
comments or writes source stands on this one pairing.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from shapecheck.syntax.owners import PairingError
from shapecheck.syntax.parse_concrete import parse_concrete, statement_lists

Suite = cst.Module | cst.IndentedBlock | cst.SimpleStatementSuite
Line = cst.SimpleStatementLine | cst.BaseCompoundStatement


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
    """A file with both of its trees. libcst parses it when a node is asked for: that raises UnreadableError.

    Of statements in `hidden` the file has nothing but a `pass` (see `readable_part`).
    """

    def __init__(self, content: str | bytes, tree: ast.Module, hidden: Collection[ast.stmt] = ()) -> None:
        self.data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        self.tree = tree
        self._content = content
        self._hidden = hidden

    @cached_property
    def module(self) -> cst.Module:
        """The tree of libcst."""
        module = parse_concrete(self._content)
        # libcst does not take a single carriage return for the end of the last line.
        return module.with_changes(has_trailing_newline=True) if self.data.endswith(b"\r") else module

    def place(self, statement: ast.stmt) -> StatementPlace:
        """Where a statement stands; not for an `elif`."""
        return self._pairs.places[id(statement)]

    def statement(self, node: cst.CSTNode) -> ast.stmt:
        """The statement of `ast` that a simple or compound statement of libcst is, or an `elif`."""
        return self._pairs.statements[id(node)]

    def statements(self, line: cst.BaseStatement) -> list[ast.stmt]:
        """The statements on a line of a suite, or the compound one that begins there."""
        nodes = line.body if isinstance(line, cst.SimpleStatementLine) else (line,)
        return [self._pairs.statements[id(node)] for node in nodes]

    @cached_property
    def _pairs(self) -> _Pairs:
        return _pair_statements(self.tree, self.module, self._hidden)


def leading_lines(node: cst.CSTNode) -> Sequence[cst.EmptyLine]:
    """The blank lines and comments that libcst counts to a statement or clause, since they stand right above it."""
    found: Sequence[cst.EmptyLine] = getattr(node, "leading_lines", ())
    return found


@dataclass(frozen=True)
class _Pairs:
    """The places of the statements of `ast`, and the statements of `ast` for the nodes of libcst, both by identity."""

    places: dict[int, StatementPlace]
    statements: dict[int, ast.stmt]


def _pair_statements(tree: ast.Module, module: cst.Module, hidden: Collection[ast.stmt]) -> _Pairs:
    pairs = _Pairs({}, {})
    stack: list[tuple[cst.CSTNode, list[ast.stmt]]] = [(module, tree.body)]
    while stack:
        suite, block = stack.pop()
        nodes = list(_in_suite(suite))
        if len(nodes) != len(block):
            raise PairingError(f"{len(nodes)} statements of libcst, {len(block)} of ast")
        for (node, place), statement in zip(nodes, block, strict=True):
            pairs.statements[id(node)] = statement
            if place is not None:
                pairs.places[id(statement)] = place
            if isinstance(node, cst.BaseCompoundStatement) and statement not in hidden:
                suites, lists = list(_suites(node)), statement_lists(statement)
                if len(suites) != len(lists):
                    raise PairingError(f"line {statement.lineno}: {len(suites)} blocks of libcst, {len(lists)} of ast")
                stack += zip(suites, lists, strict=True)
    return pairs


def _in_suite(suite: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, StatementPlace | None]]:
    """The statements of a suite; an `elif` is an `if` in no suite of its own."""
    if isinstance(suite, cst.If):
        yield suite, None
    elif isinstance(suite, cst.SimpleStatementSuite):
        yield from ((node, StatementPlace(suite, index, None)) for index, node in enumerate(suite.body))
    elif isinstance(suite, cst.Module | cst.IndentedBlock):
        for index, line in enumerate(suite.body):
            if isinstance(line, cst.SimpleStatementLine):
                for number, node in enumerate(line.body):
                    yield node, StatementPlace(suite, index, line, number == 0)
            elif isinstance(line, cst.BaseCompoundStatement):
                yield line, StatementPlace(suite, index, line)


def _suites(node: cst.BaseCompoundStatement) -> Iterator[cst.CSTNode]:
    """The suites inside a statement, in the order of the text; an `elif` is given as it is."""
    if isinstance(node, cst.Match):
        yield from (case.body for case in node.cases)
        return
    yield node.body
    yield from (handler.body for handler in getattr(node, "handlers", ()))
    for name in ("orelse", "finalbody"):
        part = getattr(node, name, None)
        if part is not None:
            yield part.body if isinstance(part, cst.Else | cst.Finally) else part
