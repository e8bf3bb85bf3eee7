"""Marked comments whose bracket is nearly a list of dims, but none."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shapecheck.claims.brackets import find_unclosed
from shapecheck.shapes import parse_comment_dims


@dataclass(frozen=True)
class MalformedShape:
    """A marked shape that cannot be read."""

    start: int
    end: int
    reason: str


_MARKED_BRACKET = re.compile(r"(?:\bshapes?\s*+(?:[:=]|is\b)\s*+|^\s*shapes?\s++)(?=[(\[])", re.IGNORECASE)
_NEARLY_DIMS = re.compile(r"[\w\s,*+/.'-]*+")


def find_malformed(text: str, continues: bool) -> MalformedShape | None:
    """A marker that is directly followed by a bracket which is nearly a list of dims.

    `continues` says that the next line is a comment as well, on which the bracket may be closed.
    """
    match = _MARKED_BRACKET.search(text) if len(text) < 400 else None
    if match is None:
        return None
    start = match.end()
    if find_unclosed(text[start:]) == 0:
        inside = text[start + 1 :].rstrip(" .)]")
        if continues or not _NEARLY_DIMS.fullmatch(inside) or not re.search(r"\w", inside):
            return None
        pieces = [piece.strip() for piece in inside.rstrip(",").split(",")]
        if not all(parse_comment_dims(piece) for piece in pieces) or any(" " in piece for piece in pieces):
            return None
        return MalformedShape(start, len(text.rstrip()), "the bracket is not closed")
    end = text.find(")" if text[start] == "(" else "]", start)
    inside = text[start + 1 : end]
    if not _NEARLY_DIMS.fullmatch(inside) or parse_comment_dims(inside) is not None:
        return None
    pieces = [piece.strip() for piece in inside.split(",")]
    if len(pieces) < 2 or not any(pieces) or not all(_is_nearly_dim(piece) for piece in pieces):
        return None
    broken = next(piece for piece in pieces if parse_comment_dims(piece) is None or not piece)
    reason = f"`{broken}` is no dim" if broken else "a dim is missing between two commas"
    return MalformedShape(start, end + 1, reason)


def _is_nearly_dim(piece: str) -> bool:
    """Whether a dim is left when the operators at its ends are taken away, or nothing was there."""
    bare = piece.strip(" +-*/")
    return not piece or (bool(bare) and parse_comment_dims(bare) is not None)
