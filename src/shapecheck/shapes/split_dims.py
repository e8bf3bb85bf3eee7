"""A bracket of a comment, cut into its dims: at commas, at ` x `, or at spaces; some of them may be left out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shapecheck.shapes.dialects import SpecError, Token

Tokens = Sequence[Token]

# Words that join sentences; a dim of two words contains none of them.
_PROSE_TEXT = """
    a all an and any are as at be by can each else for from has have if in into is it its no not of on only or per see
    so than that the then this to use used via was we when where which with
"""
PROSE = frozenset(_PROSE_TEXT.split())
_SENTENCE = PROSE - {"a", "in"}  # these two may well be dims between spaces
_MAX_OPTIONS = 3  # every further one doubles the readings
_IN_OPTIONS = frozenset({",", "*", "...", "'"})
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class BracketPieces:
    """The pieces of a bracket, in each way to read it, the most natural first.

    `ambiguous` says that it may be no list of dims at all: `([B], n)` can be a shape and a number.
    """

    choices: tuple[list[Tokens], ...]
    ambiguous: bool = False


def pieces(tokens: list[Token], *, spaces: bool, options: bool) -> BracketPieces:
    """Cut a bracket into its dims. Raises `SpecError` if a dim is missing or the brackets do not match.

    Dims are separated by commas, else by `x` or `×`, else (with `spaces`) by spaces. Without commas `H×W` is two dims,
    or their product; beside a comma it is a product. With `options` an axis in a bracket of its own, or before a
    question mark, may be left out: `([B], T, c)`.
    """
    tokens = _with_times_signs(tokens)
    parts = list(_parts(tokens)) if options else []
    if any(part.option for part in parts):
        return _with_options(parts)
    plain = _pieces(tokens, spaces)
    is_product = {tokens[index].text for index in _separators(tokens)} == {"×"} and len(plain) > 1
    return BracketPieces((plain, [tokens]) if is_product else (plain,))


@dataclass(frozen=True)
class _DimPiece:
    """A dim, and the number of the optional bracket that it stands in; 0 for none. `plain`: no comma marks it."""

    tokens: Tokens
    option: int = 0
    plain: bool = False


def _parts(tokens: list[Token]) -> Iterator[_DimPiece]:
    """The dims between commas or optional brackets; where there is no comma, also between spaces."""
    between = [index for index in _top_level(tokens) if tokens[index].text not in {"]", ")"}]
    commas = any(tokens[index].text == "," for index in between)
    current: list[Token] = []
    end = option = 0
    for index in between:
        if index < end:
            continue
        inner_end = _option(tokens, index, current if commas else [])
        ends = inner_end or tokens[index].text == "," or (not commas and tokens[index].spaced)
        if ends and current:
            yield from _with_question_mark(current, option := option + 1)
            current = []
        if inner_end:
            option, end = option + 1, inner_end
            yield from _inside(tokens[index + 1 : end - 1], option, square=tokens[index].text == "[")
        elif tokens[index].text != ",":
            end = _closing_index(tokens, index) + 1 if tokens[index].text in _CLOSERS else index + 1
            current += tokens[index:end]
    if current:
        yield from _with_question_mark(current, option + 1)


def _with_question_mark(tokens: list[Token], option: int) -> Iterator[_DimPiece]:
    """`batch?` may be left out."""
    if len(tokens) == 2 and tokens[0].kind == "name" and tokens[1].text == "?" and not tokens[1].spaced:
        yield _DimPiece(tokens[:1], option)
    else:
        yield _DimPiece(tokens)


def _option(tokens: list[Token], index: int, before: Sequence[Token]) -> int:
    """Behind which token an optional bracket ends that begins at `index`; 0 if there begins none.

    `[B]`, `(B)`, `(B,)`, `[B,]` and `N[, D]` may be left out; `x[0]`, `(H*W)` and `see [B]` are something else.
    """
    opener = tokens[index].text
    if opener not in {"[", "("}:
        return 0
    end = _closing_index(tokens, index)
    inside = tokens[index + 1 : end]
    behind = tokens[end + 1 : end + 2]
    if behind and not behind[0].spaced and behind[0].text != ",":
        return 0  # `(d,)*n`
    attached = before or (index > 0 and not tokens[index].spaced and tokens[index - 1].text != ",")
    if not inside or (attached and inside[0].text != ","):
        return 0
    if any(token.kind != "name" and token.text not in _IN_OPTIONS for token in inside):
        return 0  # `[-1, 1]`
    between = (not behind or behind[0].text == ",") and (index == 0 or tokens[index - 1].text == ",")
    marked = inside[0].text == "," or inside[-1].text == "," or (len(inside) == 1 and between)
    return end + 1 if opener == "[" or marked else 0


def _inside(tokens: Tokens, option: int, *, square: bool) -> Iterator[_DimPiece]:
    commas = [index for index in _top_level(tokens) if tokens[index].text == ","]
    for piece in split_at(tokens, commas):
        if piece:
            yield _DimPiece(piece, option, plain=square and not (commas and {0, len(tokens) - 1} & {*commas}))


def _with_options(parts: Sequence[_DimPiece]) -> BracketPieces:
    """All ways to leave out optional dims, the one that leaves out none first."""
    numbers = sorted({part.option for part in parts} - {0})
    firm = sum(not part.option for part in parts)
    if not firm or len(numbers) > _MAX_OPTIONS:
        raise SpecError("these are several brackets")
    if any(part.tokens[0].text in _SENTENCE for part in parts):
        raise SpecError("this is a sentence")
    choices = []
    for kept in itertools.product((True, False), repeat=len(numbers)):
        left = {number for number, keep in zip(numbers, kept, strict=True) if not keep}
        choices.append([part.tokens for part in parts if part.option not in left])
    several = any(sum(part.option == number for part in parts) > 1 for number in numbers)
    plain = any(part.plain for part in parts)
    return BracketPieces(tuple(choices), ambiguous=plain and (firm < 2 or several))


def _pieces(tokens: list[Token], spaces: bool) -> list[Tokens]:
    """The tokens of each dim. Raises `SpecError` if a dim is missing or the brackets do not match."""
    if not tokens:
        return []
    separators = _separators(tokens)
    commas = [index for index in separators if tokens[index].text == ","]
    times = [index for index in separators if tokens[index].text == "×"]
    if commas:
        pieces = split_at(tokens, commas)
        if not pieces[-1]:
            pieces.pop()  # a comma may trail, as in `(N,)`
    elif times:
        pieces = split_at(tokens, times)
    elif spaces:
        if any(token.text in _SENTENCE for token in tokens):
            raise SpecError("this is a sentence")
        starts = [index for index in _top_level(tokens) if tokens[index].spaced and index > 0]
        pieces = [tokens[start:end] for start, end in pairwise([0, *starts, len(tokens)])]
    else:
        pieces = [tokens]
    if not all(pieces):
        raise SpecError("a dim is missing")
    return pieces


def _separators(tokens: Tokens) -> list[int]:
    return [index for index in _top_level(tokens) if tokens[index].text in {",", "×"}]


def _closing_index(tokens: Tokens, index: int) -> int:
    """Where the bracket that begins at `index` is closed; all brackets match."""
    depth = 0
    for place in range(index, len(tokens)):
        if tokens[place].kind == "op":
            depth += (tokens[place].text in _CLOSERS) - (tokens[place].text in _CLOSERS.values())
        if depth == 0:
            return place
    return len(tokens) - 1


def _with_times_signs(tokens: list[Token]) -> list[Token]:
    """The tokens with a multiplication sign for each ` x ` between two operands."""
    result = list(tokens)
    for index in range(1, len(tokens) - 1):
        token, before, after = tokens[index], result[index - 1], tokens[index + 1]
        ends_operand = before.kind != "op" or before.text in {")", "]", "..."}
        starts_operand = after.kind != "op" or after.text in {"(", "...", "-", "<"}
        if token.text in {"x", "X"} and token.spaced and after.spaced and ends_operand and starts_operand:
            result[index] = Token("op", "×", True)
    return result


def _top_level(tokens: Tokens) -> list[int]:
    """The indices of the tokens outside of all brackets. Raises `SpecError` if these do not match."""
    found: list[int] = []
    closers: list[str] = []
    for index, token in enumerate(tokens):
        if not closers:
            found.append(index)
        if token.kind == "op" and token.text in "([{":
            closers.append(_CLOSERS[token.text])
        elif token.kind == "op" and token.text in ")]}" and (not closers or closers.pop() != token.text):
            raise SpecError("the brackets do not match")
    if closers:
        raise SpecError("a bracket is not closed")
    return found


def split_at(tokens: Tokens, indices: list[int]) -> list[Tokens]:
    """What stands between the separators at `indices`."""
    return [tokens[start + 1 : end] for start, end in pairwise([-1, *indices, len(tokens)])]
