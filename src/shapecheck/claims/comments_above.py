"""What a comment on a line of its own stands above and below, and which of the statements that it heads it may mean."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from shapecheck.claims.comment_lines import CommentLine
from shapecheck.claims.comment_targets import CommentTarget, CommentTargets
from shapecheck.claims.comment_text import Segment
from shapecheck.claims.function_heads import only_returns
from shapecheck.claims.signature_lines import ARROW
from shapecheck.syntax.comment_tokens import Comment
from shapecheck.syntax.owners import Between, CommentOwner
from shapecheck.syntax.scopes import PlacedStatement, Tables
from shapecheck.syntax.source_text import SourceText, position_of

_WORD = re.compile(r"[A-Za-z]\w*")
_PARAGRAPH = 6  # statements below a comment that heads them
_BEGINS_WITH_ARROW = re.compile(rf"#+\s*+-?(?:{ARROW.pattern})")


class CommentsAbove:
    """Finds the statements around the comments of one file, by what these hang on."""

    def __init__(
        self,
        source: SourceText,
        tables: Tables,
        anchors: CommentTargets,
        owners: Mapping[Comment, CommentOwner],
    ) -> None:
        self._source, self._tables, self._anchors, self._owners = source, tables, anchors, owners
        beside = ((comment, owner) for comment, owner in owners.items() if not isinstance(owner, Between))
        # Statements with a shape behind their code.
        self._trailed = {owner.statement: comment.text for comment, owner in beside if not comment.own_line}

    def neighbours(self, line: CommentLine) -> tuple[PlacedStatement | None, PlacedStatement | None]:
        """The statement below a comment on a line of its own and the simple one directly above it."""
        owner = self._owners.get(line.comment)
        if not isinstance(owner, Between) or not owner.aligned:
            return None, None
        following = self._tables.by_node[owner.paragraph[0]] if owner.paragraph else None
        previous = self._tables.by_node[owner.above] if owner.above is not None and not owner.blank_above else None
        return following, None if previous is None or previous.compound else previous

    def _paragraph(self, line: CommentLine) -> list[PlacedStatement]:
        """The statements below the first one under a heading comment, down to the next blank line or comment."""
        owner = self._owners.get(line.comment)
        if not isinstance(owner, Between) or not owner.aligned:
            return []
        statements = [self._tables.by_node[each] for each in owner.paragraph]
        in_class = bool(statements) and self._tables.scopes[statements[0].scope].kind == "class"
        return [] if in_class else statements[1:_PARAGRAPH]

    def is_far(self, line: CommentLine) -> bool:
        """Whether a blank line parts the comment from what follows it."""
        owner = self._owners.get(line.comment)
        return isinstance(owner, Between) and owner.blank_below

    def ends_block(self, line: CommentLine) -> bool:
        """Whether a loop or another block stands directly above a comment."""
        owner = self._owners.get(line.comment)
        if not isinstance(owner, Between) or owner.above is None or owner.blank_above:
            return False
        return self._tables.by_node[owner.above].compound

    def is_trailed(self, statement: PlacedStatement) -> bool:
        """Whether a shape stands behind a statement."""
        return statement.node in self._trailed

    def is_below(self, line: CommentLine, segment: Segment, targets: Sequence[CommentTarget]) -> bool:
        """Whether an arrow that begins a comment tells what the statement above has come to: `# --> (b, 3), (b, n)`.

        That has as many results, or what is below has a shape of its own.
        """
        if not _BEGINS_WITH_ARROW.match(line.comment.text):
            return False
        several = len(segment.shapes) > 1 and not segment.alternatives
        if several:
            return [len(each.elements) == len(segment.shapes) for each in targets[:2]] == [False, True]
        return self.is_trailed(targets[0].statement)

    def one_by_one(self, line: CommentLine, segment: Segment, first: CommentTarget) -> tuple[CommentTarget, ...]:
        """The values of as many assignments as a comment above them has shapes, none if there are not just as many."""
        if len(segment.shapes) < 2 or segment.alternatives or first.elements:
            return ()
        if first.statement != self.neighbours(line)[0]:
            return ()  # it stands right below that statement, a blank line above the others
        below = (each for each in self._paragraph(line) if not only_returns(each))
        statements = [first.statement, *below]
        targets = [self._anchors.statement(each) for each in statements if isinstance(each.node, ast.Assign)]
        each = tuple(target for target in targets if target is not None and not target.elements)
        if not len(each) == len(statements) == len(segment.shapes):
            return ()
        return self._in_said_order(line, each)

    def _in_said_order(self, line: CommentLine, each: tuple[CommentTarget, ...]) -> tuple[CommentTarget, ...]:
        """Values in the order in which the comment's block calls them by their names, or by words of these."""
        said = [word.lower() for row in self._source.lines[line.first - 1 : line.last] for word in _WORD.findall(row)]
        places = [
            min(
                (said.index(word) for word in (target.name.lower(), *target.name.lower().split("_")) if word in said),
                default=-1,
            )
            for target in each
        ]
        if min(places) < 0 or len({*places}) < len(places):
            return each
        return tuple(target for _, target in sorted(zip(places, each, strict=True), key=itemgetter(0)))

    def below_heading(self, line: CommentLine, segment: Segment, first: CommentTarget) -> Iterator[CommentTarget]:
        """What a comment may describe that heads several statements, beside the first of them.

        Words may speak of any of these, and so may what several arrays come to: a scale may stand above the product
        `(b, n, d) @ (b, d, m) -> (b, n, m)`. A bare shape is that of what they come to: the last value, or the one
        that the first statement's name has in the end.
        """
        statements = list(self._paragraph(line))
        if not (segment.prose or (segment.arrow and (segment.labels or len(segment.taken) > 1))):
            # What has a shape behind it is described there.
            statements = [each for each in statements if segment.arrow or not self.is_trailed(each)]
            statements = [each for each in statements if not only_returns(each)][-1:]
        for statement in statements:
            target = self._anchors.statement(statement)
            if target is not None:
                yield target
        yield from self.bound_again(line, first.name)

    def said_again(self, line: CommentLine, segment: Segment) -> CommentTarget | None:
        """The value of a statement further down which has just that shape behind it, so that the comment heads it."""
        texts = [shape.text for shape in segment.shapes]
        for statement in self._paragraph(line):
            if any(text in self._trailed.get(statement.node, "") for text in texts):
                return self._anchors.statement(statement)
        return None

    def bound_again(self, line: CommentLine, name: str) -> Iterator[CommentTarget]:
        """The values that the statements below a heading comment give to a variable, after the first of them."""
        for statement in self._paragraph(line):
            if not self.is_trailed(statement) and self._tables.assigns(statement, name):
                target = self._anchors.statement(statement)
                yield target if target and target.name == name else self._anchors.variable(statement, name)

    def with_later(self, line: CommentLine, target: CommentTarget) -> CommentTarget:
        """A variable that a comment names, also as the statements below leave it."""
        if not target.places or target.places[0].kind in ("field", "param"):
            return target
        read = {place.position for place in target.places}
        later = (t for t in self.bound_again(line, target.name) if position_of(t.statement.node) not in read)
        return replace(target, places=tuple(dict.fromkeys((*target.places, *(p for t in later for p in t.places)))))
