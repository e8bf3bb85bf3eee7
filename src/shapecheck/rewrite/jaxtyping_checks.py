"""Annotations of signatures and local variables, as jaxtyping checks them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from shapecheck.model import Claim
from shapecheck.rewrite.insertion import Insertion, NoPlaceError
from shapecheck.rewrite.rewrite_plan import FilePlan, RewriteOutcome
from shapecheck.rewrite.signature_checks import FunctionClaims, default, is_jaxtyped, never_checked
from shapecheck.syntax.scopes import Function, arguments, own_nodes

AHEAD, DECORATOR = 10, 20
OUTSIDE = "it stands outside of any function, where jaxtyping's names mean nothing"


def too_early(name: str) -> str:
    """The reason that jaxtyping would not know what a name means."""
    return f"jaxtyping needs the size of {name} before anything gives it"


class JaxtypingChecks:
    """Writes the annotations of one file as code. `decorated` are functions that shall get a decorator."""

    def __init__(self, file: FilePlan, outcome: RewriteOutcome) -> None:
        self.file = file
        self.outcome = outcome
        self.decorated: dict[int, tuple[Function, str]] = {}
        self.checked: dict[int, FunctionClaims] = {}

    def run(self) -> None:
        """All annotations of the file."""
        for key, signature in self.file.signatures().items():
            self.checked[key] = self._function(signature)
        inside: set[int] = set()
        for statement in self.file.tables.statements:
            if isinstance(statement.node, ast.AnnAssign):
                claims = self._claims_in(statement.node.annotation)
                inside.update(map(id, claims))
                self._local(statement.node, claims)
        for claim in self.file.module.claims:
            if claim.notation == "annotation" and id(claim) not in inside and (claim.unread or not claim.sites):
                self.outcome.leave([claim], claim.unread or "nothing is assigned there")

    def insert(self, function: Function, insertions: Iterable[Insertion]) -> None:
        """Insert assertions into a function, which has names of jaxtyping's own for each call."""
        found = list(insertions)
        if found and not is_jaxtyped(function):
            self.decorated.setdefault(id(function), (function, "None"))
        self.outcome.insertions += found

    def decorators(self) -> Iterator[Insertion]:
        """The decorators that are missing."""
        for function, checker in self.decorated.values():
            jaxtyped = self.file.needs.typing_name("jaxtyped")
            name = checker if checker == "None" else self.file.needs.typing_name(checker)
            text = f"{jaxtyped}(typechecker={name})"
            yield Insertion(self.file.spots.definition(function), text, DECORATOR)

    def _function(self, signature: FunctionClaims) -> FunctionClaims:
        """Check a signature; the result has only the parameters that are checked."""
        claims = [claim for each in signature.parameters.values() for claim in each]
        everything = [*claims, *signature.returned]
        nothing = replace(signature, parameters={}, returned=())
        if not everything:
            return signature
        if is_jaxtyped(signature.node):
            self.outcome.already += len(everything)
            return nothing
        missing = signature.first_unbound_name()
        if missing:
            self.outcome.leave(everything, too_early(missing))
            return nothing
        if reason := never_checked(signature.node):
            self.outcome.leave(everything, reason)
            return nothing
        if signature.speaks_only_of_arrays():
            self.decorated[id(signature.node)] = (signature.node, "beartype")
            self.outcome.checked += len(everything)
            return signature
        checked = {name: each for name, each in signature.parameters.items() if self._parameter(signature, name, each)}
        self._return(signature)
        return replace(signature, parameters=checked, returned=())

    def _parameter(self, signature: FunctionClaims, name: str, claims: tuple[Claim, ...]) -> bool:
        node = signature.node
        argument = next(a for a in arguments(node) if a.arg == name)
        given = default(node, name)
        none = isinstance(given, ast.Constant) and given.value is None
        try:
            if argument in (node.args.vararg, node.args.kwarg):
                raise NoPlaceError("it is about each of several arguments, beside annotations that are not jaxtyping's")
            if given is not None and not none:
                raise NoPlaceError("its default may be no array")
            check = f"isinstance({name}, {self.file.code.text(argument.annotation or ast.Constant(None))})"
            spot = self.file.spots.start(node)
        except NoPlaceError as error:
            self.outcome.leave(list(claims), str(error))
            return False
        text = f"assert {name} is None or {check}" if none else f"assert {check}"
        self.insert(node, [Insertion(spot, text)])
        self.outcome.checked += len(claims)
        return True

    def _return(self, signature: FunctionClaims) -> None:
        """Check what is returned, where each `return` names it."""
        node, claims = signature.node, list(signature.returned)
        if not claims or node.returns is None:
            return
        returns = [n for n in own_nodes(node) if isinstance(n, ast.Return)]
        found = []
        try:
            for each in returns:
                if not isinstance(each.value, ast.Name):
                    raise NoPlaceError("what is returned has no name, and beartype would judge other annotations, too")
                check = f"assert isinstance({each.value.id}, {self.file.code.text(node.returns)})"
                found.append(Insertion(self.file.spots.ahead(each), check, AHEAD))
        except NoPlaceError as error:
            self.outcome.leave(claims, str(error))
            return
        self.insert(node, found)
        self.outcome.checked += len(claims)

    def _claims_in(self, annotation: ast.expr) -> list[Claim]:
        """The claims that an annotation makes."""
        whole = self.file.source.span(annotation)
        begin, end = (whole.line, whole.column), (whole.end_line, whole.end_column)
        return [
            claim
            for claim in self.file.module.claims
            if claim.notation == "annotation"
            and begin <= (claim.span.line, claim.span.column)
            and (claim.span.end_line, claim.span.end_column) <= end
        ]

    def _local(self, node: ast.AnnAssign, claims: list[Claim]) -> None:
        """Check an annotated variable where it gets its value."""
        if not claims:
            return
        try:
            target = self.file.targets.of(claims[0])
            if not isinstance(target.function, Function):
                raise NoPlaceError(OUTSIDE)
            if reason := never_checked(target.function):
                raise NoPlaceError(reason)
            signature = self.checked[id(target.function)]
            for claim in claims:
                if missing := claim.unread or signature.first_missing_name(claim, signature.bound_names):
                    raise NoPlaceError(
                        claim.unread or f"jaxtyping needs the size of {missing} before anything gives it"
                    )
            check = f"assert isinstance({target.name}, {self.file.code.text(node.annotation)})"
        except NoPlaceError as error:
            self.outcome.leave(claims, str(error))
            return
        self.insert(target.function, [Insertion(target.spot, check)])
        self.outcome.checked += len(claims)
