"""Names whose capitals say the shape: `logits_BTV`, in files where these letters are dims, or `logits_BxTxV` anywhere.

Capitals behind an underscore are more often an abbreviation (`loss_KL`, `energy_SR`). They are read only where the file
has each of the letters as a dim, and are sure where it uses several such names for arrays and knows all the letters.
With an x between its axes (`q_BxLxHxDh`, `mask_1x1xTxT`) a name means nothing else: it is sure where there are several.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from shapecheck.claims.claim_sites import SiteKey, name_place
from shapecheck.shapes import AnyDims, Dim, FixedDim, NamedDim, Spec, VariadicDim, is_variadic
from shapecheck.syntax.scopes import Function, PlacedStatement, Tables, arguments, last_name, single_targets, targets
from shapecheck.syntax.source_text import SourceText

_SUFFIX = re.compile(r"(?=.*[a-z].*_)[A-Za-z]\w*?_([A-Z][A-Za-z]{1,5}|[A-Z][A-Za-z]{1,4}\d)")
_AXIS = r"(?:[A-Z][a-z]?\d?|\d{1,4})"
_WITH_CROSSES = re.compile(rf"[A-Za-z]\w*?_((?=\w*[A-Z]){_AXIS}(?:x{_AXIS})+)")  # what is `conv_3x3` may be anything
_PLAIN_ARRAYS = frozenset({"Array", "ndarray", "ArrayLike"})
_EINSUM = re.compile(r"\s*[A-Za-z.]+(?:\s*,\s*[A-Za-z.]+)*\s*->\s*[A-Za-z.]*\s*")
_EXPLAINED = re.compile(r"(?<![\w.])([A-Z]):?[ \t]*[:=]?[ \t]+[a-z]")
_STARRED = re.compile(r"[(\[,][ \t]*\*([A-Z])(?=[ \t]*[,)\]])")
_SEVERAL_AXES = re.compile(r"(?<![\w.])([A-Z]):[ \t]*(?:[a-z]+[ \t]+)?(?:dimensions|axes|dims)\b")
_OUTERMOST = "BTNL"
_JOINING = frozenset({"concatenate", "concat", "append", "hstack", "vstack", "pad", "insert", "delete"})
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
        if not self._suffixed_names:
            return
        node = placed.node
        if isinstance(node, Function):
            scope = self.tables.scope_of[node.lineno, node.col_offset]
            for argument in arguments(node):
                spec = self._shape_of(argument.arg)
                if spec is not None and _says_no_shape(argument.annotation):
                    place = SiteKey(kind="param", scope=scope, name=argument.arg)
                    where = ast.Name(argument.arg)
                    ast.copy_location(where, argument)
                    where.end_lineno = argument.lineno
                    where.end_col_offset = argument.col_offset + len(argument.arg.encode())
                    yield self._read_name(where, argument.arg, spec, place)
        elif not placed.compound:
            scope = self.tables.function_scope(placed.scope)
            for target in (single for each in targets(node) for single in single_targets(each)):
                spec = self._shape_of(target.id) if isinstance(target, ast.Name) else None
                if spec is not None and isinstance(target, ast.Name) and not isinstance(node, ast.AnnAssign):
                    place = name_place(scope, target.id, node, "after", placed.loop)
                    found = self._read_name(target, target.id, spec, place)
                    yield replace(found, sure=False) if _grows(node, target.id) else found

    def _read_name(self, node: ast.expr, name: str, spec: Spec, place: SiteKey) -> SuffixedName:
        is_known = _WITH_CROSSES.fullmatch(name) is not None or all(
            each in self.known | self._legend for each in spec.names()
        )
        is_sure = self._is_custom and is_known and name not in self._cut_to_size
        return SuffixedName(node=node, name=name, spec=spec, place=place, sure=is_sure)

    @cached_property
    def _cut_to_size(self) -> frozenset[str]:
        """The names of which the file takes as much as their own letters say: `cos_TK[:T]` is of a longer table."""
        found: set[str] = set()
        for node in ast.walk(self.source.tree) if self.source.tree is not None else ():
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                spec = self._shape_of(node.value.id)
                index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                ends = {
                    last_name(each.upper) for each in index if isinstance(each, ast.Slice) and each.upper is not None
                }
                if spec is not None and not ends.isdisjoint(spec.names()):
                    found.add(node.value.id)
        return frozenset(found)

    def _shape_of(self, name: str) -> Spec | None:
        """What the end of a name says: the axes between crosses, or its capitals, if each is a dim of the file."""
        if (match := _WITH_CROSSES.fullmatch(name)) is not None:
            return Spec(
                tuple(FixedDim(int(axis)) if axis.isdigit() else NamedDim(axis) for axis in match[1].split("x"))
            )
        match = _SUFFIX.fullmatch(name)
        if match is None or not self._letters.issuperset(match[1].rstrip("0123456789")):
            return None
        if match[1][-1].isdigit() and not self._has_plain_ones:
            return None  # a second one, perhaps
        return self._spec(match[1])

    def _spec(self, letters: str) -> Spec | None:
        """The dims of letters; those that stand for several axes may stand in one place alone, `SB` of `SBD`."""
        dims: list[Dim] = []
        for letter in letters:
            if letter not in self._several:
                dims.append(FixedDim(int(letter)) if letter.isdigit() else NamedDim(letter))
            elif dims and is_variadic(dims[-1]):
                dims[-1] = AnyDims()
            elif any(map(is_variadic, dims)):
                return None
            else:
                dims.append(VariadicDim(letter))
        return Spec(tuple(dims))

    @cached_property
    def _several(self) -> frozenset[str]:
        """The letters that stand for any number of axes: `(*S, D)` in a comment, "S: sample dimensions" at the head."""
        head = ast.get_docstring(self.source.tree) if isinstance(self.source.tree, ast.Module) else None
        starred = {letter for comment in self.source.comments for letter in _STARRED.findall(comment.text)}
        return frozenset(starred | set(_SEVERAL_AXES.findall(head or "")))

    @cached_property
    def _letters(self) -> frozenset[str]:
        """The letters that are dims of the file: known capitals, those of contractions, of a legend, of many names."""
        if self.source.tree is None:
            return frozenset()
        found = {name for name in self.known if len(name) == 1 and name.isupper()} | self._legend
        for node in ast.walk(self.source.tree):
            text = node.value if isinstance(node, ast.Constant) else None
            # `BTKGh,BSKh->BKGTS` has the letters of such names, `ij,jk->ik` has not.
            if isinstance(text, str) and not text.islower() and _EINSUM.fullmatch(text):
                found.update(filter(str.isalpha, text))
        return frozenset(found | self._shared_letters())

    @cached_property
    def _legend(self) -> set[str]:
        """The capitals that the text at the head of the file explains: `B: batch, L: sequence length, M: model dim`."""
        head = ast.get_docstring(self.source.tree) if isinstance(self.source.tree, ast.Module) else None
        found = set(_EXPLAINED.findall(head or ""))
        return found if len(found) >= _SEVERAL else set()

    def _shared_letters(self) -> set[str]:
        """The capitals in suffixes of which several begin as shapes mostly do: `BL`, `BLF`, `BV`; each is in two."""
        ends = {match[1] for name in self._suffixed_names if (match := _SUFFIX.fullmatch(name)) and match[1].isupper()}
        first = Counter(end[0] for end in ends)
        counts = Counter(letter for end in ends for letter in {*end})
        is_custom = max(first[letter] for letter in _OUTERMOST) >= _SEVERAL
        return {letter for letter, times in counts.items() if times > 1} if is_custom else set()

    @cached_property
    def _suffixed_names(self) -> frozenset[str]:
        """The variables and parameters of the file whose names end in capitals."""
        if "_" not in self.source.text:
            return frozenset()
        names = {name for scope in self.tables.assigned.values() for name in scope}
        names.update(name for scope in self.tables.scopes for name in scope.parameters)
        return frozenset(name for name in names if _SUFFIX.fullmatch(name) or _WITH_CROSSES.fullmatch(name))

    @cached_property
    def _has_plain_ones(self) -> bool:
        """Whether the file has names whose letters alone are dims."""
        ends = [match[1] for name in self._suffixed_names if (match := _SUFFIX.fullmatch(name))]
        return any(self._letters.issuperset(end) for end in ends)

    @cached_property
    def _is_custom(self) -> bool:
        """Whether the file uses such names again and again."""
        return sum(self._shape_of(name) is not None for name in self._suffixed_names) >= _SEVERAL


def _grows(node: ast.stmt, name: str) -> bool:
    """Whether a statement joins something to a variable: `tokens_BL = concatenate([tokens_BL, new_B1], axis=1)`."""
    value = getattr(node, "value", None)
    if not isinstance(value, ast.Call) or last_name(value.func) not in _JOINING:
        return False
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(value))


def _says_no_shape(annotation: ast.expr | None) -> bool:
    """Whether a parameter has no type, or one of arrays of any shape: `jax.Array`."""
    return annotation is None or last_name(annotation) in _PLAIN_ARRAYS
