"""The entries of a dict that a description gives shapes: `state: dict with "pos" (n, 3) and "mass" (n,)`."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from shapecheck.claims.axis_words import words
from shapecheck.claims.brackets import find_brackets
from shapecheck.claims.described_shapes import DescribedShape
from shapecheck.claims.unmarked_shapes import may_be_shape
from shapecheck.shapes import comment_dtype

# Without such a word texts in quotes may be what an argument may be, each with a shape of its own.
_IS_DICT = re.compile(r"\b(?:\w*dict(?:s|ionary|ionaries)?|mappings?)\b|\{\s*['\"`]", re.IGNORECASE)
_KINDS = words("an a the array arrays tensor tensors matrix vector of with shape shaped float int integer bool boolean")
_KIND = r"[A-Za-z][\w.]*"
_KEY = r"(?P<quote>['\"])(?P<key>[A-Za-z_]\w*)(?P=quote)"
_PLAIN = r"(?P<plain>[A-Za-z_]\w*)"
# What stands between the key and its shape: `"pos": float array of shape `.
_BETWEEN = rf"[ \t]*[:=]?[ \t]*(?P<kind>(?:{_KIND}[ \t]+){{0,5}})[:=]?[ \t]*`*$"
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
        entry = _QUOTED.search(before) or _LISTED.search(before)
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
