"""What an expression over sizes comes to in a frame, and whether arguments alone decide it.

`x.shape[0] + 1`, `(b, len(names))`, `n * self.heads`: read from Python's tree, by looking at objects; no function
is called.
"""

from __future__ import annotations

import ast
import contextlib
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Final, TypeAlias

import jax

from shapecheck.evaluate.own_errors import suppress_others
from shapecheck.evaluate.probes.attribute_access import UNREADABLE, read_attribute
from shapecheck.evaluate.probes.describe_value import is_array

Sizes: TypeAlias = int | tuple[int, ...]
"""A number, or several: a shape."""

_ARITHMETIC: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_OF_SEVERAL: Final[dict[str, Callable[[Sequence[int]], int]]] = {
    "prod": math.prod,
    "sum": sum,
    "max": max,
    "min": min,
}
_AS_ARRAYS = frozenset({"asarray", "array"})
_SHAPES = frozenset({"shape", "ndim", "size"})
_LARGEST = 1 << 40
_DEEPEST = 20


@dataclass(frozen=True)
class ComparedSizes:
    """What sizes an expression comes to; they are `given` if nothing but arguments and integers decides them.

    Those `of_arrays` alone are no integers that callers give apart; a number that is written is neither.
    """

    value: Sizes
    given: bool
    of_arrays: bool = False


class FrameSizes:
    """Reads expressions over sizes in a frame, whose function's tree is `function`.

    `arguments` are the objects that the checked function was called with; None where nobody knows them. The frame
    `is_of_entry` if it is that of this function.
    """

    def __init__(
        self,
        frame: FrameType,
        function: ast.AST | None,
        arguments: Sequence[object] | None,
        *,
        is_of_entry: bool = False,
    ) -> None:
        self.is_of_entry = is_of_entry
        self._frame, self._function, self._arguments = frame, function, arguments

    def find(self, node: ast.expr, depth: int = 0) -> ComparedSizes | None:
        """The sizes; None for what is none, or what cannot be read without calling anything."""
        if depth > _DEEPEST:
            return None
        match node:
            case ast.Constant(value=value):
                return ComparedSizes(value, given=True, of_arrays=True) if type(value) is int else None
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return self._find_list(parts, depth)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.find(operand, depth + 1)
                return _if_small(-inner.value, inner) if inner and isinstance(inner.value, int) else None
            case ast.BinOp(left=left, op=op, right=right):
                return _compute(type(op), self.find(left, depth + 1), self.find(right, depth + 1))
            case ast.Call(func=func, args=[argument], keywords=[]):
                return self._find_call(func, argument, depth)
            case ast.Subscript(value=value, slice=index):
                return _part(self.find(value, depth + 1), self._place(index, depth))
            case ast.Attribute(value=value, attr=name) if name in _SHAPES:
                return self._of_array(value, name) or self._of_object(node, depth)
            case _:
                return self._of_object(node, depth)

    def _find_list(self, parts: Sequence[ast.expr], depth: int) -> ComparedSizes | None:
        found: tuple[int, ...] = ()
        given = of_arrays = True
        for part in parts:
            inner = self.find(part.value if isinstance(part, ast.Starred) else part, depth + 1)
            if inner is None or isinstance(inner.value, int) is isinstance(part, ast.Starred):
                return None
            found += (inner.value,) if isinstance(inner.value, int) else inner.value
            given &= inner.given
            of_arrays &= inner.of_arrays
        return ComparedSizes(found, given, of_arrays)

    def _find_call(self, function: ast.expr, argument: ast.expr, depth: int) -> ComparedSizes | None:
        """`len(x)`, `math.prod(x.shape)`, `tuple(x.shape)`, `jnp.shape(x)`: by the name of what is called."""
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        of_array = self._of_array(argument, "shape") if name in ("len", *_SHAPES) else None
        inner = of_array or self.find(argument, depth + 1)
        if inner is None:
            return None
        if isinstance(inner.value, int):
            return inner if name == "int" else None
        if name == "len" and of_array is not None:
            return _part(inner, 0)
        if name in ("tuple", "list") or (name == "shape" and of_array is not None):
            return inner
        if name in ("len", "ndim"):
            return replace(inner, value=len(inner.value))
        count = _OF_SEVERAL.get("prod" if name == "size" else name)
        return _if_small(count(inner.value), inner) if count is not None and inner.value else None

    def _place(self, index: ast.expr, depth: int) -> int | slice | None:
        if not isinstance(index, ast.Slice):
            number = self.find(index, depth + 1)
            return number.value if number is not None and isinstance(number.value, int) else None
        ends: list[int | None] = []
        for each in (index.lower, index.upper):
            end = self.find(each, depth + 1) if each is not None else None
            if each is not None and (end is None or not isinstance(end.value, int)):
                return None
            ends.append(end.value if end is not None and isinstance(end.value, int) else None)
        return slice(*ends) if index.step is None else None

    def _of_array(self, node: ast.expr, name: str) -> ComparedSizes | None:
        """The shape of an array that an expression is, how many axes it has, or how many items."""
        array = self._object(node)
        if not is_array(array):
            return None
        shape: tuple[object, ...] = tuple(array.shape)
        if not all(type(size) is int for size in shape):
            return None  # symbols, of which nobody needs to guess what they are
        sizes = tuple(size for size in shape if isinstance(size, int))
        value: Sizes = sizes if name == "shape" else len(sizes) if name == "ndim" else math.prod(sizes)
        return ComparedSizes(value, self._is_given(node, array), of_arrays=True)

    def _of_object(self, node: ast.expr, depth: int) -> ComparedSizes | None:
        """The integer, or the shape, that a variable or an attribute is."""
        found = self._object(node)
        value: Sizes | None = None
        if type(found) is int and isinstance(found, int):
            value = found
        elif type(found) in (tuple, list) and isinstance(found, (tuple, list)):  # how others iterate is the user's code
            sizes = tuple(size for size in found if type(size) is int)
            value = sizes if sizes and len(sizes) == len(found) else None
        root = _root(node)
        if value is None or root is None:
            return None
        assigned = list(self._assignments(root))
        if not assigned or isinstance(node, ast.Attribute):
            return ComparedSizes(value, given=not assigned and self._function is not None)
        sources = [self.find(each, depth + 1) for each in assigned] if len(assigned) == 1 else []
        return ComparedSizes(
            value,
            given=any(each is not None and each.given for each in sources),
            of_arrays=any(each is not None and each.of_arrays for each in sources),
        )

    def _object(self, node: ast.expr) -> object:
        """What a variable, or an attribute of one, is in the frame, or an item of a list."""
        match node:
            case ast.Name(id=name):
                return self._frame.f_locals.get(name, self._frame.f_globals.get(name, UNREADABLE))
            case ast.Attribute(value=value, attr=name):
                owner = self._object(value)
                return read_attribute(owner, name) if owner is not UNREADABLE else UNREADABLE
            case ast.Subscript(value=value, slice=ast.Constant(value=index)):
                owner = self._object(value)
                with contextlib.suppress(LookupError, TypeError):
                    return owner[index] if type(owner) in (tuple, list, dict) else UNREADABLE  # type: ignore[index]
        return UNREADABLE

    def _is_given(self, node: ast.expr, array: object) -> bool:
        """Whether an array is an argument of the checked function itself, or what such an argument holds."""
        if self._arguments is None:
            return False
        root = _root(node)
        owner = self._object(ast.Name(root, ast.Load())) if root is not None else UNREADABLE
        return any(each is owner or each is array for each in self._arguments)

    def _assignments(self, name: str) -> Iterator[ast.expr]:
        """What a variable is assigned in the function: the sizes of an array one by one, where it unpacks them."""
        nodes = [*ast.walk(self._function)] if self._function is not None else []
        for node in nodes:
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                yield next(filter(None, (_assigned_value(each, node) for each in nodes)), ast.Constant(None))


def given_objects(frame: FrameType, function: ast.AST | None) -> list[object]:
    """What a function was called with and still calls so: its parameters, and the arrays in them.

    One that is assigned anew is no argument any more, but for `x = jnp.asarray(x)`.
    """
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    changed = {
        node.id
        for node in (ast.walk(function) if function is not None else ())
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for node in ast.walk(function) if function is not None else ():
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Attribute(attr=made), args=[ast.Name(id=argument), *_]),
            ) if name == argument and made in _AS_ARRAYS:
                changed.discard(name)
    found: list[object] = []
    for value in (frame.f_locals[name] for name in names if name in frame.f_locals and name not in changed):
        found.append(value)
        with suppress_others():  # how its class is taken apart is the user's code
            found += filter(is_array, jax.tree.leaves(value))
    return found


def _root(node: ast.expr) -> str | None:
    """The variable of which an expression is an attribute, or an item."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _assigned_value(statement: ast.AST, name: ast.Name) -> ast.expr | None:
    """What a statement assigns to a name in it: of an array's shape that is unpacked, the one size."""
    if not isinstance(statement, ast.Assign):
        return None
    for target in statement.targets:
        if target is name:
            return statement.value
        if isinstance(target, (ast.Tuple, ast.List)) and name in target.elts:
            place = next(i for i, each in enumerate(target.elts) if each is name)
            if isinstance(statement.value, (ast.Tuple, ast.List)):
                return statement.value.elts[place] if len(statement.value.elts) == len(target.elts) else None
            starred = [i for i, each in enumerate(target.elts) if isinstance(each, ast.Starred)]
            place -= len(target.elts) if starred and starred[0] < place else 0
            return ast.Subscript(statement.value, ast.Constant(place), ast.Load())
    return None


def _part(sizes: ComparedSizes | None, place: int | slice | None) -> ComparedSizes | None:
    if sizes is None or place is None or isinstance(sizes.value, int):
        return None
    try:
        return replace(sizes, value=sizes.value[place])
    except IndexError:
        return None


def _compute(op: type[ast.operator], left: ComparedSizes | None, right: ComparedSizes | None) -> ComparedSizes | None:
    if left is None or right is None:
        return None
    both = replace(left, given=left.given and right.given, of_arrays=left.of_arrays and right.of_arrays)
    match left.value, right.value:
        case (tuple() as one, tuple() as other) if op is ast.Add:
            return replace(both, value=one + other)
        case (int() as one, int() as other) if op in _ARITHMETIC and (other or op not in (ast.FloorDiv, ast.Mod)):
            return _if_small(_ARITHMETIC[op](one, other), both)
    return None


def _if_small(number: int, like: ComparedSizes) -> ComparedSizes | None:
    return replace(like, value=number) if abs(number) < _LARGEST else None
