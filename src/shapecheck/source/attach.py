"""From the shapes that comments state to claims: of which value, how surely, and in which readings."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from shapecheck.facts import Claim, Problem, Selector, Span
from shapecheck.shapes import print_spec
from shapecheck.source.anchors import Anchors, Target
from shapecheck.source.brackets import Bracket
from shapecheck.source.comments import Segment, looks_like_code, malformed, read_comment, split_comment
from shapecheck.source.reading import Comment, Source
from shapecheck.source.scopes import Placed, Tables
from shapecheck.source.sites import Place, Sites, When, name_place
from shapecheck.source.values import is_listed, repeats_values
from shapecheck.source.wording import spoils

_SHORT = 4  # words in front of a shape: more than these are a sentence, which may speak of anything
_PARAGRAPH = 6  # statements below a comment that heads them
_VARIABLE_HEADING = re.compile(r"#+\s*+`?[a-z_]\w*+`?\s*+:")
_DEFINITION = re.compile(r"(?:async\s++)?+(?:def|class)\s++\w++\s*+[(:\[]|@\w")
_SENTENCE_ENDS = re.compile(r"[.:;!?)\]}]\s*$")


@dataclass(frozen=True)
class _Line:
    """A comment with what it states, and its neighbours among the comments on lines of their own."""

    comment: Comment
    segments: tuple[tuple[int, Segment], ...]  # with the offset of the part it stands in
    first: int  # the first and the last line of its block of comments
    last: int
    code: bool
    continued: bool  # the sentence began on the line before
    spoiled: bool  # and the last word there says that a bracket is none
    turn: tuple[int, int] = (0, 1)  # the how-manieth of how many lines of the block that state a shape and no name

    @property
    def is_plain(self) -> bool:
        """Whether it states shapes and names no variable."""
        return all(not (segment.prose or segment.labels) for _, segment in self.segments)


@dataclass(frozen=True)
class _Draft:
    """A claim-to-be: its bracket, where it begins in the comment, and where it belongs."""

    bracket: Bracket
    offset: int
    target: Target
    sure: bool  # False: it must never count as sure, whatever its names
    explicit: bool
    marked: bool
    select: tuple[Selector, ...] = ()
    group: int | None = None
    each: bool = False


class CommentReader:
    """Reads the comments of one file. `known` are names of dims; those in marked comments are added."""

    def __init__(
        self, source: Source, tables: Tables, sites: Sites, known: set[str], new_group: Callable[[], int]
    ) -> None:
        self.source = source
        self.tables = tables
        self.sites = sites
        self.known = known
        self.anchors = Anchors(source, tables)
        self.problems: list[Problem] = []
        self.new_group = new_group

    def claims(self) -> list[Claim]:
        """All claims of comments, in order."""
        lines = self._lines()
        for line in lines:
            for _, segment in line.segments:
                if segment.marked and segment.prose <= _SHORT and not line.code:
                    self.known.update(segment.names)
        return [claim for line in lines if not line.code for claim in self._line_claims(line)]

    def _lines(self) -> list[_Line]:
        result: list[_Line] = []
        for block in _blocks(self.source.comments):
            start = len(result)
            texts = [comment.text.lstrip("#! ") for comment in block]
            code = [block[0].own_line and looks_like_code(text) for text in texts]
            if any(map(_DEFINITION.match, texts)):
                code = [block[0].own_line] * len(block)  # a function that somebody switched off
            for index, comment in enumerate(block):
                segments = tuple(
                    (part.offset, segment)
                    for part in split_comment(comment.text)
                    if _may_state_shape(part.text)
                    for segment in read_comment(part.text, self.known)
                )
                in_code = code[index] or any(code[max(index - 1, 0) : index + 2])
                before = texts[index - 1] if index else ""
                continued = bool(before) and not _SENTENCE_ENDS.search(before)
                first, last = block[0].line, block[-1].line
                if segments:
                    spoiled = continued and spoils(before)
                    in_code = in_code and not _marks(segments)
                    result.append(_Line(comment, segments, first, last, in_code, continued, spoiled))
                elif not in_code:
                    self._check_malformed(comment, continues=comment.line < last)
            plain = [index for index in range(start, len(result)) if result[index].is_plain]
            for turn, index in enumerate(plain if len(plain) > 1 else ()):
                result[index] = replace(result[index], turn=(turn, len(plain)))
        return result

    def _check_malformed(self, comment: Comment, *, continues: bool) -> None:
        for part in split_comment(comment.text):
            found = malformed(part.text, continues)
            if found is not None:
                span = self._span(comment, part.offset + found.start, part.offset + found.end)
                text = part.text[found.start : found.end]
                self.problems.append(Problem("SC102", span, f"malformed shape comment {text}: {found.reason}"))

    def _line_claims(self, line: _Line) -> Iterator[Claim]:
        placed, targets = self._targets(line)
        if placed is None:
            return
        drafts: list[_Draft] = []
        direct = False
        for offset, segment in line.segments:
            if direct and segment.prose and not segment.marked:
                continue
            if line.spoiled and not (segment.marked or segment.labels or segment.prose):
                continue
            continues = line.continued and not (segment.prose or segment.labels) and segment.tail.strip(" .,;:")
            read = replace(segment, prose=_SHORT + 1) if continues else segment
            direct = direct or not (read.prose or read.labels)
            drafts += self._drafts(line, offset, read, placed, targets)
        for draft in drafts:
            yield self._claim(line.comment, draft)

    def _targets(self, line: _Line) -> tuple[Placed | None, list[Target]]:
        """The statement whose scope counts, and what a shape without label may describe, the most natural first."""
        comment = line.comment
        if not comment.own_line:
            placed, target = self.anchors.trailing(comment)
            return placed, [] if target is None else [target]
        placed, target = self.anchors.inside(comment)
        if placed is not None:
            return placed, [] if target is None else [target]
        following, previous = self._neighbours(line)
        found = [self.anchors.statement(each) for each in (following, previous) if each is not None]
        return following or previous, [target for target in found if target is not None]

    def _neighbours(self, line: _Line) -> tuple[Placed | None, Placed | None]:
        """The statement below a comment on a line of its own and the one directly above, if they stand in its block."""
        column = len(line.comment.code.encode("utf-8", "surrogatepass"))
        following = self.tables.after(line.comment.line)
        if following is not None and following.node.col_offset != column:
            following = None
        previous = self.tables.at_or_before(line.comment.line)
        if previous is not None and (
            (previous.node.end_lineno or 0) != line.first - 1 or previous.node.col_offset != column or previous.compound
        ):
            previous = None
        return following, previous

    def _drafts(
        self, line: _Line, offset: int, segment: Segment, placed: Placed, targets: Sequence[Target]
    ) -> list[_Draft]:
        own = line.comment.own_line
        sure = not segment.hedged
        named = self._named(line, segment, placed, targets)
        if named is not None:
            return [
                draft
                for target in named
                for draft in self._of_target(offset, segment, [target], sure, own=own, named=True)
            ]
        if own and (segment.generic or (segment.numeric and line.first != line.last)):
            sure = False  # `output: (b, t)` may be what the function returns; numbers in a text are an example
        if segment.inputs and not segment.marked:
            return []
        sure = sure and not segment.inputs
        if segment.labels and not segment.generic and not segment.arrow:
            # The label is a word for something that has no such name in the code.
            sure = sure and segment.marked and not own and segment.prose <= _SHORT
        if segment.prose:
            short = segment.prose <= _SHORT
            if not segment.explicit and (not short or segment.tail.strip(" .`")):
                return []
            heading = segment.arrow and not _VARIABLE_HEADING.match(line.comment.text)
            sure = sure and segment.explicit and short and (not own or heading)
        if not targets:
            return []
        if own and (segment.prose or (segment.arrow and segment.labels)):
            targets = [*targets[:1], *self._paragraph(line), *targets[1:]]
        if own and self._is_far(line):
            sure = False
        if line.turn[1] > 1 and line.is_plain:
            if len(targets[0].elements) == line.turn[1] and targets[0].elements[line.turn[0]].places:
                targets = [targets[0].elements[line.turn[0]]]
            else:
                sure = False  # only one of the lines can describe the statement
        return self._of_target(offset, segment, targets, sure and (segment.arrow or not targets[0].unsure), own=own)

    def _is_far(self, line: _Line) -> bool:
        """Whether a blank line parts the comment from what follows it."""
        following = self.source.lines[line.last : line.last + 1]
        return bool(following) and not following[0].strip()

    def _named(self, line: _Line, segment: Segment, placed: Placed, targets: Sequence[Target]) -> list[Target] | None:
        """The variables that the labels name, if they all are visible; None if the labels are no names."""
        if not segment.labels or segment.generic or (segment.prose and not segment.colon):
            return None
        if segment.arrow and segment.colon:
            return None  # `x: (a) -> (b)` tells what becomes of x
        found: list[Target] = []
        for label in segment.labels:
            target = self._variable(line, label, placed, targets)
            if target is None:
                return None
            found.append(target)
        return found

    def _variable(self, line: _Line, label: str, placed: Placed, targets: Sequence[Target]) -> Target | None:
        """The variable or parameter of this name that is meant beside or above a statement."""
        for target in targets[:1]:
            for candidate in (target, *target.elements):
                if candidate.name == label and candidate.places:
                    return self._or_before(line, candidate, placed)
        if placed.header_end >= line.comment.line >= placed.node.lineno or not line.comment.own_line:
            inner = self.tables.scope_of.get((placed.node.lineno, placed.node.col_offset))
        else:
            inner = None
        if inner is None and isinstance(placed.node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = self.tables.scope_of[placed.node.lineno, placed.node.col_offset]
        if inner is not None and label in self.tables.scopes[inner].parameters:
            return Target(inner, label, (Place("param", inner, None, label),), placed)
        scope = self.tables.function_scope(placed.scope)
        if not self._is_variable(scope, label):
            return None
        when: When = "before" if line.comment.own_line and placed.node.lineno > line.comment.line else "after"
        if placed.compound or isinstance(placed.node, ast.Return | ast.Raise | ast.Continue | ast.Break):
            when = "before"
        places = [name_place(scope, label, placed.node, when, placed.loop)]
        if when == "before" and not self._is_assigned_before(scope, label, placed):
            later = self.tables.next_assignment(scope, label, placed.place - 1)
            if later is not None:
                places = [name_place(scope, label, later.node, "after", later.loop)]
        return Target(scope, label, tuple(places), placed)

    def _or_before(self, line: _Line, target: Target, placed: Placed) -> Target:
        """Above `x = f(x)` a comment that names x may also speak of what goes in."""
        scope = self.tables.function_scope(placed.scope)
        goes_in = line.comment.own_line and placed.node.lineno > line.comment.line and self._reads(placed, target.name)
        if not goes_in or target.places[0].kind == "field" or not self._is_variable(scope, target.name):
            return target
        before = name_place(scope, target.name, placed.node, "before", placed.loop)
        return replace(target, places=(*target.places, before))

    def _reads(self, placed: Placed, name: str) -> bool:
        """Whether a statement may read the variable that it assigns."""
        return self._is_assigned_before(placed.scope, name, placed) and not isinstance(placed.node, ast.Return)

    def _is_variable(self, scope: int, label: str) -> bool:
        first, _, rest = label.partition(".")
        if rest and first != "self":
            return self.tables.is_visible(scope, first)
        return self.tables.is_visible(scope, label)

    def _is_assigned_before(self, scope: int, label: str, placed: Placed) -> bool:
        places = self.tables.assignments(scope, label)
        return not places or places[0] < placed.place or label in self.tables.scopes[scope].parameters

    def _paragraph(self, line: _Line) -> Iterator[Target]:
        """What the statements below a heading comment compute, down to the next blank line or comment."""
        following, _ = self._neighbours(line)
        if following is None or self.tables.scopes[following.scope].kind == "class":
            return
        end = following.node.lineno
        for count, other in enumerate(self.tables.block_from(following)):
            if other.node.lineno > end or count == _PARAGRAPH:
                return
            end = (other.node.end_lineno or other.node.lineno) + 1
            target = self.anchors.statement(other)
            if count and target is not None:
                yield target

    def _of_target(
        self, offset: int, segment: Segment, targets: Sequence[Target], sure: bool, *, own: bool, named: bool = False
    ) -> list[_Draft]:
        """The claims that the shapes of a segment make of a value: one, one of several, or one for each element."""
        target, shapes = targets[0], segment.shapes
        # A sentence above a statement is sure only of dims that are known.
        beside = not own or not (segment.prose or (segment.labels and not segment.generic and not named))
        explicit = segment.explicit and beside and (not segment.prose or segment.marked)
        if not segment.explicit:
            shapes = tuple(shape for shape in shapes if not repeats_values(shape.spec, target.code))
            if len(shapes) < len(segment.shapes):
                return []
            # `size = (h, w)  # (rows, cols)` names the elements
            sure = sure and not (len(shapes) == 1 and is_listed(target.code, len(shapes[0].spec.dims)))
        readings = tuple(dict.fromkeys(place for each in targets for place in each.places))
        if segment.alternatives:
            group = self.new_group()
            whole = replace(target, places=readings)
            return [_Draft(s, offset, whole, sure, explicit, segment.marked, group=group) for s in shapes]
        if len(shapes) == 1:
            if not readings:  # the variables of a `for` or a `with`
                elements = target.elements if segment.each else ()
                found = [each for each in elements if each.places]
                return [_Draft(shapes[0], offset, each, sure, explicit, segment.marked) for each in found]
            whole = replace(target, places=readings)
            each = bool(target.elements) or segment.each
            return [_Draft(shapes[0], offset, whole, sure, explicit, segment.marked, each=each)]
        if target.elements:
            if len(target.elements) != len(shapes):
                return []
            return [
                _Draft(shape, offset, element, sure, explicit, segment.marked)
                for shape, element in zip(shapes, target.elements, strict=True)
                if element.places
            ]
        if not target.places:
            return []
        return [
            _Draft(shape, offset, target, sure, explicit, segment.marked, select=(index,))
            for index, shape in enumerate(shapes)
        ]

    def _claim(self, comment: Comment, draft: _Draft) -> Claim:
        bracket, target = draft.bracket, draft.target
        names = bracket.spec.names()
        loose = not names and not draft.explicit
        known = draft.explicit or any(name in self.known for name in names)
        return Claim(
            self.source.path,
            self._span(comment, draft.offset + bracket.start, draft.offset + bracket.end),
            "comment",
            bracket.text,
            print_spec(bracket.spec),
            bracket.dtype,
            target.name,
            target.scope,
            tuple(self.sites.add(place, names) for place in target.places),
            (*draft.select, "leaves") if bracket.tree else draft.select,
            draft.group,
            sure=draft.sure and known and not loose,
            marked=draft.marked,
            loose=loose or not draft.sure,
            each=draft.each,
        )

    def _span(self, comment: Comment, start: int, end: int) -> Span:
        return Span(comment.line, comment.column + start + 1, comment.line, comment.column + end + 1)


def _marks(segments: Sequence[tuple[int, Segment]]) -> bool:
    """Whether a comment that looks like code says outright that it speaks of a shape: `x.shape = (b, t)`."""
    return any(segment.marked and not segment.prose for _, segment in segments)


def _may_state_shape(text: str) -> bool:
    """A quick look, since most comments are prose."""
    return "(" in text or "[" in text or "," in text or "shape" in text


def _blocks(comments: Sequence[Comment]) -> Iterator[list[Comment]]:
    """Runs of comments on lines of their own, directly below each other; a trailing comment is a block of one."""
    block: list[Comment] = []
    for comment in comments:
        joins = block and comment.own_line and block[-1].own_line and comment.line == block[-1].line + 1
        if block and not (joins and comment.column == block[-1].column):
            yield block
            block = []
        block.append(comment)
    if block:
        yield block
