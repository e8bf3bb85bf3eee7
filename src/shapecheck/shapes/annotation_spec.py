"""jaxtyping's notation: axes separated by white space, each with its prefixes.

`parse_spec` reads it with jaxtyping's meaning, and by default also the canonical text of comments, which is a little
wider. With `strict` it refuses whatever jaxtyping refuses, be it at once or when the annotation is first checked.
"""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache

from shapecheck.shapes.dialects import ANNOTATION, CANONICAL, MAX_DIGITS, SpecError, UnsupportedSpec
from shapecheck.shapes.expressions import Expression, Int, Unary
from shapecheck.shapes.grammar import parse_expression
from shapecheck.shapes.spec import (
    PREFIXES,
    AnyDim,
    AnyDims,
    Dim,
    FixedDim,
    NamedDim,
    RepeatedDim,
    Spec,
    SymbolicDim,
    VariadicDim,
    is_name,
    is_variadic,
)

# A comment may leave out axes in several places; every further place multiplies the ways to match.
MAX_VARIADIC = 3
MAX_TEXT = 10_000

_TWICE = {
    "#": "broadcastable",
    "*": "variadic",
    "_": "anonymous",
    "?": "dependent on the leaf of a tree",
}


@lru_cache(maxsize=4096)
def parse_spec(text: str, *, strict: bool = False) -> Spec:
    """Read a shape in jaxtyping's notation.

    Raises `SpecError`; its subclass `UnsupportedSpec` where jaxtyping may accept the text, but it is not evaluated
    here. `strict` reads exactly jaxtyping's language, without what only comments need.
    """
    if len(text) > MAX_TEXT:
        raise SpecError("the shape is too long")
    dims = tuple(_dim(axis, strict) for axis in text.split())
    if sum(map(is_variadic, dims)) > (1 if strict else MAX_VARIADIC):
        raise SpecError("there is more than one variadic axis (`*name` or `...`)")
    return Spec(dims)


def _dim(axis: str, strict: bool) -> Dim:
    """One axis, prefixes and all."""
    if "," in axis and "(" not in axis:
        raise SpecError(f"{axis!r}: axes are separated by spaces, not by commas")
    if axis.endswith("#"):
        raise SpecError(f"{axis!r}: the # of a broadcastable axis stands in front")
    if "..." in axis:
        if axis != "...":
            raise SpecError(f"{axis!r}: the ellipsis stands alone")
        return AnyDims()
    if ":" in axis and "{" not in axis and not strict:
        return _repeated_dim(axis)
    prefixes, label, body = _split_prefixes(axis)
    if not body or body.isidentifier() or (not strict and is_name(body)):
        return _named_dim(axis, prefixes, label, body)
    try:
        size = int(body) if len(body) <= MAX_DIGITS else None
    except ValueError:
        size = None
    forbidden = [prefix for prefix in "_*?" if prefix in prefixes]
    if forbidden:
        what = "an expression" if size is None else "a fixed size"
        raise SpecError(f"{axis!r}: {what} cannot be {_TWICE[forbidden[0]]}")
    if size is not None:
        return FixedDim(size, "#" in prefixes, label)
    return expression_dim(_expression(axis, body, strict), "#" in prefixes, label)


def _repeated_dim(axis: str) -> Dim:
    """The canonical text of a repeated dim: `d:`, or with how often `d:n-1`."""
    text, _, times = axis.partition(":")
    dim = _dim(text, strict=False)
    if not isinstance(dim, (FixedDim, NamedDim, SymbolicDim)):
        raise SpecError(f"{axis!r}: only a single axis is repeated")
    return RepeatedDim(dim, _expression(axis, times, strict=False) if times else None)


def expression_dim(expression: Expression, broadcastable: bool = False, label: str | None = None) -> Dim:
    """The dim of an expression: fixed if it is a plain number."""
    if isinstance(expression, Int):
        return FixedDim(expression.value, broadcastable, label)
    if isinstance(expression, Unary) and expression.operator in "+-" and isinstance(expression.operand, Int):
        value = expression.operand.value
        return FixedDim(-value if expression.operator == "-" else value, broadcastable, label)
    return SymbolicDim(expression, broadcastable, label)


def _split_prefixes(axis: str) -> tuple[str, str | None, str]:
    """The prefixes in any order, the label before an equals sign (prefixes may also follow it), and the rest."""
    prefixes, label, body = "", None, axis
    while body:
        if body[0] in PREFIXES:
            if body[0] in prefixes:
                raise SpecError(f"{axis!r}: {body[0]} stands twice; once makes the axis {_TWICE[body[0]]}")
            prefixes += body[0]
            body = body[1:]
        elif body.count("=") == 1:
            label, body = body.split("=")
        else:
            break
    return prefixes, label, body


def _named_dim(axis: str, prefixes: str, label: str | None, name: str) -> Dim:
    broadcastable, variadic, per_leaf = "#" in prefixes, "*" in prefixes, "?" in prefixes
    if "_" in prefixes:
        if broadcastable:
            raise SpecError(f"{axis!r}: an axis cannot be both anonymous and broadcastable")
        return AnyDims(name) if variadic else AnyDim(name)
    if variadic:
        return VariadicDim(name, broadcastable, per_leaf, label)
    return NamedDim(name, broadcastable, per_leaf, label)


def _expression(axis: str, body: str, strict: bool) -> Expression:
    try:
        return parse_expression(body, ANNOTATION if strict else CANONICAL)
    except SpecError as error:
        if not _is_python(body):
            raise SpecError(f"{axis!r} is malformed: {error}") from None
        if "{" in body:
            allowed = "attributes, subscripts by ints, len() and arithmetic"
            message = f"{axis!r} is not evaluated: in braces only {allowed} are; {error}"
        else:
            message = f"{axis!r} is not evaluated: {error}"
        raise UnsupportedSpec(message) from None


def _is_python(body: str) -> bool:
    """Whether Python could read the text, as jaxtyping would have it: as an f-string, then as an expression.

    The text is only parsed, to tell what is malformed from what is merely beyond this checker.
    """
    if len(body) > 200:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(f"f'{body}'" if "{" in body else body, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return "{" not in body or isinstance(tree.body, ast.JoinedStr)
