"""The results that a text names in a row: `gates (n, k) summing to one, indices (n, k), the loss ()`.

Each stands in a piece of the text of its own, between commas or "and". Which of the results a shape is of is said by
its place among the shapes, or among the pieces where some results have no shape; or by names that are those of all
that is returned.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from shapecheck.claims.axis_words import is_unit
from shapecheck.claims.brackets import Bracket, find_brackets
from shapecheck.claims.doubtful_words import CONDITIONS, OF_ANOTHER, SELDOM
from shapecheck.claims.lead_words import follows_badly, is_no_subject, leads_on
from shapecheck.claims.unmarked_shapes import may_be_shape
from shapecheck.shapes import Spec

_SENTENCE_END = re.compile(r"\.(?=\s|$)|;\s|\n\s*\n|\n\s*[-*]\s|$")
_SEPARATOR = re.compile(r"[,;](?=\s)|(?<=[\s)\]`])(?:and|&)\s")
_ANOTHER_CASE = re.compile(
    r"\b(?:if|when|unless|otherwise)\b[^.]*\b(?:return(?:s|ed)?|results?|outputs?)\b[^.]*", re.IGNORECASE
)
_OPENS, _CLOSES = "([{", ")]}"
_WORD = re.compile(r"[A-Za-z_][\w'-]*")
_LAST_NAME = re.compile(r"([A-Za-z_]\w*)[`'\"*:]*\s*[`'\"]*$")
_MARKER_AT_END = re.compile(r"\b(?:(?:with|of|in|has|have)\s+)?(?:shape|size)s?\s*[:=]?\s*[`'\"]*$", re.IGNORECASE)
_ONLY_MARKER = re.compile(r"\s*(?:(?:with|of|in|has|have)\s+)?shapes?\s*[:=]?\s*[`'\"]*", re.IGNORECASE)
# "the norms of the rows of x (n, d)": then it is rather x that has this shape.
_OF_ARGUMENT = re.compile(r"\b(?:of|for|from|in|on|over|between|with|to|at|by|given|under)\b", re.IGNORECASE)
# "a list of arrays (n, d)", "the second and last are (d,)", "both (n, d)"
_OF_SEVERAL = re.compile(
    r"\b(?:tuples?|lists?|pairs?|dict\w*|mappings?|triples?|second|third|fourth|last|others?|rest|remaining|former"
    r"|latter|both|each|all)\b",
    re.IGNORECASE,
)
_DOUBTS = (OF_ANOTHER, SELDOM, CONDITIONS, re.compile(r"\b(?:resp|not|never|without|instead|eg)\b|[-=]>|→|=\s*$"))
# Then there are many of them, or it is no array.
_OF_SOMETHING_ELSE = re.compile(r"[`'\"]*\s*(?:for\s+(?:every|each)\b|:\s*tuple\b)", re.IGNORECASE)
_OPERATOR = re.compile(r"[-+*/]\s*[`'\"]*$")
# "Pair of means (n,) and covariances (n, d)", "(tokens, probs): (b, n) and (b, n, v)"
_NAMES_FIRST = re.compile(
    r"\s*(?:(?:(?:an?|the)\s+)?(?:pairs?|tuples?|triples?)\s+(?:of|with)\s+|`*\(\s*\w+(?:,\s*\w+)+\)`*\s*:\s+)",
    re.IGNORECASE,
)
_OF = re.compile(r"[`'\"]*\s+of\b")
_GOES_ON = re.compile(r"\s*(?:with|where|whose|which|for|from|of|while)\s", re.IGNORECASE)  # tells of the one before
_OPENS_PARENTHESIS = re.compile(r"[\s`]*(?:[\w\[\], ]+[:.]?\s+)?`*\(")  # "tuple (output (b, d), state (b,))"
_MANY_WORDS = 8


@dataclass(frozen=True)
class NamedResult:
    """The shape of one result: of the only one, or of that in this `place`."""

    bracket: Bracket
    place: int | None
    sure: bool


@dataclass(frozen=True)
class _Piece:
    before: str
    bracket: Bracket | None
    behind: str


def read_results(
    text: str,
    begin: int,
    *,
    count: int,
    known: Container[str],
    returned: Sequence[str] = (),
    parameters: Container[str] = (),
) -> list[NamedResult]:
    """The shapes of the results that a sentence names from `begin` on, of a function with `count` of them (0: unknown).

    `returned` are the names of what it returns. All that the sentence says has to be understood, or nothing is.
    """
    start, end = begin, _sentence_end(text, begin)
    in_parenthesis = _parenthesis(text, start, end)
    if in_parenthesis is not None:
        start, end = in_parenthesis
    elif count > 1 and (names := _NAMES_FIRST.match(text, start, end)) is not None:
        start = names.end()
    pieces = _pieces(text, start, end, known)
    if pieces is None:
        return []
    shaped = [(index, piece) for index, piece in enumerate(pieces) if piece.bracket is not None]
    if not shaped or not all(_is_plain(piece, known) for piece in pieces):
        return []
    if count > 1 and any(each.start >= end and may_be_shape(each, known) for each in find_brackets(text)):
        return []  # each sentence tells of another one
    if all(_may_list_results(piece, count, known, returned) for _, piece in shaped):
        return []
    if count == 0 and in_parenthesis is not None:
        count = len(pieces)
    places = _places(shaped, len(pieces), count, returned)
    is_one_case = has_another_case(text, end, known)
    return [
        NamedResult(piece.bracket, place, sure=not (is_one_case or _may_be_argument(piece, parameters)))
        for (_, piece), place in zip(shaped, places, strict=False)
        if piece.bracket is not None
    ]


def has_another_case(text: str, begin: int, known: Container[str]) -> bool:
    """Whether the text behind a sentence has another shape of the result for some case.

    "Returns (n, d) samples. If `simplify`, the return shape is (d,)."
    """
    behind = [each for each in find_brackets(text) if each.start >= begin and may_be_shape(each, known)]
    return any(
        any(match.start() < each.start < match.end() for each in behind)
        for match in _ANOTHER_CASE.finditer(text, begin)
    )


def names_several(text: str, known: Container[str]) -> bool:
    """Whether the first sentence of a text names several values with their shapes."""
    pieces = _pieces(text, 0, _sentence_end(text, 0), known) or []
    return sum(each.bracket is not None and _is_plain(each, known) for each in pieces) > 1


def _places(
    shaped: Sequence[tuple[int, _Piece]], pieces: int, count: int, returned: Sequence[str]
) -> Sequence[int | None]:
    """Which result each shape is of; none if nobody says that."""
    first, piece = shaped[0]
    if count < 2:
        is_first = first == 0 or _MARKER_AT_END.search(piece.before) is not None
        return [None] if len(shaped) == 1 and is_first else []
    names = [_LAST_NAME.search(piece.before) for _, piece in shaped]
    called = [name.group(1) for name in names if name is not None]
    if len(called) == len(shaped) == len({*called}) and all(name in returned for name in called):
        return [returned.index(name) for name in called]
    if len(shaped) == count and first == 0:
        return range(count)
    return [index for index, _ in shaped] if pieces == count else []


def _sentence_end(text: str, begin: int) -> int:
    """Where the sentence ends; a full stop in a bracket ends none."""
    depth = 0
    for index in range(begin, len(text)):
        depth += (text[index] in _OPENS) - (text[index] in _CLOSES)
        if depth <= 0 and _SENTENCE_END.match(text, index):
            return index
    return len(text)


def _parenthesis(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The inside of a parenthesis that begins the sentence and holds several results: `(output (b, d), state (b,))`."""
    opening = _OPENS_PARENTHESIS.match(text, start, end)
    if opening is None:
        return None
    depth = 0
    for index in range(opening.end() - 1, end):
        depth += (text[index] in _OPENS) - (text[index] in _CLOSES)
        if depth == 0:
            inside = text[opening.end() : index]
            several = any(sign in inside for sign in "([") and _SEPARATOR.search(inside) is not None
            return (opening.end(), index) if several and re.match(r"\s*[`'\"]*[A-Za-z]", inside) else None
    return None


def _pieces(text: str, start: int, end: int, known: Container[str]) -> list[_Piece] | None:
    """The pieces between separators outside of brackets; None if one has several shapes."""
    brackets = [
        each
        for each in find_brackets(text)
        if start <= each.start
        and each.end <= end
        and text[each.start - 1 : each.start] != "{"
        and (not each.spec.dims or may_be_shape(each, known))
    ]
    found: list[_Piece] = []
    for begin, stop in _stretches(text, start, end):
        inside = [each for each in brackets if begin <= each.start and each.end <= stop]
        if len(inside) > 1:
            return None
        if inside:
            before = text[begin : inside[0].start]
            if found and found[-1].bracket is None and _ONLY_MARKER.fullmatch(before):
                before = f"{found.pop().before}, {before}"  # "the rows, of shape (n, d)"
            found.append(_Piece(before, inside[0], text[inside[0].end : stop]))
        elif text[begin:stop].strip():
            found.append(_Piece(text[begin:stop], None, ""))
    return found


def _stretches(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    depth, begin, index = 0, start, start
    while index < end:
        depth += (text[index] in _OPENS) - (text[index] in _CLOSES)
        separator = _SEPARATOR.match(text, index, end) if depth == 0 else None
        if separator is not None:
            yield begin, index
            begin = separator.end()
        index = separator.end() if separator is not None else index + 1
    yield begin, end


def _is_plain(piece: _Piece, known: Container[str]) -> bool:
    """Whether a piece says no more of its shape than that something has it."""
    bracket, before, behind = piece.bracket, piece.before, piece.behind
    if _OF_SEVERAL.search(before) or _GOES_ON.match(before):
        return False
    if bracket is None:
        return not any(each.search(before) for each in _DOUBTS)
    if any(each.search(words) for words in (before, behind) for each in _DOUBTS):
        return False
    if not bracket.spec.dims and not _WORD.search(before):
        return False
    if _MARKER_AT_END.search(before) and _OF.match(behind):
        return False  # "the shape (n, m) of the grid", or "size"
    if (
        _OF_SOMETHING_ELSE.match(behind)
        or _OPERATOR.search(before)
        or before.count("{") > before.count("}")
        or not _may_be_dims(bracket, known)
    ):
        return False
    sizes = all(name in known or name.isupper() for name in bracket.spec.names())
    is_followed = leads_on(behind) or follows_badly(behind, len(bracket.spec.dims), sizes=sizes, described=True)
    return not (is_followed or is_no_subject(before) or len(_WORD.findall(before)) > _MANY_WORDS)


def _may_be_dims(bracket: Bracket, known: Container[str]) -> bool:
    """Whether a bracket is no unit: `[Pa]`, `[1/s]`."""
    names = bracket.spec.names()
    if len(bracket.spec.dims) == 1 and not bracket.trailing_comma:
        is_word = all(len(name) > 1 for name in names) and not is_unit(bracket.text[1:-1])
        return is_word or all(name in known for name in names)
    return True


def _may_list_results(piece: _Piece, count: int, known: Container[str], returned: Sequence[str]) -> bool:
    """Whether the names in the one bracket are those of several results: `returns (mean, var)`."""
    spec = piece.bracket.spec if piece.bracket is not None else Spec(())
    names = spec.names()
    if _WORD.search(piece.before) or not names or len(names) < len(spec.dims):  # none is called twice, or a number
        return False
    is_open = count != 1 and not _WORD.search(piece.behind) and not any(name in known for name in names)
    return is_open or len(names) == count or {*names} <= {*returned}


def _may_be_argument(piece: _Piece, parameters: Container[str]) -> bool:
    """Whether the shape may be that of something the result is made of."""
    before = _MARKER_AT_END.sub("", piece.before)
    name = _LAST_NAME.search(before)
    is_argument = name is not None and name.group(1) in parameters and len(_WORD.findall(before)) > 1
    return is_argument or _OF_ARGUMENT.search(before) is not None
