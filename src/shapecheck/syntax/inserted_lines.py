"""What `instrument` put into a file: recognised by its mark, and left out of what the file claims.

A mark ends each inserted line. A formatter may since have broken such a line into several: then the whole statement
or decorator is what was inserted.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shapecheck.model import INSERTED, Claim, DebugCall, Module, Position, Problem, Scope, Site, Span, Suppression
from shapecheck.syntax.scopes import Function
from shapecheck.syntax.source_text import SourceText, parse_text

Definition = Function | ast.ClassDef


@dataclass(frozen=True)
class InsertedCode:
    """The inserted statements of a file, its inserted decorators by their places, and the lines of marks alone."""

    statements: tuple[ast.stmt, ...]
    decorators: tuple[tuple[Definition, int], ...]
    marks: frozenset[int]

    def lines(self) -> frozenset[int]:
        """The numbers of all lines that were inserted."""
        nodes: list[ast.stmt | ast.expr] = [*self.statements]
        nodes += (owner.decorator_list[index] for owner, index in self.decorators)
        ranges = (range(node.lineno, (node.end_lineno or node.lineno) + 1) for node in nodes)
        return self.marks.union(*ranges)


def find_inserted(source: SourceText) -> InsertedCode | None:
    """What was inserted into a file; None if nothing was."""
    if source.tree is None or INSERTED not in source.text:
        return None
    comments = [comment for comment in source.comments if comment.text.rstrip().endswith(INSERTED)]
    if not comments:
        return None
    marked = {comment.line for comment in comments}
    statements: list[ast.stmt] = []
    decorators: list[tuple[Definition, int]] = []
    for node in ast.walk(source.tree):
        if isinstance(node, Definition):
            found = enumerate(node.decorator_list)
            decorators += [(node, index) for index, decorator in found if _has_mark(decorator, marked)]
        elif isinstance(node, ast.stmt) and _has_mark(node, marked) and _is_alone(node, source):
            statements.append(node)
    marks = frozenset(comment.line for comment in comments if comment.own_line)
    return InsertedCode(tuple(statements), tuple(decorators), marks) if statements or decorators or marks else None


def _has_mark(node: ast.stmt | ast.expr, marked: set[int]) -> bool:
    return not marked.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _is_alone(node: ast.stmt, source: SourceText) -> bool:
    """Whether a simple statement has its lines for itself."""
    if hasattr(node, "body") or isinstance(node, ast.Match):
        return False
    span = source.span(node)
    begin, rest = source.lines[span.line - 1][: span.column - 1], source.lines[span.end_line - 1][span.end_column - 1 :]
    return not begin.strip() and rest.lstrip()[:1] in ("", "#")


@dataclass(frozen=True)
class Original:
    """A file without its inserted lines. `kept` gives for each line that is left the number that it had."""

    source: SourceText
    kept: tuple[int, ...]


def original(source: SourceText, inserted: InsertedCode) -> Original:
    """The file without what was inserted."""
    gone = inserted.lines()
    kept = tuple(number for number in range(1, len(source.lines) + 1) if number not in gone)
    text = "\n".join(source.lines[number - 1] for number in kept)
    return Original(parse_text(source.path, text, newer=bool(source.older)), kept)


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
        debug_calls=tuple(map(shift.debug_call, module.debug_calls)),
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
        switches = tuple(replace(each, lines=tuple(map(self.line, each.lines))) for each in scope.switches)
        return replace(scope, position=self.position(scope.position), switches=switches)

    def site(self, site: Site) -> Site:
        loop, paths = tuple(map(self.line, site.loop)), tuple((self.line(line), column) for line, column in site.paths)
        return replace(site, position=self.position(site.position), loop=loop, paths=paths)

    def claim(self, claim: Claim) -> Claim:
        return replace(claim, span=self.span(claim.span))

    def suppression(self, found: Suppression) -> Suppression:
        line = None if found.line is None else self.line(found.line)
        return replace(found, line=line, span=self.span(found.span))

    def problem(self, problem: Problem) -> Problem:
        return replace(problem, span=self.span(problem.span))

    def debug_call(self, call: DebugCall) -> DebugCall:
        return replace(call, span=self.span(call.span))
