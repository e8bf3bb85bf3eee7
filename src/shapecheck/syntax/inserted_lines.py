"""Lines that `instrument` put into a file: found by their mark, taken out, and left out of what the file claims.

A mark ends each inserted line. A formatter may since have broken such a line into several: then the whole statement
or decorator goes.
"""

from __future__ import annotations

import ast
import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from shapecheck.model import INSERTED, Claim, Module, Position, Problem, Scope, Site, Span, Suppression
from shapecheck.syntax.source_text import SourceText

_LINE = re.compile(rb"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]++")


@dataclass(frozen=True)
class Original:
    """A file without its inserted lines. `kept` gives for each line that is left the number that it had."""

    data: bytes
    kept: tuple[int, ...]


def split_lines(data: bytes) -> list[bytes]:
    """The lines as Python counts them, with their ends."""
    return _LINE.findall(data)


def may_have_inserted(data: bytes) -> bool:
    """Whether it is worth looking."""
    return INSERTED.encode() in data


def original(data: bytes, source: SourceText) -> Original:
    """The file without what was inserted. `source` is what was read from `data`."""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    lines = split_lines(data[len(mark) :])
    gone = inserted_lines(source)
    kept = tuple(number for number in range(1, len(lines) + 1) if number not in gone)
    left = [lines[number - 1] for number in kept]
    if left and len(lines) in gone and not lines[-1].endswith((b"\r", b"\n")):
        # The file had no line end at its end, and the inserted line needed one before it.
        left[-1] = left[-1].rstrip(b"\r\n")
    return Original(mark + b"".join(left), kept)


def inserted_lines(source: SourceText) -> frozenset[int]:
    """The numbers of all lines that were inserted."""
    if source.tree is None:
        return frozenset()
    marked = {comment.line for comment in source.comments if comment.text.rstrip().endswith(INSERTED)}
    gone = {line for line in marked if source.lines[line - 1].lstrip().startswith("#")}
    for first, last in _removable(source, source.tree) if marked else ():
        if marked.intersection(range(first, last + 1)):
            gone.update(range(first, last + 1))
    return frozenset(gone)


def _removable(source: SourceText, tree: ast.Module) -> Iterator[tuple[int, int]]:
    """The lines of statements and decorators that have their lines for themselves."""
    for node in ast.walk(tree):
        for decorator in getattr(node, "decorator_list", ()):
            yield decorator.lineno, decorator.end_lineno
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and not isinstance(node, ast.Match):
            begin, end = source.lines[node.lineno - 1], source.lines[(node.end_lineno or node.lineno) - 1]
            rest = end.encode("utf-8", "surrogatepass")[node.end_col_offset :].lstrip()
            if not begin[: source.characters(node.lineno, node.col_offset) - 1].strip() and rest[:1] in (b"", b"#"):
                yield node.lineno, node.end_lineno or node.lineno


def in_whole(module: Module, kept: Sequence[int], lines: tuple[str, ...]) -> Module:
    """What was read from a file without its inserted lines, with the line numbers of the file as it is.

    Of the text, inserted lines are blank: rules that ask what else a file says shall not find themselves quoted.
    """
    shift = _Shift(kept)
    own = frozenset(kept)
    return replace(
        module,
        scopes=tuple(map(shift.scope, module.scopes)),
        sites=tuple(map(shift.site, module.sites)),
        claims=tuple(map(shift.claim, module.claims)),
        suppressions=tuple(map(shift.suppression, module.suppressions)),
        problems=tuple(map(shift.problem, module.problems)),
        lines=tuple(line if number in own else "" for number, line in enumerate(lines, 1)),
    )


@dataclass(frozen=True)
class _Shift:
    """Line numbers of the file without inserted lines -> those of the file with them."""

    kept: Sequence[int]

    def line(self, number: int) -> int:
        return self.kept[number - 1] if 0 < number <= len(self.kept) else number

    def span(self, span: Span) -> Span:
        return replace(span, line=self.line(span.line), end_line=self.line(span.end_line))

    def position(self, position: Position | None) -> Position | None:
        if position is None:
            return None
        return replace(position, line=self.line(position.line), end_line=self.line(position.end_line))

    def scope(self, scope: Scope) -> Scope:
        return replace(scope, position=self.position(scope.position))

    def site(self, site: Site) -> Site:
        return replace(site, position=self.position(site.position), loop=tuple(map(self.line, site.loop)))

    def claim(self, claim: Claim) -> Claim:
        return replace(claim, span=self.span(claim.span))

    def suppression(self, found: Suppression) -> Suppression:
        line = None if found.line is None else self.line(found.line)
        return replace(found, line=line, span=self.span(found.span))

    def problem(self, problem: Problem) -> Problem:
        return replace(problem, span=self.span(problem.span))
