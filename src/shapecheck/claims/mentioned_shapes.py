"""Shapes that prose mentions: of values that it names in passing, and the one that a summary ends with."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator

from shapecheck.claims.comment_text import read_comment
from shapecheck.claims.doubtful_words import OF_ANOTHER_OR_CHANGED, SELDOM
from shapecheck.claims.unmarked_shapes import is_listed_shape
from shapecheck.claims.value_sentences import (
    QUOTED,
    DescribedShape,
    is_marked,
    marker_start,
    sentence_at,
    shapes_of_value,
)

_AND = re.compile(r"\band\b", re.IGNORECASE)
_NAME = re.compile(r"\w+")
_SUBJECT = re.compile(
    r"(?:^|[\s(`'\"*])(?P<name>[A-Za-z_]\w*)[`'\"*]*\s+(?:is|has|have|must\s+have|must\s+be)\s+(?:[\w-]+\s+){0,5}$"
)
_LISTED = re.compile(
    r"(?:^|[\s(`'\"*])(?P<names>[A-Za-z_]\w*[`'\"*]*(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)[`'\"*]*[A-Za-z_]\w*[`'\"*]*)*)"
    r"\s+(?:is|are)\s+(?:(?:both|each|all)\s+)?[`'\"]*$"
)
_IN_A_ROW = re.compile(
    r"(?:^|[.;,]\s|\b(?:from|of|for|over|at|on|to|with|the|given|and|under|by)\s)\s*"
    r"[`'\"*]*(?P<name>[A-Za-z_]\w*)[`'\"*]*\s*:\s+[`'\"]*$"
)
# "Advance u and v [ny, nx]", "Distances of points x (n, d) to centres"; what `f (x, y)` names are parameters.
_DIRECTLY = re.compile(
    r"(?:^|[\s(])[`'\"*]*(?P<names>[A-Za-z_]\w*[`'\"*]*(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)[`'\"*]*[A-Za-z_]\w*[`'\"*]*)*)\s$"
)
_IS_CLASS = re.compile("[A-Z][a-z]")
# "Cut images of shape (b, h, w, 3) into patches": what is cut is the argument, what is made is none.
_OBJECT = re.compile(r"(?:^|[\s(`'\"*])(?P<name>[A-Za-z_]\w*)[`'\"*]*\s+(?:of|with|having)\s+(?:the\s+)?$")
_TAKES = re.compile(r"\W*(?:takes?|accepts?)\b", re.IGNORECASE)  # the function itself, and no argument of it
_INTO = re.compile(r"\s+(?:in)?to\b")
_MAKES = re.compile(
    r"\b(?:creat|mak|build|comput|calculat|generat|get|produc|giv|output|construct|draw|sampl|evaluat|estimat|predict"
    r"|return|yield|result|to|as|from\s+an?)\w*\b",
    re.IGNORECASE,
)
# "Converts the logits (b, n) to joint logits (b, n, n)": what it makes may be called as what it takes.
_TO = re.compile(r"\b(?:in)?to\s+(?:(?:the|an?)\s+)?(?:[\w-]+\s+){0,3}$")
# "Rearranges images (n, c, h, w) into a grid in a single image (c, h, w)" makes one, whatever it is called.
_INTO_ONE = re.compile(r"\binto\s+(?:[\w-]+\s+){0,6}$", re.IGNORECASE)
# "Returns a heatmap (h, w)" makes another one than is taken, and so it says in French.
_GIVES_ONE = re.compile(
    r"\b(?:returns?|yields?|gives?|outputs?|produces?|computes?|retourne|renvoie)\s+(?:(?:an?|une?)\s+)?$",
    re.IGNORECASE,
)
# "Evaluate the field at the times `t` of shape (b,)": that is there before anything is made.
_GIVEN = re.compile(r"\b(?:at|given|using|under|by|for)\s+(?:(?:the|an?|some)\s+)?(?:[a-z-]+\s+){0,2}[`'\"*]*$")
# "Ensure that points have shape (n, 3)": then they have it afterwards, and who calls may give others.
_ENSURES = re.compile(r"\W*(?:ensur|enforc|guarante|forc)\w*\b|\W*makes?\s+sure\b", re.IGNORECASE)

# "In the cache initialization call, `q` is (batch, length, d)": elsewhere it may be something else.
_IN_A_MODE = re.compile(
    r"\W*(?:in|during|while|at|for)\s+(?:the\s+)?(?:[\w-]+\s+){0,4}?"
    r"(?:calls?|modes?|stages?|phases?|former|latter|training|inference|decoding|initiali[sz]ation|settings?)\b",
    re.IGNORECASE,
)
# 'mode="complex": `ntk` is (m, m, 2, 2)': with another value it may be something else.
_IN_A_CASE = re.compile(
    r"""(?:^|\n)[ \t]*(?:[-*+]\s+)?[`*]*\w+[`*]*\s*==?\s*[`*]*(?:"[^"\n]*"|'[^'\n]*'|[\w.-]+)[`*]*\s*:[^:\n]*$"""
)


def _is_value_of(text: str, bracket: str) -> bool:
    """Whether a text gives a name this bracket: "for each face f=(i, j, k)", "corresponding to vertices (i, j, k)"."""
    without_blanks = "".join(text.split())
    return f"={''.join(bracket.split())}" in without_blanks


def named_shapes(text: str, names: Container[str], known: Container[str]) -> Iterator[tuple[str, DescribedShape]]:
    """What a text says in passing of values that it names: "where x is a matrix of shape (n, d)".

    Or "x and y are (batch, time)", whose names are all `known`, or such as axes have.
    """
    every = read_comment(text, known, described=True)
    named: set[str] = set()
    for segment in every:
        if _is_of_some_calls(text[: segment.shapes[0].start]):
            continue
        if not is_marked(segment) and _is_value_of(text, segment.shapes[0].text):
            continue
        beside = {name for each in every if each is not segment for name in each.names}
        listed = None if is_marked(segment) else _LISTED.search(text[: segment.shapes[0].start])
        subjects = _NAME.findall(_AND.sub(",", listed["names"])) if listed is not None else []
        if not is_marked(segment) and (entry := _IN_A_ROW.search(text[: segment.shapes[0].start])) is not None:
            subjects = [entry["name"]]  # "The loss. x: (batch, dim), y: (batch,)", "The loss of x: (batch, dim)"
        directly = (
            _DIRECTLY.search(text[: segment.shapes[0].start]) if not is_marked(segment) and not subjects else None
        )
        if directly is not None:
            before = text[: directly.start("names")]
            makes_one = _INTO_ONE.search(before) or _GIVES_ONE.search(before)
            if makes_one or (directly["names"] in named and _TO.search(before)):
                continue
        if directly is not None and not any(each in names or _IS_CLASS.match(each) for each in segment.names):
            subjects = _NAME.findall(_AND.sub(",", directly["names"]))
        named.update(subjects)
        if subjects and all(each in names for each in subjects) and is_listed_shape(segment, known, beside):
            yield from ((each, DescribedShape(segment.shapes[0], True, False, unmarked=True)) for each in subjects)
    segments = [segment for segment in read_comment(text) if is_marked(segment)]
    for segment in segments:
        lead = text[: marker_start(text, segment)]
        sentence = _last_sentence(lead)
        if _is_of_some_calls(lead):
            continue
        subject = None if _ENSURES.match(sentence) else _SUBJECT.search(lead)
        subject = subject or _object(lead, sentence)
        if subject is not None and subject["name"] in names and len(segment.shapes) == 1:
            end = segment.shapes[-1].end
            head = text[:end] if _INTO.match(text, end) else text  # what becomes of it is no matter
            begin = head.rfind("; ", 0, subject.start("name")) + 1  # nor is what another clause tells of
            begin = begin or (verb.end() if (verb := _TAKES.match(head)) is not None else 0)
            head = " " * begin + head[begin:]
            found = list(shapes_of_value(head, [segment], "", (), is_return=False))
            yield from ((subject["name"], each) for each in found if not each.leaves)


def _object(lead: str, sentence: str) -> re.Match[str] | None:
    """The name in front of "of shape"; what a function makes may go by the name of a parameter."""
    found = _OBJECT.search(lead)
    is_given = found is not None and _GIVEN.search(lead[: found.start("name")]) is not None
    return found if is_given or not _MAKES.search(sentence) else None


# "Pairwise distances, (n, m).", "Scores of `x`, an (n, k) array": what a summary ends with is most likely the result's.
_BEFORE_LAST = re.compile(
    r"\w\S*\s+\S*\w[^\w\s]*\s*(?:[:,]\s*(?:an?\s+)?|,?\s+as\s+an?\s+|[,;:]\s*(?:of\s+|with\s+)?shape\s*[=:]?\s*)[`'\"]*$"
)
# "Build the design matrix of shape (n, d)", and not "Compute the norms of rows of shape (n, d)"
_MADE_SO = re.compile(
    r"\s*(?:build|create|construct|make|generate|assemble|compute|calculate|form|get|draw|sample)s?\s+"
    r"(?:(?!of\b|for\b|from\b|in\b|with\b|over\b|by\b)[\w-]+\s+){1,4}(?:of|with)\s+shape\s*[:=]?\s*[`'\"]*",
    re.IGNORECASE,
)
# "Real Fourier columns of shape (steps, k)" of a function that is given `steps` and `k`, and nothing else.
_CALLED_SO = re.compile(
    r"\s*(?:(?!of\b|for\b|from\b|in\b|with\b|over\b|by\b)[\w-]+\s+){1,6}(?:of|with)\s+shape\s*[:=]?\s*[`'\"]*",
    re.IGNORECASE,
)
_BEHIND_LAST = re.compile(r"[`'\"]*(?P<noun>\s+(?:array|matrix|tensor|vector))?(?:,(?:\s[\w-]+){1,3})?[.\s]*")
_SENTENCE_ENDS = re.compile(r"(?<=[^.]\.)\s|\n\s*\n")
_LAST_NAME = re.compile(r"(\w+)[^\w]*$")


def shape_of_summary(text: str, names: Collection[str], known: Container[str]) -> DescribedShape | None:
    """The shape that the first sentence of a text ends with, if it names no other value in front of that."""
    first = _SENTENCE_ENDS.split(text, maxsplit=1)[0]
    segments = read_comment(first, known, described=True)
    if len(segments) != 1 or len(segments[0].shapes) != 1 or segments[0].arrow or segments[0].hedged:
        return None
    bracket = segments[0].shapes[0]
    before = first[: bracket.start]
    behind = _BEHIND_LAST.fullmatch(first, bracket.end)
    sizes = bracket.spec.names()
    is_of_sizes = bool(sizes) and {*names} <= {*sizes} and _CALLED_SO.fullmatch(before) is not None
    if (
        behind is None
        or not (is_of_sizes or _BEFORE_LAST.search(before) or _MADE_SO.fullmatch(before))
        or OF_ANOTHER_OR_CHANGED.search(before)
        or SELDOM.search(before)
    ):
        return None
    names_of_axes = [name for name in bracket.spec.names() if name in known or len(name) > 2 or not name.islower()]
    is_numeric = segments[0].marked and segments[0].numeric
    if not bracket.is_list or not (names_of_axes or behind["noun"] or is_numeric):
        return None  # "the vector (dx, dy)"
    last = _LAST_NAME.search(before)
    if last is not None and last.group(1) in names and not QUOTED.search(before):
        return None  # "The norms of the rows of x, (n, d)"
    return DescribedShape(bracket, sure=False, leaves=False, unmarked=True)  # or an argument's: "Pool features, (n, d)"


def _is_of_some_calls(before: str) -> bool:
    """Whether what leads to a shape says that it is about calls of one kind."""
    return _IN_A_MODE.match(_last_sentence(before)) is not None or _IN_A_CASE.search(before) is not None


def _last_sentence(text: str) -> str:
    return text[sentence_at(text, len(text))[0] :]
