"""What each notation allows in an expression, and the tokens that its text consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from shapecheck.shapes.expressions import FUNCTIONS

MAX_DIGITS = 18  # more than any dim that a person writes


class SpecError(ValueError):
    """A text that is not a spec; the message says what is wrong."""


class UnsupportedSpec(SpecError):  # noqa: N818
    """A text that jaxtyping may well accept, but that is not evaluated here."""


class Token(NamedTuple):
    """A piece of text: `kind` is "name", "number" or "op"; `spaced` if white space stands before it."""

    kind: str
    text: str
    spaced: bool


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What an expression may contain beyond ints, identifiers, arithmetic and parentheses."""

    functions: frozenset[str]
    paths: bool = False  # `self.n`, `x.shape[0]`, `len(x)`
    braces: bool = False
    primes: bool = False
    bits: bool = False  # `|`, `&`, `<<`, `>>`, `~`, and `^` as Python has it
    caret: bool = False  # `^` is a power
    comment: bool = False  # juxtaposed factors and typographic signs
    keywords: bool = False  # `in` and `lambda` are names like others


_PYTHON = frozenset({"abs", "int", "max", "min", "round"})
ANNOTATION = Dialect(functions=_PYTHON, braces=True, bits=True)
BRACES = Dialect(functions=_PYTHON, paths=True, bits=True)
CANONICAL = Dialect(functions=frozenset(FUNCTIONS), paths=True, braces=True, primes=True, bits=True, keywords=True)
COMMENT = Dialect(
    functions=frozenset(FUNCTIONS) - {"round"}, paths=True, primes=True, caret=True, comment=True, keywords=True
)
JAX = Dialect(functions=frozenset({"max", "min", "floordiv", "mod"}), caret=True, keywords=True)

_LONG_OPERATORS = ("...", "**", "//", "<<", ">>")
_OPERATORS = "+-*/%^&|~()[]{}<>,.:=?"
_TYPOGRAPHIC = {"·": "*", "⋅": "*", "−": "-", "′": "'", "…": "..."}
BITS = frozenset("|^&~") | {"<<", ">>"}


def tokenize(text: str, dialect: Dialect, *, limit: int) -> list[Token]:
    """Split text into at most `limit` tokens. Raises `SpecError` at a character that belongs to no token."""
    if dialect.comment:
        for sign, plain in _TYPOGRAPHIC.items():
            text = text.replace(sign, plain)
    tokens: list[Token] = []
    start, spaced = 0, False
    while start < len(text):
        if text[start].isspace():
            start, spaced = start + 1, True
            continue
        if len(tokens) == limit:
            raise SpecError("the expression is too long")
        kind, end = _scan(text, start, dialect)
        tokens.append(Token(kind, text[start:end], spaced))
        start, spaced = end, False
        if dialect.comment and kind == "number" and text[start : start + 1] in "xX" and _is_digit(text, start + 1):
            tokens.append(Token("op", "×", False))  # `3x3`
            start += 1
    return tokens


def _scan(text: str, start: int, dialect: Dialect) -> tuple[str, int]:
    """The kind of the token that begins at `start`, and where it ends."""
    end = start + 1
    if text[start].isidentifier():
        # Ask about one character at a time: asking about ever longer prefixes would be quadratic.
        while end < len(text) and f"a{text[end]}".isidentifier():
            end += 1
        while dialect.primes and text[end : end + 1] == "'":
            end += 1
        return "name", end
    if _is_digit(text, start):
        while end < len(text) and _is_digit(text, end):
            end += 1
        if text[end : end + 1] in ("e", "E") and _is_digit(text, end + 1 + (text[end + 1 : end + 2] in ("-", "+"))):
            raise SpecError(f"{text[start : end + 2]}... is no whole number")  # not `1*e-3`
        if end - start > MAX_DIGITS:
            raise SpecError(f"the number {text[start : start + 8]}... is too large")
        return "number", end
    for operator in _LONG_OPERATORS:
        if text.startswith(operator, start) and not (dialect.comment and operator in BITS):
            return "op", start + len(operator)
    if text[start] in _OPERATORS or (dialect.comment and text[start] == "×"):
        return "op", end
    raise SpecError(f"{text[start]!r} has no meaning here")


def _is_digit(text: str, index: int) -> bool:
    return index < len(text) and text[index] in "0123456789"
