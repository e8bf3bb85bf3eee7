"""Where in a file whole lines can be inserted, and which statements ran before a statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapecheck.model import Position
from shapecheck.syntax.scopes import Function
from shapecheck.syntax.source_text import SourceText, position_of

ONE_LINE = "it shares its line with other statements"


class NoPlaceError(Exception):
    """Nothing can be inserted there; the text says why."""


@dataclass(frozen=True)
class Spot:
    """The place behind line `line` of the file (0 for its start), in a block that is indented by `indent`."""

    line: int
    indent: str


@dataclass(frozen=True)
class _Seat:
    """Where a statement stands: its owner, and its place in one of the owner's lists of statements."""

    owner: ast.AST
    block: list[ast.stmt]
    index: int


class StatementLayout:
    """The statements of one file, each with its surroundings."""

    def __init__(self, source: SourceText, tree: ast.Module) -> None:
        self.source = source
        self.tree = tree
        self._seats: dict[int, _Seat] = {}
        self._by_position: dict[Position, ast.stmt] = {}
        self._note(tree)

    def _note(self, tree: ast.Module) -> None:
        stack: list[ast.AST] = [tree]
        while stack:
            owner = stack.pop()
            for block in blocks(owner):
                for index, statement in enumerate(block):
                    self._seats[id(statement)] = _Seat(owner, block, index)
                    self._by_position[position_of(statement)] = statement
                stack += block
            for part in _parts(owner):
                self._seats[id(part)] = _Seat(owner, [], 0)
                stack.append(part)

    def owner(self, statement: ast.stmt) -> ast.AST:
        """The statement (or handler, case, module) in whose block a statement stands."""
        return self._seats[id(statement)].owner

    def function(self, statement: ast.stmt) -> Function | ast.ClassDef | ast.Module:
        """The nearest function, class or module around a statement."""
        owner = self.owner(statement)
        while not isinstance(owner, Function | ast.ClassDef | ast.Module):
            owner = self._seats[id(owner)].owner
        return owner

    def functions(self, statement: ast.stmt) -> Iterator[tuple[Function | ast.ClassDef | ast.Module, ast.stmt]]:
        """The functions, classes and module around a statement, innermost first, each with its own statement there."""
        while True:
            around = self.function(statement)
            yield around, statement
            if isinstance(around, ast.Module):
                return
            statement = around

    def at(self, position: Position) -> ast.stmt | None:
        """The statement that stands exactly there."""
        return self._by_position.get(position)

    def enclosing_statement(self, position: Position) -> ast.stmt | None:
        """The innermost statement around an expression."""
        found: ast.stmt | None = None
        inside: ast.AST | None = self.tree
        while inside is not None:
            parts = (s for block in _all_blocks(inside) for s in block if _spans(s, position))
            inside = next(parts, None)
            found = inside or found
        return found

    def before(self, statement: ast.stmt, inside: ast.AST) -> Iterator[ast.stmt]:
        """The statements of `inside` that surely ran before `statement` began: those above it in its own blocks."""
        current: ast.AST = statement
        while current is not inside and not isinstance(current, ast.Module):
            seat = self._seats[id(current)]
            yield from seat.block[: seat.index]
            current = seat.owner

    def in_loop(self, statement: ast.stmt) -> bool:
        """Whether a loop of its own function repeats a statement."""
        owner: ast.AST = statement
        while True:
            if isinstance(owner, ast.For | ast.AsyncFor | ast.While):
                return True
            owner = self._seats[id(owner)].owner
            if isinstance(owner, Function | ast.ClassDef | ast.Module):
                return False

    # spots

    def behind(self, statement: ast.stmt) -> Spot:
        """The place right after a statement that has its lines for itself."""
        last = statement.end_lineno or statement.lineno
        rest = self._line(last)[self.source.characters(last, statement.end_col_offset or 0) - 1 :].strip()
        if rest and not rest.startswith("#"):
            raise NoPlaceError(ONE_LINE)
        return Spot(last, self._indent(statement))

    def ahead(self, statement: ast.stmt) -> Spot:
        """The place right before a statement; not between a comment on a line of its own and what it stands above."""
        first = first_line(statement)
        indent = self._indent(statement)
        if self._line(first - 1).lstrip().startswith("#"):
            raise NoPlaceError("a comment stands right above it")
        return Spot(first - 1, indent)

    def start(self, owner: Function | ast.For | ast.AsyncFor | ast.With | ast.AsyncWith) -> Spot:
        """The start of a body, behind its docstring."""
        first = owner.body[0]
        indent = self._indent(first)
        if isinstance(owner, Function) and is_docstring(first):
            return self.behind(first)
        line = first_line(first) - 1
        while line > owner.lineno and (not self._line(line).strip() or self._line(line).lstrip().startswith("#")):
            line -= 1
        return Spot(line, indent)

    def definition(self, function: Function) -> Spot:
        """The place of one more decorator, under all others."""
        return Spot(function.lineno - 1, self._indent(function))

    def _indent(self, statement: ast.stmt) -> str:
        line = statement.lineno
        head = self._line(line)[: self.source.characters(line, statement.col_offset) - 1]
        above = self._line(line - 1).rstrip() if line > 1 else ""
        if head.strip() or above.endswith("\\"):
            raise NoPlaceError(ONE_LINE)
        return head

    def _line(self, number: int) -> str:
        return self.source.lines[number - 1] if 0 < number <= len(self.source.lines) else ""


def blocks(owner: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements directly inside a statement, handler, case or module."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(owner, name, None)
        if isinstance(block, list) and block:
            yield block


def own_nodes(function: Function | ast.Module | ast.ClassDef) -> Iterator[ast.AST]:
    """Every node that runs in a function itself: not inside of functions and classes in it."""
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Function | ast.ClassDef):
            stack += node.decorator_list
        elif not isinstance(node, ast.Lambda):
            stack += ast.iter_child_nodes(node)


def first_line(statement: ast.stmt) -> int:
    """The line on which a statement begins, decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def is_docstring(statement: ast.stmt) -> bool:
    """Whether a statement is nothing but a text."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _all_blocks(owner: ast.AST) -> Iterator[list[ast.stmt]]:
    yield from blocks(owner)
    for part in _parts(owner):
        yield from blocks(part)


def _parts(owner: ast.AST) -> Iterator[ast.AST]:
    """The handlers of a `try`, the cases of a `match`."""
    yield from getattr(owner, "handlers", ())
    yield from getattr(owner, "cases", ())


def _spans(statement: ast.stmt, position: Position) -> bool:
    begin = (first_line(statement), statement.col_offset if not getattr(statement, "decorator_list", ()) else 0)
    end = (statement.end_lineno or 0, statement.end_col_offset or 0)
    return begin <= (position.line, position.column) and (position.end_line, position.end_column) <= end
