"""Dims that nothing binds, one letter away from a name that something does: most likely a slip of the pen."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from shapecheck.claims.axis_words import is_dim_part, looks_like_dim
from shapecheck.model import Claim, NearName
from shapecheck.shapes import parse_spec
from shapecheck.syntax.scopes import Tables, dotted_name
from shapecheck.syntax.source_text import SourceText

_SHORTEST = 4  # shorter names are one edit from each other by nature: `h`, `w`; `qk`, `qkv`
_LONGEST = 60
_LONG, _OFTEN = 8, 2  # letters of a name that other functions use, and how often it stands in the file at least
_SHORTEST_PART = 3  # `q_len` and `k_len`
_SWAPPED = 3  # letters of the shortest name of which two may be swapped: `mdi` for `mid`
_SHORTENED = 6  # letters of a whole name of which a part may lack one within: `max_ln`
_WORD = re.compile(r"\w+")


class NearNames:
    """Looks for them in one file. `known` are the names that are surely dims somewhere in it."""

    def __init__(self, source: SourceText, tables: Tables, claims: Sequence[Claim], known: Collection[str]) -> None:
        self.source, self.tables, self.claims, self.known = source, tables, claims, known
        self._visible: dict[int, frozenset[str]] = {}
        self._near: dict[int, Mapping[str, Collection[str]]] = {}
        self._claimed: dict[int, Counter[str]] = defaultdict(Counter)
        self._names = [parse_spec(claim.spec).names() for claim in claims]

    def find(self) -> Iterator[NearName]:
        """Names that stand once in the file, beside the most likely name for each.

        What is a variable somewhere, an attribute, or a word of the trade (`patch` beside `batch`) means itself.
        """
        for claim, names in zip(self.claims, self._names, strict=True):
            self._claimed[claim.scope].update({*names})
        earlier: dict[int, set[str]] = defaultdict(set)
        for index, (claim, names) in enumerate(zip(self.claims, self._names, strict=True)):
            for name in names if claim.sure or not claim.loose else ():
                if _SWAPPED <= len(name) <= _LONGEST and self._is_unbound(claim.scope, name):
                    near = self._nearest(claim, name, names, earlier[claim.scope])
                    if near:
                        yield NearName(index, name, near)
            earlier[claim.scope].update(names)

    def _is_unbound(self, scope: int, name: str) -> bool:
        if not name.isidentifier() or any(map(str.isdigit, name)):
            return False  # numbered names differ in one letter, and are meant to
        return self._claimed[scope][name] == 1 and self._words(name) == 1

    def _nearest(self, claim: Claim, name: str, beside: Collection[str], earlier: Collection[str]) -> str:
        """The name that is meant: what claims use twice or more, what the code binds, what another claim says."""
        around, counts = self._around(claim.scope), self._claimed[claim.scope]
        ranked: list[tuple[int, str]] = []
        for near in {near for piece in _deletions(name) for near in around.get(piece, ())}:
            if near in beside or not is_slip(name, near):
                continue
            if len(name) < _SHORTEST and not (sorted(name) == sorted(near) and near in self.visible(claim.scope)):
                continue
            is_tuple = claim.text.endswith((",)", ",]"))  # which is a shape, though of one unknown name: `(max_ln,)`
            if (claim.sure or is_tuple) and counts[near] > 1:
                ranked.append((0, near))
            elif near in self._visible[claim.scope]:
                ranked.append((1, near))
            elif claim.sure and near in counts and (near in earlier or looks_like_dim(near)):
                ranked.append((2, near))
            elif claim.sure and near not in counts and self._words(near) > _OFTEN and len(near) >= _LONG:
                ranked.append((3, near))  # a name of other functions, too long to be near by chance
        return min(ranked)[1] if ranked else ""

    def _around(self, scope: int) -> Mapping[str, Collection[str]]:
        """The names that a claim of a scope may mean, by what is left of each without one of its letters."""
        if scope not in self._near:
            found: dict[str, set[str]] = defaultdict(set)
            for name in {*self.visible(scope), *self._claimed[scope], *self._everywhere}:
                if len(name) <= _LONGEST and not any(map(str.isdigit, name)):
                    for piece in _deletions(name):
                        found[piece].add(name)
            self._near[scope] = found
        return self._near[scope]

    @cached_property
    def _everywhere(self) -> frozenset[str]:
        """The names that claims use anywhere in the file."""
        return frozenset(name for names in self._names for name in names)

    def _words(self, name: str) -> int:
        """How often a name stands in the file."""
        return 1 if self.source.text.count(name) == 1 else self._counts[name]

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(_WORD.findall(self.source.text))

    def visible(self, scope: int) -> frozenset[str]:
        """The names of sizes that code in a scope can see: its own, those around it, those of its object."""
        if scope not in self._visible:
            self._visible[scope] = frozenset(filter(self._is_size, self._visible_names(scope)))
        return self._visible[scope]

    def _is_size(self, name: str) -> bool:
        return name in self.known or (looks_like_dim(name) and name not in self._variables_with_elements)

    @cached_property
    def _variables_with_elements(self) -> frozenset[str]:
        """The variables of which code takes elements, which are no sizes: `n_pos[:, 0]`."""
        taken = (node.value for node in ast.walk(self.tables.nodes[0]) if isinstance(node, ast.Subscript))
        return frozenset(_plain(filter(None, map(dotted_name, taken))))

    def _visible_names(self, scope: int) -> Iterator[str]:
        current: int | None = scope
        while current is not None:
            each = self.tables.scopes[current]
            yield from each.parameters
            yield from _plain(self.tables.assigned[current])
            if each.kind == "class":
                yield from self._of_class(current)
            elif each.kind == "function":
                yield from _attributes(self.tables.nodes[current])
            current = each.parent

    def _of_class(self, scope: int) -> Iterator[str]:
        """What the constructor of a class takes, and what its methods keep."""
        for inner in self.tables.scopes[scope + 1 :]:
            if inner.parent == scope:
                yield from inner.parameters if inner.qualname.endswith(".__init__") else ()
                yield from _plain(name for name in self.tables.assigned[inner.index] if name.startswith("self."))


def _plain(names: Collection[str] | Iterator[str]) -> Iterator[str]:
    return (name.rpartition(".")[2] for name in names)


def _attributes(node: ast.AST) -> Iterator[str]:
    return (part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute))


def _deletions(name: str) -> set[str]:
    """A name, and all that is left of it without one letter: names that are one edit apart share some of these."""
    return {name, *(name[:index] + name[index + 1 :] for index in range(len(name)))}


def is_slip(name: str, near: str) -> bool:
    """Whether a name is another one but for a slip: a letter too many, too few, changed, or two of them swapped.

    A change of number (`dim1`, `dim2`; `head`, `heads`), of the first letter (`nheads`; `xcoord`, `ycoord`), or to
    another word that axes are called by (`patch`, `batch`) is none; nor is another way to join words (`qlen`, `q_len`).
    """
    if abs(len(name) - len(near)) > 1 or name.replace("_", "") == near.replace("_", ""):
        return False
    parts, others = name.split("_"), near.split("_")
    if len(parts) != len(others):
        return _one_edit(name, near) and not all(map(is_dim_part, parts))
    differing = [(x, y) for x, y in zip(parts, others, strict=True) if x != y]
    if len(differing) != 1:
        return False
    ((part, other),) = differing
    if is_dim_part(part) or not _one_edit(part, other):
        return False
    lacks_inner = len(name) >= _SHORTENED and len(part) + 1 == len(other) and part[-1] == other[-1]
    return min(len(part), len(other)) >= _SHORTEST_PART or (len(part) > 1 and len(parts) > 1 and lacks_inner)


def _one_edit(a: str, b: str) -> bool:
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    rest_a, rest_b = a[start:], b[start:]
    if start == 0:
        return False
    if len(a) == len(b):
        if rest_a[1:] == rest_b[1:]:
            return len(rest_a) > 1 and not (rest_a[0].isdigit() or rest_b[0].isdigit())
        return rest_a[:2] == rest_b[1::-1] and rest_a[2:] == rest_b[2:]
    longer, shorter = (rest_a, rest_b) if len(a) > len(b) else (rest_b, rest_a)
    if longer[1:] != shorter or longer[0].isdigit():
        return False
    at_end = not shorter
    if at_end and longer == "s":
        return False  # a plural
    return not at_end or len(a) < len(b) or longer == a[start - 1]
