"""The patterns of einops: `rearrange(x, "b t (h d) -> b t h d")` says what goes in and what comes out.

The letters of a pattern are its own: another one may give them other sizes, and nothing is wrong with that. So only
those names are kept that are dims of the file, and such claims are tentative.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass

from shapecheck.shapes import Spec, parse_comment_dims
from shapecheck.syntax.scopes import last_name

_FUNCTIONS = frozenset({"rearrange", "reduce", "repeat"})
_PATTERN = re.compile(r"[\w\s().…]*->[\w\s().…]*")
_TOKEN = re.compile(r"\.\.\.|…|\w+|[()]")


@dataclass(frozen=True)
class EinopsPattern:
    """A call: the array that it takes, the node of its pattern, and both sides, where they can be said."""

    argument: ast.expr
    text: ast.expr
    before: Spec | None
    after: Spec | None


def read_einops_call(call: ast.Call, known: Container[str]) -> EinopsPattern | None:
    """The pattern of a call of einops, None if it is none. Names that are no dims of the file stand for any size."""
    name = last_name(call.func)
    if name not in _FUNCTIONS or len(call.args) < 2:
        return None
    argument, text = call.args[:2]
    if not isinstance(text, ast.Constant) or not isinstance(text.value, str) or not _PATTERN.fullmatch(text.value):
        return None
    before, _, after = text.value.partition("->")
    sizes = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    return EinopsPattern(argument, text, _side(before, sizes, known), _side(after, sizes, known))


def _side(text: str, sizes: Mapping[str, ast.expr], known: Container[str]) -> Spec | None:
    """One side of a pattern; None if its brackets do not match."""
    dims: list[str] = []
    group: list[str] | None = None
    for sign in _TOKEN.findall(text):
        if sign == "(" and group is None:
            group = []
        elif sign == ")" and group is not None:
            dims.append(_product(group))
            group = None
        elif sign in "()":
            return None
        elif group is not None:
            group.append(_size(sign, sizes, known))
        else:
            dims.append(_size(sign, sizes, known))
    if group is not None or dims.count("...") > 1:
        return None
    return parse_comment_dims(", ".join(dims) + ",") if dims else Spec()


def _size(token: str, sizes: Mapping[str, ast.expr], known: Container[str]) -> str:
    """One axis: a number, a name that the file knows, what a keyword gives it, or any size."""
    if token in {"...", "…"}:
        return "..."
    given = sizes.get(token)
    if isinstance(given, ast.Constant) and type(given.value) is int:
        return str(given.value)
    if isinstance(given, ast.Name):
        return given.id
    return token if token.isdigit() or (token in known and token.isidentifier()) else "?"


def _product(factors: list[str]) -> str:
    """Several axes in one: `(h d)`. Of `()` it is 1, and any size where one of the factors is."""
    if not factors:
        return "1"
    return "?" if "?" in factors or "..." in factors else " * ".join(factors)
