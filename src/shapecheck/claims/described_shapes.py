"""The shapes that a description states: of the value itself, or of a part of it that it names.

Prose hedges more than a comment does, so that only a shape which is plainly said of the value itself counts.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from shapecheck.claims.brackets import Bracket, find_brackets
from shapecheck.claims.comment_text import Segment, read_comment
from shapecheck.claims.docstring_sections import SHAPE_BEFORE_COLON
from shapecheck.claims.doubtful_words import CONDITIONS, FOR_A_RANK, OF_ANOTHER_OR_CHANGED, SELDOM
from shapecheck.claims.lead_words import leaves_axes_out
from shapecheck.claims.result_phrases import names_several, read_results
from shapecheck.claims.unmarked_shapes import is_unmarked_shape
from shapecheck.shapes import AnyDims, FixedDim

_SENTENCE = re.compile(r"(?<=[.;])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z(\[`])|\n\s*[-*]\s")
_OR = re.compile(r"\bor\b", re.IGNORECASE)
# What a shape may be else; "queries or keys" are no shapes.
_OR_OF_SHAPE = re.compile(
    r"\bor\b\s+(?:[\w-]+\s+){0,3}?(?:[`'\"]*[(\[]|\d|\S+\.shape\b|(?-i:[A-Z]{3,}\b)|scalars?\b|floats?\b|ints?\b|numbers?\b|shapes?\b|lists?\b|tuples?\b"
    r"|vectors?\b|matri(?:x|ces)\b|arrays?\b|tensors?\b|callable|functions?\b|more\b|less\b|fewer\b|higher\b|lower\b|larger\b"
    r"|any\b|empty\b|single\b|one\b|none\b)",
    re.IGNORECASE,
)
# A sequence of features is an array, as a set of points is; one of arrays is none, nor one each of which has a shape.
_CONTAINER = re.compile(
    r"\b(?:lists?|tuples?|dict\w*|pytrees?|pairs?(?!\s+(?:[a-z]+\s+)?(?:array|matrix|tensor)\b)|(?:trees?|iterables?|mappings?)\s+of"
    r"(?!\s+(?:the\s+)?(?:shape|size|length|dim|dimension|rank|type|dtype)s?\b)"
    r"|(?:sequences?|collections?|sets?)\s+of\s+(?:(?:[\w-]+\s+){0,3}(?:arrays|tensors|ndarrays|matrices|vectors)"
    r"|(?s:.*)\beach))\b",
    re.IGNORECASE,
)
_OR_BEFORE = re.compile(r"(?:^|[\s(,.;])or\s+(?:\w+\s+){0,4}$", re.IGNORECASE)
# `position is a NumPy array of`
_SUBJECT_OF_PART = re.compile(r"(?:^|[,;.]\s+|\band\s+|\bwhere\s+)[`'\"]*(\w+)[`'\"]*\s+(?:is|are|has|have)\b[^,.;:]*$")
# `(steps, n)`, and on the next line "Or with `series` in front".
_OR_IN_NEXT_SENTENCE = re.compile(r"[\s`'\".,;]*\(?(?:Or\b|Alternatively\b|or\s+with(?:out)?\b)")
# What the text calls a part, if it says of it more than its shape: `- mean: array of shape (b,)`.
_ENTRY = re.compile(
    r"(?:^|[\n,;{(]|[-*+]\s)\s*[`'\"]*([A-Za-z_]\w*)[`'\"]*\s*(?:\((?:[^()\n]|\([^()\n]*\))*\)\s*)?:\s[^:\n]*$"
)
# A line of its own for each case: `Shape: (n,) for one`, and below it `Shape: (n, k) for several`.
_SHAPE_LINE = re.compile(r"(?:^|\n)[ \t]*(?:[-*+]\s+)?[`*]*shapes?[`*]*\s*:[\s`]*$", re.IGNORECASE)
_EXPLAINS = re.compile(r"[`'\"\s]*[,:;]?\s*(?:where|with|whose|(?:in|of) which)\b", re.IGNORECASE)
_ELEMENTS = re.compile(r"\(\s*`*[A-Za-z_]\w*`*\s*(?:,\s*`*[A-Za-z_]\w*`*\s*)+\)")
_AND = re.compile(r"\band\b", re.IGNORECASE)
# A shape in a bracket behind the name of something, in the middle of a sentence.
_ASIDE = re.compile(r"\w\S*\s+[`'\"]+(\w+)[`'\"]+\s*\(\s*(?:of\s+)?shapes?\W*$")
_LIST_ITEM = re.compile(r"(?:^|\n)\s*(?:[-*+]|\d+[.)])\s")
_NAME = re.compile(r"\w+")
_ENTRY_LINE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<bullet>[-*+]\s+|\d+[.)]\s+)?[`*'\"]*"
    r"(?P<name>[A-Za-z_]\w*(?(bullet)(?: \w+){0,2}))[`*'\"]*\s*"
    rf"(?:\((?:[^()\n]|\([^()\n]*\))*\)\s*|(?<=\s){SHAPE_BEFORE_COLON})?(?::|[ \t]*[-–][ \t]+(?=[`'\"]*[(\[]))",
    re.MULTILINE,
)
_BULLET = re.compile(r"^[ \t]*[-*+]\s", re.MULTILINE)
# "Tuple of key and value tensors of shape ..." is about each of them.
_OF_EACH = re.compile(
    r"\b(?:(?:tuple|pair|list|sequence)s?\s+of\s+(?:[\w-]+\s+){0,4}|(?:both|all|each)\s+(?:[\w-]+\s+){0,2})"
    r"(?:tensors|arrays|matrices|vectors),?\s+(?:each\s+)?"
    r"(?:of|with|having)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
# "An array of vectors of shape (n,)" may have the axes of one of them, or those of all.
_OF_ONE = re.compile(
    r"\b(?:array|ndarray|tensor|collection|set|ensemble)s?\s+of\s+(?:[\w-]+\s+){0,2}(?:vectors|matrices|tensors|arrays)\s+"
    r"(?:of|with|having)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_RESPECTIVELY = re.compile(r"\brespectively\b")
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
# "length d; the output shape will be (d, d)" tells of what becomes of it.
_OF_RESULT = re.compile(
    r"\b(?:output|resulting|returned)\s+(?:array\s+|matrix\s+)?shape\b|\bthe\s+(?:outputs?|results?)\s+(?:will|is|are|has|have)\b",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(r"\bor\s+`*None\b`*")  # "ndarray or None", and its shape on the next line
# "Labels of shape [b, m]. If `one_hot`, it is [b, m, c]", or "then [b, m, c]": what else it may be.
_THEN_IT_IS = re.compile(
    r"\b(?:if|when|unless|otherwise|whenever)\b[^.;]*?"
    r"\b(?:(?:is|are|be|has|have|becomes?)\s+(?:an?\s+|of\s+)*|then\s+)[`'\"]*$",
    re.IGNORECASE,
)
# "[n+1] for closed ends, [n] for open ones": either.
_IN_ONE_CASE = re.compile(
    r"[`'\"]*\s+(?:for|with|in|under)\s+[^,;.:()\[\]]*(?:,\s*(?:and\s+|or\s+)?|\s(?:and|or)\s+)[`'\"]*$"
)
_IN_THE_OTHER = re.compile(r"[`'\"]*\s+(for|with|in|under)\b")
_CAN_BE = re.compile(r"\b(?:can|may|could|must|should)\s+be(?:\s+(?:either|one\s+of|any\s+of))?\s*:", re.IGNORECASE)
_BULLET = re.compile(r"\n[ \t]*[-*+•][ \t]+")
# "A list of callable blocks, each with the signature (x, y) -> z, where x has shape (n, d)".
_HAS_SIGNATURE = re.compile(r"\b(?:callables?|functions?)\b.*\bsignature\b", re.IGNORECASE | re.DOTALL)
_IS_FUNCTION = re.compile(
    r"\W*(?:(?:an?|the|optional)\s+)*(?:[\w-]+\s+)?(?:function|callable)s?\s*(?:[,.:;(]|\b(?:that|which|to|taking|mapping"
    r"|returning|from|with|for)\b)",
    re.IGNORECASE,
)
# "By default the (n, m) matrix. If diag=True, it returns its diagonal": what it is in one case alone.
_CONDITION_ON = r"""(?:(?:if|when|unless)\s+[`'"*]*|(?:with|for)\s+[`'"*]*(?=\w+[`'"*]*\s*=))(?P<name>[A-Za-z_]\w*)\b"""
_GIVES_ELSE = (
    re.compile(
        rf"\b{_CONDITION_ON}[^.;]*?\b(?:returns?|returned|gives?|instead|it\s+(?:is|has)"
        r"|(?:results?|outputs?|shapes?|values?)\s+(?:is|are|has|have|becomes?))\b",
        re.IGNORECASE,
    ),
    re.compile(rf"\b(?:or|else|otherwise|instead|returns?|but)\b[^.;]*?\b{_CONDITION_ON}", re.IGNORECASE),
)
_ENTRY_NAME = re.compile(r"[A-Za-z_]\w*(?:/[A-Za-z_]\w*)?")
_KINDS = frozenset({"tuple", "Tuple", "list", "List"})  # what stands above the list of results, and is none of them
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


def read_shapes(
    text: str,
    elements: Sequence[str],
    *,
    is_return: bool,
    known: Container[str] = frozenset(),
    count: int = 0,
    returned: Sequence[str] = (),
    parameters: Container[str] = (),
) -> list[DescribedShape]:
    """The shapes that are plainly said of the described value: one, alternatives, or one for each part of it.

    `elements` are the names of those of a tuple, `count` is how many results a function returns, `returned` are the
    names of these, `parameters` those of what it takes. Where nothing is called a shape, brackets count that stand
    where authors put one.
    """
    if not is_return and (_IS_FUNCTION.match(text) or _HAS_SIGNATURE.search(text)):
        return []  # what it takes or gives has that shape
    segments = read_comment(text, known, described=True)
    if _leaves_cases_open(text, segments):
        return []
    found = _read_segments(
        text,
        segments,
        elements,
        is_return=is_return,
        known=known,
        count=count,
        returned=returned,
        parameters=parameters,
    )
    dtypes = {(bracket.spec, bracket.dtype) for bracket in find_brackets(text) if bracket.dtype}
    return [
        # `Complex[Array, "m n"]`, and further on "or `Float[Array, "m n"]`" if it is the inverse: of either dtype.
        replace(each, bracket=replace(each.bracket, dtype=""))
        if sum(spec == each.bracket.spec for spec, _ in dtypes) > 1
        else each
        for each in found
    ]


def _leaves_cases_open(text: str, segments: Sequence[Segment]) -> bool:
    """Whether a list of what something can be has entries without a shape: a scalar, or "1D array of length n"."""
    opened = _CAN_BE.search(text)
    if opened is None:
        return False
    entries = [match.start() for match in _BULLET.finditer(text, opened.end())]
    starts = [bisect.bisect(entries, segment.shapes[0].start) for segment in segments]
    return len(entries) > 1 and bool({*starts} - {0}) and len({*starts} - {0}) < len(entries)


def _read_segments(
    text: str,
    segments: list[Segment],
    elements: Sequence[str],
    *,
    is_return: bool,
    known: Container[str],
    count: int,
    returned: Sequence[str],
    parameters: Container[str],
) -> list[DescribedShape]:
    """The shapes among those of a text that it says of the described value."""
    if bare := _without_legends(text, segments):
        text, segments = bare, read_comment(bare, known, described=True)
    marked = [segment for segment in segments if is_marked(segment)]
    if marked:
        if is_return and (in_order := _of_bullets(text, marked, count)):
            return [replace(each, unmarked=False) for each in in_order]
        others = _unmarked_segments(text, segments, is_return=True, known=known) if is_return and count > 1 else ()
        every = _one_of_each_entry(text, marked, [each for each in others if each not in marked])
        if is_return and (in_order := _in_order(text, every, (), elements, count)):
            return [replace(each, unmarked=False) for each in in_order]
        if cases := list(_cases(text, segments, is_return=is_return)):
            return cases
        plain = [marked[0], *(each for each in marked[1:] if not _is_under_condition(text, each.shapes[0]))]
        found = list(_of_segments(text, plain, elements, is_return=is_return))
        if len(found) == 1:
            found += [*_with_more_axes(found[0], segments), *_under_condition(text, found[0], segments)]
            found += _in_other_cases(text, found[0], segments) if len(found) == 1 else []
        found = found or (list(_results(text, marked, count)) if is_return else [])
        if is_return and (not found or (count > 1 and not any(each.part or each.result is not None for each in found))):
            found = _of_results(text, count, known, returned, parameters, several=count > 1) or found
        return found
    plain = [*_unmarked_segments(text, _without_elements(text, segments), is_return=is_return, known=known)]
    if is_return and count > 1 and (in_order := _in_order(text, plain, segments, elements, count)):
        return in_order
    if not is_return:
        plain = _with_alternatives(text, plain)
    elif several := _of_results(text, count, known, returned, parameters, several=True):
        return several
    elif count < 2 and names_several(text, known):
        return []  # nobody says which of the results they are
    found = list(_of_segments(text, plain, elements, is_return=is_return))
    found += _in_other_cases(text, found[0], segments) if len(found) == 1 else []
    if is_return and not found:
        return _of_results(text, count, known, returned, parameters, several=False)
    return [replace(each, unmarked=True) for each in found]


def _of_results(
    text: str,
    count: int,
    known: Container[str],
    returned: Sequence[str],
    parameters: Container[str],
    *,
    several: bool,
) -> list[DescribedShape]:
    """What a text says of the results in a row, if there are several of them."""
    found = read_results(text, 0, count=count, known=known, returned=returned, parameters=parameters)
    return [
        DescribedShape(each.bracket, each.sure, leaves=False, apart=True, result=each.place, unmarked=True)
        for each in found
        if several is (each.place is not None)
    ]


def _with_more_axes(first: DescribedShape, segments: Sequence[Segment]) -> Iterator[DescribedShape]:
    """What is said later of the same value with axes in front: "of shape (n, 2); callers batch it as (batch, n, 2)"."""
    rank = len(first.bracket.spec.dims)
    for segment in segments:
        for bracket in segment.shapes:
            dims = bracket.spec.dims
            if bracket.start > first.bracket.start and len(dims) > rank and dims[-rank:] == first.bracket.spec.dims:
                yield replace(first, bracket=bracket)


def _under_condition(text: str, first: DescribedShape, segments: Sequence[Segment]) -> Iterator[DescribedShape]:
    """What a later sentence says that the same value is under a condition."""
    for segment in segments:
        for bracket in segment.shapes:
            if bracket.start >= first.bracket.end and _is_under_condition(text, bracket):
                yield replace(first, bracket=bracket, under_condition=True)


def _is_under_condition(text: str, bracket: Bracket) -> bool:
    """Whether the sentence of a shape says when that is the one: "If `lengths` is given, the shape is (tokens, d)"."""
    return _THEN_IT_IS.search(text[sentence_at(text, bracket.start)[0] : bracket.start]) is not None


def _in_other_cases(text: str, first: DescribedShape, segments: Sequence[Segment]) -> Iterator[DescribedShape]:
    """The shapes that stand in a list behind the first one, each with the case that it is for."""
    before = first.bracket.end
    for bracket in [bracket for segment in segments for bracket in segment.shapes if bracket.start >= before]:
        if not _IN_ONE_CASE.fullmatch(text, before, bracket.start) or not _IN_THE_OTHER.match(text, bracket.end):
            return
        yield replace(first, bracket=bracket)
        before = bracket.end


def _cases(text: str, segments: Sequence[Segment], *, is_return: bool) -> Iterator[DescribedShape]:
    """What is said of each of several cases, if nothing else is: "shape (n,) for one, or (batch, n) for many"."""
    first, *others = segments
    end = first.shapes[-1].end
    if not others or not is_marked(first):
        return
    found = list(shapes_of_value(text[:end], [first], "", (), is_return=is_return))
    cases = list(_in_other_cases(text, found[0], segments)) if len(found) == 1 and not found[0].leaves else []
    if len(cases) == len(others):
        yield from (*found, *cases)


def _without_legends(text: str, segments: Sequence[Segment]) -> str:
    """The text without what names the entries of an axis behind a shape: `[batch, 4, 3] (N, CA, C, CB)`; "" if none."""
    plain = text
    for one, other in itertools.pairwise(segments):
        ends, begins = one.shapes[-1], other.shapes[0]
        is_beside = len(one.shapes) == len(other.shapes) == 1 and not text[ends.end : begins.start].strip(" `'\"")
        dims = begins.spec.dims
        is_named = len(dims) > 1 and all(_ENTRY_NAME.fullmatch(str(dim)) for dim in dims) and not is_marked(other)
        if is_beside and is_named and FixedDim(len(dims)) in ends.spec.dims:
            plain = f"{plain[: begins.start]}{' ' * (begins.end - begins.start)}{plain[begins.end :]}"
    return plain if plain != text else ""


def _without_elements(text: str, segments: Sequence[Segment]) -> list[Segment]:
    """The segments without those that tell of one element of what the next does: `matrices (k, m) [g, k, m]`."""
    found = [*segments]
    for one, other in itertools.pairwise(segments):
        ends, begins = one.shapes[-1], other.shapes[0]
        element, whole = ends.spec.dims, begins.spec.dims
        is_beside = len(one.shapes) == 1 and not text[ends.end : begins.start].strip(" ,;:`'\"")
        if is_beside and len(whole) > len(element) and whole[len(whole) - len(element) :] == element:
            found.remove(one)
    return found


def _unmarked_segments(
    text: str, segments: Sequence[Segment], *, is_return: bool, known: Container[str]
) -> Iterator[Segment]:
    """The segments that are shapes by their place."""
    begin = 0
    for segment in segments:
        if is_unmarked_shape(text, segment, begin, is_return=is_return, known=known):
            yield segment
        begin = segment.shapes[-1].end


def _one_of_each_entry(text: str, marked: Sequence[Segment], others: Sequence[Segment]) -> list[Segment]:
    """The marked segments, and for each entry of a list that has none of them what stands there for a shape."""
    starts = [each.start() for each in _ENTRY_LINE.finditer(text)]
    entry_of = [bisect.bisect(starts, each.shapes[0].start) for each in marked]
    further = (each for each in others if bisect.bisect(starts, each.shapes[0].start) not in entry_of)
    return sorted((*marked, *further), key=lambda each: each.shapes[0].start)


def _with_alternatives(text: str, plain: Sequence[Segment]) -> list[Segment]:
    """The first shape of a parameter, and those that it may have besides."""
    kept = list(plain[:1])
    for segment in plain[1:]:
        if not _OR_BEFORE.search(text[: segment.shapes[0].start]):
            break
        kept.append(segment)
    return kept


def _in_order(
    text: str, plain: Sequence[Segment], segments: Sequence[Segment], elements: Sequence[str], count: int
) -> list[DescribedShape]:
    """The shapes of several results by their order: `([B, A], [B]), respectively`, or one entry for each of them.

    Or those that stand in a column of their own: `the matrices A and B      (P, P), (P, H)`.
    """
    together = [each for each in segments if len(each.shapes) == count and not each.alternatives]
    if len(together) == 1 and (
        _RESPECTIVELY.search(text, together[0].shapes[-1].end) or _is_in_column(text, together[0])
    ):
        return [
            DescribedShape(bracket, sure=True, leaves=False, apart=True, result=index, unmarked=True)
            for index, bracket in enumerate(together[0].shapes)
        ]
    entries = _entry_starts(text, elements)
    if count < 2 or len(entries) != count:
        return []
    found: list[DescribedShape] = []
    for index, (start, end) in enumerate(itertools.pairwise([*entries, len(text)])):
        inside = [each for each in plain if start <= each.shapes[0].start < end]
        is_one = len(inside) == 1 and (len(inside[0].shapes) == 1 or inside[0].alternatives)
        if is_one and not OF_ANOTHER_OR_CHANGED.search(text, start, end):
            found += (
                DescribedShape(bracket, sure=True, leaves=False, apart=True, result=index, unmarked=True)
                for bracket in inside[0].shapes
            )
    return found


def _is_in_column(text: str, segment: Segment) -> bool:
    """Whether shapes end a text, and blanks part them from it, or are all of it."""
    before, behind = text[: segment.shapes[0].start], text[segment.shapes[-1].end :]
    return (before.endswith(("  ", "\t")) or not before.strip(" `(")) and not behind.strip(" `.)\n")


def _of_bullets(text: str, marked: Sequence[Segment], count: int) -> list[DescribedShape]:
    """The shapes of several results, of which a list without names has one item each."""
    items = [each.start() for each in _BULLET.finditer(text)]
    if count < 2 or len(items) != count or any(_ENTRY_LINE.match(text, start) for start in items):
        return []
    found: list[DescribedShape] = []
    for index, (start, end) in enumerate(itertools.pairwise([*items, len(text)])):
        inside = [each for each in marked if start <= each.shapes[0].start < end]
        plain = len(inside) == 1 and len(inside[0].shapes) == 1 and not inside[0].arrow
        if plain and not OF_ANOTHER_OR_CHANGED.search(text, start, end) and not CONDITIONS.search(text, start, end):
            found.append(DescribedShape(inside[0].shapes[0], sure=True, leaves=False, apart=True, result=index))
    return found


def _entry_starts(text: str, elements: Sequence[str]) -> list[int]:
    """Where the entries of a list of results begin, unless they are called as what is returned in another order."""
    found = [each for each in _ENTRY_LINE.finditer(text) if each["name"] not in _KINDS]
    found = [each for each in found if len(each["indent"]) == len(found[0]["indent"])]
    called = [each["name"] for each in found]
    if any(name in elements and elements.index(name) != place for place, name in enumerate(called)):
        return []
    if all(name in elements for name in called):
        return []  # the names say it
    return [each.start() for each in found]


def _of_segments(
    text: str, segments: Sequence[Segment], elements: Sequence[str], *, is_return: bool
) -> Iterator[DescribedShape]:
    ends = [0, *(segment.shapes[-1].end for segment in segments)]
    parts = [_part(text[end:], segment, end, elements) for segment, end in zip(segments, ends, strict=False)]
    if len(segments) > 1 and all(parts) and len({*parts}) == len(parts):
        for segment, part, end in zip(segments, parts, ends, strict=False):
            own = " " * end + text[end:]  # what the parts before may be is no matter
            for stated in shapes_of_value(own, [segment], part, elements, is_return=is_return):
                yield replace(stated, apart=True)
    elif len(segments) > 1 and any(_is_entry(text, part) for part in parts if part):
        for segment, part in zip(segments, parts, strict=True):
            if part and parts.count(part) == 1 and _is_entry(text, part):
                for stated in shapes_of_value(text, [segment], part, elements, is_return=is_return):
                    yield replace(stated, apart=True)
    elif segments:
        yield from shapes_of_value(
            text, segments, parts[0] if len(segments) == 1 else "", elements, is_return=is_return
        )


def _results(text: str, segments: Sequence[Segment], count: int) -> Iterator[DescribedShape]:
    """One shape for each of several results, in their order: "... of shape (n, d), and the means, of shape (d,)".

    Or "a pair of shapes (n, d) and (d,)".
    """
    if count > 1 and len(segments) == 1 and len(segments[0].shapes) == count:
        yield from _listed_results(text, segments[0])
    if count < 2 or len(segments) != count or any(len(segment.shapes) != 1 for segment in segments):
        return
    brackets = [segment.shapes[0] for segment in segments]
    between = [text[one.end : other.start] for one, other in itertools.pairwise(brackets)]
    if not _AND.search(between[-1]) or any(_SENTENCE.search(words) for words in between):
        return
    begins = [0, *(bracket.end for bracket in brackets)]
    stated = [
        each
        for result, (segment, begin) in enumerate(zip(segments, begins, strict=False))
        for each in shapes_of_value(" " * begin + text[begin:], [segment], "", (), is_return=False)
        if each.sure and not each.leaves
        for each in [replace(each, apart=True, result=result)]
    ]
    yield from stated if len(stated) == count else ()


def _listed_results(text: str, segment: Segment) -> Iterator[DescribedShape]:
    start, end = sentence_at(text, segment.shapes[0].start)
    before, after = text[start : segment.shapes[0].start], text[segment.shapes[-1].end : end]
    if (
        segment.arrow
        or segment.alternatives
        or OF_ANOTHER_OR_CHANGED.search(before)
        or CONDITIONS.search(before + after)
    ):
        return
    plainly = not SELDOM.search(before + after) and not OF_ANOTHER_OR_CHANGED.search(after)
    for index, bracket in enumerate(segment.shapes):
        yield DescribedShape(bracket, plainly, leaves=False, apart=True, result=index)


def _part(text: str, segment: Segment, offset: int, elements: Sequence[str]) -> str:
    """What the text since the shape before calls the part of a value that a segment speaks of."""
    before = text[: segment.shapes[0].start - offset]
    if _SHAPE_LINE.search(before):
        return ""
    label = segment.labels[-1] if segment.labels else ""
    if (
        label
        and label not in _KINDS
        and not segment.generic
        and (segment.colon or label in elements or _is_quoted(before, label))
    ):
        return label
    subject = _SUBJECT_OF_PART.search(before)
    if subject is not None and subject.group(1) in elements:
        return subject.group(1)
    entry = _ENTRY.search(before)
    return entry.group(1) if entry is not None and entry.group(1) not in _KINDS else ""


def _is_entry(text: str, name: str) -> bool:
    """Whether a line of the text begins with the name, as those of a list of results do."""
    return any(name == each["name"] for each in _ENTRY_LINE.finditer(text))


def _is_quoted(text: str, name: str) -> bool:
    return any(f"{quote}{name}{quote}" in text for quote in "`'\"")


def gives_else(text: str, parameters: Container[str]) -> bool:
    """Whether a description of a result says that another one is given where a parameter has some value."""
    return any(each["name"] in parameters for pattern in _GIVES_ELSE for each in pattern.finditer(text))


def list_elements(text: str) -> list[str]:
    """The elements of a tuple that the description itself lists: `(log_probs, cache), where ...`."""
    shapes = {bracket.start for segment in read_comment(text) if is_marked(segment) for bracket in segment.shapes}
    lists = (match for match in _ELEMENTS.finditer(text) if match.start() not in shapes)
    match = next((each for each in lists if not _is_shape_of_entry(text, each)), None)
    return _NAME.findall(match.group()) if match is not None else []


def _is_shape_of_entry(text: str, listed: re.Match[str]) -> bool:
    """Whether a list stands where an entry of several has its shape: `indices: (q, k) of the nearest`."""
    before = text[: listed.start()].rstrip()
    starts = {len(text[: each.end()].rstrip()) for each in _ENTRY_LINE.finditer(text)}
    is_of_entry = len(before) in starts or _OR_BEFORE.search(text[: listed.start()]) is not None
    return is_of_entry and _EXPLAINS.match(text, listed.end()) is None


def shapes_of_value(
    text: str, segments: Sequence[Segment], part: str, elements: Sequence[str], *, is_return: bool
) -> Iterator[DescribedShape]:
    """The shapes that a text states of one value, or of a `part` of it: how plainly it does so, and of how much."""
    if any(segment.arrow or (len(segment.shapes) > 1 and not segment.alternatives) for segment in segments):
        return
    for later in segments[1:]:
        is_case = _SHAPE_LINE.search(text[: later.shapes[0].start]) is not None
        if not is_case and not _OR_BEFORE.search(text[: marker_start(text, later)]):
            return
    sentence_start, sentence_end = sentence_at(text, segments[0].shapes[0].start)
    before = _LEFT_OUT.sub("", _AS_GIVEN.sub("", text[sentence_start : segments[0].shapes[0].start]))
    before = _INTERVAL.sub("", before)
    end = segments[-1].shapes[-1].end
    next_entry = _ENTRY_LINE.search(text, end)
    after = text[end : max(min(sentence_end, next_entry.start() if next_entry is not None else sentence_end), end)]
    after = _OR_NONE.sub("", after)  # it may be left out
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
    container = _CONTAINER.search(text[: segments[0].shapes[0].start]) is not None
    known = bool(part) and (part in elements or _is_quoted(text, part) or _is_entry(text, part))
    of_each = _OF_EACH.search(text[: marker_start(text, segments[0])]) is not None
    if is_return and not known and not of_each and (container or _LIST_ITEM.search(text)):
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
            yield DescribedShape(
                bracket, plainly and not OF_ANOTHER_OR_CHANGED.search(after), container and not part, part
            )


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
    for match in _SENTENCE.finditer(text):
        if match.start() >= offset:
            return start, match.start()
        start = match.end()
    return start, len(text)
