"""The brackets in the text of a comment, and which of them can be a list of dims at all."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shapecheck.shapes import DTYPES, Spec, SpecError, comment_dtype, parse_comment_dims, parse_spec

MAX_TEXT = 2000  # a longer comment is no shape
_DEPTH = 3  # how many brackets around a shape are looked through
_PAIRS = {")": "(", "]": "["}
_WORD_BEFORE = re.compile(r"[A-Za-z]\w*+$")
_JAXTYPING_ARGUMENT = re.compile(r"""\s*[\w.]*\s*,?\s*(?:"([^"]*)"|'([^']*)')\s*""")
# The first and last name differ in an index only: `dim_1, ..., dim_N` is any number of dims.
_ENUMERATED = re.compile(r"\b([A-Za-z]+_?)[01],\s*(?:\1[12],\s*)?\.\.\.,\s*\1[A-Za-z]\b")


@dataclass(frozen=True)
class Bracket:
    """A list of dims between `start` and `end` of a text, with a dtype in front where there is one."""

    start: int
    end: int
    text: str
    spec: Spec
    dtype: str = ""
    tree: bool = False  # `PyTree[...]`
    spaced: bool = False  # only spaces between the dims: `[T B]`
    trailing_comma: bool = False
    negative: bool = False  # has a `-1`, as in an interval or an argument of `reshape`


@dataclass
class _Group:
    start: int
    end: int
    inner: list[_Group]


def find_brackets(text: str) -> list[Bracket]:
    """All brackets that hold dims, in order; calls, subscripts and prose are left out."""
    if len(text) > MAX_TEXT:
        return []
    result: list[Bracket] = []
    pending = [(group, 1) for group in reversed(_groups(text))]
    while pending:
        group, depth = pending.pop()
        found = _read(text, group)
        if isinstance(found, Bracket):
            result.append(found)
        elif found and depth < _DEPTH:
            pending += [(inner, depth + 1) for inner in reversed(group.inner)]
    return result


def unclosed(text: str) -> int | None:
    """Where the first bracket begins that is never closed."""
    opened: list[tuple[int, str]] = []
    for index, character in enumerate(text[:MAX_TEXT]):
        if character in "([":
            opened.append((index, character))
        elif character in ")]" and opened and opened[-1][1] == _PAIRS[character]:
            opened.pop()
    return opened[0][0] if opened else None


def _groups(text: str) -> list[_Group]:
    """The outermost closed brackets, each with those inside it."""
    found: list[_Group] = []
    opened: list[tuple[int, str, int]] = []
    for index, character in enumerate(text):
        if character in "([":
            opened.append((index, character, len(found)))
        elif character in ")]" and opened and opened[-1][1] == _PAIRS[character]:
            start, _, count = opened.pop()
            found[count:] = [_Group(start, index + 1, found[count:])]
    return found


def _read(text: str, group: _Group) -> Bracket | bool:
    """The dims of a bracket; if it holds none, whether to look at the brackets inside it."""
    inside = text[group.start + 1 : group.end - 1]
    square = text[group.start] == "["
    start, dtype, tree = group.start, "", False
    before = text[max(group.start - 40, 0) : group.start]
    word = _WORD_BEFORE.search(before)
    if word is not None and not (word.group().lower() in {"shape", "shaped"} and not square):
        typed = _typed(text, group, word.group()) if square else None
        if typed is not None:
            return typed
        dtype = (comment_dtype(word.group()) or "") if square else ""
        if not dtype:
            return False
        start -= len(word.group())
        before = text[max(start - 1, 0) : start]
        if before[-1:].isalnum() or before[-1:] in {"_", "."}:
            return False
    elif word is None and before[-1:] and (before[-1].isalnum() or before[-1] in "_.)]'\"^\\$"):
        return False
    if not _ends_well(text, group.end):
        return False
    enumerated = _ENUMERATED.sub("...", inside)
    inside = inside if enumerated.strip() == "..." else enumerated
    spec = parse_comment_dims(inside)
    spaced = spec is None and square
    if spaced:
        spec = parse_comment_dims(inside, spaces=True)
    if (
        spec is None
        or (spaced and not spec.names())
        or (spaced and not all(part.isupper() or len(part) == 1 for part in inside.split()))
    ):
        return True
    return Bracket(
        start,
        group.end,
        text[start : group.end],
        spec,
        dtype,
        tree,
        spaced,
        inside.rstrip().endswith(","),
        re.search(r"(?:^|,)\s*[-−]\s*\d", inside) is not None,
    )


def _typed(text: str, group: _Group, word: str) -> Bracket | None:
    """jaxtyping's own text in a comment: `Float[Array, "b s"]`, or a `PyTree` of it."""
    start = group.start - len(word)
    if word == "PyTree" and len(group.inner) == 1:
        inner = _read(text, group.inner[0])
        if isinstance(inner, Bracket) and inner.dtype in DTYPES and text[group.start + 1 : inner.start].strip() == "":
            return Bracket(start, group.end, text[start : group.end], inner.spec, inner.dtype, tree=True)
    match = _JAXTYPING_ARGUMENT.fullmatch(text, group.start + 1, group.end - 1)
    if word not in DTYPES or match is None or not _ends_well(text, group.end):
        return None
    try:
        spec = parse_spec(match.group(1) if match.group(1) is not None else match.group(2), strict=True)
    except SpecError:
        return None
    return Bracket(start, group.end, text[start : group.end], spec, word)


def _ends_well(text: str, end: int) -> bool:
    """Whether what follows the bracket leaves it a bracket: no call, no subscript, no attribute, no power."""
    after = text[end : end + 1]
    if after == ".":
        return not text[end + 1 : end + 2].isidentifier()
    return not (after.isalnum() or after in {"_", "(", "[", "^", "'", '"', "{"})
