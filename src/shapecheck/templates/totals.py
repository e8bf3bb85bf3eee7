"""What all stages come to: parameters, each counted once, and operations, which may be text with free sizes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from shapecheck.model import Stage

_SIGN = re.compile(r" ([+-]) ")
_FACTOR = re.compile(r"(\d+)(?:\*(.+))?")


def holders(stages: Sequence[Stage], seen: set[str] | None = None) -> Iterator[Stage]:
    """The outermost stages that hold parameters, each place once: a function or a scope has none of its own."""
    seen = set() if seen is None else seen
    for stage in stages:
        if not stage.params:
            yield from holders(stage.children, seen)
        elif stage.path not in seen:
            seen.add(stage.path)
            yield stage


def total(numbers: Iterable[int | str]) -> int | str:
    """The sum of numbers that are integers or polynomials as JAX writes them, `2*b*d^2 + 3`."""
    sums: Counter[str] = Counter()
    for number in numbers:
        for sign, term in _terms(str(number)):
            factor = _FACTOR.fullmatch(term)
            sums[(factor[2] or "") if factor else term] += sign * (int(factor[1]) if factor else 1)
    constant = sums.pop("", 0)
    terms = [(f"{abs(times)}*{name}" if abs(times) != 1 else name, times) for name, times in sums.items() if times]
    if not terms:
        return constant
    terms += [(str(abs(constant)), constant)] if constant else []
    text = "".join(f" {'-' if times < 0 else '+'} {term}" for term, times in terms)
    return text.removeprefix(" + ") if text.startswith(" + ") else f"-{text[3:]}"


def _terms(text: str) -> Iterator[tuple[int, str]]:
    """The terms of a polynomial with their signs; `floordiv(b + 1, 2)` is one."""
    sign, start = (-1, 1) if text.startswith("-") else (1, 0)
    for found in _SIGN.finditer(text):
        if text.count("(", start, found.start()) == text.count(")", start, found.start()):
            yield sign, text[start : found.start()]
            sign, start = (-1 if found[1] == "-" else 1), found.end()
    yield sign, text[start:]
