"""From the dims of a comment to a shape string of jaxtyping that no correct program can fail.

A name may mean a Python integer of the code, the dim of an annotation, or whatever size it first stands for. Where the
source alone cannot tell which, the axis is left open: `_name`, which any size fits.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from shapecheck.model import Claim
from shapecheck.rewrite.insertion_points import StatementLayout
from shapecheck.rewrite.integer_variables import IntegerVariables, Variable, is_shape
from shapecheck.rewrite.signature_checks import FunctionClaims, divides, expression_names, variadic
from shapecheck.shapes import (
    AnyDim,
    AnyDims,
    Dim,
    FixedDim,
    NamedDim,
    RepeatedDim,
    Spec,
    SymbolicDim,
    VariadicDim,
    is_variadic,
    parse_spec,
)
from shapecheck.syntax.scopes import Function, arguments, dotted_name, own_nodes

_MAPPING = ("vmap", "pmap", "vectorize", "shard_map")


class UnclearError(Exception):
    """A claim can be read in several ways; the text says in which."""


@dataclass(frozen=True)
class ShapeString:
    """A shape string: its axes, whether it holds `{names}` to be filled in, and whether an axis was left open."""

    text: str
    formatted: bool = False
    partly: bool = False

    @property
    def literal(self) -> str:
        """The string as Python source."""
        return f'{"f" * self.formatted}"{self.text}"'


class DimReader:
    """Reads the comments of one file."""

    def __init__(self, layout: StatementLayout, integers: IntegerVariables) -> None:
        self.layout = layout
        self.integers = integers
        self._entering = False

    def shape(
        self, spec: Spec, signature: FunctionClaims, statement: ast.stmt, comments: int, *, entering: bool = False
    ) -> ShapeString:
        """The shape string for a claim at a statement; `comments` counts the claims of comments in the function.

        If the function is just being entered, `statement` is its first one, and its variables have no values yet.
        """
        self._entering = entering
        if sum(map(is_variadic, spec.dims)) > 1:
            raise UnclearError("it leaves out axes in several places, which jaxtyping cannot say")
        read = [self._dim(dim, signature, statement) for dim in spec.dims]
        self._refuse_mapped(spec, signature, statement)
        if comments > 1 and not self._keeps_all_axes(spec, signature):
            read.insert(0, ShapeString("...", partly=True))
        if all(axis.text == "..." for axis in read) and read:
            raise UnclearError("its function's comments may all leave out leading axes")
        text = " ".join(axis.text for axis in read)
        return ShapeString(text, any(a.formatted for a in read), any(a.partly for a in read))

    def _dim(self, dim: Dim, signature: FunctionClaims, statement: ast.stmt) -> ShapeString:
        if isinstance(dim, FixedDim):
            return ShapeString(str(dim.size))
        if isinstance(dim, NamedDim):
            return self._name_axis(dim.name, signature, statement)
        if isinstance(dim, VariadicDim):
            claims = (claim for each in signature.parameters.values() for claim in each)
            known = dim.name in variadic(claims)
            return ShapeString(f"*{dim.name}" if known else "...", partly=not known)
        if isinstance(dim, AnyDims):
            return ShapeString("...")
        if isinstance(dim, RepeatedDim):
            return ShapeString("...", partly=True)
        if isinstance(dim, AnyDim):
            return ShapeString("_")
        return self._computed_axis(dim, signature, statement)

    def _name_axis(self, name: str, signature: FunctionClaims, statement: ast.stmt) -> ShapeString:
        left_open = ShapeString("_" + name.strip("_'"), partly=True)
        if not name.isidentifier():
            return left_open
        variable = self._variable(name, signature, statement)
        if name in signature.bound_names:
            return ShapeString(name) if variable.kind == "none" else left_open
        if variable.kind == "integer":
            return ShapeString(f"{{{name}}}", formatted=True)
        free = variable.kind == "none" and not self.layout.in_loop(statement)
        return ShapeString(name) if free else left_open

    def _computed_axis(self, dim: SymbolicDim, signature: FunctionClaims, statement: ast.stmt) -> ShapeString:
        left_open = ShapeString("_", partly=True)
        names = expression_names(dim.expression)
        text = str(dim.expression).replace(" ", "")
        if divides(dim.expression) or not all(name.isidentifier() for name in names) or not text.isascii():
            return left_open
        kinds = {name: self._variable(name, signature, statement).kind for name in names}
        if all(name in signature.bound_names and kind == "none" for name, kind in kinds.items()):
            return ShapeString(text if not text.startswith(tuple("#*_?")) else f"({text})")
        if all(name not in signature.bound_names and kind == "integer" for name, kind in kinds.items()):
            return ShapeString(f"{{{text}}}", formatted=True)
        return left_open

    def _variable(self, name: str, signature: FunctionClaims, statement: ast.stmt) -> Variable:
        """What a name is; `T, C = x.shape` only repeats what the annotation of x calls so."""
        variable = self.integers.variable(name, statement)
        if name in signature.bound_names and variable.space is signature.node and self._repeats(name, signature):
            return Variable("none")
        if self._entering and variable.space is signature.node and name not in _parameters(signature.node):
            return Variable("unknown", variable.space)
        return variable

    def _repeats(self, name: str, signature: FunctionClaims) -> bool:
        """Whether the one assignment of a variable takes it from the axis of that name of a parameter as it came."""
        stores = [n for n in own_nodes(signature.node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
        assigned = [n for n in stores if n.id == name]
        for node in own_nodes(signature.node) if len(assigned) == 1 else ():
            if isinstance(node, ast.Assign) and (taken := _taken_from(node, assigned[0])) is not None:
                source, index, count = taken
                came = not any(n.id == source and n.lineno <= node.lineno for n in stores)
                axes = _axes(signature.parameters.get(source, ()))
                return came and count in (0, len(axes)) and index < len(axes) and axes[index] == name
        return False

    def _keeps_all_axes(self, spec: Spec, signature: FunctionClaims) -> bool:
        """Whether it is plain that a comment of this function leaves out no leading axes."""
        if any(map(is_variadic, spec.dims)) or signature.describes_all:
            return True
        first = spec.dims[0] if spec.dims else None
        if not isinstance(first, NamedDim):
            return False
        return first.name in signature.leading_names or first.name in _unpacked_first(signature.node)

    def _refuse_mapped(self, spec: Spec, signature: FunctionClaims, statement: ast.stmt) -> None:
        """Refuse a comment whose first axis is known from outside of the function, and may be one that `vmap` took."""
        first = spec.dims[0] if spec.dims else None
        if not isinstance(first, NamedDim) or first.name in signature.bound_names:
            return
        outside = self.integers.variable(first.name, statement)
        known = outside.kind != "none" and outside.space is not signature.node
        nested = any(isinstance(space, Function) for space, _ in self.layout.functions(signature.node))
        if (known or nested) and self._may_be_mapped(signature.node):
            raise UnclearError("its first axis may be one that vmap takes away")

    def _may_be_mapped(self, function: Function) -> bool:
        """Whether the outermost function around it (or the file, if it is none itself) maps anything."""
        space: ast.AST = self.layout.tree
        for around, _ in self.layout.functions(function):
            space = around if isinstance(around, Function) else space
        nodes = ast.walk(space)
        return any(isinstance(n, ast.Name | ast.Attribute) and (dotted_name(n) or "").endswith(_MAPPING) for n in nodes)


def _parameters(function: Function) -> list[str]:
    return [argument.arg for argument in arguments(function)]


def _taken_from(node: ast.Assign, variable: ast.Name) -> tuple[str, int, int] | None:
    """The array and the axis whose size a variable gets: `B, T = x.shape`, `n = x.shape[0]`; and how many get one."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Attribute) and is_shape(value):
        if variable in target.elts:
            return dotted_name(value.value) or "", target.elts.index(variable), len(target.elts)
    elif target is variable and isinstance(value, ast.Subscript) and isinstance(value.value, ast.Attribute):
        index = value.slice
        if is_shape(value.value) and isinstance(index, ast.Constant) and isinstance(index.value, int):
            return dotted_name(value.value.value) or "", index.value, 0
    return None


def _axes(claims: Sequence[Claim]) -> list[str]:
    """The axes of a parameter that is one array."""
    return [str(dim) for dim in parse_spec(claims[0].spec).dims] if len(claims) == 1 else []


def _unpacked_first(function: Function) -> set[str]:
    """The variables that hold the size of a first axis: `B, T = x.shape`, `n = x.shape[0]`."""
    found: set[str] = set()
    for node in own_nodes(function):
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[-1], node.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Attribute) and is_shape(value) and target.elts:
            target = target.elts[0]
        elif not (isinstance(value, ast.Subscript) and is_shape(value.value) and _is_zero(value.slice)):
            continue
        if isinstance(target, ast.Name):
            found.add(target.id)
    return found


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0
