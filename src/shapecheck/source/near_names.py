"""Dims that nothing binds, one letter away from a name that something does: most likely a slip of the pen."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from shapecheck.facts import Claim, NearName
from shapecheck.shapes import parse_spec
from shapecheck.source.reading import Source
from shapecheck.source.scopes import Tables
from shapecheck.source.vocabulary import is_dim_part, looks_like_dim

_SHORTEST = 4  # shorter names are one edit from each other by nature: `h`, `w`; `qk`, `qkv`
_SHORTEST_PART = 3  # `q_len` and `k_len`
_WORD = re.compile(r"\w+")


class NearNames:
    """Looks for them in one file. `known` are the names that are surely dims somewhere in it."""

    def __init__(self, source: Source, tables: Tables, claims: Sequence[Claim], known: Collection[str]) -> None:
        self.source, self.tables, self.claims, self.known = source, tables, claims, known
        self._visible: dict[int, frozenset[str]] = {}
        self._names = [parse_spec(claim.spec).names() for claim in claims]

    def find(self) -> Iterator[NearName]:
        """Names that stand once in the file, beside the most likely name for each.

        What is a variable somewhere, an attribute, or a word of the trade (`patch` beside `batch`) means itself.
        """
        claimed: dict[int, Counter[str]] = defaultdict(Counter)
        for claim, names in zip(self.claims, self._names, strict=True):
            claimed[claim.scope].update({*names})
        earlier: dict[int, set[str]] = defaultdict(set)
        for index, (claim, names) in enumerate(zip(self.claims, self._names, strict=True)):
            for name in names if claim.sure or not claim.loose else ():
                counts = claimed[claim.scope]
                if len(name) < _SHORTEST or not name.isidentifier() or counts[name] > 1 or self._words(name) > 1:
                    continue
                often = [near for near, count in counts.items() if count > 1] if claim.sure else []
                once = [n for n in counts if n in earlier[claim.scope] or looks_like_dim(n)] if claim.sure else []
                near = next(
                    (n for n in (*often, *self.visible(claim.scope), *once) if n not in names and is_slip(name, n)), ""
                )
                if near:
                    yield NearName(index, name, near)
            earlier[claim.scope].update(names)

    def _words(self, name: str) -> int:
        """How often a name stands in the file."""
        return 1 if self.source.text.count(name) == 1 else self._counts[name]

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(_WORD.findall(self.source.text))

    def visible(self, scope: int) -> Sequence[str]:
        """The names of sizes that code in a scope can see: its own, those around it, those of its object."""
        if scope not in self._visible:
            found = {name for name in self._bound(scope) if name in self.known or looks_like_dim(name)}
            self._visible[scope] = frozenset(found)
        return sorted(self._visible[scope])

    def _bound(self, scope: int) -> Iterator[str]:
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


def is_slip(name: str, near: str) -> bool:
    """Whether a name is another one but for a slip: a letter too many, too few, changed, or two of them swapped.

    A change of number (`dim1`, `dim2`; `head`, `heads`), of the first letter (`nheads`; `xcoord`, `ycoord`), or to
    another word that axes are called by (`patch`, `batch`) is none.
    """
    if name == near or abs(len(name) - len(near)) > 1:
        return False
    parts, others = name.split("_"), near.split("_")
    if len(parts) != len(others):
        return _one_edit(name, near) and not all(map(is_dim_part, parts))
    differing = [(x, y) for x, y in zip(parts, others, strict=True) if x != y]
    if len(differing) != 1:
        return False
    ((part, other),) = differing
    return min(len(part), len(other)) >= _SHORTEST_PART and not is_dim_part(part) and _one_edit(part, other)


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
