"""A function in one line of its docstring: `(b, n) -> (b, n, n)`, `x (b, n), mask (b,) -> y (b, n), scale ()`.

What stands before the arrow are its parameters, by their names or in order, and what stands behind are its results.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass

from shapecheck.claims.brackets import Bracket
from shapecheck.claims.comment_text import Segment, read_comment
from shapecheck.claims.unmarked_shapes import may_be_shape

ARROW = re.compile(r"[-=]>|[→⇒⟶↦]")
_KEY = re.compile(r"(?:^|_)(?:key|rng|prng)s?$", re.IGNORECASE)
# What may stand between two results: `(n,), (n, d)`, `means (n,) and covs (n, d, d)`.
_BETWEEN_RESULTS = re.compile(r"\s*(?:,|,?\s*and\b)\s*`*(?:[A-Za-z_]\w*`*\s*:?\s*)?`*")
_ENDS = re.compile(r"\s*(?:$|[,.;:\n]|[a-z(])")


@dataclass(frozen=True)
class SignatureLine:
    """The shapes of parameters, by name, and of the results in order."""

    taken: Sequence[tuple[str, Bracket]]
    given: Sequence[Bracket]


def is_random_key(name: str) -> bool:
    """Whether a parameter of this name is a random key, of which nobody tells the shape."""
    return _KEY.search(name) is not None


def read_signature(
    text: str, parameters: Sequence[str], required: Sequence[str], known: Container[str]
) -> SignatureLine | None:
    """What a text says with its one arrow, or None. Without names it is about all `parameters`, or the `required` ones.

    Random keys are none of them.
    """
    if len(ARROW.findall(text)) != 1:
        return None
    segments = read_comment(text, known, described=True)
    place = next((index for index, segment in enumerate(segments) if segment.arrow), None)
    if place is None or any(segment.hedged or segment.alternatives for segment in segments):
        return None
    mapping = segments[place]
    arrays, needed = ([each for each in names if not is_random_key(each)] for names in (parameters, required))
    taken = _parameters_before(segments[:place], mapping, arrays, needed)
    given = _results_behind(text, mapping, segments[place + 1 :])
    brackets = [*(bracket for _, bracket in taken or ()), *given]
    if taken is None or not given or not all(_is_shape(each, known) for each in brackets):
        return None
    return SignatureLine(taken, given)


def _parameters_before(
    before: Sequence[Segment], mapping: Segment, parameters: Sequence[str], required: Sequence[str]
) -> Sequence[tuple[str, Bracket]] | None:
    """The parameters in front of an arrow; None if something else stands there."""
    if not mapping.taken:
        return [] if not before and not mapping.labels and not mapping.prose else None
    if not mapping.labels and not before:
        names = next((each for each in (parameters, required) if len(each) == len(mapping.taken)), None)
        return list(zip(names, mapping.taken, strict=True)) if names is not None else None
    named = [*((each.labels, each.shapes) for each in before), (mapping.labels, mapping.taken)]
    found: list[tuple[str, Bracket]] = []
    for labels, shapes in named:
        name = _parameter_called(labels[0], parameters) if len(labels) == len(shapes) == 1 else ""
        if not name:
            return None
        found.append((name, shapes[0]))
    return found


def _parameter_called(label: str, parameters: Sequence[str]) -> str:
    """The parameter of this name, or of this and its axes: `prompt` is `prompt_BT`; "" if there is none."""
    if label in parameters:
        return label
    return next((each for each in parameters if re.fullmatch(rf"{re.escape(label)}_[A-Z][A-Za-z]*", each)), "")


def _results_behind(text: str, mapping: Segment, behind: Sequence[Segment]) -> Sequence[Bracket]:
    """The results behind an arrow, as far as one follows directly on the other."""
    found = list(mapping.shapes)
    for bracket in (bracket for segment in behind for bracket in segment.shapes):
        if not _BETWEEN_RESULTS.fullmatch(text, found[-1].end, bracket.start):
            break
        found.append(bracket)
    return found if _ENDS.match(text, found[-1].end) else []


def _is_shape(bracket: Bracket, known: Container[str]) -> bool:
    is_scalar = not bracket.spec.dims  # `log evidence ()`
    return is_scalar or may_be_shape(bracket, known)
