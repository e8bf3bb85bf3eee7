"""The text of a claim with other dims in it, in the notation that it is written in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shapecheck.shapes.annotation_spec import parse_spec
from shapecheck.shapes.comment_spec import GLUED_PRODUCT, parse_comment_dims
from shapecheck.shapes.dialects import SpecError
from shapecheck.shapes.spec import Spec

_BRACKET = re.compile(r"(?P<before>[\w.]*\s*)(?P<open>[(\[])(?P<inner>[^\n]*)(?P<close>[)\]])")
_STRING = re.compile(
    r"(?P<before>[^\n\"']*[\[,]\s*)(?P<open>[\"'])(?P<inner>[^\"'\n]*)(?P<close>[\"'])(?P<after>\s*\])"
)
_SEPARATORS = (re.compile(r"\s+[xX]\s+"), re.compile(r"\s*×\s*"), re.compile(r"\s+"))
_GLUE = "x"
_OPERATOR = re.compile(r"\s*(//|\*\*|[*+/-])\s*")
_PAIRS = {"(": ")", "[": "]"}


@dataclass(frozen=True)
class ClaimText:
    """A claim's text in its parts: what stands around the dims, each dim as it is written, and what parts them."""

    before: str
    dims: tuple[str, ...]
    separator: str
    after: str
    lone_comma: bool = False  # one dim is written `(n,)`
    in_annotation: bool = False
    lead: str = ""  # in front of one name in an annotation, which linters take for a type without it

    def with_dims(self, dims: Sequence[str]) -> str:
        """The claim with other dims, those that are no text of its own spaced as its own are."""
        written = [dim if dim in self.dims else self._in_style(dim) for dim in dims]
        comma = "," if self.lone_comma and len(written) == 1 else ""
        inner = self.separator.join(written)
        if self.separator == _GLUE and len(written) > 1 and not GLUED_PRODUCT.fullmatch(inner):
            inner = f" {_GLUE} ".join(written)  # longer names
        lead = self.lead if inner.isidentifier() else ""
        return f"{self.before}{lead}{inner}{comma}{self.after}"

    def spec_of(self, dims: Sequence[str]) -> Spec | None:
        """What the claim says with these dims; None if it could not be read back."""
        inner = self.with_dims(dims)[len(self.before) :]
        inner = inner[: len(inner) - len(self.after)] if self.after else inner
        try:
            if self.in_annotation:
                return parse_spec(inner, strict=True)
            return parse_comment_dims(inner, spaces="," not in inner)
        except SpecError:
            return None

    def _in_style(self, dim: str) -> str:
        is_spaced = not self.in_annotation and any(re.search(r"\w [*+/-]{1,2} \w", each) for each in self.dims)
        return _OPERATOR.sub(r" \1 " if is_spaced else r"\1", dim)


def split_annotation(text: str) -> ClaimText | None:
    """The parts of `Float[Array, "b t"]`; None if its dims are not one string on one line."""
    found = _STRING.fullmatch(text)
    if found is None:
        return None
    before, after = found["before"] + found["open"], found["close"] + found["after"]
    inner = found["inner"]
    lead = inner[: len(inner) - len(inner.lstrip())]
    return ClaimText(before, tuple(inner.split()), " ", after, in_annotation=True, lead=lead)


def split_comment(text: str, count: int) -> ClaimText | None:
    """The parts of a comment's or docstring's list of `count` dims; None if it is not plain which they are."""
    found = _BRACKET.fullmatch(text)
    if found is None or _PAIRS[found["open"]] != found["close"] or not _is_balanced(found["inner"]):
        return None
    inner = found["inner"]
    before, after = text[: found.start("inner")], text[found.end("inner") :]
    pieces = _at_commas(inner)
    lone_comma = found["open"] == "(" and (count != 1 or len(pieces) > 1)
    dims = [piece.strip() for piece in pieces]
    if len(dims) > 1 and not dims[-1]:
        dims.pop()
    if not inner.strip():
        dims = []
    separator = ", " if len(dims) < 2 or re.search(r",\s", inner) else ","
    if len(dims) == 1 and count > 1 and GLUED_PRODUCT.fullmatch(inner):
        dims, separator, lone_comma = inner.split(_GLUE), _GLUE, False
    elif len(dims) == 1 and count > 1:
        for pattern in _SEPARATORS:
            dims = pattern.split(inner.strip())
            if len(dims) == count and (parted := pattern.search(inner.strip())) is not None:
                separator, lone_comma = parted[0], False
                break
    return ClaimText(before, tuple(dims), separator, after, lone_comma) if len(dims) == count else None


def _at_commas(text: str) -> list[str]:
    pieces, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and not depth:
            pieces.append(text[start:index])
            start = index + 1
    return [*pieces, text[start:]]


def _is_balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if depth < 0:
            return False
    return not depth
