"""Brackets that speak of values: they repeat a tuple or list of their own statement."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from shapecheck.claims.axis_words import words
from shapecheck.shapes import AnyDims, Spec, parse_comment_dims
from shapecheck.syntax.scopes import dotted_name, last_name

# Functions whose tuple argument is a shape, so that repeating it is repeating a shape.
_TAKE_SHAPES = words(
    """
    zeros ones empty full reshape broadcast_to normal uniform randint bernoulli truncated_normal categorical gumbel
    exponential gamma beta laplace poisson ShapeDtypeStruct split resize tile lecun_normal glorot_uniform he_normal
    orthogonal init initializer param rand randn random view expand zeros_like ones_like full_like
    """
)
_LIMIT = 2000  # nodes looked at: a longer statement is a table of numbers


def repeats_values(spec: Spec, code: ast.AST) -> bool:
    """Whether the dims are just the elements of a tuple or list in the statement or expression, other than a shape."""
    if not spec.dims or isinstance(code, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return any(_spec(literal) == spec for literal in _literals(code) if len(literal.elts) == len(spec.dims))


def is_listed(code: ast.AST, count: int) -> bool:
    """Whether the value is a tuple or list of just so many plain names, so that a bracket may tell what these are."""
    value = getattr(code, "value", code)
    if not isinstance(value, ast.Tuple | ast.List) or len(value.elts) != count:
        return False
    return all(isinstance(element, ast.Constant) or dotted_name(element) is not None for element in value.elts)


def is_row(code: ast.AST, count: int) -> bool:
    """Whether it is a tuple of so many values that stands in a list, or in an argument: a row of a table."""
    return isinstance(code, ast.Tuple) and len(code.elts) == count > 1


def lists_numbers(code: ast.AST, count: int) -> bool:
    """Whether the value is just so many numbers, more than one: `limits = (0.0, 1.0)`, which has one axis at most."""
    value = getattr(code, "value", code)
    elements = value.elts if isinstance(value, ast.Tuple | ast.List) else []
    plain = (each.operand if isinstance(each, ast.UnaryOp) else each for each in elements)
    return len(elements) == count > 1 and all(isinstance(each, ast.Constant) for each in plain)


def has_list_of_numbers(code: ast.AST) -> bool:
    """Whether there is a list somewhere that has nothing but numbers in it, or lists of them."""
    return any(_has_numbers_alone(each) for each in ast.walk(code) if isinstance(each, ast.List))


def _has_numbers_alone(node: ast.List) -> bool:
    items = (each.operand if isinstance(each, ast.UnaryOp) else each for each in node.elts)
    return all(_has_numbers_alone(i) if isinstance(i, ast.List) else isinstance(i, ast.Constant) for i in items)


def has_entries(code: ast.AST, names: Sequence[str]) -> bool:
    """Whether the value is a dict, or made by a call with keywords, of which all these names are keys."""
    value = getattr(code, "value", code)
    if isinstance(value, ast.Dict):
        keys = {key.value for key in value.keys if isinstance(key, ast.Constant)}
    else:
        keys = {keyword.arg for keyword in value.keywords} if isinstance(value, ast.Call) else set()
    return keys.issuperset(names)


def begins_longer_shape(spec: Spec, code: ast.AST) -> bool:
    """Whether the dims are the first of a tuple in the code that goes on with those of an array: `(b, t, *x.shape)`."""
    count = len(spec.dims)
    is_function = isinstance(code, ast.FunctionDef | ast.AsyncFunctionDef)
    for each in () if is_function else itertools.islice(ast.walk(code), _LIMIT):
        if isinstance(each, ast.Tuple) and len(each.elts) > count and isinstance(each.elts[count], ast.Starred):
            leading = parse_comment_dims(", ".join(map(ast.unparse, each.elts[:count])) + ",") if count else None
            if leading == spec:
                return True
    return False


def starred_readings(spec: Spec, code: ast.AST) -> Iterator[Spec]:
    """What dims beside a shape that is taken apart say of it, where a starred name takes several of its axes.

    Of `*_, t, d = x.shape` both `(t, d)` and `(rest, t, d)` may speak: of the last axes, and of each name on its own.
    """
    targets = code.targets[0] if isinstance(code, ast.Assign) else None
    names = targets.elts if isinstance(targets, ast.Tuple | ast.List) else []
    is_shape = isinstance(code, ast.Assign) and isinstance(code.value, ast.Attribute) and code.value.attr == "shape"
    starred = next((place for place, each in enumerate(names) if isinstance(each, ast.Starred)), None)
    if not is_shape or starred is None or spec.rank() is None:
        return
    for taken in (0, 1):
        if len(spec.dims) == len(names) - 1 + taken:
            yield Spec((*spec.dims[:starred], AnyDims(), *spec.dims[starred + taken :]))


def _spec(literal: ast.Tuple | ast.List) -> Spec | None:
    try:
        return parse_comment_dims(", ".join(map(ast.unparse, literal.elts)) + ",")
    except RecursionError:
        return None


def _literals(code: ast.AST) -> Iterator[ast.Tuple | ast.List]:
    """The tuples and lists in the code, shapes left out."""
    stack: list[ast.AST] = [code]
    if isinstance(code, ast.Tuple | ast.List):
        yield code
    seen = 0
    while stack:
        node = stack.pop()
        shapes = _shape_arguments(node) if isinstance(node, ast.Call) else []
        for child in ast.iter_child_nodes(node):
            seen += 1
            if seen > _LIMIT:
                return
            if child in shapes or isinstance(child, ast.stmt | ast.Slice):
                continue
            if isinstance(node, ast.Subscript) and child is node.slice:
                continue
            if isinstance(child, ast.Tuple | ast.List):
                yield child
            stack.append(child)


def _shape_arguments(call: ast.Call) -> list[ast.AST]:
    name = last_name(call.func)
    found: list[ast.AST] = [keyword for keyword in call.keywords if keyword.arg in {"shape", "sizes", "new_sizes"}]
    if name in _TAKE_SHAPES:
        found += [*call.args, *call.keywords]
    return found
