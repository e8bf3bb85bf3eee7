"""Names whose capitals say the shape: `logits_BTV`, in files where these letters are dims.

Capitals behind an underscore are more often an abbreviation (`loss_KL`, `energy_SR`). They are read only where the file
has each of the letters as a dim, and are sure where it uses several such names for arrays and knows all the letters.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from shapecheck.claims.claim_sites import SiteKey, name_place
from shapecheck.shapes import NamedDim, Spec
from shapecheck.syntax.scopes import Function, PlacedStatement, Tables, arguments, single_targets, targets
from shapecheck.syntax.source_text import SourceText

_SUFFIX = re.compile(r"[A-Za-z]\w*?_([A-Z]{2,6})")
_EINSUM = re.compile(r"\s*[A-Za-z.]+(?:\s*,\s*[A-Za-z.]+)*\s*->\s*[A-Za-z.]*\s*")
_SEVERAL = 3  # names with such a suffix, from which on a file means them


@dataclass(frozen=True, kw_only=True)
class SuffixedName:
    """A variable that is given a value, or a parameter, with the shape that its name says."""

    node: ast.expr
    name: str
    spec: Spec
    place: SiteKey
    sure: bool


class NameSuffixes:
    """Finds such names in one file. `known` are names of dims."""

    def __init__(self, source: SourceText, tables: Tables, known: set[str]) -> None:
        self.source = source
        self.tables = tables
        self.known = known

    def of(self, placed: PlacedStatement) -> Iterator[SuffixedName]:
        """What a statement assigns, or a function takes, under such a name."""
        if not self._letters:
            return
        node = placed.node
        if isinstance(node, Function):
            scope = self.tables.scope_of[node.lineno, node.col_offset]
            for argument in arguments(node):
                letters = self._shape_of(argument.arg)
                if letters and argument.annotation is None:
                    place = SiteKey(kind="param", scope=scope, name=argument.arg)
                    where = ast.Name(argument.arg)
                    ast.copy_location(where, argument)
                    where.end_col_offset = argument.col_offset + len(argument.arg.encode())
                    yield self._read_name(where, argument.arg, letters, place)
        elif not placed.compound:
            scope = self.tables.function_scope(placed.scope)
            for target in (single for each in targets(node) for single in single_targets(each)):
                letters = self._shape_of(target.id) if isinstance(target, ast.Name) else ""
                if letters and isinstance(target, ast.Name) and not isinstance(node, ast.AnnAssign):
                    place = name_place(scope, target.id, node, "after", placed.loop)
                    yield self._read_name(target, target.id, letters, place)

    def _read_name(self, node: ast.expr, name: str, letters: str, place: SiteKey) -> SuffixedName:
        sure = self._is_custom and all(letter in self.known for letter in letters)
        return SuffixedName(node=node, name=name, spec=Spec(tuple(map(NamedDim, letters))), place=place, sure=sure)

    def _shape_of(self, name: str) -> str:
        """The capitals at the end of a name, if each is a dim of the file."""
        match = _SUFFIX.fullmatch(name)
        return match.group(1) if match is not None and self._letters.issuperset(match.group(1)) else ""

    @cached_property
    def _letters(self) -> frozenset[str]:
        """The capitals that are dims of the file: those known as such, and those of its contractions."""
        if "_" not in self.source.text or self.source.tree is None or not self._suffixed_names:
            return frozenset()
        found = {name for name in self.known if len(name) == 1 and name.isupper()}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _EINSUM.fullmatch(node.value):
                found.update(letter for letter in node.value if letter.isupper())
        return frozenset(found)

    @cached_property
    def _suffixed_names(self) -> frozenset[str]:
        """The variables and parameters of the file whose names end in capitals."""
        names = {name for scope in self.tables.assigned.values() for name in scope}
        names.update(name for scope in self.tables.scopes for name in scope.parameters)
        return frozenset(name for name in names if _SUFFIX.fullmatch(name))

    @cached_property
    def _is_custom(self) -> bool:
        """Whether the file uses such names again and again."""
        return sum(bool(self._shape_of(name)) for name in self._suffixed_names) >= _SEVERAL
