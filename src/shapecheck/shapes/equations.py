"""Equations between sizes in running text: `M = H * D model size`, `x: [B, T], where T = F * hop`."""

from __future__ import annotations

import re
from collections.abc import Iterator

TERM = r"(?:[A-Za-z_]\w*(?:\.\w+)*|\d+)"
OPERATOR = r"(?://|[-+*/])"
_EQUATION = re.compile(rf"(?<![\w.])(?P<name>[A-Za-z_]\w*)\s*==?\s*(?P<of>{TERM}(?:\s*{OPERATOR}\s*{TERM})+)")


def equations_in(text: str) -> Iterator[tuple[str, str]]:
    """The names that a text says to be a sum, difference, product or quotient, and what of, as it is written."""
    yield from ((each["name"], each["of"]) for each in _EQUATION.finditer(text))
