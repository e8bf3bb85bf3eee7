"""The comments inside one statement, by a walk through libcst's nodes with those of `ast` at their side.

Both trees come from the same text, so that their expressions correspond in the order of the text. No positions of
libcst's are needed, which it would have to compute by printing the whole file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

import libcst as cst

from shapecheck.syntax.owners import Inside, PairingError

_KINDS: Final = {
    "BinaryOperation": ast.BinOp,
    "BooleanOperation": ast.BoolOp,
    "UnaryOperation": ast.UnaryOp,
    "Comparison": ast.Compare,
    **{
        kind.__name__: kind
        for kind in (ast.Attribute, ast.Await, ast.Call, ast.Dict, ast.DictComp, ast.GeneratorExp, ast.IfExp)
    },
    **{
        kind.__name__: kind
        for kind in (ast.Lambda, ast.List, ast.ListComp, ast.NamedExpr, ast.Set, ast.SetComp, ast.Subscript, ast.Tuple)
    },
}
_WRAPPERS = (ast.Slice, ast.Starred, ast.keyword, ast.comprehension, ast.arguments, ast.arg, ast.withitem)
# In `ast` their brackets are a part of them, while brackets around other expressions leave no trace.
_BRACKETED = (cst.Tuple, cst.GeneratorExp)
_OPENING = (cst.LeftParen, cst.LeftSquareBracket, cst.LeftCurlyBrace)
_TEXTS = frozenset({"ConcatenatedString", "FormattedString", "TemplatedString"})
_NO_EXPRESSIONS = (cst.Import, cst.ImportFrom, cst.Global, cst.Nonlocal, cst.Del, cst.TypeAlias)
# Words and signs behind which something new begins: a comment behind the colon of `"key":` is about what follows.
_INTRODUCING: Final = {
    (cst.AssignEqual, "whitespace_after"),
    (cst.Colon, "whitespace_after"),
    (cst.DictElement, "whitespace_after_colon"),
    (cst.IfExp, "whitespace_after_if"),
    (cst.IfExp, "whitespace_after_else"),
    (cst.CompFor, "whitespace_after_for"),
    (cst.CompFor, "whitespace_after_in"),
}
# Names that `ast` has as plain text.
_NAMES = (
    (cst.Attribute, "attr"),
    (cst.Arg, "keyword"),
    (cst.Param, "name"),
    (cst.FunctionDef, "name"),
    (cst.ClassDef, "name"),
)
_by_position = attrgetter("lineno", "col_offset")

# A visit performs its steps in the order of the text and yields the visits inside it, which are made at once. So
# nothing recurses: a long sum nests as deeply as it is long.
_Visit = Iterator["_Visit"]


def inner_comments(
    node: cst.CSTNode, children: Sequence[cst.CSTNode], statement: ast.stmt | None
) -> list[tuple[cst.Comment, Inside | None]]:
    """All comments in `children` of a statement or clause, in the order of the text, and what they hang on.

    Without a statement of `ast` they hang on nothing. Raises PairingError where the two trees do not correspond.
    """
    paired = None if isinstance(node, _NO_EXPRESSIONS) else statement
    walk = _PairedWalk(None if paired is None else _operands(paired))
    visits = [walk.visit_parts(node, children)]
    while visits:
        inner = next(visits[-1], None)
        if inner is None:
            visits.pop()
        else:
            visits.append(inner)
    if statement is None:
        return [(draft.comment, None) for draft in walk.drafts]
    return [(draft.comment, draft.finish(statement)) for draft in walk.drafts]


@dataclass(kw_only=True)
class _InsideDraft:
    """What becomes an `Inside`, while what follows the comment is still to come."""

    comment: cst.Comment
    enclosing: tuple[ast.expr, ...]
    before: tuple[ast.expr, ...]
    parameter: str = ""
    opens_group: bool = False
    begins_call: bool = False  # stands in front of the first argument
    opened: ast.expr | None = None
    after: list[ast.expr] = field(default_factory=list)

    def finish(self, statement: ast.stmt) -> Inside:
        opened = self.after[0] if self.opens_group and self.after else self.opened
        return Inside(
            statement=statement,
            enclosing=self.enclosing,
            before=self.before,
            after=tuple(self.after),
            opened=opened,
            parameter=self.parameter,
        )


class _PairedWalk:
    """One walk. `operands` are the outermost expressions in `ast`, None for code that has no counterpart there."""

    def __init__(self, operands: Sequence[ast.expr] | None) -> None:
        self.drafts: list[_InsideDraft] = []
        self._operands = [None if operands is None else iter(operands)]
        self._enclosing: list[ast.expr] = []
        self._before: list[ast.expr] = []
        self._begun: list[_InsideDraft] = []  # whose `after` is still growing
        self._above_parameter: list[_InsideDraft] = []
        self._parameter = ""
        self._in_group = False

    def visit_parts(self, node: cst.CSTNode, children: Sequence[cst.CSTNode]) -> _Visit:
        """What stands inside a node, without names that are no expressions in `ast`."""
        if isinstance(node, _OPENING):
            self._before = []
        names = [getattr(node, field) for kind, field in _NAMES if isinstance(node, kind)]
        for child in children:
            if isinstance(child, cst.ParenthesizedWhitespace):
                self._note_comments(node, child)
            elif isinstance(child, cst.Comment):
                self._note(child)  # of a decorator
            elif isinstance(child, cst.SimpleWhitespace) or any(child is name for name in names):
                continue
            elif isinstance(node, cst.DictElement) and child is node.key:
                held, self._begun = self._begun, []  # a comment above an entry is about the value
                yield self._visit(child)
                self._begun = held
            elif isinstance(node, cst.BooleanOperation) and _continues(node, child):
                yield self.visit_parts(child, child.children)  # one operation of many operands in `ast`
            else:
                yield self._visit(child)

    def _visit(self, node: cst.CSTNode) -> _Visit:
        if isinstance(node, cst.TypeParameters):
            self._operands.append(None)
            yield self.visit_parts(node, node.children)
            self._operands.pop()
        elif isinstance(node, cst.BaseExpression) and not isinstance(node, cst.StarredElement):
            yield self._expression(node) if self._operands[-1] is not None else self.visit_parts(node, node.children)
        else:
            if isinstance(node, cst.Param | cst.ParamStar | cst.ParamSlash):
                self._begin_parameter(node)
            children = node.children
            if isinstance(node, cst.ParamSlash | cst.AsName):  # libcst gives the white space last
                children = sorted(children, key=lambda child: isinstance(child, cst.Comma | cst.BaseExpression))
            yield self.visit_parts(node, children)

    def _expression(self, node: cst.BaseExpression) -> _Visit:
        """An expression, which begins behind the brackets around it."""
        children = node.children
        group = max(len(node.lpar) - isinstance(node, _BRACKETED), 0)
        self._in_group = True
        for bracket in children[:group]:
            yield self.visit_parts(bracket, bracket.children)
        self._in_group = False
        code = self._begin(node)
        yield self.visit_parts(node, children[group : len(children) - group])
        self._end(node, code)
        for bracket in children[len(children) - group :]:
            yield self.visit_parts(bracket, bracket.children)

    def _begin(self, node: cst.BaseExpression) -> ast.expr:
        operands = self._operands[-1]
        code = None if operands is None else next(operands, None)
        if code is None or not isinstance(code, _KINDS.get(type(node).__name__, ast.expr)):
            raise PairingError(f"{type(node).__name__} of libcst, {type(code).__name__} of ast")
        if _is_bare_generator(node):
            self._begun = [draft for draft in self._begun if draft.begins_call]
            for draft in self._begun:
                draft.enclosing = (*draft.enclosing, code)
        else:
            for draft in self._begun:
                draft.after.append(code)
        self._before = []
        self._enclosing.append(code)
        self._operands.append(None if type(node).__name__ in _TEXTS else iter(_operands(code, node)))
        return code

    def _end(self, node: cst.BaseExpression, code: ast.expr) -> None:
        operands = self._operands.pop()
        if operands is not None and (left := next(operands, None)) is not None:
            raise PairingError(f"{type(left).__name__} of ast in line {left.lineno} has no counterpart in libcst")
        self._enclosing.pop()
        self._begun = []
        if not _is_bare_generator(node):
            self._before.append(code)

    def _begin_parameter(self, node: cst.Param | cst.ParamStar | cst.ParamSlash) -> None:
        if self._enclosing:
            return  # of a lambda
        self._parameter = node.name.value if isinstance(node, cst.Param) else ""
        for draft in self._above_parameter:
            draft.parameter = self._parameter
        self._above_parameter = []

    def _note_comments(self, node: cst.CSTNode, space: cst.ParenthesizedWhitespace) -> None:
        """The comments in the white space of a node."""
        if any((type(node), name) in _INTRODUCING and getattr(node, name) is space for name in _spaces(node)):
            self._before = []
        begins_call = isinstance(node, cst.Call) and node.whitespace_before_args is space
        if begins_call:
            self._before = []
        if space.first_line.comment is not None:
            draft = self._note(space.first_line.comment, begins_call)
            draft.parameter = self._parameter
            if isinstance(node, _OPENING) or begins_call:
                draft.opens_group = self._in_group
                draft.opened = None if self._in_group or not self._enclosing else self._enclosing[-1]
        for line in space.empty_lines:
            if line.comment is not None:
                self._above_parameter.append(self._note(line.comment, begins_call))

    def _note(self, comment: cst.Comment, begins_call: bool = False) -> _InsideDraft:
        around = tuple(self._enclosing)
        draft = _InsideDraft(comment=comment, enclosing=around, before=tuple(self._before), begins_call=begins_call)
        self.drafts.append(draft)
        self._begun = [*self._begun, draft]
        return draft


def _spaces(node: cst.CSTNode) -> Iterator[str]:
    return (name for kind, name in _INTRODUCING if type(node) is kind)


def _continues(node: cst.BooleanOperation, child: cst.CSTNode) -> bool:
    """Whether a part of `a or b or c` is itself such an operation, without brackets."""
    return isinstance(child, cst.BooleanOperation) and not child.lpar and type(child.operator) is type(node.operator)


def _is_bare_generator(node: cst.BaseExpression) -> bool:
    """`f(x for x in y)`, where the brackets of the call are for `ast` those of the generator."""
    return isinstance(node, cst.GeneratorExp) and not node.lpar


def _operands(code: ast.AST, node: cst.BaseExpression | None = None) -> list[ast.expr]:
    """The expressions that are directly inside a node of `ast`, in the order of the text."""
    left_out = {id(decorator) for decorator in getattr(code, "decorator_list", ())}
    if isinstance(node, cst.Subscript) and _has_several(node):
        left_out.add(id(code.slice) if isinstance(code, ast.Subscript) else 0)
    found: list[ast.expr] = []
    stack = list(ast.iter_child_nodes(code))
    if isinstance(code, ast.Subscript) and id(code.slice) in left_out:
        stack += ast.iter_child_nodes(code.slice)
    while stack:
        child = stack.pop()
        if id(child) in left_out:
            continue
        if isinstance(child, _WRAPPERS):
            stack += ast.iter_child_nodes(child)
        elif isinstance(child, ast.expr):
            found.append(child)
    return sorted(found, key=_by_position)


def _has_several(node: cst.Subscript) -> bool:
    """Whether `x[a, b]` is meant: a tuple for `ast`."""
    first = node.slice[0]
    starred = isinstance(first.slice, cst.Index) and bool(first.slice.star)
    return len(node.slice) > 1 or isinstance(first.comma, cst.Comma) or starred
