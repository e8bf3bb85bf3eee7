"""What each comment of a file hangs on, read by libcst."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Collection, Sequence

import libcst as cst

from shapecheck.syntax.comment_tokens import Comment
from shapecheck.syntax.concrete_file import (
    ConcreteFile,
    HiddenStatements,
    hide_unreadable,
    leading_lines,
    require_shallow,
)
from shapecheck.syntax.inner_comments import inner_comments
from shapecheck.syntax.owners import Behind, Between, CommentOwner, OwnedComments, PairingError, UnreadableError
from shapecheck.syntax.source_text import SourceText

_CLAUSES = (cst.Else, cst.Finally, cst.ExceptHandler, cst.ExceptStarHandler, cst.MatchCase)
_Lines = Sequence[cst.EmptyLine]


def comment_owners(source: SourceText, candidates: Sequence[Comment]) -> OwnedComments:
    """What these comments of a file hang on. Raises UnreadableError.

    Where libcst cannot read single statements, nobody knows it of the comments in these.
    """
    wanted = set(candidates)
    file, hidden = source.concrete, HiddenStatements()
    try:
        require_shallow(source.text, file.tree.body)
        file.module  # noqa: B018  # parses
    except UnreadableError as error:
        hidden = hide_unreadable(source.lines, file.tree, error)
        file = ConcreteFile(hidden.text, file.tree, hidden.reasons)
    reasons = ((comment, hidden.reason(comment.line)) for comment in candidates)
    consequence = "the shape comments of this statement are not checked"
    unread = {comment: f"{consequence}: {reason}" for comment, reason in reasons if reason}
    reader = _OwnerReader(file, [each for each in source.comments if not hidden.reason(each.line)], wanted)
    reader.read_file()
    return OwnedComments(reader.owners, unread)


class _OwnerReader:
    """Walks through the statements of libcst, and meets the comments in the order of the text."""

    def __init__(self, file: ConcreteFile, comments: Sequence[Comment], wanted: Collection[Comment]) -> None:
        self._file = file
        self.owners: dict[Comment, CommentOwner] = {}
        self._comments = comments
        self._positions = [comment.position for comment in comments]
        self._wanted = [comment in wanted for comment in comments]
        self._next = 0

    def read_file(self) -> None:
        """Read a whole file."""
        module = self._file.module
        self._block(module.body, module.header, module.footer)
        if self._next != len(self._comments):
            raise PairingError(f"{len(self._comments)} comments, of which libcst has {self._next}")

    def _block(self, lines: Sequence[cst.BaseStatement], header: _Lines, footer: _Lines) -> None:
        """A list of statements, of which several may stand on one line."""
        code = list(map(self._file.statements, lines))
        above: ast.stmt | None = None
        for index, (line, own) in enumerate(zip(lines, code, strict=True)):
            leading = (*header, *leading_lines(line))
            header = ()
            if leading:
                end = _paragraph_end(lines, index + 1) if self._matters(leading) else index + 1
                self._between(leading, above, [each for statements in code[index:end] for each in statements])
            if isinstance(line, cst.SimpleStatementLine):
                self._line(line.body, own, line.trailing_whitespace)
            else:
                self._compound(line, own[0])
            above = own[-1]
        self._between((*header, *footer), above, ())

    def _line(
        self, nodes: Sequence[cst.BaseSmallStatement], code: Sequence[ast.stmt], end: cst.TrailingWhitespace
    ) -> None:
        """The simple statements on one line."""
        for node, statement in zip(nodes, code, strict=True):
            last = self._count_before((statement.end_lineno or 0, statement.end_col_offset or 0))
            if any(self._wanted[self._next : last]):
                self._inside(node, node.children, statement)
            else:
                self._next = max(self._next, last)
        self._behind(end, code[-1])

    def _compound(self, line: cst.BaseStatement, code: ast.stmt) -> None:
        """A statement with others inside it, and its `elif`s: no recursion, since there may be any number of these."""
        chained = self._clause(line, code)
        while chained is not None:
            code = self._file.statement(chained)
            self._between(chained.leading_lines, None, (code,))
            chained = self._clause(chained, code)

    def _clause(self, clause: cst.CSTNode, code: ast.stmt | None) -> cst.If | None:
        """A compound statement without its `elif`s, of which the first is returned; or its `else` and the like.

        The latter have no `code`: a comment there describes nothing.
        """
        chained: cst.If | None = None
        header: list[cst.CSTNode] = []
        decorated: _Lines = getattr(clause, "lines_after_decorators", ())
        for child in clause.children[len(leading_lines(clause)) :]:
            if isinstance(child, cst.Decorator):
                self._inside(child, child.children, None)
            elif isinstance(child, cst.EmptyLine):
                if decorated and child is decorated[0]:
                    self._between(decorated, None, () if code is None else (code,))
            elif isinstance(child, cst.TrailingWhitespace):
                self._inside(clause, header, code)
                self._behind(child, code)
            elif isinstance(child, cst.BaseSuite):
                if self._has_inner(child):
                    self._inside(clause, header, code)
                self._suite(child, code)
            elif isinstance(child, cst.If):
                chained = child
            elif isinstance(child, _CLAUSES):
                self._between(leading_lines(child), None, ())
                self._clause(child, None)
            else:
                header.append(child)
        if isinstance(clause, cst.Match):
            self._between(clause.footer, None, ())
        return chained

    def _has_inner(self, suite: cst.BaseSuite) -> bool:
        """Whether comments stand in the header in front of a suite."""
        outside = _comment_count(leading_lines(suite.body[0]))
        first = self._first_in(suite)
        if isinstance(suite, cst.IndentedBlock):
            outside += suite.header.comment is not None
        return self._count_before((first.lineno, first.col_offset)) > self._next + outside

    def _first_in(self, suite: cst.BaseSuite) -> ast.stmt:
        node = suite.body[0]
        return self._file.statement(node.body[0] if isinstance(node, cst.SimpleStatementLine) else node)

    def _suite(self, suite: cst.BaseSuite, code: ast.stmt | None) -> None:
        """What stands behind a colon."""
        if isinstance(suite, cst.IndentedBlock):
            self._behind(suite.header, code)
            self._block(suite.body, (), suite.footer)
        elif isinstance(suite, cst.SimpleStatementSuite):
            self._line(suite.body, list(map(self._file.statement, suite.body)), suite.trailing_whitespace)

    def _inside(self, node: cst.CSTNode, children: Sequence[cst.CSTNode], code: ast.stmt | None) -> None:
        for found, owner in inner_comments(node, children, code):
            comment, wanted = self._take(found)
            if wanted and owner is not None:
                self.owners[comment] = owner

    def _behind(self, end: cst.TrailingWhitespace, code: ast.stmt | None) -> None:
        if end.comment is not None:
            comment, wanted = self._take(end.comment)
            if wanted and code is not None:
                self.owners[comment] = Behind(code)

    def _between(self, lines: _Lines, above: ast.stmt | None, paragraph: Sequence[ast.stmt]) -> None:
        blank = [index for index, line in enumerate(lines) if line.comment is None]
        for index, line in enumerate(lines):
            if line.comment is None:
                continue
            comment, wanted = self._take(line.comment)
            if wanted and (above is not None or paragraph):
                self.owners[comment] = Between(
                    above=above,
                    paragraph=tuple(paragraph),
                    blank_above=bool(blank) and blank[0] < index,
                    blank_below=bool(blank) and blank[-1] > index,
                    aligned=line.indent and not line.whitespace.value,
                )

    def _take(self, node: cst.Comment) -> tuple[Comment, bool]:
        """The next comment, and whether anybody wants to know of it."""
        index = self._next
        if index == len(self._comments) or self._comments[index].text.rstrip() != node.value.rstrip():
            raise PairingError(f"libcst has a comment {node.value} where Python has none")
        self._next += 1
        return self._comments[index], self._wanted[index]

    def _matters(self, lines: _Lines) -> bool:
        return any(self._wanted[self._next : self._next + _comment_count(lines)])

    def _count_before(self, position: tuple[int, int]) -> int:
        """The number of comments before a position of `ast`."""
        return bisect_left(self._positions, position)


def _comment_count(lines: _Lines) -> int:
    return sum(line.comment is not None for line in lines)


def _paragraph_end(lines: Sequence[cst.BaseStatement], start: int) -> int:
    """The place of the first statement from `start` on above which something stands, be it a blank line."""
    while start < len(lines) and not leading_lines(lines[start]) and not _has_footer(lines[start - 1]):
        start += 1
    return start


def _has_footer(node: cst.CSTNode) -> bool:
    """Whether something stands at the end of the last block inside a statement, below its last line."""
    while not isinstance(node, cst.SimpleStatementLine | cst.SimpleStatementSuite | cst.EmptyLine):
        if getattr(node, "footer", ()):
            return True
        node = node.body[-1] if isinstance(node, cst.IndentedBlock) else node.children[-1]
    return False
