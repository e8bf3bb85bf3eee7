"""Inserted lines taken out of a file again: nothing else of the file changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import libcst as cst

from shapecheck.model import INSERTED
from shapecheck.rewrite.transform import COMPOUND, RewriteError, transform
from shapecheck.syntax.concrete_file import ConcreteFile, leading_lines
from shapecheck.syntax.inserted_lines import InsertedCode

_Line = TypeVar("_Line", cst.BaseStatement, cst.Decorator)
_Definition = cst.FunctionDef | cst.ClassDef


def remove_code(file: ConcreteFile, inserted: InsertedCode) -> bytes:
    """The file without its inserted lines. Raises RewriteError, also where a block would be empty without them."""
    return transform(file, RemoveLines(file, inserted))


class RemoveLines(cst.CSTTransformer):
    """Removes inserted statements and decorators. The blank lines and comments above them stay where they are."""

    def __init__(self, file: ConcreteFile, inserted: InsertedCode) -> None:
        super().__init__()
        self._gone: set[cst.CSTNode] = set()
        for statement in inserted.statements:
            place = file.place(statement)
            if place.is_alone and place.line is not None:
                self._gone.add(place.line)
        for owner, index in inserted.decorators:
            definition = file.place(owner).line
            if isinstance(definition, cst.FunctionDef | cst.ClassDef):
                self._gone.add(definition.decorators[index])

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Look into nothing that holds no statements, decorators, or lines of comments."""
        return isinstance(node, (*COMPOUND, cst.SimpleStatementLine, cst.Decorator))

    def leave_EmptyLine(
        self, original_node: cst.EmptyLine, updated_node: cst.EmptyLine
    ) -> cst.EmptyLine | cst.RemovalSentinel:
        """Remove a mark that has come to stand on a line of its own."""
        comment = original_node.comment
        return cst.RemoveFromParent() if comment and comment.value.rstrip().endswith(INSERTED) else updated_node

    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> cst.BaseSuite:
        """Remove from a block."""
        body, above = self._keep_lines(original_node.body, updated_node.body)
        if not body:
            raise RewriteError("without the inserted lines it would be no valid Python: some block would be empty")
        return updated_node.with_changes(body=body, footer=[*above, *updated_node.footer])

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        """Remove from the top level."""
        body, above = self._keep_lines(original_node.body, updated_node.body)
        return updated_node.with_changes(body=body, footer=[*above, *updated_node.footer])

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.BaseStatement:
        """Remove decorators."""
        return self._drop_decorators(original_node, updated_node)

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.BaseStatement:
        """Remove decorators."""
        return self._drop_decorators(original_node, updated_node)

    def _drop_decorators(self, original: _Definition, updated: _Definition) -> cst.BaseStatement:
        decorators, above = self._keep_lines(original.decorators, updated.decorators)
        below = [*above, *updated.lines_after_decorators]
        return updated.with_changes(decorators=decorators, lines_after_decorators=below)

    def _keep_lines(
        self, original: Iterable[_Line], updated: Iterable[_Line]
    ) -> tuple[list[_Line], list[cst.EmptyLine]]:
        """The lines that stay, and what stood above those at the end that do not."""
        left: list[_Line] = []
        above: list[cst.EmptyLine] = []
        for old, new in zip(original, updated, strict=True):
            above += leading_lines(new)
            if old not in self._gone:
                left.append(new.with_changes(leading_lines=above))
                above = []
        return left, above
