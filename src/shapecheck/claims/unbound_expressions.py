"""Expressions in annotations whose names nothing has bound when jaxtyping comes to them: it raises an error there.

jaxtyping computes `2*n` from the names that annotations before it have bound, of the parameters in their order and then
of the result. Of code that is checked at run time no call gets past one that it cannot compute.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shapecheck.claims.annotation_specs import AnnotationSpec
from shapecheck.model import Problem
from shapecheck.shapes import NamedDim, SymbolicDim, parse_spec
from shapecheck.shapes.expressions import unbraced_names
from shapecheck.syntax.scopes import Function, dotted_name
from shapecheck.syntax.source_text import SourceText

# Where none of these stands in a file, only an import hook may check its annotations: most projects have none.
_CHECKERS = re.compile(r"\b(?:jaxtyped|beartype|typeguard|typechecked|install_import_hook)\b")
_NEVER_CALLED = frozenset({"abstractmethod", "overload", "no_type_check"})


@dataclass(frozen=True)
class _UnboundExpression:
    spec: AnnotationSpec
    names: tuple[str, ...]
    parameters: frozenset[str]


class UnboundExpressions:
    """Collects those of one file: one problem tells of all."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._is_jaxtyping = not any("kauldron" in line for line in source.lines)  # which computes them another way
        self._found: list[_UnboundExpression] = []

    def read_function(
        self, node: Function, parameters: Sequence[AnnotationSpec], result: Sequence[AnnotationSpec]
    ) -> None:
        """Read the specs of a function, those of its parameters in their order."""
        if any((dotted_name(d) or "").rpartition(".")[2] in _NEVER_CALLED for d in node.decorator_list):
            return
        bound: set[str] = set()
        arguments = frozenset(each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))
        for spec in (*parameters, *(() if _binds_inside(node) else result)):
            missing = tuple(dict.fromkeys(_missing_names(spec, bound)))
            if missing and "?" not in spec.select and not (spec.unread or spec.arises):
                self._found.append(_UnboundExpression(spec, missing, arguments))
            bound |= set(parse_spec(spec.spec).free_names())

    def problems(self) -> Iterator[Problem]:
        """At most one."""
        if not self._found or not self._is_jaxtyping:
            return
        first, *others = self._found
        names = " and ".join(first.names)
        message = f"jaxtyping raises an error wherever it checks {first.spec.text}: nothing before it binds {names}"
        if first.parameters.issuperset(first.names):
            message += f" (of the argument, it reads {{{first.names[0]}}} in braces)"
        if others:
            more = "another annotation" if len(others) == 1 else f"{len(others)} more annotations"
            message += f"; so it is with {more} of this file"
        is_checked = any(_CHECKERS.search(line) for line in self._source.lines)
        yield Problem("SC101", self._source.span(first.spec.node), message, may_matter=not is_checked)


def _binds_inside(node: Function) -> bool:
    """Whether the body may bind names as well, in which the result is then checked."""
    inside = [each for statement in node.body for each in ast.walk(statement)]
    return any(
        isinstance(each, ast.AnnAssign)
        or (isinstance(each, ast.Call) and (dotted_name(each.func) or "").rpartition(".")[2] == "isinstance")
        for each in inside
    )


def _missing_names(spec: AnnotationSpec, bound: set[str]) -> Iterator[str]:
    own = set(bound)
    for dim in parse_spec(spec.spec).dims:
        if isinstance(dim, NamedDim):
            own.add(dim.name)
        elif isinstance(dim, SymbolicDim):
            yield from (name for name in unbraced_names(dim.expression) if name not in own)
