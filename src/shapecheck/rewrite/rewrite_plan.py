"""What one file claims, prepared for writing it as code, and what becomes of each claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shapecheck.claims.annotation_names import Names, read_names
from shapecheck.model import Claim, Module
from shapecheck.rewrite.annotation_code import AnnotationCode
from shapecheck.rewrite.claim_targets import ClaimTargets
from shapecheck.rewrite.inserted_imports import NeededImports
from shapecheck.rewrite.insertion import Insertion
from shapecheck.rewrite.insertion_points import StatementLayout
from shapecheck.rewrite.integer_variables import IntegerVariables
from shapecheck.rewrite.shape_strings import DimReader
from shapecheck.rewrite.signature_checks import FunctionClaims
from shapecheck.rewrite.spots import Spots
from shapecheck.syntax.concrete_file import ConcreteFile
from shapecheck.syntax.scopes import Function, Tables, survey
from shapecheck.syntax.source_text import SourceText


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
