"""What a comment stands at: a statement, a parameter, a field, or an expression inside a statement; and which value
that is about.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from shapecheck.claims.claim_sites import SiteKey, describe_expression, name_place, value_place
from shapecheck.claims.expressions_beside import opened_expression, readings_behind, readings_below
from shapecheck.claims.known_dims import shape_of
from shapecheck.claims.other_places import OtherPlaces
from shapecheck.claims.statement_subjects import (
    appended_value,
    assignment_target,
    calls_its_variable,
    is_no_array,
    is_plain_type,
    last_statement,
    left_by,
    speaks,
    subject,
)
from shapecheck.syntax.comment_tokens import Comment
from shapecheck.syntax.owners import CommentOwner, Inside
from shapecheck.syntax.scopes import Function, PlacedStatement, Tables, arguments, dotted_name
from shapecheck.syntax.source_text import SourceText

_ARROW = re.compile(r"[-=]>|[→⇒]")
_CHANGES = re.compile(r"[-=]>|[→⇒]|[)\]]\s+(?:to|into)\s+[(\[]")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, kw_only=True)
class CommentTarget:
    """What a shape beside it describes.

    `places` are its readings, the most natural first; `elements` are those of a tuple target, one by one, where the
    value is unpacked, and of one that is nested its own; `meant` is the place of the one element that a single shape
    may be of alone. `scope` is whose bindings count; `unsure` says that the place itself is a guess.
    """

    scope: int
    name: str
    places: tuple[SiteKey, ...]
    statement: PlacedStatement
    elements: tuple[CommentTarget, ...] = ()
    meant: tuple[SiteKey, ...] = ()
    unsure: bool = False
    part: ast.expr | None = None  # where it is only a part of the statement

    @property
    def variables(self) -> tuple[CommentTarget, ...]:
        """Those of a tuple target, in a row, whatever tuples they stand in: `_`, `x` and `y` of `_, (x, y)`."""
        return tuple(inner for each in self.elements for inner in (each.variables or (each,)))

    @property
    def code(self) -> ast.AST:
        """The code that it stands beside."""
        return self.statement.node if self.part is None else self.part


class CommentTargets:
    """Finds what comments stand at, in one file."""

    def __init__(
        self, source: SourceText, tables: Tables, owners: Mapping[Comment, CommentOwner], other_places: OtherPlaces
    ) -> None:
        self.source = source
        self.tables = tables
        self._other_places = other_places
        inside = (owner for owner in owners.values() if isinstance(owner, Inside))
        self._with_parameters = {owner.statement for owner in inside if owner.parameter}

    def behind(self, comment: Comment, placed: PlacedStatement) -> CommentTarget | None:
        """What a comment describes that stands behind a statement, or behind the colon of its header."""
        if isinstance(placed.node, _FUNCTIONS):
            return self._behind_header(placed, placed.node, comment)
        if isinstance(placed.node, ast.If) and _ARROW.search(comment.text):
            return self._left_by_arm(placed, placed.node)
        if isinstance(placed.node, ast.If):
            tested = self._condition_subject(placed, placed.node)
            if tested is None and placed.node.orelse:  # `if axis == 0:  # (nx + 1, ny)` tells of that case
                tested = self._left_by_arm(placed, placed.node)
            return tested if tested is not None else self.statement(placed)
        if isinstance(placed.node, ast.ClassDef):
            return None
        whole, last = self.statement(placed), self._other_places.last_entry(placed, comment.line)
        if whole is None or last is None:
            return whole
        return replace(whole, name=last.name, places=(last, *whole.places))  # more likely than all of them

    def above(self, comment: Comment, placed: PlacedStatement) -> CommentTarget | None:
        """What a comment describes that stands above a statement.

        Of `# Promote (d, d) to (1, d, d)` above `if x.ndim == 2:` it is what that arm leaves, where it is taken.
        """
        node = placed.node
        if isinstance(node, ast.If) and _CHANGES.search(comment.text):
            raising = last_statement(_other_arm(node))
            if raising is None or isinstance(raising, ast.Raise):
                return self._left_by_arm(placed, node) or self.statement(placed)
        return self.statement(placed)

    def _condition_subject(self, placed: PlacedStatement, node: ast.If) -> CommentTarget | None:
        """What `if x.ndim == 2:  # (b, t)` describes: the array that is tested, where the branch begins."""
        operand = subject(node.test)
        if operand is None and isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], ast.IsNot):
            operand = node.test.left  # `if mask is not None:`
        name = dotted_name(operand) if operand is not None else None
        if name is None:
            return None
        scope = self.tables.function_scope(placed.scope)
        begin = name_place(scope, name, node.body[0], "before", placed.loop)
        return CommentTarget(scope=scope, name=name, places=(begin,), statement=placed)

    def _left_by_arm(self, placed: PlacedStatement, node: ast.If) -> CommentTarget | None:
        """What `if x.ndim == 2:  # (b, t) -> (b, t, 1)` describes: what the arm assigns last, where it is taken."""
        last = last_statement(node.body)
        target = assignment_target(last) if last is not None else None
        name = dotted_name(target) if target is not None else None
        if last is None or name is None:
            return None
        scope = self.tables.function_scope(placed.scope)
        end = name_place(scope, name, last, "after", placed.loop)
        return CommentTarget(scope=scope, name=name, places=(end,), statement=placed)

    def inside(self, comment: Comment, placed: PlacedStatement, owner: Inside) -> CommentTarget | None:
        """What a comment describes that stands inside a statement or header."""
        if isinstance(placed.node, _FUNCTIONS):
            return self._parameter(placed, placed.node, owner.parameter)
        outermost = next(iter((*owner.enclosing, *owner.before[::-1], *owner.after)), None)
        if outermost not in _roots(placed.node):
            return None
        loop = (*placed.loop, *(each.lineno for each in owner.enclosing if isinstance(each, _INNER)))
        if comment.own_line:
            return self._first(placed, loop, readings_below(owner))
        if owner.opened is not None:
            if comment.line == placed.node.lineno and not placed.compound:
                return self.statement(placed)
            return self._first(placed, loop, [opened_expression(owner, owner.opened, comment.line)])
        return self._first(placed, loop, readings_behind(owner, comment.line))

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
            assigned = self._value(placed, node.value, node.targets[-1])
            if assigned is None:
                return None
            return replace(assigned, meant=tuple(self._other_places.beside_carried(placed, node)))
        if isinstance(node, ast.AnnAssign):
            return self._value(placed, node.value, node.target) if node.value is not None else None
        if isinstance(node, ast.AugAssign):
            return self._after(placed, node.target)
        if isinstance(node, ast.Return):
            returned = self._value(placed, node.value, None) if node.value is not None else None
            if returned is None:
                return None
            return replace(returned, name="the returned value", meant=tuple(self._other_places.beside_others(placed)))
        if isinstance(node, ast.Expr):
            return self._expression_statement(placed, node.value)
        if isinstance(node, ast.Assert):
            return self._asserted_target(placed, node.test)
        if isinstance(node, ast.For | ast.AsyncFor):
            if not calls_its_variable(node):
                return self._loop_variables(placed, node.target)
            variable = left_by(node)
            left = self._after(placed, variable) if variable is not None else None
            return None if left is None else replace(left, unsure=True)
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
        name = describe_expression(self.source, target if target is not None else value)
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
        inner = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        return CommentTarget(
            scope=scope,
            name=name or describe_expression(self.source, target),
            places=places,
            statement=placed,
            elements=tuple(self._element(placed, each) for each in inner),
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
                    scope=scope, name=name or describe_expression(self.source, part), places=places, statement=placed
                )
            )
        if len(parts) == 1 and parts[0] is target:
            return bound[0] if bound[0].places else None
        return CommentTarget(
            scope=scope,
            name=describe_expression(self.source, target),
            places=(),
            statement=placed,
            elements=tuple(bound),
        )

    def _expression_statement(self, placed: PlacedStatement, value: ast.expr) -> CommentTarget | None:
        if isinstance(value, ast.Constant | ast.JoinedStr):
            return None
        if isinstance(value, ast.Yield | ast.Await) and value.value is not None:
            value = value.value
        shown = subject(value) or appended_value(value)
        if shown is None and isinstance(value, ast.Call) and speaks(value):
            return None
        return self._value(placed, shown if shown is not None else value, None)

    def _asserted_target(self, placed: PlacedStatement, test: ast.expr) -> CommentTarget | None:
        """The one array whose shape or rank is asserted."""
        operand = subject(test)
        return self._after(placed, operand) if operand is not None else None

    def _behind_header(self, placed: PlacedStatement, node: Function, comment: Comment) -> CommentTarget:
        """Behind the header of a function: what it returns, or the parameter on whose line the header ends.

        It is that parameter first where those above have comments of their own, or it is the only one.
        """
        scope = self.tables.scope_of[node.lineno, node.col_offset]
        site = SiteKey(kind="return", scope=scope)
        returned = CommentTarget(scope=scope, name="the returned value", places=(site,), statement=placed)
        beside = [a for a in arguments(node) if a.end_lineno == comment.line and a.arg not in {"self", "cls"}]
        alone = comment.line == node.lineno
        if alone and (unpacked := _unpacked_as(node, comment.text)) in [each.arg for each in beside]:
            place = SiteKey(kind="param", scope=scope, name=unpacked)
            taken = CommentTarget(scope=scope, name=unpacked, places=(place,), statement=placed)
            return replace(_join_readings([taken, returned]), unsure=node.returns is None)
        if node.returns is not None or not beside:
            return replace(returned, unsure=alone and node.returns is None)
        place = SiteKey(kind="param", scope=scope, name=beside[-1].arg)
        parameter = CommentTarget(scope=scope, name=beside[-1].arg, places=(place,), statement=placed)
        if not alone:
            return _join_readings([parameter, returned] if node in self._with_parameters else [returned, parameter])
        if re.search(rf"\b{re.escape(parameter.name)}\b", comment.text):
            return replace(parameter, unsure=True)  # `x: (b, t)` names it
        return replace(_join_readings([parameter, returned]) if len(beside) == 1 else returned, unsure=True)

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

    def _parameter(self, placed: PlacedStatement, node: Function, name: str) -> CommentTarget | None:
        scope = self.tables.scope_of[node.lineno, node.col_offset]
        if not name:
            return None
        annotation = next((each.annotation for each in arguments(node) if each.arg == name), None)
        if annotation is not None and is_plain_type(annotation):
            return None  # `sizes: Sequence[int],  # (b, t)` tells what these are
        place = SiteKey(kind="param", scope=scope, name=name)
        return CommentTarget(scope=scope, name=name, places=(place,), statement=placed)

    def _first(
        self, placed: PlacedStatement, loop: tuple[int, ...], readings: Iterable[ast.expr]
    ) -> CommentTarget | None:
        """Expressions that one comment may describe, the most natural first."""
        found = (self._expression(placed, loop, reading) for reading in readings)
        targets = [target for target in found if target is not None]
        return _join_readings(targets) if targets else None

    def _expression(self, placed: PlacedStatement, loop: tuple[int, ...], node: ast.expr) -> CommentTarget | None:
        while isinstance(node, ast.Lambda):
            loop = (*loop, node.lineno)
            node = node.body
        if is_no_array(node) or shape_of(node) is not None:
            return None
        scope = self.tables.function_scope(placed.scope)
        name = describe_expression(self.source, node)
        return CommentTarget(
            scope=scope, name=name, places=(value_place(scope, node, name, loop),), statement=placed, part=node
        )


def _join_readings(targets: Sequence[CommentTarget]) -> CommentTarget:
    """The readings of one comment, the most natural first."""
    return replace(targets[0], places=tuple(dict.fromkeys(place for each in targets for place in each.places)))


def _unpacked_as(function: Function, text: str) -> str:
    """The array whose axes a function calls as the text does: x, of "(B, T)" and `b, t = x.shape`; "" if none.

    So it does by words that begin with such letters: `batch, time = x.shape`.
    """
    words = re.findall(r"\w+", text.lower())
    for statement in function.body:
        if not (isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Tuple)):
            continue
        array, names = shape_of(statement.value), [(dotted_name(each) or "").lower() for each in target.elts]
        rows = zip(*(words[start:] for start in range(len(names))), strict=False)
        if isinstance(array, ast.Name) and len(names) > 1 and any(_are_names(row, names) for row in rows):
            return array.id
    return ""


def _are_names(words: Sequence[str], names: Sequence[str]) -> bool:
    """Whether words are these names, or their first letters."""
    return all(
        word == name or (len(word) == 1 and name.startswith(word)) for word, name in zip(words, names, strict=True)
    )


def _other_arm(node: ast.If) -> Sequence[ast.stmt]:
    """What runs if a condition does not hold, or the next one does."""
    is_elif = len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)
    return node.orelse[0].body if is_elif and isinstance(node.orelse[0], ast.If) else node.orelse


def _roots(node: ast.stmt) -> list[ast.expr]:
    """The expressions that a statement evaluates, without those of the statements inside it."""
    if isinstance(node, ast.With | ast.AsyncWith):
        return [item.context_expr for item in node.items]
    found = (getattr(node, name, None) for name in ("value", "test", "iter", "subject", "exc", "msg"))
    return [root for root in found if isinstance(root, ast.expr)]
