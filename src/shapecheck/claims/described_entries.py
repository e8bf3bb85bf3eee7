"""The entries of a dict that a description gives shapes: `state: dict with "pos" (n, 3) and "mass" (n,)`."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from itertools import pairwise

from shapecheck.claims.axis_words import words
from shapecheck.claims.brackets import find_brackets
from shapecheck.claims.described_shapes import DescribedShape
from shapecheck.claims.unmarked_shapes import may_be_shape
from shapecheck.shapes import comment_dtype

# Without such a word texts in quotes may be what an argument may be, each with a shape of its own.
_IS_DICT = re.compile(r"\b(?:\w*dict(?:s|ionary|ionaries)?|mappings?)\b|\{\s*['\"`]", re.IGNORECASE)
_LEAST_ITEMS = 2
_KINDS = words("an a the array arrays tensor tensors matrix vector of with shape shaped float int integer bool boolean")
_KIND = r"[A-Za-z][\w.]*"
_KEY = r"(?P<quote>['\"])(?P<key>[A-Za-z_]\w*)(?P=quote)"
_PLAIN = r"(?P<plain>[A-Za-z_]\w*)"
# What stands between the key and its shape: `"pos": float array of shape `.
_BETWEEN = rf"[ \t]*[:=]?[ \t]*(?P<kind>(?:{_KIND}[ \t]+){{0,5}})[:=]?[ \t]*`*$"
# An item of a list, one on each line: `- C: a shape (n, d) array`.
_ITEM = re.compile(rf"\n[ \t]*[-*+][ \t]+`*(?P<bare>[A-Za-z_]\w*)`*[ \t]*:{_BETWEEN}")
_ITEMS = re.compile(r"\n[ \t]*[-*+][ \t]+`*[A-Za-z_]\w*`*[ \t]*:")
_IS_TUPLE = re.compile(r"\b(?:\w*tuples?|pairs?|triples?)\b", re.IGNORECASE)
_QUOTED = re.compile(rf"`*{_KEY}`*{_BETWEEN}")
# Without quotes it stands where a list has its items.
_LISTED = re.compile(
    rf"(?:^|\n|[,;:({{]|\b(?:and|with|of|keys?|entries))[ \t\n]*(?:[-*+][ \t]+)?`{{1,2}}{_PLAIN}`{{1,2}}{_BETWEEN}"
    r"|(?:\n|[,;{])[ \t\n]*(?:[-*+][ \t]+)?(?P<bare>[A-Za-z_]\w*)[ \t]*[:=]?[ \t]*$"
)
# The first of several, `dict with w (d, h), b (h,)`, is told from "dict with weights (d, h)" by those behind it.
_FIRST = re.compile(r"^\w+[ \t\n]+(?:with|of|containing|holding)[ \t\n]+(?P<bare>[A-Za-z_]\w*)[ \t]*[:=]?[ \t]*$")


def entry_shapes(text: str, known: Container[str]) -> Iterator[tuple[str, DescribedShape]]:
    """The keys that a description gives shapes to, each with its shape; nothing of a key with several.

    They count behind a word for a dict. `known` are names of dims.
    """
    found: dict[str, list[DescribedShape]] = {}
    is_dict = _IS_DICT.search(text)
    if is_dict is None:
        return
    begin, first = is_dict.start(), ""
    for bracket in find_brackets(text):
        if bracket.start < begin:
            continue
        before, begin = text[begin : bracket.start], bracket.end
        entry = _QUOTED.search(before) or _LISTED.search(before) or _ITEM.search(before)
        if entry is None and (entry := _FIRST.search(before)) is not None:
            first = entry["bare"]
        if entry is None:
            continue
        groups = entry.groupdict()
        key = groups.get("key") or groups.get("plain") or groups.get("bare") or ""
        kinds = (groups.get("kind") or "").lower().split()
        if key.lower() in _KINDS or not all(each in _KINDS or comment_dtype(each) for each in kinds):
            continue
        is_marked = "shape" in kinds
        if is_marked or may_be_shape(bracket, known):
            shape = DescribedShape(bracket, sure=True, leaves=False, apart=True, unmarked=not is_marked)
            found.setdefault(key, []).append(shape)
    if len(found) == 1:
        found.pop(first, None)
    yield from ((key, shapes[0]) for key, shapes in found.items() if len(shapes) == 1)


def item_shapes(text: str, known: Container[str]) -> Iterator[tuple[int, DescribedShape]]:
    """The places in a tuple that a description gives shapes to, one on each line: `a tuple of\n- means: (n, d)`."""
    starts = [match.start() for match in _ITEMS.finditer(text)]
    is_tuple = _IS_TUPLE.search(text)
    if is_tuple is None or len(starts) < _LEAST_ITEMS or is_tuple.start() > starts[0]:
        return
    for place, (begin, end) in enumerate(pairwise([*starts, len(text)])):
        shapes = [each for each in find_brackets(text) if begin < each.start < end and may_be_shape(each, known)]
        entry = _ITEM.search(text[begin : shapes[0].start]) if shapes else None
        if entry is not None:
            is_marked = "shape" in (entry["kind"] or "").lower().split()
            yield place, DescribedShape(shapes[0], sure=True, leaves=False, apart=True, unmarked=not is_marked)
