"""A function in one line of its docstring: `(b, n) -> (b, n, n)`, `x (b, n), mask (b,) -> y (b, n), scale ()`.

What stands before the arrow are its parameters, by their names or in order, and what stands behind are its results.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass

from shapecheck.claims.brackets import Bracket, find_brackets
from shapecheck.claims.comment_text import AlsoKnown, Segment, read_comment
from shapecheck.claims.result_phrases import NamedResult, read_results
from shapecheck.claims.unmarked_shapes import may_be_shape
from shapecheck.shapes import FixedDim

ARROW = re.compile(r"[-=]>|[→⇒⟶↦]")
# "Packs the dict -> (n, 3) and delegates to the core": what is told of is a step, and no result.
_NEXT_STEP = re.compile(r"[\s`]*(?:and|then)\s+(?!returns?\b|gives?\b)[a-z]+s\b")
_KEY = re.compile(r"(?:^|_)(?:key|rng|prng)s?$", re.IGNORECASE)
# The words in front of a signature, if any: "Basis: (n, m) -> ...".
_CLAUSE = re.compile(r"(?:.*[.:;,]\s)?[\s`]*", re.DOTALL)
_DTYPE = re.compile(r"\b(?:u?int|float|bool|bf|complex)\d*(?=\s+[(\[])")
# Parameters that hold other values than the arrays that a line of shapes tells of.
_HOLDER = re.compile(
    r"(?:^|_)(?:params?|parameters|variables|weights|model|net|config|cfg|opts?|options)$", re.IGNORECASE
)


@dataclass(frozen=True)
class SignatureLine:
    """The shapes of parameters, by name, and of the results."""

    taken: Sequence[tuple[str, Bracket]]
    given: Sequence[NamedResult]


def is_random_key(name: str) -> bool:
    """Whether a parameter of this name is a random key, of which nobody tells the shape."""
    return _KEY.search(name) is not None


def read_signature(
    text: str,
    parameters: Sequence[str],
    required: Sequence[str],
    known: Container[str],
    *,
    count: int,
    returned: Sequence[str] = (),
) -> SignatureLine | None:
    """What a text says with its one arrow of a function with `count` results, which are the variables `returned`.

    Without names it is about all `parameters`, or the `required` ones, of which random keys are none. None if it is
    not about all results, or nothing.
    """
    arrows = [*ARROW.finditer(text)]
    if len(arrows) != 1:
        return None
    words = text[: arrows[0].start()]
    before = find_brackets(words)
    if "(" in words and not before:
        return None  # code, or an aside
    beside = AlsoKnown(known, {name for each in before for name in each.spec.names()})
    given = read_results(text, arrows[0].end(), count=count, known=beside, returned=returned)
    if not given or _NEXT_STEP.match(text, max(each.bracket.end for each in given)):
        return None
    arrays, needed = ([each for each in names if not is_random_key(each)] for names in (parameters, required))
    sizes = {name for each in given for name in each.bracket.spec.names()}
    taken = _parameters_in(words, arrays, [each for each in needed if each not in sizes], known)
    return SignatureLine(taken, given) if taken is not None else None


def _parameters_in(
    text: str, parameters: Sequence[str], required: Sequence[str], known: Container[str]
) -> Sequence[tuple[str, Bracket]] | None:
    """The parameters that a text names, or tells of in order; None if it has other shapes."""
    segments = read_comment(_DTYPE.sub(_blank, text), known, described=True)
    brackets = [bracket for segment in segments for bracket in segment.shapes]
    every = [each for each in find_brackets(text) if not each.is_interval]
    if any(segment.hedged or segment.alternatives for segment in segments) or len(brackets) != len(every):
        return None
    if not all(_is_shape(each, known) for each in brackets):
        return None
    found: list[tuple[str, Bracket]] = []
    for segment in segments:
        called = (_parameter_called(label, parameters) for label in reversed(segment.labels))
        names = [*itertools.takewhile(bool, called)]  # "Resampling, weights: (n,) -> ..."
        if not names and len(segments) == 1 and _is_in_order(text, segment):
            return _in_order(brackets, parameters, required)
        if len(segment.shapes) != 1 or not names:
            return None
        found += [(name, segment.shapes[0]) for name in reversed(names)]
    return found


def _is_in_order(text: str, segment: Segment) -> bool:
    """Whether nothing names what the shapes are of: they begin the text, or a clause of it."""
    return _CLAUSE.fullmatch(text, 0, segment.shapes[0].start) is not None


def _in_order(
    brackets: Sequence[Bracket], parameters: Sequence[str], required: Sequence[str]
) -> Sequence[tuple[str, Bracket]] | None:
    """The shapes of all parameters, or of those that may be arrays: not what is itself a size in these shapes."""
    sizes = {name for each in brackets for name in each.spec.names()}
    arrays = [each for each in required if each not in sizes and not _HOLDER.search(each)]
    names = next((each for each in (parameters, required, arrays) if len(each) == len(brackets)), None)
    return list(zip(names, brackets, strict=True)) if names is not None else None


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _parameter_called(label: str, parameters: Sequence[str]) -> str:
    """The parameter of this name, or of this and its axes: `prompt` is `prompt_BT`; "" if there is none."""
    if label in parameters:
        return label
    return next((each for each in parameters if re.fullmatch(rf"{re.escape(label)}_[A-Z][A-Za-z]*", each)), "")


def _is_shape(bracket: Bracket, known: Container[str]) -> bool:
    is_scalar = not bracket.spec.dims  # `log evidence ()`
    if len(bracket.spec.dims) == 1 and isinstance(bracket.spec.dims[0], FixedDim):
        return bracket.text.startswith("[") or bracket.trailing_comma  # `[3] -> [3, 3]`
    return is_scalar or may_be_shape(bracket, known)
