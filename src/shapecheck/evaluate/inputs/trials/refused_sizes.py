"""What a check of the user's refuses: `assert n <= 16`, `if x.shape[0] > self.most: raise ValueError("too long")`.

The comparison is read where it stands, above what was raised, and its sides in the frame. What the user is told has
the numbers, and the search learns from them which sizes the check would let pass.
"""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass
from types import FrameType

from shapecheck.evaluate.probes.attribute_access import read_attribute

_COMPARISON = re.compile(r"(?P<left>[\w.\[\]-]+) ?(?P<how>[<>]=?|[=!]=) ?(?P<right>[\w.\[\]-]+)")
_AXIS = re.compile(r"([^\W\d]\w*)\.shape\[(-?\d)\]")
_ATTRIBUTE = re.compile(r"([^\W\d]\w*)\.([^\W\d]\w*)")
_IF = re.compile(r"\s*(?:el)?if\s+(?P<condition>.*):\s*(?:#.*)?$")
_FAR = 8  # lines above what is raised


@dataclass(frozen=True)
class RefusedComparison:
    """A comparison of two integers for which an error was raised: since it `holds`, or since it does not, by `assert`.

    `where` has those of its sides that are no numbers, with theirs: "n = 76".
    """

    condition: str
    left: int
    how: str
    right: int
    holds: bool
    where: str

    def behind(self, message: str) -> str:
        """What to add to what was raised: ` (n > 16, where n = 76)`; ` (where n = 76)` where that cites it."""
        cited = "" if message.endswith(self.condition) else f"{'' if self.holds else 'not '}{self.condition}, "
        return f" ({cited}where {self.where})"

    def most(self) -> tuple[int, int] | None:
        """The size that is too large for the other, and the largest one that is not; None if both may not differ."""
        if self.how in ("==", "!="):
            return None
        is_strict = ("=" in self.how) is self.holds
        return max(self.left, self.right), min(self.left, self.right) - is_strict


def read_refusal(frame: FrameType, line: int) -> RefusedComparison | None:
    """The comparison for which the code at a line of a frame raises, if there is one of two integers."""
    condition, holds = _condition(frame.f_code.co_filename, line)
    compared = _COMPARISON.fullmatch(condition)  # of a division, say, it is the rest that matters
    if compared is None:
        return None
    left, right = (_size(frame, compared[side]) for side in ("left", "right"))
    if left is None or right is None:
        return None
    named = {compared["left"]: left, compared["right"]: right}
    where = ", ".join(f"{text} = {size}" for text, size in named.items() if not text.isdigit())
    return RefusedComparison(condition, left, compared["how"], right, holds, where) if where else None


def _size(frame: FrameType, text: str) -> int | None:
    """The integer that a side of a comparison is in a frame: a number, a variable, an attribute, an axis."""
    if text.isdigit():
        return int(text)
    found: object = frame.f_locals.get(text)
    if (axis := _AXIS.fullmatch(text)) is not None:
        shape, number = read_attribute(frame.f_locals.get(axis[1]), "shape"), int(axis[2])
        found = shape[number] if type(shape) is tuple and -len(shape) <= number < len(shape) else None
    elif (attribute := _ATTRIBUTE.fullmatch(text)) is not None:
        found = read_attribute(frame.f_locals.get(attribute[1]), attribute[2])
    return found if type(found) is int else None


def _condition(file: str, line: int) -> tuple[str, bool]:
    """The condition of an `assert`, or of the `if` above what is raised; and whether it is the second, which holds."""
    text = linecache.getline(file, line)
    if text.lstrip().startswith("assert "):
        return text.partition("assert ")[2].partition(", ")[0].strip(), False
    if not text.lstrip().startswith("raise"):
        return "", False
    indented = len(text) - len(text.lstrip())
    for above in range(line - 1, max(line - _FAR, 0), -1):
        before = linecache.getline(file, above)
        if before.strip() and len(before) - len(before.lstrip()) < indented:
            found = _IF.match(before)
            return (found["condition"].strip() if found is not None else ""), True
    return "", False
