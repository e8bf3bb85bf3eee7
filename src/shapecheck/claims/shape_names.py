"""Names of whole shapes in comments and docstrings: `(batch_shape, n)` has as many axes in front as that tuple."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from dataclasses import replace

from shapecheck.claims.known_dims import shape_of
from shapecheck.model import Claim
from shapecheck.shapes import Dim, NamedDim, Spec, VariadicDim, parse_spec, print_spec
from shapecheck.syntax.scopes import Tables, dotted_name, targets

# What tuples of sizes are called; and words that stand for any axes in front, but elsewhere for one.
_SHAPE_NAME = re.compile(r"(?:\w+_)?shape|(?:batch|lead|leading|event|prefix)_(?:dims|axes)")
_IN_FRONT = frozenset({"prefix", "lead", "leading"})


def shape_names(tables: Tables) -> set[str]:
    """The variables that a file sets to a tuple of sizes: `nm = tuple(map(len, grids))`, `lead = x.shape[:-1]`."""
    return {name for placed in tables.statements for name in _set_to_shapes(placed.node)}


def _set_to_shapes(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Assign) and _is_shape(node.value):
        yield from (target.id for target in targets(node) if isinstance(target, ast.Name))


def _is_shape(value: ast.expr) -> bool:
    """Whether a value is all the sizes of an array or a slice of them, a `tuple(...)`, or such joined to others."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return _is_shape(value.left) or _is_shape(value.right)
    if isinstance(value, ast.Subscript):
        return isinstance(value.slice, ast.Slice) and shape_of(value) is not None
    if isinstance(value, ast.Call) and dotted_name(value.func) == "tuple":
        return True
    return shape_of(value) is not None


def with_whole_shapes(claim: Claim, shapes: Container[str]) -> Claim:
    """A claim whose text may also name a whole shape where it seems to name one axis, with that reading too."""
    if claim.notation not in {"comment", "docstring"}:
        return claim
    spec = parse_spec(claim.spec)
    dims = tuple(_as_shape(dim, shapes, first=not place and len(spec.dims) > 1) for place, dim in enumerate(spec.dims))
    if dims == spec.dims:
        return claim
    return replace(claim, readings=(*claim.readings, print_spec(Spec(dims))))


def _as_shape(dim: Dim, shapes: Container[str], *, first: bool) -> Dim:
    if not isinstance(dim, NamedDim) or dim.label is not None:
        return dim
    is_whole = dim.name in shapes or _SHAPE_NAME.fullmatch(dim.name) or (first and dim.name in _IN_FRONT)
    return VariadicDim(dim.name) if is_whole else dim
