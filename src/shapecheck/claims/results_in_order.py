"""The shapes of several results in a text that tells of them in their order: bullets, entries, or one sentence."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shapecheck.claims.comment_text import Segment
from shapecheck.claims.doubtful_words import CONDITIONS, OF_ANOTHER_OR_CHANGED, SELDOM
from shapecheck.claims.value_sentences import ENTRY_LINE, SENTENCE, DescribedShape, sentence_at, shapes_of_value

_AND = re.compile(r"\band\b", re.IGNORECASE)
_BULLET = re.compile(r"^[ \t]*[-*+]\s", re.MULTILINE)
_TUPLE_TYPE = re.compile(r"^\s*`*(?:[Tt]uple|[Ll]ist)\[[^\n]*\]`*\s*:")
_RESPECTIVELY = re.compile(r"\brespectively\b")
KINDS = frozenset({"tuple", "Tuple", "list", "List"})  # what stands above the list of results, and is none of them


def in_order(
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
    """Whether shapes end a text, and blanks part them from it, or are all of it, or all behind the type of a tuple."""
    before, behind = text[: segment.shapes[0].start], text[segment.shapes[-1].end :]
    is_alone = before.endswith(("  ", "\t")) or not _TUPLE_TYPE.sub("", before).strip(" `(")
    return is_alone and not behind.strip(" `.)\n")


def results_of_bullets(text: str, marked: Sequence[Segment], count: int) -> list[DescribedShape]:
    """The shapes of several results, of which a list without names has one item each."""
    items = [each.start() for each in _BULLET.finditer(text)]
    if count < 2 or len(items) != count or any(ENTRY_LINE.match(text, start) for start in items):
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
    found = [each for each in ENTRY_LINE.finditer(text) if each["name"] not in KINDS]
    found = [each for each in found if len(each["indent"]) == len(found[0]["indent"])]
    called = [each["name"] for each in found]
    if any(name in elements and elements.index(name) != place for place, name in enumerate(called)):
        return []
    if all(name in elements for name in called):
        return []  # the names say it
    return [each.start() for each in found]


def results_of_sentence(text: str, segments: Sequence[Segment], count: int) -> Iterator[DescribedShape]:
    """One shape for each of several results, in their order: "... of shape (n, d), and the means, of shape (d,)".

    Or "a pair of shapes (n, d) and (d,)".
    """
    if count > 1 and len(segments) == 1 and len(segments[0].shapes) == count:
        yield from _listed_results(text, segments[0])
    if count < 2 or len(segments) != count or any(len(segment.shapes) != 1 for segment in segments):
        return
    brackets = [segment.shapes[0] for segment in segments]
    between = [text[one.end : other.start] for one, other in itertools.pairwise(brackets)]
    if not _AND.search(between[-1]) or any(SENTENCE.search(words) for words in between):
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
