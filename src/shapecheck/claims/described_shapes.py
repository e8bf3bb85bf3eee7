"""The shapes that a description states: of the value itself, or of a part of it that it names."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from shapecheck.claims.brackets import Bracket, find_brackets
from shapecheck.claims.comment_text import Segment, read_comment
from shapecheck.claims.result_phrases import names_several, read_results
from shapecheck.claims.results_in_order import KINDS, in_order, results_of_bullets, results_of_sentence
from shapecheck.claims.unmarked_shapes import is_unmarked_shape
from shapecheck.claims.value_sentences import (
    ENTRY_LINE,
    OR_BEFORE,
    SHAPE_LINE,
    DescribedShape,
    is_entry,
    is_marked,
    is_quoted,
    sentence_at,
    shapes_of_value,
)
from shapecheck.shapes import FixedDim, NamedDim, Spec

# `position is a NumPy array of`
_SUBJECT_OF_PART = re.compile(r"(?:^|[,;.]\s+|\band\s+|\bwhere\s+)[`'\"]*(\w+)[`'\"]*\s+(?:is|are|has|have)\b[^,.;:]*$")
# What the text calls a part, if it says of it more than its shape: `- mean: array of shape (b,)`.
_ENTRY = re.compile(
    r"(?:^|[\n,;{(]|[-*+]\s)\s*[`'\"]*([A-Za-z_]\w*)[`'\"]*\s*(?:\((?:[^()\n]|\([^()\n]*\))*\)\s*)?:\s[^:\n]*$"
)
_EXPLAINS = re.compile(r"[`'\"\s]*[,:;]?\s*(?:where|with|whose|(?:in|of) which)\b", re.IGNORECASE)
_ELEMENTS = re.compile(r"\(\s*`*[A-Za-z_]\w*`*\s*(?:,\s*`*[A-Za-z_]\w*`*\s*)+\)")
_NAME = re.compile(r"\w+")
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
_QUOTED_NAME = re.compile(r"`([A-Za-z_]\w*)`+\s*\Z")
_OR = re.compile(r"\bor\b", re.IGNORECASE)
_BULLET = re.compile(r"\n[ \t]*[-*+•][ \t]+")
# "A list of callable blocks, each with the signature (x, y) -> z, where x has shape (n, d)".
_HAS_SIGNATURE = re.compile(r"\b(?:callables?|functions?)\b.*\bsignature\b", re.IGNORECASE | re.DOTALL)
_IS_FUNCTION = re.compile(
    r"\W*(?:(?:an?|the|optional)\s+)*(?:[\w-]+\s+)?(?:function|callable)s?\s*(?:[,.:;]|\((?![^()]*\b\d+\b[^()]*\))|\b(?:that|which|to|taking|mapping"
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
# "A 1-D tensor of N indices", "a one-dimensional array of length n_bins": so many entries, along its only axis.
_ENTRIES = re.compile(
    r"\b(?:1|one)[- ]?d(?:im(?:ensional)?)?\s+(?:\w+\s+)?(?:tensor|array|vector|ndarray)\s+"
    r"(?:of|with)\s+(?:(?:length|size)\s+)?`*(?P<name>[A-Z][A-Z\d]?|(?:n|num)_[a-z_\d]+|(?<=length )[a-z])`*"
    r"(?=\s+[a-z-]+s\b|\s*[.,;)\n]|\s*\Z)",
    re.IGNORECASE,
)
_ENTRY_NAME = re.compile(r"[A-Za-z_]\w*(?:/[A-Za-z_]\w*)?")


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
    if not is_return and (entries := says_entries(text)) is not None and not find_brackets(text):
        return [DescribedShape(entries, sure=True, leaves=False)]
    segments = read_comment(text, known, described=True)
    if is_return and count > 1:  # "(plus, cross), each (3, n)"
        segments = [replace(each, marked=each.marked or each.labels[-1:] == ("each",)) for each in segments]
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


def says_entries(text: str) -> Bracket | None:
    """The shape of an array of which a text begins by saying how many entries its one axis has."""
    end = sentence_at(text, 0)[1]
    match = _ENTRIES.search(text, 0, end)
    if match is None or not (match["name"].isupper() or match["name"].islower()) or _OR.search(text, 0, end):
        return None
    start, end = match.span("name")
    return Bracket(start=start, end=end, text=match["name"], spec=Spec((NamedDim(match["name"]),)))


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
        if is_return and (found := results_of_bullets(text, marked, count)):
            return [replace(each, unmarked=False) for each in found]
        others = _unmarked_segments(text, segments, is_return=True, known=known) if is_return and count > 1 else ()
        every = _one_of_each_entry(text, marked, [each for each in others if each not in marked])
        if is_return and (found := in_order(text, every, (), elements, count)):
            return [replace(each, unmarked=False) for each in found]
        if cases := list(_cases(text, segments, is_return=is_return)):
            return cases
        plain = [marked[0], *(each for each in marked[1:] if not _is_under_condition(text, each.shapes[0]))]
        found = list(_of_segments(text, plain, elements, is_return=is_return))
        if len(found) == 1:
            found += [*_with_more_axes(found[0], segments), *_under_condition(text, found[0], segments)]
            found += _in_other_cases(text, found[0], segments) if len(found) == 1 else []
        found = found or (list(results_of_sentence(text, marked, count)) if is_return else [])
        if is_return and (not found or (count > 1 and not any(each.part or each.result is not None for each in found))):
            found = _of_results(text, count, known, returned, parameters, several=count > 1) or found
        return found
    if is_return and (named := _behind_quoted_names(text, segments)):
        return named
    plain = [*_unmarked_segments(text, _without_elements(text, segments), is_return=is_return, known=known)]
    if is_return and count > 1 and (found := in_order(text, plain, segments, elements, count)):
        return found
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


def _behind_quoted_names(text: str, segments: Sequence[Segment]) -> list[DescribedShape]:
    """The shapes of the entries of a result, if each stands behind the name of one: "``s`` (t, q); ``p`` (t, q, q)"."""
    found: dict[str, DescribedShape] = {}
    for segment in segments:
        name = _QUOTED_NAME.search(text, 0, segment.shapes[0].start)
        if name is None or len(segment.shapes) != 1 or segment.arrow:
            return []
        found[name[1]] = DescribedShape(
            segment.shapes[0], not segment.hedged, leaves=False, part=name[1], unmarked=True
        )
    return [*found.values()] if len(found) == len(segments) > 1 else []


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
    starts = [each.start() for each in ENTRY_LINE.finditer(text)]
    entry_of = [bisect.bisect(starts, each.shapes[0].start) for each in marked]
    further = (each for each in others if bisect.bisect(starts, each.shapes[0].start) not in entry_of)
    return sorted((*marked, *further), key=lambda each: each.shapes[0].start)


def _with_alternatives(text: str, plain: Sequence[Segment]) -> list[Segment]:
    """The first shape of a parameter, and those that it may have besides."""
    kept = list(plain[:1])
    for segment in plain[1:]:
        if not OR_BEFORE.search(text[: segment.shapes[0].start]):
            break
        kept.append(segment)
    return kept


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
    elif len(segments) > 1 and any(is_entry(text, part) for part in parts if part):
        for segment, part in zip(segments, parts, strict=True):
            if part and parts.count(part) == 1 and is_entry(text, part):
                for stated in shapes_of_value(text, [segment], part, elements, is_return=is_return):
                    yield replace(stated, apart=True)
    elif segments:
        yield from shapes_of_value(
            text, segments, parts[0] if len(segments) == 1 else "", elements, is_return=is_return
        )


def _part(text: str, segment: Segment, offset: int, elements: Sequence[str]) -> str:
    """What the text since the shape before calls the part of a value that a segment speaks of."""
    before = text[: segment.shapes[0].start - offset]
    if SHAPE_LINE.search(before):
        return ""
    label = segment.labels[-1] if segment.labels else ""
    if (
        label
        and label not in KINDS
        and not segment.generic
        and (segment.colon or label in elements or is_quoted(before, label))
    ):
        return label
    subject = _SUBJECT_OF_PART.search(before)
    if subject is not None and subject.group(1) in elements:
        return subject.group(1)
    entry = _ENTRY.search(before)
    return entry.group(1) if entry is not None and entry.group(1) not in KINDS else ""


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
    starts = {len(text[: each.end()].rstrip()) for each in ENTRY_LINE.finditer(text)}
    is_of_entry = len(before) in starts or OR_BEFORE.search(text[: listed.start()]) is not None
    return is_of_entry and _EXPLAINS.match(text, listed.end()) is None
