"""The comments of a file that state shapes, each with its neighbours among the comments.

Of a comment only what is meant for people counts: not directives to tools, nor code that somebody switched off. Told
apart are marked comments whose bracket is nearly a list of dims, but none.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from shapecheck.claims.brackets import find_unclosed, may_list_bare_sizes
from shapecheck.claims.comment_text import (
    COMPUTED_AS,
    Segment,
    lists_letters,
    lone_capital,
    may_list_words,
    read_comment,
    says_scalar,
)
from shapecheck.claims.lead_words import is_of_cases, spoils
from shapecheck.model import Problem, Span
from shapecheck.shapes import parse_comment_dims
from shapecheck.syntax.comment_tokens import Comment


@dataclass(frozen=True)
class MalformedShape:
    """A marked shape that cannot be read."""

    start: int
    end: int
    reason: str


_MARKED_BRACKET = re.compile(r"(?:\bshapes?\s*+(?:[:=]|is\b)\s*+|^\s*shapes?\s++)(?=[(\[])", re.IGNORECASE)
_NEARLY_DIMS = re.compile(r"[\w\s,*+/.'-]*+")


def find_malformed(text: str, continues: bool) -> MalformedShape | None:
    """A marker that is directly followed by a bracket which is nearly a list of dims.

    `continues` says that the next line is a comment as well, on which the bracket may be closed.
    """
    match = _MARKED_BRACKET.search(text) if len(text) < 400 else None
    if match is None:
        return None
    start = match.end()
    if find_unclosed(text[start:]) == 0:
        inside = text[start + 1 :].rstrip(" .)]")
        if continues or not _NEARLY_DIMS.fullmatch(inside) or not re.search(r"\w", inside):
            return None
        pieces = [piece.strip() for piece in inside.rstrip(",").split(",")]
        if not all(parse_comment_dims(piece) for piece in pieces) or any(" " in piece for piece in pieces):
            return None
        return MalformedShape(start, len(text.rstrip()), "the bracket is not closed")
    end = text.find(")" if text[start] == "(" else "]", start)
    inside = text[start + 1 : end]
    if not _NEARLY_DIMS.fullmatch(inside) or parse_comment_dims(inside) is not None:
        return None
    pieces = [piece.strip() for piece in inside.split(",")]
    if len(pieces) < 2 or not any(pieces) or not all(_is_nearly_dim(piece) for piece in pieces):
        return None
    broken = next((piece for piece in pieces if parse_comment_dims(piece) is None or not piece), None)
    if broken is None:  # each alone is a dim: `X_1, ..., X_dim` are as many as somebody counts
        return None
    reason = f"`{broken}` is no dim" if broken else "a dim is missing between two commas"
    return MalformedShape(start, end + 1, reason)


def _is_nearly_dim(piece: str) -> bool:
    """Whether a dim is left when the operators at its ends are taken away, or nothing was there."""
    bare = piece.strip(" +-*/")
    return not piece or (bool(bare) and parse_comment_dims(bare) is not None)


_TOOLS = "noqa|nosec|nopycln|type:|pyright:|mypy:|pylint:|pragma:|fmt:|yapf:|isort:|ruff:|flake8:|shapecheck:|%%"
_DIRECTIVE = rf"(?:{_TOOLS})"
_SPLIT = re.compile(rf"(?:^|(?<=\s))#+:?(?=\s)|(?:^|(?<=\s))#+:?\s*+(?={_DIRECTIVE})|^#+[:!]?", re.IGNORECASE)
_IS_DIRECTIVE = re.compile(rf"\s*+{_DIRECTIVE}", re.IGNORECASE)


@dataclass(frozen=True)
class CommentPart:
    """One of several comments on one line, without its `#`: `offset` counts from the first `#`."""

    offset: int
    text: str


def split_comment(comment: str) -> list[CommentPart]:
    """The parts of a comment that are meant for people: `# (b, s)  # noqa` has one."""
    cuts = list(_SPLIT.finditer(comment[:4000]))
    parts: list[CommentPart] = []
    for index, cut in enumerate(cuts):
        end = cuts[index + 1].start() if index + 1 < len(cuts) else len(comment)
        text = comment[cut.end() : end]
        if text.strip() and not _IS_DIRECTIVE.match(text):
            parts.append(CommentPart(cut.end(), text))
    return parts


_KEYWORD_CODE = re.compile(
    r"(?:return|yield|raise|del|import|assert|print|lambda|async|await|global|nonlocal)\b(?!\s*+[:.,])"
    r"|from\s++[\w.]++\s++import\b|(?:def|class)\s++\w++\s*+[(:]|@\w|(?:if|elif|for|while|with|try|else|except)\b.*:\s*$"
)
_ASSIGNMENT = re.compile(
    r"(?P<target>[\w.]++(?:\[[^\]]*+\])?+(?:\s*+,\s*+[\w.*]++)*+)\s*+(?:[-+*/@|&]|//|\*\*)?=(?![=>])"
)
# An element of a list, behind which others come: `[2, 0],`.
_ELEMENT = re.compile(r"[(\[][^()\[\]]*[)\]],")
_CALL = re.compile(r"[\w.]++\(.*\)[\s,:]*+$|[\w.]++\($")
# `x = [batch, width]`, which may tell a shape: whoever knows the variables there can tell it from a list of them.
_OF_NAMES = re.compile(
    r"(?P<targets>[\w., ]++)=\s*+(?:\((?P<round>[^()\[\]]*+)\)|\[(?P<square>[^()\[\]]*+)\])(?!\s*+[-+*/@%.(\[])"
)


def looks_like_code(text: str) -> bool:
    """Whether a comment on a line of its own is code that somebody switched off."""
    text = text.strip()
    if not text or len(text) > 1000:
        return False
    if text[-1] in "([{\\" or _ELEMENT.fullmatch(text) or text[0] in ")]}" or _KEYWORD_CODE.match(text):
        return True
    assignment = _ASSIGNMENT.match(text)
    if assignment is not None and not (_may_list_dims(text) or COMPUTED_AS.search(text)):
        return not re.search(r"shapes?$", assignment.group("target").strip(), re.IGNORECASE)
    return _CALL.match(text) is not None and not text.lower().startswith("shape(")


def _may_list_dims(text: str) -> bool:
    """Whether an assignment of a list may state the shape of a variable: not if it has an item for each of several."""
    found = _OF_NAMES.match(text)
    if found is None:
        return False
    targets = found["targets"].count(",") + 1
    return targets == 1 or targets != (found["round"] or found["square"] or "").count(",") + 1


_NAME = re.compile(r"[A-Za-z_]\w*")
_DEFINITION = re.compile(r"(?:async\s++)?+(?:def|class)\s++\w++\s*+[(:\[]|@\w")
_OF_WHAT = re.compile(r"[\w\])}]\s+(?:of|with|has|have|having)\s*$")  # and its shape, on the next line
# `means and scales are`, and their shape on the next line
_WHOSE = re.compile(r"`*(?P<names>[A-Za-z_]\w*`*(?:\s*(?:/|,|\band\b)\s*`*[A-Za-z_]\w*`*)*)\s+(?:is|are|has|have)\s*$")
# Whose shape the next line gives: `cache['keys']:`.
_ENTRY_BEFORE = re.compile(r"^[\w.]+\[[^\[\]]+\]:\s*$")
_LINKED = re.compile(r"\b(?:is|are)\s*$")
_ENDS_WITH_AXIS = re.compile(r"\b(?:axis|axes|dims?|dimensions?)\W*$")  # "fold them into the sample axis", and a shape
_SENTENCE_ENDS = re.compile(r"[.:;!?)\]}]\s*$")


@dataclass(frozen=True)
class PlacedSegment:
    """A segment, and where in the comment the text begins that it counts from."""

    offset: int
    segment: Segment


@dataclass(frozen=True, kw_only=True)
class CommentLine:
    """A comment that states shapes.

    `first` and `last` are the lines of its block: comments on lines of their own, directly below each other.
    `continued` says that its sentence began on the line before, `spoiled` that the last word there says that a bracket
    behind it is no shape. `turn` is its place among the lines of the block that name no variable, and their number.
    """

    comment: Comment
    stated: tuple[PlacedSegment, ...]
    first: int
    last: int
    continued: bool = False
    spoiled: bool = False
    turn: tuple[int, int] = (0, 1)

    @property
    def is_plain(self) -> bool:
        """Whether it names no variable."""
        return all(not (each.segment.prose or each.segment.labels) for each in self.stated)

    @property
    def is_explicit(self) -> bool:
        """Whether it says outright that it speaks of a shape: `x.shape = (b, t)`."""
        return any(each.segment.marked and not each.segment.prose for each in self.stated)


def comment_span(comment: Comment, start: int, end: int) -> Span:
    """A stretch of a comment, by offsets from its `#`."""
    return Span(comment.line, comment.column + start + 1, comment.line, comment.column + end + 1)


def read_lines(comments: Sequence[Comment], known: Container[str]) -> tuple[list[CommentLine], list[Problem]]:
    """The comments that state shapes, and the marked ones that cannot be read."""
    lines: list[CommentLine] = []
    problems: list[Problem] = []
    for block in _blocks(comments):
        found: list[CommentLine] = []
        code = _code(block)
        for index, comment in enumerate(block):
            line = _read_line(block, index, known)
            if line.stated and not (code[index] and not line.is_explicit):
                found.append(line)
            elif not line.stated and not code[index]:
                problems += _malformed_problems(comment, continues=comment.line < line.last)
        lines += _with_turns(found)
    return lines, problems


def _read_line(block: Sequence[Comment], index: int, known: Container[str]) -> CommentLine:
    comment = block[index]
    stated = tuple(
        PlacedSegment(part.offset, segment)
        for part in split_comment(comment.text)
        if _may_state_shape(part.text)
        for segment in read_comment(part.text, known)
    )
    before = block[index - 1].text.lstrip("#! ") if index else ""
    continued = bool(before) and not _SENTENCE_ENDS.search(before)
    is_of_another = bool(stated) and _OF_WHAT.search(before) is not None and not stated[0].segment.labels
    if continued and stated and any(each.hedged for each in read_comment(before, known)):
        stated = tuple(replace(each, segment=replace(each.segment, hedged=True)) for each in stated)
    elif continued and stated and (is_of_another or is_of_cases(_sentence_before(block, index))):
        first = replace(stated[0], segment=replace(stated[0].segment, hedged=True))
        stated = (first, *stated[1:])
    elif continued and stated and not stated[0].segment.labels and _LINKED.search(before):
        whose = _WHOSE.match(before)
        names = tuple(_NAME.findall(whose["names"])) if whose is not None else ()
        labels = tuple(each for each in names if each != "and")
        own = replace(stated[0].segment, labels=labels, colon=True, hedged=not labels)
        stated = (replace(stated[0], segment=own), *stated[1:])
    of_axis = _ENDS_WITH_AXIS.search(before) is not None and _is_one_shape(comment, stated)
    return CommentLine(
        comment=comment,
        stated=stated,
        first=block[0].line,
        last=block[-1].line,
        continued=continued,
        spoiled=_ENTRY_BEFORE.search(before) is not None or (continued and spoils(before) and not of_axis),
    )


def _is_one_shape(comment: Comment, stated: Sequence[PlacedSegment]) -> bool:
    """Whether a comment is a list of axes in brackets and nothing else."""
    shapes = [shape for each in stated for shape in each.segment.shapes]
    return len(shapes) == 1 and shapes[0].is_list and comment.text.strip("# \t.`") == shapes[0].text


def _sentence_before(block: Sequence[Comment], index: int) -> str:
    """What the lines before say of the sentence that goes on in a line."""
    lines: list[str] = []
    for comment in reversed(block[:index]):
        text = comment.text.lstrip("#! ")
        if _SENTENCE_ENDS.search(text):
            break
        lines.insert(0, text)
    return " ".join(lines)


def _may_state_shape(text: str) -> bool:
    """A quick look, since most comments are prose."""
    if lone_capital(text) or lists_letters(text) or may_list_words(text) or says_scalar(text):
        return True
    return any(sign in text for sign in ("(", "[", ",", "shape", "×")) or may_list_bare_sizes(text)


def _code(block: Sequence[Comment]) -> list[bool]:
    """Which comments of a block are code that somebody switched off: those that look so, and their neighbours."""
    if not block[0].own_line:
        return [False] * len(block)
    texts = [comment.text.lstrip("#! ") for comment in block]
    if any(map(_DEFINITION.match, texts)):
        return [True] * len(block)
    code = [looks_like_code(text) for text in texts]
    return [any(code[max(index - 1, 0) : index + 2]) for index in range(len(code))]


def _with_turns(lines: list[CommentLine]) -> list[CommentLine]:
    plain = [index for index, line in enumerate(lines) if line.is_plain]
    if len(plain) > 1:
        for turn, index in enumerate(plain):
            lines[index] = replace(lines[index], turn=(turn, len(plain)))
    return lines


def _malformed_problems(comment: Comment, *, continues: bool) -> Iterator[Problem]:
    for part in split_comment(comment.text):
        found = find_malformed(part.text, continues)
        if found is not None:
            text = part.text[found.start : found.end]
            span = comment_span(comment, part.offset + found.start, part.offset + found.end)
            yield Problem("SC102", span, f"malformed shape comment {text}: {found.reason}")


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
