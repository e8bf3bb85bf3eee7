"""What people forget: a comment, an annotation or a docstring that says the shape of an earlier version."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mutation.mutants import Edit, Mutant, Source

_PAIRS = {"[": "]", "(": ")", "{": "}"}
_NAME = re.compile(r"[A-Za-z_]\w*")


def stale_mutants(source: Source, claims: Sequence[Mapping[str, Any]]) -> Iterator[Mutant]:
    """Claims of one file made false: two dims swapped, one left out, one called by another's name.

    `claims` are those of `shapecheck claims --output-format json`, which says where each begins.
    """
    places = []
    names = defaultdict(set)
    for claim in claims:
        annotated = claim["notation"] == "annotation"
        begin = source.offset(claim["line"], claim["column"])
        line_end = source.offset(claim["line"], 1) + len(source.lines[claim["line"] - 1])
        dims = _quoted(source.text, begin, line_end) if annotated else _bracketed(source.text, begin, line_end)
        places.append((claim, dims, " " if annotated else ", "))
        names[claim["scope"]].update(word for a, b in dims for word in [source.text[a:b]] if _NAME.fullmatch(word))
    seen: set[tuple[int, str]] = set()
    for claim, dims, separator in places:
        for edits in _wrong(source.text, dims, sorted(names[claim["scope"]]), separator):
            mutant = source.mutant(f"stale {claim['notation']}", claim["scope"], claim["line"], edits)
            if mutant is not None and (claim["line"], mutant.after) not in seen:
                seen.add((claim["line"], mutant.after))
                yield mutant


def _quoted(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    """Where the dims of a jaxtyping string stand."""
    found = re.compile(r"""(["'])([^"'\n]*)\1""").search(text, begin, end)
    if found is None:
        return []
    return [(found.start(2) + m.start(), found.start(2) + m.end()) for m in re.finditer(r"\S+", found[2])]


def _bracketed(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    """Where the dims of a bracketed list stand, if it ends on its line."""
    while begin < end and text[begin] not in "[(":
        begin += 1
    dims, closing, first = [], [], begin + 1
    for place in range(begin, end):
        letter = text[place]
        if letter in _PAIRS:
            closing.append(_PAIRS[letter])
        elif closing and letter == closing[-1]:
            closing.pop()
        if (letter == "," and len(closing) == 1) or not closing:
            part = text[first:place]
            if part.strip():
                dims.append((first + len(part) - len(part.lstrip()), first + len(part.rstrip())))
            first = place + 1
        if not closing:
            return dims
    return []


def _wrong(text: str, dims: list[tuple[int, int]], names: list[str], separator: str) -> Iterator[list[Edit]]:
    words = [text[start:end] for start, end in dims]
    for (a, b), (x, y) in zip(itertools.pairwise(dims), itertools.pairwise(words), strict=True):
        if x != y:
            yield [Edit(start=a[0], end=a[1], text=y), Edit(start=b[0], end=b[1], text=x)]
    if len(dims) > 1:
        index = next((n for n, word in enumerate(words) if word != "..."), 0)
        rest = separator.join(word for n, word in enumerate(words) if n != index)
        lone = "," if len(dims) == 2 and text[: dims[0][0]].rstrip().endswith("(") else ""  # `(b)` is no shape
        yield [Edit(start=dims[0][0], end=dims[-1][1], text=rest + lone)]
    for (start, end), word in zip(dims, words, strict=True):
        if _NAME.fullmatch(word):
            other = next((name for name in names if name not in words and name != word), None)
            if other is not None:
                yield [Edit(start=start, end=end, text=other)]
        elif word.isdigit():
            yield [Edit(start=start, end=end, text=str(int(word) + 1))]
