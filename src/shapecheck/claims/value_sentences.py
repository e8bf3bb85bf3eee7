"""What a sentence says of the shape of one value: of itself, of an array in it, or of something else.

Prose hedges more than a comment does, so that only a shape which is plainly said of the value itself counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shapecheck.claims.brackets import Bracket
from shapecheck.claims.comment_text import Segment
from shapecheck.claims.docstring_sections import SHAPE_BEFORE_COLON
from shapecheck.claims.doubtful_words import CONDITIONS, FOR_A_RANK, OF_ANOTHER_OR_CHANGED, SELDOM
from shapecheck.claims.lead_words import leaves_axes_out
from shapecheck.shapes import AnyDims, FixedDim

SENTENCE = re.compile(r"(?<=[.;])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z(\[`])|\n\s*[-*]\s")
_OR = re.compile(r"\bor\b", re.IGNORECASE)
_ENDS_TYPE_LINE = re.compile(r"[ \t`]*\n(?!\s*(?:or|if|when|unless|otherwise|else|for|with|in)\b)", re.IGNORECASE)
# "one-hot or multi-hot array", "real or complex array": one array of either kind.
_KIND = r"(?:real|complex|dense|sparse|soft|hard|binary|bool(?:ean)?|int(?:eger)?|float|signed|unsigned)(?:-valued)?"
_ADJECTIVES = re.compile(rf"\b(?:\w+-(\w+)\s+or\s+\w+-\1|{_KIND}\s+or\s+{_KIND})\b", re.IGNORECASE)
# "distribution function (9, n_x, n_y)": its values; what a function takes are no numbers.
_LAST_IS_FUNCTION = re.compile(r"\bfunctions?[\s`'\"]*$", re.IGNORECASE)
# What a shape may be else; "queries or keys" are no shapes.
_OR_OF_SHAPE = re.compile(
    r"\bor\b\s+(?:[\w-]+\s+){0,3}?(?:[`'\"]*[(\[]|\d|\S+\.shape\b|(?-i:[A-Z]{3,}\b)|scalars?\b|floats?\b|ints?\b|numbers?\b|shapes?\b|lists?\b|tuples?\b"
    r"|vectors?\b|matri(?:x|ces)\b|arrays?\b|tensors?\b|callable|functions?\b|more\b|less\b|fewer\b|higher\b|lower\b|larger\b"
    r"|any\b|empty\b|single\b|one\b|none\b)",
    re.IGNORECASE,
)
# A sequence of features is an array, as a set of points is; one of arrays is none, nor one each of which has a shape.
_CONTAINER = re.compile(
    r"\b(?:lists?|(?:named[ -]?)?tuples?"
    r"|dict\w*|pytrees?|pairs?(?!\s+(?:[a-z]+\s+)?(?:array|matrix|tensor)\b)|(?:trees?|iterables?|mappings?)\s+of"
    r"(?!\s+(?:the\s+)?(?:shape|size|length|dim|dimension|rank|type|dtype)s?\b)"
    r"|(?:sequences?|collections?|sets?)\s+of\s+(?:(?:[\w-]+\s+){0,3}(?:arrays|tensors|ndarrays|matrices|vectors)"
    r"|(?s:.*)\beach))\b",
    re.IGNORECASE,
)
_EACH_PAIR = re.compile(r"\b(?:each|every|per)\s+(?:[a-z]+\s+)?pair\b", re.IGNORECASE)
OR_BEFORE = re.compile(r"(?:^|[\s(,.;])or\s+(?:\w+\s+){0,4}$", re.IGNORECASE)
# `(steps, n)`, and on the next line "Or with `series` in front".
_OR_IN_NEXT_SENTENCE = re.compile(r"[\s`'\".,;]*\(?(?:Or\b|Alternatively\b|or\s+with(?:out)?\b)")
# A line of its own for each case: `Shape: (n,) for one`, and below it `Shape: (n, k) for several`.
SHAPE_LINE = re.compile(r"(?:^|\n)[ \t]*(?:[-*+]\s+)?[`*]*shapes?[`*]*\s*:[\s`]*$", re.IGNORECASE)
_SHAPE_IS = re.compile(r"\s*(?:(?:its|the)\s+)?shape\s+is\W*", re.IGNORECASE)
# A shape in a bracket behind the name of something, in the middle of a sentence.
_ASIDE = re.compile(r"\w\S*\s+[`'\"]+(\w+)[`'\"]+\s*\(\s*(?:of\s+)?shapes?\W*$")
_LIST_ITEM = re.compile(r"(?:^|\n)\s*(?:[-*+]|\d+[.)])\s")
ENTRY_LINE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<bullet>[-*+]\s+|\d+[.)]\s+)?[`*'\"]*"
    r"(?P<name>[A-Za-z_]\w*(?(bullet)(?: \w+){0,2}))[`*'\"]*\s*"
    rf"(?:\((?:[^()\n]|\([^()\n]*\))*\)\s*|(?<=\s){SHAPE_BEFORE_COLON})?(?::|[ \t]*[-–][ \t]+(?=[`'\"]*[(\[]))",
    re.MULTILINE,
)
# "Tuple of key and value tensors of shape ..." is about each of them.
_OF_EACH = re.compile(
    r"\b(?:(?:tuple|pair|list|sequence)s?\s+of\s+(?:[\w-]+\s+){0,4}|(?:both|all|each)\s+(?:[\w-]+\s+){0,2})"
    r"(?:tensors|arrays|matrices|vectors),?\s+(?:each\s+)?"
    r"(?:(?:of|with|having)\s+(?:the\s+)?)?$"
    r"|\b(?:both|each|all(?:\s+of\s+(?:them|these))?)\s+(?:have|has|are\s+of|is\s+of)\s+(?:the\s+)?$"
    r"|(?:\btuples?\b.*|\b(?:tensors|arrays|matrices|vectors)\b[^.]*),?\s+each\s+(?:(?:of|with|having)\s+)?(?:the\s+)?$",
    re.IGNORECASE,
)
# "An array of vectors of shape (n,)" may have the axes of one of them, or those of all.
_OF_ONE = re.compile(
    r"\b(?:array|ndarray|tensor|collection|set|ensemble)s?\s+of\s+(?:[\w-]+\s+){0,2}(?:vectors|matrices|tensors|arrays)\s+"
    r"(?:of|with|having)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_OR_NUMBER = re.compile(r"[\s`'\")\]]*,?\s*or\s+(?:an?\s+|one\s+)?(?:scalar|float|number)s?\b", re.IGNORECASE)
# "(N, D), where D is 2 or 3"
_WHERE_IS = re.compile(
    r"[\s`'\"),]*\bwhere\s+`*\w+`*\s+(?:is|=|in|may be|can be)\s+(?:either\s+)?\d+(?:,\s*\d+)*,?\s+or\s+\d+\b"
)
_OR_NONE = re.compile(
    r"^[\s`]*(?:(?:[\w.]+\s+)?(?:nd)?(?:array|tensor|matrix|vector)\s+)?(?:\(?optional\)?|or\s+`*None`*)", re.IGNORECASE
)
# "None or an array of", "out: Flattened batched tokens of": what it is when it is given.
_AS_GIVEN = re.compile(
    r"^(?:\s*[`*]*\w*[`*]*\s*(?:\([^()\n]*\)\s*)?:)?[\s`:]*(?:None`*\s+or\s"
    r"|(?:(?:the|an?)\s+)?(?:(?:flattened|reshaped|transformed|batched|initiali[sz]ed)\s+)+"
    r"(?!(?:to|into|by|from|before|after|as|in|for|with|over|and|or|at|if|when)\b))",
    re.IGNORECASE,
)
# "points in [-pi, pi) or [0, 2*pi)": values, and no case of two.
_INTERVAL = re.compile(r"(?:\bor\s+)?(?:\[[^\[\](),]+,[^\[\](),]+\)|\([^\[\](),]+,[^\[\](),]+\])")
# "RF or IQ data": two kinds of one thing, whose shape follows.
_EITHER_KIND = re.compile(r"\b[A-Z]{2,}\s+or\s+(?=[A-Z]{2,}\s)")
# "length d; the output shape will be (d, d)" tells of what becomes of it.
_OF_RESULT = re.compile(
    r"\b(?:output|resulting|returned)\s+(?:array\s+|matrix\s+)?shape\b|\bthe\s+(?:outputs?|results?)\s+(?:will|is|are|has|have)\b",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(r"\bor\s+`*None\b`*")  # "ndarray or None", and its shape on the next line
_LONG_WAY = 12  # words between the start of the sentence and the shape
QUOTED = re.compile(r"(?::\w+:)?`+[^`]+`+")  # a formula or a piece of code, which is one word of the sentence


@dataclass(frozen=True)
class DescribedShape:
    """A shape that a description states; `leaves`: of each array in a container.

    `part` is what the description calls the part of the value that it means, `result` its place among several results;
    `apart`: others are of other parts; `unmarked`: nothing calls it a shape but its place; `or_number`: a number may
    stand for it.
    """

    bracket: Bracket
    sure: bool
    leaves: bool
    part: str = ""
    apart: bool = False
    result: int | None = None
    unmarked: bool = False
    or_number: bool = False
    under_condition: bool = False


def is_entry(text: str, name: str) -> bool:
    """Whether a line of the text begins with the name, as those of a list of results do."""
    return any(name == each["name"] for each in ENTRY_LINE.finditer(text))


def is_quoted(text: str, name: str) -> bool:
    """Whether a name stands in quotes somewhere, as code does."""
    return any(f"{quote}{name}{quote}" in text for quote in "`'\"")


def shapes_of_value(
    text: str, segments: Sequence[Segment], part: str, elements: Sequence[str], *, is_return: bool
) -> Iterator[DescribedShape]:
    """The shapes that a text states of one value, or of a `part` of it: how plainly it does so, and of how much."""
    if any(segment.arrow or (len(segment.shapes) > 1 and not segment.alternatives) for segment in segments):
        return
    for later in segments[1:]:
        is_case = SHAPE_LINE.search(text[: later.shapes[0].start]) is not None
        if not is_case and not OR_BEFORE.search(text[: marker_start(text, later)]):
            return
    sentence_start, sentence_end = sentence_at(text, segments[0].shapes[0].start)
    before = _LEFT_OUT.sub("", _AS_GIVEN.sub("", text[sentence_start : segments[0].shapes[0].start]))
    before = _EITHER_KIND.sub("", _INTERVAL.sub("", before))
    if any(isinstance(dim, FixedDim) for dim in segments[0].shapes[0].spec.dims):
        before = _LAST_IS_FUNCTION.sub("", before)
    end = segments[-1].shapes[-1].end
    next_entry = ENTRY_LINE.search(text, end)
    after = text[end : max(min(sentence_end, next_entry.start() if next_entry is not None else sentence_end), end)]
    if not text[: segments[0].shapes[0].start].strip(" `") and _ENDS_TYPE_LINE.match(text, end):
        after = ""  # `slope : (n, 6)`, and on the next line "only read when level > 1"
    after = _ADJECTIVES.sub("", _OR_NONE.sub("", after))  # it may be left out
    after = _WHERE_IS.sub("", after)
    number = _OR_NUMBER.match(after)
    after = after[number.end() :] if number is not None else after
    alternatives = len(segments) > 1 or segments[0].alternatives
    listed = [bracket.spec.dims for segment in segments for bracket in segment.shapes]
    if alternatives and any(dims and all(isinstance(dim, AnyDims) for dim in dims) for dims in listed):
        return  # "of shape [...] or [..., 1]" is any
    if OF_ANOTHER_OR_CHANGED.search(before) or CONDITIONS.search(before):
        return
    if not is_return and _OF_RESULT.search(before):
        return
    if not alternatives and _may_be_else(after.partition(",")[0]):
        return
    container = _CONTAINER.search(_EACH_PAIR.sub("", text[: segments[0].shapes[0].start])) is not None
    known = bool(part) and (part in elements or is_quoted(text, part) or is_entry(text, part))
    of_each = _OF_EACH.search(text[: marker_start(text, segments[0])]) is not None
    # Below the one entry of a list stands what that is: "- memory: the state.\n Shape is (b, t)"
    is_listed = len(_LIST_ITEM.findall(text)) > (_SHAPE_IS.fullmatch(before) is not None)
    if is_return and not known and not of_each and (container or is_listed):
        return
    aside = _ASIDE.search(before)
    if is_return and aside is not None and elements and all(elements) and aside.group(1) not in elements:
        return  # "For the caller's `x` (shape (b, t)), ..." is not about what is returned
    near = len(QUOTED.sub("x", before).split()) <= _LONG_WAY
    near &= _OF_ONE.search(text[: marker_start(text, segments[0])]) is None
    plainly = near and not SELDOM.search(before) and not SELDOM.search(after) and not leaves_axes_out(after)
    plainly &= FOR_A_RANK.search(before + after) is None
    plainly &= _OR_IN_NEXT_SENTENCE.match(text, segments[-1].shapes[-1].end) is None
    for segment in segments:
        for bracket in segment.shapes:
            sure = plainly and not OF_ANOTHER_OR_CHANGED.search(after)
            yield DescribedShape(bracket, sure, container and not part, part, or_number=number is not None)


def _may_be_else(after: str) -> bool:
    """Whether what follows a shape says that it is another one at times."""
    return CONDITIONS.search(_OR.sub(" ", after)) is not None or _OR_OF_SHAPE.search(after) is not None


def is_marked(segment: Segment) -> bool:
    """Whether the text says that it is a shape, or gives its dtype."""
    return segment.marked or any(bracket.dtype for bracket in segment.shapes)


def marker_start(text: str, segment: Segment) -> int:
    """Where the word `shape` in front of a segment begins."""
    start = segment.shapes[0].start
    found = text.lower().rfind("shape", 0, start)
    return found if found >= 0 else start


def sentence_at(text: str, offset: int) -> tuple[int, int]:
    """The start and end of the sentence around an offset."""
    start = 0
    for match in SENTENCE.finditer(text):
        if match.start() >= offset:
            return start, match.start()
        start = match.end()
    return start, len(text)
