"""What is known of the parameters of a function while its body is read, and what expressions say of them."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shapecheck.model.parameter_parts import ParameterParts

Axis = tuple[str, int]
"""A parameter, and the number of one of its axes: from the front, or from the end if it is negative."""

_OF_ARRAYS = frozenset({"shape", "ndim", "size", "dtype", "T"})
_ARRAY_TYPES = frozenset({"Array", "ndarray"})
_SUMS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)


@dataclass
class BodyFact:
    """What the body asks of one parameter.

    `ranks` are the numbers of axes that it admits, the first one first, none if it says nothing; `least` is what it
    needs at least. `names` are those that it gives to axes, or their sizes, as dims; `letters` are those of a pattern,
    which are that pattern's own. `dtype` is one of jaxtyping's, or "". `texts` are those that it compares the parameter
    with, `parts` the number of variables that it unpacks it into. It `indexes` another array, if it is one itself.
    """

    ranks: tuple[int, ...] = ()
    least: int = 0
    names: dict[int, str] = field(default_factory=dict)
    letters: dict[int, str] = field(default_factory=dict)
    dtype: str = ""
    is_array: bool = False
    texts: tuple[str, ...] = ()
    parts: int = 0
    indexes: bool = False

    def admit(self, ranks: Sequence[int]) -> None:
        """Only these numbers of axes; those that contradict what is known say nothing."""
        both = tuple(rank for rank in self.ranks if rank in ranks) if self.ranks else tuple(ranks)
        self.ranks = both or self.ranks
        self.is_array = True

    def need(self, axes: int) -> None:
        """At least so many axes."""
        self.least = max(self.least, axes)
        self.is_array = True

    def need_axis(self, number: int) -> None:
        """The axis of this number, which counts from the end if it is negative."""
        self.need(number + 1 if number >= 0 else -number)


class ParameterFacts:
    """The facts of each parameter, of the function `tree` in a module with these names.

    `live` are those that have not been bound again, `arrays` those that are annotated as such; `axes` and `shapes` are
    the sets that are taken to be equal.
    """

    def __init__(self, tree: ast.FunctionDef, module: Mapping[str, object]) -> None:
        self.module = module
        arguments = tree.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        names = [each.arg for each in every]
        self.facts = {name: BodyFact() for name in names}
        typed = ((each.arg, each.annotation) for each in every if each.annotation is not None)
        self.arrays = frozenset(name for name, annotation in typed if called_name(annotation)[0] in _ARRAY_TYPES)
        self.live = set(names)
        self._parts = ParameterParts(tree)
        self.axes: list[frozenset[Axis]] = []
        self.shapes: list[frozenset[str]] = []

    def name(self, node: ast.expr | None) -> str | None:
        """The parameter that an expression is, as it was given, or the part of one, as a text."""
        if isinstance(node, ast.Name) and node.id in self.live:
            return node.id
        part = self._parts.part(node) if node is not None else None
        if part is None or not part.keys:
            return None
        self.facts.setdefault(str(part), BodyFact())
        return str(part)

    def fact(self, node: ast.expr | None) -> BodyFact | None:
        """What is known of that parameter."""
        name = self.name(node)
        return self.facts[name] if name is not None else None

    def shape_of(self, node: ast.expr) -> str | None:
        """The parameter whose shape an expression is: `x.shape`, `jnp.shape(x)`."""
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            return self.name(node.value)
        if isinstance(node, ast.Call) and called_name(node.func)[0] == "shape" and len(node.args) == 1:
            return self.name(node.args[0])
        return None

    def axis_of(self, node: ast.expr) -> Axis | None:
        """The axis of a parameter whose size an expression is: `x.shape[-1]`."""
        name = self.shape_of(node.value) if isinstance(node, ast.Subscript) else None
        number = literal_integer(node.slice) if isinstance(node, ast.Subscript) else None
        return (name, number) if name is not None and number is not None else None

    def size_text(self, node: ast.expr) -> str:
        """The size that an expression stands for, as a dim; "" where no dim can say it, or an array is in it."""
        constant = self.constant(node)
        if constant is not None:
            return str(constant) if constant >= 0 else ""
        if isinstance(node, ast.Name):
            return node.id if node.id not in self.facts else ""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr not in _OF_ARRAYS:
            return f"{node.value.id}.{node.attr}" if node.value.id in self.live else ""
        if isinstance(node, ast.BinOp) and isinstance(node.op, _SUMS):
            sides = [self.size_text(node.left), self.size_text(node.right)]
            return ast.unparse(node).replace(" ", "") if all(sides) else ""
        return ""

    def rank_of(self, node: ast.expr) -> str | None:
        """The parameter whose number of axes an expression is: `x.ndim`, `jnp.ndim(x)`, `len(x.shape)`."""
        if isinstance(node, ast.Attribute) and node.attr == "ndim":
            return self.name(node.value)
        if isinstance(node, ast.Call) and len(node.args) == 1:
            called = called_name(node.func)[0]
            return (
                self.name(node.args[0])
                if called == "ndim"
                else self.shape_of(node.args[0])
                if called == "len"
                else None
            )
        return None

    def constant(self, node: ast.expr) -> int | None:
        """A number, also by the name of one of the module's."""
        if isinstance(node, ast.Name):
            value = self.module.get(node.id)
            return value if type(value) is int else None
        return literal_integer(node)

    def note_shape(self, name: str, dims: Sequence[ast.expr]) -> None:
        """A shape written out, of which names stand for sizes."""
        if any(isinstance(dim, ast.Starred) or is_ellipsis(dim) for dim in dims):
            self.facts[name].need(len(dims) - 1)
            return
        self.facts[name].admit((len(dims),))
        for number, dim in enumerate(dims):
            if text := self.size_text(dim):
                self.facts[name].names.setdefault(number, text)


def called_name(function: ast.expr) -> tuple[str, str]:
    """The last name of what is called, and what stands before it: `jnp`, `jax.numpy`."""
    if isinstance(function, ast.Name):
        return function.id, ""
    if isinstance(function, ast.Attribute):
        last, before = called_name(function.value)
        return function.attr, f"{before}.{last}" if before else last
    return "", ""


def named_value(name: ast.expr, module: Mapping[str, object]) -> object:
    """What a name of a file stands for there, also through modules: `nn.Linear`; None if that is not known."""
    if isinstance(name, ast.Name):
        return module.get(name.id)
    if not isinstance(name, ast.Attribute):
        return None
    holder = named_value(name.value, module)
    return vars(holder).get(name.attr) if isinstance(holder, types.ModuleType) else None


def is_variable(node: ast.expr, name: str) -> bool:
    """Whether an expression is the variable of this name, as it is."""
    return isinstance(node, ast.Name) and node.id == name


def literal_integer(node: ast.expr | None) -> int | None:
    """The number that an expression is, written out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = literal_integer(node.operand)
        return -number if number is not None else None
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def literal_text(node: ast.expr | None) -> str:
    """The text that an expression is, written out; "" if it is none."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def is_ellipsis(node: ast.expr) -> bool:
    """Whether it is `...`."""
    return isinstance(node, ast.Constant) and node.value is Ellipsis
