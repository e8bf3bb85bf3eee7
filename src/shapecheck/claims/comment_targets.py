"""What a comment stands at: a statement, a parameter, a field, or an expression inside a statement."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from shapecheck.claims.asserted_value import is_no_array, left_by, speaks, subject
from shapecheck.claims.claim_sites import SiteKey, name_place, value_place
from shapecheck.claims.expressions_by_line import (
    Lines,
    ScopedExpression,
    header_nodes,
    index_lines,
    outermost,
    right_operands,
    roots,
)
from shapecheck.claims.known_dims import shape_of
from shapecheck.syntax.scopes import Function, PlacedStatement, Tables, arguments, dotted_name
from shapecheck.syntax.source_text import Comment, SourceText

_NAME_LENGTH = 40
_OPERATORS = " \t(+-*/%@&|^<>"
_OPENING = ("(", "[", "{")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, kw_only=True)
class CommentTarget:
    """What a shape beside it describes.

    `places` are its readings, the most natural first; `elements` are those of a tuple target, one by one, where the
    value is unpacked. `scope` is whose bindings count; `unsure` says that the place itself is a guess.
    """

    scope: int
    name: str
    places: tuple[SiteKey, ...]
    statement: PlacedStatement
    elements: tuple[CommentTarget, ...] = ()
    unsure: bool = False
    part: ast.expr | None = None  # where it is only a part of the statement

    @property
    def code(self) -> ast.AST:
        """The code that it stands beside."""
        return self.statement.node if self.part is None else self.part


class CommentTargets:
    """Finds what comments stand at, in one file."""

    def __init__(self, source: SourceText, tables: Tables) -> None:
        self.source = source
        self.tables = tables
        self._lines: dict[int, Lines] = {}
        self._ends: dict[int, int] = {}
        self._parameters: dict[int, dict[int, str]] = {}

    def trailing_target(self, comment: Comment) -> tuple[PlacedStatement | None, CommentTarget | None]:
        """The statement on whose line a comment trails, and what it describes there."""
        placed = self.tables.at_or_before(comment.line)
        if placed is None or comment.line > self._own_end(placed):
            return None, None
        if isinstance(placed.node, _FUNCTIONS):
            return placed, self._in_header(placed, placed.node, comment)
        if comment.line < self._own_end(placed) or (placed.compound and not comment.code.rstrip().endswith(":")):
            return placed, self._inside(placed, comment)
        if isinstance(placed.node, ast.ClassDef):
            return placed, None
        return placed, self.statement(placed)

    def inside(self, comment: Comment) -> tuple[PlacedStatement | None, CommentTarget | None]:
        """For a comment on a line of its own: the statement in whose brackets it stands, and what comes next there."""
        placed = self.tables.at_or_before(comment.line)
        if placed is None or placed.node.lineno >= comment.line or not self._is_within(placed, comment.line):
            return None, None
        line = self._next_code(comment.line)
        if isinstance(placed.node, _FUNCTIONS):
            return placed, self._parameter(placed, placed.node, line)
        lines = self._index(placed)
        # Above the first link of a method chain it may be about the whole chain or about that link.
        found = [f for f in (lines.starting.get(line), lines.ending.get(line)) if f is not None]
        return placed, _join_targets([t for t in (self._expression(placed, f) for f in found) if t is not None])

    def statement(self, placed: PlacedStatement) -> CommentTarget | None:
        """What a comment describes that speaks of a whole statement."""
        node, scope = placed.node, placed.scope
        in_class = self.tables.scopes[scope].kind == "class"
        if isinstance(node, ast.AnnAssign | ast.Assign) and in_class:
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[-1]
            if isinstance(target, ast.Name) and not (isinstance(node, ast.Assign) and is_no_array(node.value)):
                return CommentTarget(
                    scope=scope,
                    name=target.id,
                    places=(SiteKey(kind="field", scope=scope, position=None, name=target.id),),
                    statement=placed,
                )
            return None
        if isinstance(node, ast.Assign):
            return self._value(placed, node.value, node.targets[-1])
        if isinstance(node, ast.AnnAssign):
            return self._value(placed, node.value, node.target) if node.value is not None else None
        if isinstance(node, ast.AugAssign):
            return self._after(placed, node.target)
        if isinstance(node, ast.Return):
            returned = self._value(placed, node.value, None) if node.value is not None else None
            return None if returned is None else replace(returned, name="the returned value")
        if isinstance(node, ast.Expr):
            return self._expression_statement(placed, node.value)
        if isinstance(node, ast.Assert):
            return self._asserted_target(placed, node.test)
        if isinstance(node, ast.For | ast.AsyncFor):
            return self._loop_variables(placed, node.target)
        if isinstance(node, ast.With | ast.AsyncWith) and node.items[-1].optional_vars is not None:
            return self._loop_variables(placed, node.items[-1].optional_vars)
        if isinstance(node, ast.If) and (variable := left_by(node)) is not None:
            left = self._after(placed, variable)
            return None if left is None else replace(left, unsure=not node.orelse)
        return None

    def variable(self, placed: PlacedStatement, name: str) -> CommentTarget:
        """A variable or attribute chain behind a statement."""
        scope = self.tables.function_scope(placed.scope)
        return CommentTarget(
            scope=scope,
            name=name,
            places=(name_place(scope, name, placed.node, "after", placed.loop),),
            statement=placed,
        )

    def when_bound(self, target: CommentTarget, names: Iterable[str]) -> Iterator[SiteKey]:
        """The variable that a statement sets, behind further statements that bind `names` anew from a shape.

        In `y = f(x)  # (n, d)` above `n, d = y.shape`, n and d are those to come. In a loop they may be taken from
        another array of the same turn.
        """
        placed = target.statement
        if placed.compound or not self.tables.assigns(placed, target.name):
            return
        changed = self.tables.next_assignment(placed.scope, target.name, placed.place)
        for name in names:
            binding = self.tables.next_assignment(placed.scope, name, placed.place)
            if binding is None or binding.block != placed.block or not isinstance(binding.node, ast.Assign):
                continue
            source = shape_of(binding.node.value)
            if source is None or not (placed.loop or dotted_name(source) == target.name):
                continue
            if changed is None or changed.place > binding.place:
                yield from self.variable(binding, target.name).places

    def _value(self, placed: PlacedStatement, value: ast.expr, target: ast.expr | None) -> CommentTarget | None:
        """The value of an assignment or return."""
        loop = placed.loop
        if isinstance(value, ast.Lambda):
            value, loop = value.body, (*loop, value.lineno)
        if isinstance(value, ast.Attribute) and value.attr == "shape" and target is not None:
            name = dotted_name(value.value)  # `b, t = x.shape` is about x, and says itself what its names are
            if name is not None and not self.tables.assigns(placed, name):
                return self.variable(placed, name)
            value, target = value.value, None
        if is_no_array(value):
            return None
        scope = self.tables.function_scope(placed.scope)
        name = self._describe_expression(target if target is not None else value)
        elements: tuple[CommentTarget, ...] = ()
        if isinstance(target, ast.Tuple | ast.List):
            elements = tuple(self._element(placed, element) for element in target.elts)
        return CommentTarget(
            scope=scope, name=name, places=(value_place(scope, value, name, loop),), statement=placed, elements=elements
        )

    def _element(self, placed: PlacedStatement, target: ast.expr) -> CommentTarget:
        """One element of a tuple that is assigned to: read from its variable, since not every value can be indexed."""
        scope = self.tables.function_scope(placed.scope)
        name = dotted_name(target.value if isinstance(target, ast.Starred) else target)
        places = (name_place(scope, name, placed.node, "after", placed.loop),) if name is not None else ()
        return CommentTarget(
            scope=scope, name=name or self._describe_expression(target), places=places, statement=placed
        )

    def _after(self, placed: PlacedStatement, target: ast.expr) -> CommentTarget | None:
        name = dotted_name(target)
        return None if name is None else self.variable(placed, name)

    def _loop_variables(self, placed: PlacedStatement, target: ast.expr) -> CommentTarget | None:
        """The variables that `for` and `with` bind, at the start of the body."""
        scope = self.tables.function_scope(placed.scope)
        loop = (*placed.loop, placed.node.lineno) if isinstance(placed.node, ast.For | ast.AsyncFor) else placed.loop
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        bound = []
        for part in parts:
            name = dotted_name(part)
            places = (name_place(scope, name, placed.node, "body", loop),) if name is not None else ()
            bound.append(
                CommentTarget(
                    scope=scope, name=name or self._describe_expression(part), places=places, statement=placed
                )
            )
        if len(parts) == 1 and parts[0] is target:
            return bound[0] if bound[0].places else None
        return CommentTarget(
            scope=scope, name=self._describe_expression(target), places=(), statement=placed, elements=tuple(bound)
        )

    def _expression_statement(self, placed: PlacedStatement, value: ast.expr) -> CommentTarget | None:
        if isinstance(value, ast.Constant | ast.JoinedStr):
            return None
        if isinstance(value, ast.Yield | ast.Await) and value.value is not None:
            value = value.value
        shown = subject(value)
        if shown is None and isinstance(value, ast.Call) and speaks(value):
            return None
        return self._value(placed, shown if shown is not None else value, None)

    def _asserted_target(self, placed: PlacedStatement, test: ast.expr) -> CommentTarget | None:
        """The one array whose shape or rank is asserted."""
        operand = subject(test)
        return self._after(placed, operand) if operand is not None else None

    def _in_header(self, placed: PlacedStatement, node: Function, comment: Comment) -> CommentTarget | None:
        """A parameter's line, or the line on which the header ends: the return."""
        if not comment.code.rstrip().endswith(":"):
            return self._parameter(placed, node, comment.line)
        scope = self.tables.scope_of[node.lineno, node.col_offset]
        places = [SiteKey(kind="return", scope=scope)]
        alone = comment.line == node.lineno and node.returns is None
        parameters = [a.arg for a in arguments(node) if a.arg not in {"self", "cls"}]
        if alone and len(parameters) == 1:
            places.append(SiteKey(kind="param", scope=scope, position=None, name=parameters[0]))
        return CommentTarget(
            scope=scope, name="the returned value", places=tuple(places), statement=placed, unsure=alone
        )

    def signature(self, placed: PlacedStatement) -> tuple[CommentTarget, ...]:
        """What a function takes, in order, and what it returns; nothing for other statements."""
        node = placed.node
        if not isinstance(node, _FUNCTIONS):
            return ()
        scope = self.tables.scope_of[node.lineno, node.col_offset]
        names = [each.arg for each in arguments(node) if each.arg not in {"self", "cls"}]
        sites = [(name, SiteKey(kind="param", scope=scope, name=name)) for name in names]
        sites.append(("the returned value", SiteKey(kind="return", scope=scope)))
        return tuple(CommentTarget(scope=scope, name=name, places=(site,), statement=placed) for name, site in sites)

    def _parameter(self, placed: PlacedStatement, node: Function, line: int) -> CommentTarget | None:
        """The last parameter on a line of a header."""
        scope = self.tables.scope_of[node.lineno, node.col_offset]
        if scope not in self._parameters:
            self._parameters[scope] = {
                number: argument.arg
                for argument in arguments(node)
                for number in range(argument.lineno, (argument.end_lineno or argument.lineno) + 1)
            }
        name = self._parameters[scope].get(line)
        if name is None:
            return None
        return CommentTarget(
            scope=scope,
            name=name,
            places=(SiteKey(kind="param", scope=scope, position=None, name=name),),
            statement=placed,
        )

    def _inside(self, placed: PlacedStatement, comment: Comment) -> CommentTarget | None:
        """The largest expression that ends on the comment's line, or the one whose bracket opens there."""
        lines = self._index(placed)
        code = comment.code.rstrip()
        if code.endswith(_OPENING):
            column = len(code.encode("utf-8", "surrogatepass")) - 1
            if comment.line == placed.node.lineno and not placed.compound:
                return self.statement(placed)
            found = lines.opening.get((comment.line, column))
            if found is None:
                found = lines.starting.get(self._next_code(comment.line))
            else:
                found = outermost(found, lines.starting.get(comment.line))
        else:
            found = lines.ending.get(comment.line)
            if found is not None:
                return self._operand(placed, lines, found, comment.line)
        return self._expression(placed, found) if found is not None else None

    def _operand(
        self, placed: PlacedStatement, lines: Lines, found: ScopedExpression, line: int
    ) -> CommentTarget | None:
        """Of `- b  # (k,)` in a long sum: the operand, or what the sum has come to on that line, or the whole sum."""
        operands = [
            ScopedExpression(each, found.loop) for each in right_operands(found.node) if self._begins_line(each)
        ]
        operands.sort(key=lambda operand: operand.node.lineno != line)
        whole = lines.whole.get(found.node)
        readings = [*operands, found, *([whole] if whole is not None else [])]
        targets = [target for target in (self._expression(placed, each) for each in readings) if target is not None]
        return _join_targets(targets)

    def _begins_line(self, node: ast.expr) -> bool:
        """Whether nothing but an operator stands in front of an expression on its line."""
        span = self.source.span(node)
        return not self.source.lines[span.line - 1][: span.column - 1].strip(_OPERATORS)

    def _expression(self, placed: PlacedStatement, found: ScopedExpression) -> CommentTarget | None:
        node, loop = found.node, found.loop
        while isinstance(node, ast.Lambda | ast.Starred):
            if isinstance(node, ast.Lambda):
                loop = (*loop, node.lineno)
                node = node.body
            else:
                node = node.value
        if is_no_array(node):
            return None
        scope = self.tables.function_scope(placed.scope)
        name = self._describe_expression(node)
        return CommentTarget(
            scope=scope, name=name, places=(value_place(scope, node, name, loop),), statement=placed, part=node
        )

    def _describe_expression(self, node: ast.expr) -> str:
        """How to call an expression in a message."""
        name = dotted_name(node)
        if name is None:
            span = self.source.span(node)
            end = span.end_column - 1 if span.line == span.end_line else None
            name = self.source.lines[span.line - 1][span.column - 1 : end].strip()
            name += "" if end is not None else " ..."
        return name if len(name) <= _NAME_LENGTH else f"{name[: _NAME_LENGTH - 3]}..."

    def _own_end(self, placed: PlacedStatement) -> int:
        """The last line of a statement, for a compound one that of its header."""
        if not placed.compound:
            return placed.header_end
        if placed.place not in self._ends:
            self._ends[placed.place] = self._find_end(placed)
        return self._ends[placed.place]

    def _find_end(self, placed: PlacedStatement) -> int:
        last = max((n.end_lineno or n.lineno for n in header_nodes(placed.node)), default=placed.node.lineno)
        for line in range(max(last, placed.node.lineno), placed.header_end + 1):
            code = self._code(line)
            if code.endswith(":"):
                return line
        return last

    def _code(self, line: int) -> str:
        """A line without its comment."""
        comments = self.source.comments
        text = self.source.lines[line - 1]
        index = bisect_left(comments, line, key=lambda comment: comment.line)
        if index < len(comments) and comments[index].line == line:
            text = text[: comments[index].column]
        return text.strip()

    def _is_within(self, placed: PlacedStatement, line: int) -> bool:
        end = self._own_end(placed) if placed.compound else placed.node.end_lineno or placed.node.lineno
        return line < end

    def _next_code(self, line: int) -> int:
        """The next line that is neither blank nor a comment."""
        while line < len(self.source.lines):
            line += 1
            text = self.source.lines[line - 1].strip()
            if text and not text.startswith("#"):
                return line
        return line

    def _index(self, placed: PlacedStatement) -> Lines:
        if placed.place not in self._lines:
            self._lines[placed.place] = index_lines(roots(placed.node), placed.loop)
        return self._lines[placed.place]


def _join_targets(targets: Sequence[CommentTarget]) -> CommentTarget | None:
    """The readings of one comment, the most natural first."""
    if not targets:
        return None
    return replace(targets[0], places=tuple(dict.fromkeys(place for each in targets for place in each.places)))
