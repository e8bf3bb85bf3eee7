"""From docstrings to claims: of parameters, fields and what a function returns.

Prose hedges more than a comment does, so that only a shape which is plainly said of the value itself is a claim.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from shapecheck.claims.brackets import Bracket
from shapecheck.claims.claim_sites import SiteKey, Sites
from shapecheck.claims.comment_text import Segment, read_comment
from shapecheck.claims.docstring_sections import Item, Line, read_items
from shapecheck.claims.rank_words import MAY_SAY_RANK, rank_of
from shapecheck.model import Claim, DescribedRank, Selector, Span
from shapecheck.shapes import print_spec
from shapecheck.syntax.scopes import Function, Tables, dotted_name, is_generator, returned_values
from shapecheck.syntax.source_text import SourceText

_OPENING = re.compile(r"[rRuUbBfF]{0,2}(\"\"\"|'''|\"|')")
_MAY_STATE = re.compile(r"shape|\w\[", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z(`])|\n\s*[-*]\s")
# Words that make the shape that of something else, or hold only at times.
_SPOILERS = re.compile(
    r"\b(?:broadcast\w*|e\.g|for example|for instance|such as|same shape|like|callable|functions?|callback|maps"
    r"|mapping from|takes|taking|accepts|returns?|returning|index(?:es|ing)?|indices into|into|compatible|suffix|prefix"
    r"|leading|trailing|at least|excluding|except|reshaped?|transform\w*|flatten\w*|depend\w*|either|vmap\w*|batched"
    r"|before|after|initiali[sz]\w*|usually|typically|normally|often|generally|commonly|mostly|sometimes|probably"
    r"|presumably|perhaps)\b",
    re.IGNORECASE,
)
_CONDITIONS = re.compile(r"\b(?:if|when|unless|otherwise|whenever|depending|or)\b", re.IGNORECASE)
_CONTAINER = re.compile(
    r"\b(?:lists?|tuples?|dict\w*|pytrees?|pairs?|(?:sequences?|trees?|iterables?|collections?|mappings?|sets?)\s+of)\b",
    re.IGNORECASE,
)
_OR_BEFORE = re.compile(r"(?:^|[\s(,.;])or\s+(?:\w+\s+){0,4}$", re.IGNORECASE)
# What the text calls a part, if it says of it more than its shape: `- mean: array of shape (b,)`.
_ENTRY = re.compile(r"(?:^|[\n,;{(]|[-*+]\s)\s*[`'\"]*([A-Za-z_]\w*)[`'\"]*\s*:\s[^:\n]*$")
_ELEMENTS = re.compile(r"\(\s*`*[A-Za-z_]\w*`*\s*(?:,\s*`*[A-Za-z_]\w*`*\s*)+\)")
_AND = re.compile(r"\band\b", re.IGNORECASE)
# A shape in a bracket behind the name of something, in the middle of a sentence.
_ASIDE = re.compile(r"\w\S*\s+[`'\"]+(\w+)[`'\"]+\s*\(\s*(?:of\s+)?shapes?\W*$")
_LIST_ITEM = re.compile(r"(?:^|\n)\s*(?:[-*+]|\d+[.)])\s")
_NAME = re.compile(r"\w+")
_LONG_WAY = 12  # words between the start of the sentence and the shape


@dataclass(frozen=True)
class _Description:
    """A description as one text, with the way back to the file."""

    text: str
    starts: tuple[tuple[int, Line], ...]

    def span(self, start: int, end: int) -> Span:
        """Where a stretch of the text stands in the file."""
        (line, column), (end_line, end_column) = self._position(start), self._position(end - 1)
        return Span(line, column, end_line, end_column + 1)

    def _position(self, offset: int) -> tuple[int, int]:
        begin, line = max((each for each in self.starts if each[0] <= offset), key=lambda each: each[0])
        return line.number, line.column + offset - begin + 1


class DocstringReader:
    """Reads the docstrings of one file."""

    def __init__(self, source: SourceText, tables: Tables, sites: Sites, new_group: Callable[[], int]) -> None:
        self.source = source
        self.tables = tables
        self.sites = sites
        self.new_group = new_group

    def claims(self) -> list[Claim]:
        """All claims of docstrings, in order."""
        return [
            claim
            for scope, node in enumerate(self.tables.nodes)
            if not isinstance(node, ast.Module)
            for claim in self._of_node(scope, node)
        ]

    def ranks(self) -> list[DescribedRank]:
        """The numbers of axes that docstrings give parameters, of whose shapes they say no more."""
        return [
            rank
            for scope, node in enumerate(self.tables.nodes)
            if not isinstance(node, ast.Module)
            for rank in self._ranks_of_node(scope, node)
        ]

    def _ranks_of_node(self, scope: int, node: Function | ast.ClassDef) -> Iterator[DescribedRank]:
        docstring = _docstring_matching(MAY_SAY_RANK, node)
        if docstring is None:
            return
        for item in read_items(self._lines(docstring)):
            axes = rank_of(_join_lines(item.lines).text) if item.kind == "param" else None
            if axes is not None:
                places = (self._place(scope, node, item.kind, name) for name in item.names)
                yield from (DescribedRank(place[0], place[1], axes) for place in places if place is not None)

    def _of_node(self, scope: int, node: Function | ast.ClassDef) -> Iterator[Claim]:
        docstring = _docstring_matching(_MAY_STATE, node)
        if docstring is None:
            return
        items = read_items(self._lines(docstring))
        returned = sum(item.kind == "return" and item.style == "numpy" for item in items)
        for item in items:
            text = _join_lines(item.lines)
            if _MAY_STATE.search(text.text):
                yield from self._of_item(scope, node, item, text, returned)

    def _lines(self, node: ast.Constant) -> list[Line]:
        """The docstring as it stands in the file."""
        span = self.source.span(node)
        result = []
        for number in range(span.line, span.end_line + 1):
            text = self.source.lines[number - 1]
            column = 0
            if number == span.end_line:
                text = text[: span.end_column - 1]
                text = text[: len(text) - (3 if text.endswith(('"""', "'''")) else 1)]
            if number == span.line:
                opening = _OPENING.match(text, span.column - 1)
                column = opening.end() if opening is not None else span.column
            result.append(Line(number, column, text[column:]))
        return result

    def _of_item(
        self, scope: int, node: Function | ast.ClassDef, item: Item, text: _Description, returned: int
    ) -> Iterator[Claim]:
        elements = _list_elements(text.text)
        if item.kind == "return" and returned <= 1 and isinstance(node, Function):
            elements = elements or _returned_names(node)
        shapes = list(_shapes(text.text, elements, is_return=item.kind == "return"))
        if item.kind == "return" and returned <= 1 and isinstance(node, Function):
            shapes = shapes or list(_results(text.text, _result_count(node)))
        if not shapes:
            return
        select: tuple[Selector, ...] = ("leaves",) if any(each.leaves for each in shapes) else ()
        if item.kind == "return":
            if isinstance(node, ast.ClassDef) or is_generator(node):
                return
            if returned > 1:
                select = (item.place, *select)
            places = [(scope, "the returned value", SiteKey(kind="return", scope=scope))]
        else:
            found = [self._place(scope, node, item.kind, name) for name in item.names]
            places = [place for place in found if place is not None]
        for owner, name, place in places:
            group = self.new_group() if len(shapes) > 1 and not shapes[0].apart else None
            for each in shapes:
                if each.result is not None:
                    yield self._claim(text, each, owner, name, place, (each.result, *select), group)
                elif each.part in elements:
                    index: tuple[Selector, ...] = (elements.index(each.part), *select)
                    yield self._claim(text, replace(each, part=""), owner, name, place, index, group)
                else:
                    own = replace(each, part="" if each.part == name else each.part)
                    yield self._claim(text, own, owner, name, place, select, group)

    def _place(
        self, scope: int, node: Function | ast.ClassDef, kind: str, name: str
    ) -> tuple[int, str, SiteKey] | None:
        """The parameter or field of this name, with the scope whose bindings count."""
        if isinstance(node, ast.ClassDef):
            for inner in self.tables.scopes[scope:] if kind == "param" else ():
                if inner.parent == scope and inner.qualname.endswith(".__init__") and name in inner.parameters:
                    return inner.index, name, SiteKey(kind="param", scope=inner.index, position=None, name=name)
            if name in self.tables.assigned[scope]:
                return scope, name, SiteKey(kind="field", scope=scope, position=None, name=name)
            return None
        if kind == "param" and name in self.tables.scopes[scope].parameters:
            return scope, name, SiteKey(kind="param", scope=scope, position=None, name=name)
        return None

    def _claim(
        self,
        text: _Description,
        shape: _DescribedShape,
        scope: int,
        name: str,
        place: SiteKey,
        select: tuple[Selector, ...],
        group: int | None,
    ) -> Claim:
        bracket = shape.bracket
        return Claim(
            path=self.source.path,
            span=text.span(bracket.start, bracket.end),
            notation="docstring",
            text=" ".join(bracket.text.split()),
            spec=print_spec(bracket.spec),
            dtype=bracket.dtype,
            target=name,
            scope=scope,
            sites=(self.sites.add(place, bracket.spec.names()),),
            select=select,
            group=group,
            sure=shape.sure,
            marked=True,
            readings=tuple(map(print_spec, bracket.readings)),
            part=shape.part,
            loose=not shape.sure,
            each=shape.leaves,  # what is called a list may be an array
        )


@dataclass(frozen=True)
class _DescribedShape:
    """A shape that a description states; `leaves`: of each array in a container.

    `part` is what the description calls the part of the value that it means, `result` its place among several results;
    `apart`: others are of other parts.
    """

    bracket: Bracket
    sure: bool
    leaves: bool
    part: str = ""
    apart: bool = False
    result: int | None = None


def _docstring_matching(pattern: re.Pattern[str], node: Function | ast.ClassDef) -> ast.Constant | None:
    first = node.body[0]
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return None
    text = first.value.value
    return first.value if isinstance(text, str) and pattern.search(text) else None


def _join_lines(lines: Sequence[Line]) -> _Description:
    starts, parts, length = [], [], 0
    for line in lines:
        starts.append((length, line))
        parts.append(line.text)
        length += len(line.text) + 1
    return _Description("\n".join(parts), tuple(starts) or ((0, Line(1, 0, "")),))


def _shapes(text: str, elements: Sequence[str], *, is_return: bool) -> Iterator[_DescribedShape]:
    """The shapes that are plainly said of the described value: one, alternatives, or one for each part of it."""
    segments = [segment for segment in read_comment(text) if _is_stated(segment)]
    ends = [0, *(segment.shapes[-1].end for segment in segments)]
    parts = [_part(text[end:], segment, end, elements) for segment, end in zip(segments, ends, strict=False)]
    if len(segments) > 1 and all(parts) and len({*parts}) == len(parts):
        for segment, part in zip(segments, parts, strict=True):
            for stated in _of_value(text, [segment], part, elements, is_return=is_return):
                yield replace(stated, apart=True)
    elif segments:
        yield from _of_value(text, segments, parts[0] if len(segments) == 1 else "", elements, is_return=is_return)


def _results(text: str, count: int) -> Iterator[_DescribedShape]:
    """One shape for each of several results, in their order: "... of shape (n, d), and the means, of shape (d,)"."""
    segments = [segment for segment in read_comment(text) if _is_stated(segment)]
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
        for each in _of_value(" " * begin + text[begin:], [segment], "", (), is_return=False)
        if each.sure and not each.leaves
        for each in [replace(each, apart=True, result=result)]
    ]
    yield from stated if len(stated) == count else ()


def _part(text: str, segment: Segment, offset: int, elements: Sequence[str]) -> str:
    """What the text since the shape before calls the part of a value that a segment speaks of."""
    before = text[: segment.shapes[0].start - offset]
    label = segment.labels[-1] if segment.labels else ""
    if label and not segment.generic and (segment.colon or label in elements or _is_quoted(before, label)):
        return label
    entry = _ENTRY.search(before)
    return entry.group(1) if entry is not None else ""


def _is_quoted(text: str, name: str) -> bool:
    return any(f"{quote}{name}{quote}" in text for quote in "`'\"")


def _list_elements(text: str) -> list[str]:
    """The elements of a tuple that the description itself lists: `(log_probs, cache), where ...`."""
    shapes = {bracket.start for segment in read_comment(text) if _is_stated(segment) for bracket in segment.shapes}
    match = next((match for match in _ELEMENTS.finditer(text) if match.start() not in shapes), None)
    return _NAME.findall(match.group()) if match is not None else []


def _returned_names(node: Function) -> list[str]:
    """The names of what a function returns, if it returns the same tuple of variables everywhere."""
    found = {tuple(map(dotted_name, value.elts)) for value in returned_values(node) if isinstance(value, ast.Tuple)}
    names = [*found.pop()] if len(found) == 1 else []
    return [name or "" for name in names]


def _result_count(node: Function) -> int:
    """How many results a function returns, as a tuple: 0 if that is not plain."""
    values = list(returned_values(node))
    counts = {len(value.elts) if isinstance(value, ast.Tuple) else 0 for value in values}
    if any(isinstance(part, ast.Starred) for value in values if isinstance(value, ast.Tuple) for part in value.elts):
        return 0
    return counts.pop() if len(counts) == 1 else 0


def _of_value(
    text: str, segments: Sequence[Segment], part: str, elements: Sequence[str], *, is_return: bool
) -> Iterator[_DescribedShape]:
    if any(segment.arrow or (len(segment.shapes) > 1 and not segment.alternatives) for segment in segments):
        return
    for later in segments[1:]:
        if not _OR_BEFORE.search(text[: _marker_start(text, later)]):
            return
    sentence_start, sentence_end = _sentence(text, segments[0].shapes[0].start)
    before = text[sentence_start : segments[0].shapes[0].start]
    after = text[segments[-1].shapes[-1].end : max(sentence_end, segments[-1].shapes[-1].end)]
    alternatives = len(segments) > 1 or segments[0].alternatives
    if _SPOILERS.search(before) or _CONDITIONS.search(before):
        return
    if not alternatives and _CONDITIONS.search(after.partition(",")[0]):
        return
    container = _CONTAINER.search(text[: segments[0].shapes[0].start]) is not None
    known = part in elements or (bool(part) and _is_quoted(text, part))
    if is_return and not known and (container or _LIST_ITEM.search(text)):
        return
    aside = _ASIDE.search(before)
    if is_return and aside is not None and elements and all(elements) and aside.group(1) not in elements:
        return  # "For the caller's `x` (shape (b, t)), ..." is not about what is returned
    short = len(before.split()) <= _LONG_WAY
    for segment in segments:
        for bracket in segment.shapes:
            yield _DescribedShape(bracket, short and not _SPOILERS.search(after), container and not part, part)


def _is_stated(segment: Segment) -> bool:
    return segment.marked or any(bracket.dtype for bracket in segment.shapes)


def _marker_start(text: str, segment: Segment) -> int:
    """Where the word `shape` in front of a segment begins."""
    start = segment.shapes[0].start
    found = text.lower().rfind("shape", 0, start)
    return found if found >= 0 else start


def _sentence(text: str, offset: int) -> tuple[int, int]:
    """The start and end of the sentence around an offset."""
    start = 0
    for match in _SENTENCE.finditer(text):
        if match.start() >= offset:
            return start, match.start()
        start = match.end()
    return start, len(text)
