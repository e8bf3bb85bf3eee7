"""The entries of a dict that a description gives shapes: `state: dict with "pos" (n, 3) and "mass" (n,)`."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence

from shapecheck.claims.axis_words import words
from shapecheck.claims.brackets import find_brackets
from shapecheck.claims.unmarked_shapes import may_be_shape
from shapecheck.claims.value_sentences import DescribedShape
from shapecheck.shapes import comment_dtype

# Without such a word texts in quotes may be what an argument may be, each with a shape of its own.
_IS_DICT = re.compile(r"\b(?:\w*dict(?:s|ionary|ionaries)?|mappings?)\b|\{\s*['\"`]", re.IGNORECASE)
_LEAST_ITEMS = 2
_MARKED = re.compile(r"\bshape\s*[:=]?\s*(?:of\s+)?[`'\"]*$", re.IGNORECASE)
_KINDS = words(
    "an a the array arraylike array_like arrays tensor tensors matrix vector of with shape shaped"
    " float int integer bool boolean"
)
_KIND = r"[A-Za-z][\w.]*"
_KEY = r"(?P<quote>['\"])(?P<key>[A-Za-z_]\w*)(?P=quote)"
_PLAIN = r"(?P<plain>[A-Za-z_]\w*)"
# What stands between the key and its shape: `"pos": float array of shape `, `"pos" (`Float[n, 3]`)`, `'pos'] : Array,`.
_BETWEEN = rf"\]?[ \t]*[:=]?[ \t]*\(?(?P<kind>(?:{_KIND},?[ \t]+){{0,5}})[:=]?[ \t]*`*$"
# An item of a list, one on each line: `- C: a shape (n, d) array`, `* 'mask': which are left, shape [n]`.
_ITEM = re.compile(r"\n[ \t]*[-*+][ \t]+[`'\"]*(?P<key>[A-Za-z_]\w*(?: \w+){0,2})[`'\"]*[ \t]*:")
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
    items = [*_ITEM.finditer(text, is_dict.end())]
    if len(items) >= _LEAST_ITEMS:
        yield from ((key, shape) for _, key, shape in _shapes_of(items, text, known) if key.isidentifier())
        return
    begin, first = is_dict.start(), ""
    for bracket in find_brackets(text):
        if bracket.start < begin:
            continue
        before, begin = text[begin : bracket.start], bracket.end
        entry = _QUOTED.search(before) or _LISTED.search(before)
        if entry is None and (entry := _FIRST.search(before)) is not None:
            first = entry["bare"]
        if entry is None:
            continue
        groups = entry.groupdict()
        key = groups.get("key") or groups.get("plain") or groups.get("bare") or ""
        kinds = (groups.get("kind") or "").lower().replace(",", " ").split()
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
    is_tuple = _IS_TUPLE.search(text)
    items = [*_ITEM.finditer(text, is_tuple.end())] if is_tuple is not None else []
    if len(items) >= _LEAST_ITEMS:
        yield from ((place, shape) for place, _, shape in _shapes_of(items, text, known))


def _shapes_of(
    items: Sequence[re.Match[str]], text: str, known: Container[str]
) -> Iterator[tuple[int, str, DescribedShape]]:
    """The place, the name and the shape of each item in a row that has one alone."""
    ends = [*(each.start() for each in items[1:]), len(text)]
    brackets = find_brackets(text)
    for place, (item, end) in enumerate(zip(items, ends, strict=True)):
        inside = [each for each in brackets if item.end() <= each.start < end]
        marked = [each for each in inside if _MARKED.search(text[: each.start])]
        shapes = marked or [each for each in inside if may_be_shape(each, known)]
        if len(shapes) == 1:
            yield (
                place,
                item["key"],
                DescribedShape(shapes[0], sure=True, leaves=False, apart=True, unmarked=not marked),
            )
