"""The names of dims in claims: where a name stands in its scope, what else may be written there, and its new name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lsprotocol import types

from shapecheck.editor.file_result import FileResult
from shapecheck.editor.positions import EditorText, MovedLines
from shapecheck.model import Claim, Scope, Span
from shapecheck.shapes import parse_spec

_WORD = re.compile(r"[^\W\d]\w*")
# Within the text of a jaxtyping annotation, or behind the opening bracket of a comment.
_IN_CLAIM = re.compile(r"\w\[[^\[\]\"']*[\"'][^\"']*$|#[^#]*[(\[][\w\s,*+\-/]*$")


@dataclass(frozen=True)
class DimName:
    """A name of a dim: the text under the cursor, where it stands, and where it stands in all claims of its scope.

    If it is an integer of the program (`self.heads`), `integer` says which: then a claim has it from there.
    """

    name: str
    span: Span
    places: tuple[Span, ...]
    integer: str
    others: frozenset[str]  # further names of the same claims


class DimNames:
    """Looks names up in the claims of one document, as its text is now."""

    def __init__(self, result: FileResult, text: EditorText, moved: MovedLines) -> None:
        self._result, self._text, self._moved = result, text, moved
        self._scopes = result.module.scopes

    def at(self, position: types.Position) -> DimName | None:
        """The name under the cursor, if it stands in a claim."""
        line, column = self._text.place(position)
        for claim in self._result.module.claims:
            for name, span in self._words(claim):
                if span.line == line and span.column <= column <= span.end_column:
                    return self._find(name, span, claim)
        return None

    def completions(self, position: types.Position) -> Iterator[types.CompletionItem]:
        """The names that claims around the cursor have, those of its own function first."""
        line, column = self._text.place(position)
        before = self._text.lines[line - 1][: column - 1] if line <= len(self._text.lines) else ""
        if not _IN_CLAIM.search(before):
            return
        near = self._scope_at(line)
        family = self._family(near)
        sizes = {b.name: b for claim in self._result.claims for b in claim.bindings}
        own = {n for c in self._result.module.claims if c.scope in family for n in parse_spec(c.spec).names()}
        every = {n for c in self._result.module.claims for n in parse_spec(c.spec).names()}
        for name in sorted(own) + sorted(every - own):
            bound = sizes.get(name)
            size = "" if bound is None or bound.size == name else f"{name} = {bound.size}"
            yield types.CompletionItem(
                label=name,
                kind=types.CompletionItemKind.Variable,
                detail=f"{size} from {bound.source}".strip() if bound is not None else None,
                sort_text=f"{'0' if name in own else '1'}{name}",
            )

    def _find(self, name: str, span: Span, claim: Claim) -> DimName:
        family = self._family(claim.scope, name)
        claims = [c for c in self._result.module.claims if c.scope in family]
        places = {place for c in claims for word, place in self._words(c) if word == name}
        others = frozenset(n for c in claims for n in parse_spec(c.spec).names()) - {name}
        owners = {self._scopes[scope].qualname for scope in family}
        judged = (each for each in self._result.claims if each.function in owners)
        bound = (b for each in judged for b in each.bindings if b.name == name and b.line is None)
        integer = next((b.source for b in bound), "")
        return DimName(name, span, tuple(sorted(places, key=lambda s: (s.line, s.column))), integer, others)

    def _words(self, claim: Claim) -> Iterator[tuple[str, Span]]:
        """The names of a claim's dims, where they stand now."""
        names = set(parse_spec(claim.spec).names())
        span = self._moved.span(claim.span)
        if span is None or not names:
            return
        is_quoted = claim.notation == "annotation"
        quote = ""
        for number in range(span.line, span.end_line + 1):
            line = self._text.lines[number - 1]
            first = span.column - 1 if number == span.line else 0
            last = span.end_column - 1 if number == span.end_line else len(line)
            for match in re.finditer(rf"{_WORD.pattern}|[\"']", line[first:last]):
                word = match.group()
                if word in ('"', "'"):
                    quote = "" if quote == word else quote or word
                elif word in names and (quote or not is_quoted):
                    begin = first + match.start() + 1
                    yield word, Span(number, begin, number, begin + len(word))

    def _family(self, scope: int, name: str = "") -> set[int]:
        """The scopes in which a name means the same: a function with those inside of it, or the class that binds it."""
        root = scope
        while (parent := self._scopes[root].parent) is not None and self._scopes[parent].kind == "function":
            root = parent
        if parent is not None and self._scopes[parent].kind == "class":
            bound = (n for c in self._result.module.claims if c.scope == parent for n in parse_spec(c.spec).names())
            root = parent if name in set(bound) else root
        family = {root}
        for each in self._scopes:  # parents stand before what is inside of them
            if each.parent in family and (each.parent is not None and self._scopes[root].kind != "module"):
                family.add(each.index)
        return family

    def _scope_at(self, line: int) -> int:
        """The innermost function or class around a line, by the nearest line above that was there."""
        old = next((was for now in range(line, 0, -1) if (was := self._moved.back(now)) is not None), 1)
        around = [each for each in self._scopes if _contains(each, old)]
        return max(around, key=lambda each: each.index, default=self._scopes[0]).index


def _contains(scope: Scope, line: int) -> bool:
    return scope.position is not None and scope.position.line <= line <= scope.position.end_line
