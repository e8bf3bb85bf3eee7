"""Where the statements of a file stand, and which of them ran before a statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapecheck.model import Position
from shapecheck.syntax.scopes import Function
from shapecheck.syntax.source_text import position_of


@dataclass(frozen=True)
class _Seat:
    """Where a statement stands: its owner, and its place in one of the owner's lists of statements."""

    owner: ast.AST
    block: list[ast.stmt]
    index: int


class StatementLayout:
    """The statements of one file, each with its surroundings."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self._seats: dict[int, _Seat] = {}
        self._by_position: dict[Position, ast.stmt] = {}
        self._note(tree)

    def _note(self, tree: ast.Module) -> None:
        stack: list[ast.AST] = [tree]
        while stack:
            owner = stack.pop()
            for block in _own_blocks(owner):
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
            parts = (s for block in blocks(inside) for s in block if _spans(s, position))
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


def blocks(owner: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements directly inside a statement or module, and those of its handlers and cases."""
    yield from _own_blocks(owner)
    for part in _parts(owner):
        yield from _own_blocks(part)


def _own_blocks(owner: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(owner, name, None)
        if isinstance(block, list) and block:
            yield block


def first_line(statement: ast.stmt) -> int:
    """The line on which a statement begins, decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def is_docstring(statement: ast.stmt) -> bool:
    """Whether a statement is nothing but a text."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _parts(owner: ast.AST) -> Iterator[ast.AST]:
    """The handlers of a `try`, the cases of a `match`."""
    yield from getattr(owner, "handlers", ())
    yield from getattr(owner, "cases", ())


def _spans(statement: ast.stmt, position: Position) -> bool:
    begin = (first_line(statement), statement.col_offset if not getattr(statement, "decorator_list", ()) else 0)
    end = (statement.end_lineno or 0, statement.end_col_offset or 0)
    return begin <= (position.line, position.column) and (position.end_line, position.end_column) <= end
