"""Which variables surely hold a Python integer at a statement, as the source alone can tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from shapecheck.rewrite.insertion_points import StatementLayout
from shapecheck.syntax.scopes import Function, arguments, own_nodes

Kind = Literal["integer", "unknown", "none"]
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_IMPORTS = (ast.Import, ast.ImportFrom)

Space = Function | ast.ClassDef | ast.Module


@dataclass(frozen=True)
class Variable:
    """What a name is at a statement: an integer, something unknown, or no variable; and whose variable it is."""

    kind: Kind
    space: Space | None = None


@dataclass(frozen=True)
class _Binding:
    """One place that binds a name: the value that it is bound to, or None where that is not plain to see."""

    value: ast.expr | None
    statement: ast.stmt | None
    definition: bool = False  # a function, class or import: no integer


_NOTHING = Variable("none")


class IntegerVariables:
    """Answers for one file."""

    def __init__(self, layout: StatementLayout) -> None:
        self.layout = layout
        self._bindings: dict[int, dict[str, list[_Binding]]] = {}
        self._in_question: set[tuple[int, str]] = set()

    def variable(self, name: str, statement: ast.stmt) -> Variable:
        """What a name holds when `statement` is done, or is about to run."""
        for space, within in self.layout.functions(statement):
            if isinstance(space, ast.ClassDef):
                continue
            parameter = _parameter(space, name)
            bindings = self._bindings_of(space).get(name, [])
            if parameter is not None:
                whole = not bindings and _is_int(parameter.annotation)
                return Variable("integer" if whole else "unknown", space)
            if bindings:
                return self._classify(name, bindings, space, within)
        return _NOTHING

    def _classify(self, name: str, bindings: list[_Binding], space: Space, within: ast.stmt) -> Variable:
        if all(binding.definition for binding in bindings):
            return _NOTHING
        question = (id(space), name)
        if question in self._in_question:  # `n = n + 1`: the other bindings decide
            return Variable("integer", space)
        self._in_question.add(question)
        whole = all(b.value is not None and self._is_integer(b.value, b.statement) for b in bindings)
        self._in_question.discard(question)
        above = {id(s) for s in self.layout.before(within, space)} | {id(within)}
        assigned = any(id(b.statement) in above for b in bindings)
        return Variable("integer" if whole and assigned else "unknown", space)

    def _is_integer(self, value: ast.expr, statement: ast.stmt | None) -> bool:
        if isinstance(value, ast.Constant):
            return type(value.value) is int
        if isinstance(value, ast.Subscript):
            return is_shape(value.value) and not isinstance(value.slice, ast.Slice)
        if isinstance(value, ast.Attribute):
            return value.attr == "ndim"
        if isinstance(value, ast.Call):
            return isinstance(value.func, ast.Name) and value.func.id in {"len", "int"}
        if isinstance(value, ast.BinOp):
            both = self._is_integer(value.left, statement) and self._is_integer(value.right, statement)
            return isinstance(value.op, _ARITHMETIC) and both
        if isinstance(value, ast.Name) and statement is not None:
            return self.variable(value.id, statement).kind == "integer"
        return False

    def _bindings_of(self, space: Space) -> dict[str, list[_Binding]]:
        if id(space) not in self._bindings:
            found: dict[str, list[_Binding]] = {}
            for name, binding in _bindings(space):
                found.setdefault(name, []).append(binding)
            self._bindings[id(space)] = found
        return self._bindings[id(space)]


def is_shape(value: ast.expr) -> bool:
    """Whether an expression is `x.shape`, or a slice of it."""
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
        value = value.value
    return isinstance(value, ast.Attribute) and value.attr == "shape"


def _parameter(space: Space, name: str) -> ast.arg | None:
    parameters = arguments(space) if isinstance(space, Function) else []
    return next((p for p in parameters if p.arg == name), None)


def _is_int(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "int"


def _bindings(space: Space) -> Iterator[tuple[str, _Binding]]:
    plain: set[int] = set()  # names whose binding is known already
    for node in own_nodes(space):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for target, value in _pairs(node):
                plain.add(id(target))
                yield target.id, _Binding(value, node)
        elif isinstance(node, Function | ast.ClassDef):
            yield node.name, _Binding(None, node, definition=True)
        elif isinstance(node, _IMPORTS):
            for alias in node.names:
                yield (alias.asname or alias.name).partition(".")[0], _Binding(None, node, definition=True)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            for name in node.names:
                yield name, _Binding(None, node)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in plain:
            yield node.id, _Binding(None, None)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name, _Binding(None, None)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest, _Binding(None, None)


def _pairs(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[tuple[ast.Name, ast.expr]]:
    """The plain variables that a statement assigns, each with its value; an element of `x.shape` stands for any."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if node.value is None:
        return
    for target in targets:
        if isinstance(target, ast.Name):
            yield target, node.value
        elif isinstance(target, ast.Tuple | ast.List):
            yield from _unpack_pairs(target, node.value)


def _unpack_pairs(target: ast.Tuple | ast.List, value: ast.expr) -> Iterator[tuple[ast.Name, ast.expr]]:
    if is_shape(value):
        size = ast.Constant(1)
        yield from ((element, size) for element in target.elts if isinstance(element, ast.Name))
    elif isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        for element, each in zip(target.elts, value.elts, strict=True):
            if isinstance(element, ast.Name):
                yield element, each
