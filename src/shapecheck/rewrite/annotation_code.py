"""Annotations as code: which of them `isinstance` can check at run time, and how they are written there."""

from __future__ import annotations

import ast

from shapecheck.claims.annotation_names import Names
from shapecheck.claims.axis_words import words
from shapecheck.rewrite.inserted_imports import defined_once
from shapecheck.rewrite.spots import NoPlaceError
from shapecheck.syntax.source_text import SourceText

_PLAIN = words("None int float bool complex str bytes")
_ARRAYS = words("Array ndarray")
NO_ISINSTANCE = "isinstance cannot check that annotation"


class AnnotationCode:
    """Writes annotations of one file as the second argument of `isinstance`."""

    def __init__(self, source: SourceText, tree: ast.Module, names: Names) -> None:
        self.source = source
        self.names = names
        self._known = defined_once(tree)

    def text(self, annotation: ast.expr) -> str:
        """The annotation on one line. Raises NoPlaceError where it is not for `isinstance`."""
        used = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
        text = " | ".join(self._members(annotation))
        missing = sorted(name for name in used if name not in self._known and name not in _PLAIN)
        if missing:
            raise NoPlaceError(f"{missing[0]} is not surely there when the program runs")
        return text

    def _members(self, node: ast.expr) -> list[str]:
        """The members of a union, each a class. Of `typing.Union` itself `isinstance` asks only for a subclass."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return [*self._members(node.left), *self._members(node.right)]
        if isinstance(node, ast.Subscript) and self.names.original(node.value) == "Optional":
            return [*self._members(node.slice), "None"]
        if isinstance(node, ast.Subscript) and self.names.original(node.value) == "Union":
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return [member for part in parts for member in self._members(part)]
        value = self.names.aliases.get(node.id, node) if isinstance(node, ast.Name) else node
        if not self._is_class(value):
            raise NoPlaceError(NO_ISINSTANCE)
        if node.lineno == node.end_lineno:
            return [self.source.segment(node)]
        return [ast.unparse(node).replace("'", '"')]

    def _is_class(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return node.value is None
        if isinstance(node, ast.Name):
            return node.id in _PLAIN
        if not isinstance(node, ast.Subscript):
            return False
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if self.names.original(node.value) == "PyTree":
            return self._is_class(inner[0])
        array = self.names.array_class(node.value)
        return array is not None and array.certain and self.names.original(inner[0]) in _ARRAYS
