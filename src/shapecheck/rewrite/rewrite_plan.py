"""What one file claims, prepared for writing it as code, and what becomes of each claim.

Annotations are written as `isinstance` can check them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from shapecheck.claims.annotation_names import Names, read_names
from shapecheck.claims.axis_words import words
from shapecheck.model import Claim, Module
from shapecheck.rewrite.claim_targets import ClaimTargets
from shapecheck.rewrite.inserted_imports import NeededImports, defined_once
from shapecheck.rewrite.insertion import Insertion, NoPlaceError, Spots
from shapecheck.rewrite.insertion_points import StatementLayout
from shapecheck.rewrite.integer_variables import IntegerVariables
from shapecheck.rewrite.shape_strings import DimReader
from shapecheck.rewrite.signature_checks import FunctionClaims
from shapecheck.syntax.concrete_file import ConcreteFile
from shapecheck.syntax.scopes import Function, Tables, survey
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


@dataclass(frozen=True)
class RewriteOptions:
    """What to insert; `prints` are patterns for variables. With `nan_only`, infinity passes."""

    shapes: bool = False
    numerics: bool = False
    breakpoint: bool = False
    prints: tuple[str, ...] = ()
    nan_only: bool = False


@dataclass(frozen=True)
class SkippedClaim:
    """A claim (or value) for which nothing was inserted, and why. `what` is its notation, or "value"."""

    line: int
    what: str
    reason: str


@dataclass(kw_only=True)
class RewriteOutcome:
    """What becomes of the claims and values of one file."""

    insertions: list[Insertion] = field(default_factory=list)
    checked: int = 0  # claims that are checked whenever the program comes by
    partly: int = 0  # of these, those with an axis that any size fits
    already: int = 0  # claims of functions that the file itself has jaxtyped
    values: int = 0  # values that are checked for being finite, stopped at, or printed
    left: list[SkippedClaim] = field(default_factory=list)

    def leave(self, claims: Sequence[Claim], reason: str) -> None:
        """Note that nothing checks these claims."""
        self.left += [SkippedClaim(claim.span.line, claim.notation, reason) for claim in claims]


class FilePlan:
    """One file with all that reads it. What it imports on line `above` or below comes too late for what is inserted."""

    def __init__(self, module: Module, source: SourceText, concrete: ConcreteFile, above: int) -> None:
        self.module = module
        self.source = source
        tree = concrete.tree
        self.tables: Tables = survey(tree)
        classes = frozenset(scope.index for scope in self.tables.scopes if scope.kind == "class")
        self.names: Names = read_names(self.tables.statements, classes)
        self.layout = StatementLayout(tree)
        self.spots = Spots(concrete)
        self.targets = ClaimTargets(module, self.layout, self.spots, self.tables)
        self.integers = IntegerVariables(self.layout)
        self.dims = DimReader(self.layout, self.integers)
        self.code = AnnotationCode(source, tree, self.names)
        self.needs = NeededImports(tree=tree, spots=self.spots, above=above)

    def signatures(self) -> dict[int, FunctionClaims]:
        """Each function, by the identity of its node, with the claims of its annotations."""
        parameters: dict[int, dict[str, tuple[Claim, ...]]] = {}
        returned: dict[int, tuple[Claim, ...]] = {}
        for claim in self.module.claims:
            site = self.module.sites[claim.sites[0]] if claim.sites else None
            if claim.notation != "annotation" or site is None or claim.unread:
                continue
            if site.kind == "param":
                found = parameters.setdefault(site.scope, {})
                found[site.name] = (*found.get(site.name, ()), claim)
            elif site.kind == "return":
                returned[site.scope] = (*returned.get(site.scope, ()), claim)
        return {
            id(node): FunctionClaims(node, parameters.get(index, {}), returned.get(index, ()), self.names)
            for index, node in enumerate(self.tables.nodes)
            if isinstance(node, Function)
        }
