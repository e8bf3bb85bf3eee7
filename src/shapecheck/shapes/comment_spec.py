"""The notation of comments and docstrings: the inside of a bracket, or a list such as `B x T x C`.

One text may be read in several ways; and much that looks like a list of dims is a list of values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise, takewhile

from shapecheck.shapes.annotation_spec import MAX_VARIADIC
from shapecheck.shapes.comment_dims import dims_of
from shapecheck.shapes.dialects import COMMENT, SpecError, tokenize
from shapecheck.shapes.expressions import Binary, EvaluationError, Expression, Int, Name, evaluate, names
from shapecheck.shapes.spec import (
    AnyDim,
    AnyDims,
    Dim,
    FixedDim,
    NamedDim,
    RepeatedDim,
    Spec,
    SymbolicDim,
    is_name,
    is_variadic,
)
from shapecheck.shapes.split_dims import Tokens, pieces

MAX_TEXT = 1000
MAX_TOKENS = 400
# `BxTxD`, `Nx3`, `TxBxm`: sizes of one letter or of digits. `3x3` is a kernel, and `Exp` a word.
GLUED_PRODUCT = re.compile(
    r"(?<![\w.])(?=[x\d]*[A-Z])(?:[A-Z]\d?|[1-9]\d*)x(?:[A-Z]\d?|\d+)(?:x(?:[A-Za-wyz]\d?|\d+))*(?!\w|\.\w)"
)


@dataclass(frozen=True)
class SpecReading:
    """What a list of dims says: `spec`, and what else it may mean, if it is `others` that the value fits.

    `ambiguous` says that it may also be no list of dims at all: `([B], n)` can be a shape and a number.
    """

    spec: Spec
    others: tuple[Spec, ...] = ()
    ambiguous: bool = False


def parse_comment_dims(text: str, *, spaces: bool = False) -> Spec | None:
    """The most natural reading of a list of dims without brackets inside; None if it is no such list."""
    reading = _read_spec(text, spaces=spaces, options=False)
    return reading.spec if reading is not None else None


def read_comment_dims(text: str, *, spaces: bool = False) -> SpecReading | None:
    """Read a list of dims as comments write them; None if it is no such list.

    An empty text is the shape of a scalar. Several readings has a text with axes that may be left out (`([B], T, c)`,
    `(t, _b_)`), with a product that may be two axes (`[S x K]`), with an axis that is repeated (`d, ..., d`,
    `(d)^(n-1)`), or with words that may be one axis or several (`batch steps`).
    """
    return _read_spec(text, spaces=spaces, options=True)


def _read_spec(text: str, *, spaces: bool, options: bool) -> SpecReading | None:
    if len(text) > MAX_TEXT or _is_dimensionality(text) or _lists_shapes(text):
        return None
    try:
        tokens = tokenize(with_spaced_products(text), COMMENT, limit=MAX_TOKENS)
        cut = pieces(tokens, spaces=spaces, options=options)
        specs = [*_specs(cut.choices[0])]
    except SpecError:
        return None
    if options and specs and len(cut.choices) == 1:
        specs += _of_words(tokens, apart=len(cut.choices[0]) == 1)
    for choice in cut.choices[1:] if specs else ():
        with suppress(SpecError):
            specs += _specs(choice)
    specs = [*dict.fromkeys(specs)]
    return SpecReading(specs[0], tuple(specs[1:]), cut.ambiguous) if specs else None


def _lists_shapes(text: str) -> bool:
    """Whether a text is a list of shapes, and not of dims: `BxTxD, BxT`."""
    parts = text.split(",")
    return len(parts) > 1 and all(GLUED_PRODUCT.fullmatch(part.strip()) for part in parts)


def with_spaced_products(text: str) -> str:
    """The text with blanks around the signs of multiplication in `BxTxD`."""
    return GLUED_PRODUCT.sub(lambda found: found.group().replace("x", " x "), text)


def _specs(choice: Sequence[Tokens]) -> Iterator[Spec]:
    """What the pieces between the separators say; nothing if they are a list of values. Raises `SpecError`."""
    leads = len(choice) > 1 and [token.text for token in choice[0]] == ["..."]
    dims = _without_series(tuple(dim for piece in choice for dim in dims_of(piece, beside_ellipsis=leads)))
    if _is_enumeration(dims) or _is_progression(dims):
        return
    readings = [*_with_repeats(dims)]
    if len(dims) == len(choice) > 1 and any(map(_power, dims)):
        readings.append(tuple(_as_repeated(dim, piece) for dim, piece in zip(dims, choice, strict=True)))
    shown = tuple(dim for dim in dims if not _is_taken_away(dim))
    if shown and shown != dims:
        readings.append(shown)
    yield from (Spec(reading) for reading in readings if sum(map(is_variadic, reading)) <= MAX_VARIADIC)


def _of_words(tokens: Tokens, *, apart: bool) -> Iterator[Spec]:
    """What a list of nothing but words may mean besides: an axis for each of them, or one of that long name."""
    words = [token.text for token in tokens]
    if len(words) > 1 and all(token.kind == "name" and is_name(token.text) for token in tokens):
        if apart:
            yield Spec(tuple(map(NamedDim, words)))
        elif all(map(str.islower, words)):
            yield Spec((NamedDim("_".join(words)),))


def _with_repeats(dims: tuple[Dim, ...]) -> Iterator[tuple[Dim, ...]]:
    """`d, ..., d` is an axis of that size as often as one likes; other dims stay as they are.

    What `h, h, w, w, ...` goes on with comes in pairs, and may be nothing. `n, 1, 1, ...` has as many ones as it takes
    to broadcast, perhaps none.
    """
    if dims[-3:] == (FixedDim(1), FixedDim(1), AnyDims()):
        first = len(dims) - len([*takewhile(lambda dim: dim == FixedDim(1), reversed(dims[:-1]))]) - 1
        yield (*dims[:first], RepeatedDim(FixedDim(1)))
        yield dims[:first]
        return
    if len(dims) > 2 and dims[-1] == AnyDims() and isinstance(dims[-2], NamedDim) and dims[-3] == dims[-2]:
        yield dims[:-1]
    for index in range(1, len(dims) - 1):
        before = dims[index - 1]
        if not isinstance(before, (FixedDim, NamedDim, SymbolicDim)):
            continue
        if dims[index] == AnyDims() and before == dims[index + 1]:
            first = index - 1
            while first > 0 and dims[first - 1] == before:
                first -= 1
            yield (*dims[:index], *dims[index + 1 :])
            yield (*dims[:first], RepeatedDim(before), *dims[index + 2 :])
            if before == FixedDim(1):  # as many as it takes to broadcast, perhaps none
                yield (*dims[:first], *dims[index + 2 :])
            return
    yield dims


def _is_taken_away(dim: Dim) -> bool:
    """Whether a dim is written as `_b_`: some authors mark so what `vmap` takes away from an array."""
    return isinstance(dim, AnyDim) and dim.label.endswith("_")


def _power(dim: Dim) -> Binary | None:
    """The power that a dim is, if it is one."""
    expression = dim.expression if isinstance(dim, SymbolicDim) else None
    return expression if isinstance(expression, Binary) and expression.operator == "**" else None


def _as_repeated(dim: Dim, piece: Tokens) -> Dim:
    """The reading of `(dim)^(n-1)` as `n-1` axes: a name or number has a bracket for itself only as a shape."""
    power = _power(dim)
    texts = [token.text for token in piece]
    if power is None or texts[0] != "(" or not {(")", "^"), (")", "**")} & {*pairwise(texts)}:
        return dim
    if isinstance(power.left, Int):
        return RepeatedDim(FixedDim(power.left.value), power.right)
    if isinstance(power.left, Name):
        name = power.left.text
        return RepeatedDim(NamedDim(name) if is_name(name) else SymbolicDim(power.left), power.right)
    return dim


def _is_dimensionality(text: str) -> bool:
    """Whether the text is `2D` or `3d`, which says how many axes there are."""
    return len(text := text.strip()) == 2 and text[0] in "0123456789" and text[1] in "dD"


def _without_series(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """`dim_1, dim_2, ...` is any number of axes: an array with one of them has no `dim_2`."""
    for index, dim in enumerate(dims):
        first = index
        while isinstance(dim, AnyDims) and first > 1 and _follow_in_number(dims[first - 2], dims[first - 1]):
            first -= 1
        if first < index:
            return (*dims[: first - 1], *dims[index:])
    return dims


def _follow_in_number(before: Dim, after: Dim) -> bool:
    """Whether two names differ only in their number, by one: `x1` and `x2`."""
    if not isinstance(before, NamedDim) or not isinstance(after, NamedDim):
        return False
    stem = before.name.rstrip("0123456789")
    numbers = before.name[len(stem) :], after.name[len(stem) :]
    return after.name.startswith(stem) and all(n.isdigit() for n in numbers) and int(numbers[1]) == int(numbers[0]) + 1


def _is_enumeration(dims: tuple[Dim, ...]) -> bool:
    """Whether an ellipsis continues a sequence, as in `0, 1, ..., n-1` or `x1, ..., xn`."""
    for index, dim in enumerate(dims):
        if not isinstance(dim, AnyDims) or dim.label or index == 0:
            continue
        before = dims[index - 1]
        if isinstance(before, FixedDim):
            earlier = dims[index - 2] if index > 1 else None
            if before.size == 0 or (isinstance(earlier, FixedDim) and earlier.size == before.size - 1):
                return True
        if index + 1 < len(dims) and _share_a_prefix(before, dims[index + 1]):
            return True
    return False


def _share_a_prefix(before: Dim, after: Dim) -> bool:
    """Whether two names differ only in an index, of which the first is a number: `x_0` and `x_n`."""
    if not isinstance(before, NamedDim) or not isinstance(after, NamedDim):
        return False
    stem = before.name.rstrip("0123456789")
    rest = after.name[len(stem) :]
    return stem != before.name and after.name.startswith(stem) and 0 < len(rest) <= 3


def _is_progression(dims: tuple[Dim, ...]) -> bool:
    """Whether an ellipsis continues a sequence of values: `l, l-1, ..., 1`, `k, 2k, ..., nk`."""
    for index in range(2, len(dims) - 1):
        first, second, last = (_expression(dims[place]) for place in (index - 2, index - 1, index + 1))
        if dims[index] == AnyDims() and first is not None and second is not None and last is not None:
            shared = {*names(first)} & {*names(second)}
            goes_on = isinstance(last, Int) or not shared.isdisjoint(names(last))
            if shared and first != second and goes_on and _has_a_step(first, second):
                return True
    return False


def _expression(dim: Dim) -> Expression | None:
    if isinstance(dim, SymbolicDim):
        return dim.expression
    if isinstance(dim, FixedDim):
        return Int(dim.size)
    return Name(dim.name) if isinstance(dim, NamedDim) else None


def _has_a_step(first: Expression, second: Expression) -> bool:
    """Whether two values differ by the same number, or the same factor, whatever their names stand for."""
    used = dict.fromkeys((*names(first), *names(second)))
    samples = {name: (60 * (place + 1), 420 * (place + 2), 840 * (place + 3)) for place, name in enumerate(used)}
    try:
        pairs = [*zip(evaluate(first, samples, 3), evaluate(second, samples, 3), strict=True)]
    except EvaluationError:
        return False
    return len({b - a for a, b in pairs}) == 1 or len({a and b / a for a, b in pairs}) == 1
