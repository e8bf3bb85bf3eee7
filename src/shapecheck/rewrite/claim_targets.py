"""Which variable holds the value that a claim describes, and where in the text it does so."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from shapecheck.model import Claim, Module, Site
from shapecheck.rewrite.insertion import NoPlaceError, Spot, Spots
from shapecheck.rewrite.insertion_points import StatementLayout
from shapecheck.syntax.scopes import Function, Tables, dotted_name, target_names, targets
from shapecheck.syntax.source_text import position_of

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Assert)


@dataclass(frozen=True)
class ClaimTarget:
    """A value under a name: `spot` is where the name has it. `statement` gives it (the function, for parameters).

    The name is empty where a value is unpacked into several.
    """

    name: str
    spot: Spot
    statement: ast.stmt
    function: Function | ast.ClassDef | ast.Module
    assigned: bool = False


class ClaimTargets:
    """Finds targets in one file."""

    def __init__(self, module: Module, layout: StatementLayout, spots: Spots, tables: Tables) -> None:
        self.module = module
        self.layout = layout
        self.spots = spots
        self.tables = tables

    def of(self, claim: Claim) -> ClaimTarget:
        """The variable that a claim is about. Raises NoPlaceError, which says why there is none."""
        if claim.unread:
            raise NoPlaceError(claim.unread)
        if not claim.sites:
            raise NoPlaceError("nothing is assigned there")
        if len(claim.sites) > 1:
            raise NoPlaceError("it may describe any of several values")
        site = self.module.sites[claim.sites[0]]
        if site.kind == "field":
            raise NoPlaceError("it is about a field, which jaxtyping checks only with all others of its class")
        if site.kind in ("param", "return"):
            return self._of_function(site)
        if site.kind == "called":
            raise NoPlaceError("it is about each call of a callable")
        if site.position is None:
            raise NoPlaceError("nothing is assigned there")
        return self._named_target(site) if site.kind == "name" else self._value(site)

    def _of_function(self, site: Site) -> ClaimTarget:
        node = self.tables.nodes[site.scope]
        if not isinstance(node, Function):
            raise NoPlaceError("nothing is assigned there")
        if site.kind == "return":
            raise NoPlaceError("the returned value has no name")
        return ClaimTarget(site.name, self.spots.start(node), node, node)

    def _named_target(self, site: Site) -> ClaimTarget:
        statement = self.layout.at(site.position) if site.position is not None else None
        if statement is None:
            raise NoPlaceError("nothing is assigned there")
        function = self.layout.function(statement)
        if site.when == "body" and isinstance(statement, ast.For | ast.AsyncFor | ast.With | ast.AsyncWith):
            return ClaimTarget(site.name, self.spots.start(statement), statement, function, assigned=True)
        if site.when != "after" or not isinstance(statement, _SIMPLE):
            raise NoPlaceError("nothing is assigned there")
        assigned = any(site.name in target_names(t) for t in targets(statement))
        return ClaimTarget(site.name, self.spots.behind(statement), statement, function, assigned)

    def _value(self, site: Site) -> ClaimTarget:
        """The value of an expression: of an assignment, or a variable that the statement only reads."""
        position = site.position
        statement = self.layout.enclosing_statement(position) if position is not None else None
        if statement is None:
            raise NoPlaceError("nothing is assigned there")
        function = self.layout.function(statement)
        value = getattr(statement, "value", None)
        if isinstance(value, ast.expr) and position_of(value) == position:
            names = [name for target in targets(statement) if (name := dotted_name(target)) is not None]
            if names and not isinstance(statement, ast.AugAssign):
                return ClaimTarget(names[0], self.spots.behind(statement), statement, function, assigned=True)
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[-1], ast.Tuple):
                return ClaimTarget("", self.spots.behind(statement), statement, function, assigned=True)
            if isinstance(statement, ast.Return) and isinstance(value, ast.Name):
                return ClaimTarget(value.id, self.spots.ahead(statement), statement, function)
        node = next((n for n in ast.walk(statement) if isinstance(n, ast.Name) and position_of(n) == position), None)
        if node is not None and isinstance(statement, _SIMPLE):
            changed = {name for target in targets(statement) for name in target_names(target)}
            inside = any(isinstance(n, ast.Lambda | ast.comprehension | ast.NamedExpr) for n in ast.walk(statement))
            if node.id not in changed and not inside:
                return ClaimTarget(node.id, self.spots.behind(statement), statement, function)
        what = "a returned value" if isinstance(statement, ast.Return) else "part of a longer expression"
        raise NoPlaceError(f"it is about {what}, which has no name")
