"""Words of a description that say how many axes an array has: "a scalar", "vector", "2D array", "matrix".

They are no claims, since nothing is said of a shape: they say what to give a function that is evaluated.
"""

from __future__ import annotations

import re

MAY_SAY_RANK = re.compile(r"scalar|vector|matrix|\b(?:\d|one|two|three|four)[- ]?d\b|dimensional|rank", re.IGNORECASE)

_NUMBERS = {"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_COUNT = rf"(?P<count>[0-5]|{'|'.join(_NUMBERS)})"
_RANK = re.compile(
    rf"\b{_COUNT}[- ]?(?:d|dim|dimensional)\b|\brank[- ]{_COUNT.replace('count', 'rank')}\b"
    r"|\b(?P<word>scalar|vector|matrix)\b(?![- ]?(?:valued|of\b|field|product|multipl))",
    re.IGNORECASE,
)
_WORDS = {"scalar": 0, "vector": 1, "matrix": 2}
# Words behind which the array is one of several, or of any shape.
_OPEN = re.compile(
    r"\b(?:or|batch\w*|lists?|tuples?|pytrees?|sequence|sequences|stack\w*|dict\w*|broadcast\w*|any|each|per|optional(?:ly)?"
    r"|multi\w*|functions?|callable|returns?|set|pairs?|scalars|vectors|matrices|shape\w*|if|when|unless|either)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.;](?:\s|$)|\n\s*\n")


def rank_of(description: str) -> int | None:
    """How many axes the first sentence of a description gives the array that it describes, if it says so plainly."""
    sentence = _SENTENCE.split(description.strip(), maxsplit=1)[0]
    found = {_number(each) for each in _RANK.finditer(sentence)}
    return found.pop() if len(found) == 1 and not _OPEN.search(sentence) else None


def _number(found: re.Match[str]) -> int:
    if found["word"]:
        return _WORDS[found["word"].lower()]
    count = (found["count"] or found["rank"]).lower()
    return _NUMBERS[count] if count in _NUMBERS else int(count)
