"""Which names are known as dims in a file, so that a comment which uses them surely speaks of a shape."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from shapecheck.claims.axis_words import words
from shapecheck.syntax.scopes import (
    Function,
    PlacedStatement,
    Tables,
    arguments,
    dotted_name,
    last_name,
    parameter_defaults,
    targets,
)

_INTEGERS = frozenset({"int", "int | None", "Optional[int]"})


def known_dims(tables: Tables, annotated: Iterable[str]) -> set[str]:
    """The names in annotations, those unpacked from a shape, integer parameters, fields and constants."""
    known = set(annotated)
    for placed in tables.statements:
        known.update(_sizes(placed))
    for node in tables.nodes:
        if isinstance(node, Function):
            known.update(a.arg for a in arguments(node) if _is_integer(a.annotation))
            known.update(_sized_defaults(node))
    known.update(_in_shapes(tables.nodes[0]))
    return known


def own_sizes(tables: Tables) -> dict[int, set[str]]:
    """By scope, the variables of a function that it surely sets to a size, or takes as one."""
    own: defaultdict[int, set[str]] = defaultdict(set)
    for placed in tables.statements:
        own[placed.scope].update(name for name in _sizes(placed) if name in tables.assigned[placed.scope])
    for scope, node in enumerate(tables.nodes):
        if isinstance(node, Function):
            own[scope].update(a.arg for a in arguments(node) if _is_integer(a.annotation))
    return own


# Functions that take the shape of their result.
_TAKE_SHAPES = words(
    "zeros ones empty full reshape broadcast_to normal uniform randint bernoulli truncated_normal ShapeDtypeStruct"
)


# Functions that take one size of their result, by its place and its keyword.
_TAKE_SIZES = {"linspace": (2, "num"), "logspace": (2, "num"), "eye": (0, "N"), "one_hot": (1, "num_classes")}


def _in_shapes(tree: ast.AST) -> Iterator[str]:
    """The names in shapes that the code writes out: in `jnp.zeros((4 * hidden,))`, hidden is a size."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = last_name(node.func)
            if name in _TAKE_SIZES or (name == "arange" and len(node.args) == 1):
                place, keyword = _TAKE_SIZES.get(name, (0, "stop"))
                sizes = [*node.args[place : place + 1], *(k.value for k in node.keywords if k.arg == keyword)]
                yield from (each for size in sizes for part in _factors(size) for each in _names(part))
            if name in _TAKE_SHAPES:
                values = [*node.args, *(k.value for k in node.keywords if k.arg == "shape")]
                shapes = [value for value in values if isinstance(value, ast.Tuple | ast.List)]
                for part in (part for shape in shapes for element in shape.elts for part in _factors(element)):
                    yield from _names(part)


def _factors(size: ast.expr) -> Iterator[ast.expr]:
    """The names that a size is computed of."""
    if isinstance(size, ast.BinOp):
        yield from _factors(size.left)
        yield from _factors(size.right)
    elif isinstance(size, ast.Name | ast.Attribute):
        yield size


def _sized_defaults(node: Function) -> Iterator[str]:
    """The parameters whose default is a size."""
    pairs = parameter_defaults(node)
    return (argument.arg for argument, default in pairs if isinstance(default, ast.Constant) and _is_size(default))


def _sizes(placed: PlacedStatement) -> Iterator[str]:
    """The variables that a statement surely sets to a size."""
    node = placed.node
    if isinstance(node, ast.AnnAssign) and _is_integer(node.annotation):
        yield from _names(node.target)
    elif isinstance(node, ast.Assign):
        for target in targets(node):
            yield from _assigned_sizes(target, node.value)


def _assigned_sizes(target: ast.expr, value: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Tuple | ast.List):
        if _is_shape(value):
            for element in target.elts:
                yield from _names(element)
        elif isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            for element, part in zip(target.elts, value.elts, strict=True):
                yield from _assigned_sizes(element, part)
    elif _is_size(value):
        yield from _names(target)


def _names(node: ast.expr) -> Iterator[str]:
    """A variable; of `self.n` also the `n` that comments may write."""
    if isinstance(node, ast.Starred):
        node = node.value
    name = dotted_name(node)
    if name is not None and name != "_":
        yield name
        if name.startswith("self."):
            yield name.removeprefix("self.")


def shape_of(node: ast.expr) -> ast.expr | None:
    """The array x of `x.shape`, an element or a slice of it, or `jnp.shape(x)`."""
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call):
        name = dotted_name(node.func)
        of_shape = name is not None and name.rpartition(".")[2] == "shape"
        return node.args[0] if of_shape and node.args else None
    return node.value if isinstance(node, ast.Attribute) and node.attr == "shape" else None


def _is_shape(node: ast.expr) -> bool:
    return shape_of(node) is not None


def _is_size(node: ast.expr) -> bool:
    """`x.shape[0]`, `len(x)`, or an int of at least 2 (smaller ones are counters and switches)."""
    if isinstance(node, ast.Subscript):
        return _is_shape(node.value) and not isinstance(node.slice, ast.Slice)
    if isinstance(node, ast.Call):
        return dotted_name(node.func) == "len"
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value >= 2


def _is_integer(annotation: ast.expr | None) -> bool:
    if annotation is None:
        return False
    if isinstance(annotation, ast.Name):
        return annotation.id == "int"
    if isinstance(annotation, ast.Constant):
        return annotation.value in _INTEGERS
    if isinstance(annotation, ast.Subscript):
        optional = (dotted_name(annotation.value) or "").rpartition(".")[2] == "Optional"
        return optional and dotted_name(annotation.slice) == "int"
    if not isinstance(annotation, ast.BinOp):
        return False
    left, right = annotation.left, annotation.right
    return dotted_name(left) == "int" and isinstance(right, ast.Constant) and right.value is None
