"""Descriptions without their markup: Sphinx roles, and the LaTeX that people write shapes in."""

from __future__ import annotations

import re
from collections.abc import Sequence

# `:math:` before a back quote, and inside of it what stands for plain signs.
_ROLE = re.compile(r":(?:py:)?(?:math|code|data|attr|class|obj|samp|literal):(?=`)")
_MATH = re.compile(r":math:`[^`]*`|\$[^$\n]{1,200}\$")
_SIGNS = re.compile(
    r"(?P<word>\\{1,2}(?:text|texttt|mathrm|mathtt|mathit|operatorname)\{(?P<inner>[^{}]*)\})"
    r"|(?P<times>\\{1,2}times(?![a-z]))|(?P<dots>\\{1,2}l?dots(?![a-z]))|\\{1,2}(?P<sign>[_,;! ])|\$"
)


def without_markup(text: str) -> tuple[str, Sequence[int]]:
    """The text, and for each of its characters the offset in what was written."""
    if ":`" not in text and "$" not in text:
        return text, range(len(text) + 1)
    offsets = list(range(len(text) + 1))
    for math in reversed([*_MATH.finditer(text)]):
        text, offsets = _plain(text, offsets, math.start(), math.end())
    return _ROLE.sub(lambda role: " " * len(role.group()), text), offsets


def _plain(text: str, offsets: list[int], start: int, end: int) -> tuple[str, list[int]]:
    """The text with plain signs between `start` and `end`."""
    for found in reversed([*_SIGNS.finditer(text, start, end)]):
        begin, stop = found.span()
        if found["word"]:
            inner = found["inner"].replace("\\\\_", "_").replace("\\_", "_")
            origins = [each for each in range(*found.span("inner")) if text[each] != "\\"]
        else:
            inner = " x " if found["times"] else "..." if found["dots"] else (found["sign"] or " ").strip(",;!") or " "
            origins = [begin] * len(inner)
        text = text[:begin] + inner + text[stop:]
        offsets = offsets[:begin] + [offsets[each] for each in origins] + offsets[stop:]
    return text, offsets
