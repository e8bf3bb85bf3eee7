"""What code reads off a parameter by name: `config.num_head`, `cfg["dtype"]`, `c.attention.gating` of `self.config`.

A record of settings that nobody annotates must have at least that. It is followed through variables that are bound
once, attributes of `self`, and the functions and classes that a part of it is handed on to. Only source is read.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Iterator, Mapping

from shapecheck.evaluate.inputs.facts.body_facts import ARRAY_ATTRIBUTES, ARRAY_METHODS
from shapecheck.evaluate.inputs.facts.handed_arguments import called_function
from shapecheck.evaluate.inputs.facts.handed_parts import function_parts
from shapecheck.evaluate.inputs.facts.parameter_facts import named_value
from shapecheck.evaluate.inputs.facts.source_reads import note_read
from shapecheck.evaluate.probes.attribute_access import unwrap

Reads = dict[str, "Reads"]
"""The names that are read, and what is read off each of them."""

_Path = tuple[str, ...]
_DEPTH = 5  # functions and classes that hand it on to each other
_OF_ARRAYS = ARRAY_ATTRIBUTES - {"dtype"} | {f"{name}()" for name in ARRAY_METHODS}  # settings have a dtype, too
_OF_TABLES = frozenset({"keys", "values", "items", "update", "copy", "pop", "to_dict", "setdefault"})


def attribute_reads(taker: Callable[..., object], parameter: str) -> Reads:
    """All that a function, or the methods of a class, read off a parameter; nothing if that is used as an array."""
    own = taker if isinstance(taker, type) else unwrap(taker)
    own = getattr(own, "__func__", own)
    if not isinstance(own, (type, types.FunctionType)):
        return {}
    if (own, parameter) not in _kept:
        functions: list[types.FunctionType] = []
        found = _reads(own, parameter, _DEPTH, functions)
        _kept[own, parameter] = {} if found.keys() & _OF_ARRAYS else found, functions
    found, functions = _kept[own, parameter]
    for each in functions:
        note_read(each)
    return found


_kept: dict[tuple[Callable[..., object], str], tuple[Reads, list[types.FunctionType]]] = {}


def _reads(taker: Callable[..., object], parameter: str, depth: int, functions: list[types.FunctionType]) -> Reads:
    found: Reads = {}
    for function, root in _readers(taker, parameter):
        parts = function_parts(function)
        if parts is not None:
            functions.append(function)
            for path in _FunctionReads(parts.tree, function.__globals__, root, depth, functions).paths():
                _add(found, path)
    return found


def _readers(taker: Callable[..., object], parameter: str) -> Iterator[tuple[types.FunctionType, str]]:
    """The functions that may read it, each with the expression that it is there."""
    if not isinstance(taker, type):
        if isinstance(taker, types.FunctionType):
            yield taker, parameter
        return
    attribute = parameter
    init = vars(taker).get("__init__")
    if isinstance(init, types.FunctionType) and (parts := function_parts(init)) is not None:
        yield init, parameter
        attribute = _saved_as(parts.tree, parameter)
    for cls in taker.__mro__[:-1]:
        for each in vars(cls).values():
            method = unwrap(each)
            if attribute and isinstance(method, types.FunctionType) and attribute in method.__code__.co_names:
                yield method, f"self.{attribute}"


def _saved_as(init: ast.AST, parameter: str) -> str:
    """The attribute of `self` that a constructor keeps a parameter in; "" if it keeps it in none."""
    for node in ast.walk(init):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == parameter:
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                return target.attr
    return ""


def _add(reads: Reads, path: _Path) -> None:
    for name in path:
        reads = reads.setdefault(name, {})


class _FunctionReads:
    """Finds what one function reads off the expression `root`."""

    def __init__(
        self, tree: ast.AST, module: Mapping[str, object], root: str, depth: int, functions: list[types.FunctionType]
    ) -> None:
        self._nodes, self._module, self._root, self._depth = list(ast.walk(tree)), module, root, depth
        self._functions = functions
        self._called = {id(node.func) for node in self._nodes if isinstance(node, ast.Call)}
        stored = [n.id for n in self._nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        self._variables: dict[str, ast.expr] = {}
        for node in self._nodes:
            target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
            if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and stored.count(target.id) == 1:
                self._variables[target.id] = node.value

    def paths(self) -> Iterator[_Path]:
        for node in self._nodes:
            if isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
                path = self._path(node)
                if path:
                    yield path
            if isinstance(node, ast.Call) and self._depth:
                yield from self._handed_on(node)

    def _path(self, node: ast.expr, depth: int = _DEPTH) -> _Path | None:
        """The names that lead from the root to an expression; None if it is no part of it."""
        if isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) == self._root:
            return ()
        if isinstance(node, ast.Name) and node.id in self._variables and depth:
            return self._path(self._variables[node.id], depth - 1)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            is_tables = node.attr in _OF_TABLES and id(node) in self._called  # `cfg.items()`, and no field `f.items`
            is_method = node.attr in ARRAY_METHODS and id(node) in self._called  # `x.mean()`, and no field `pca.mean`
            name = f"{node.attr}()" if is_method else node.attr
            return None if is_tables else self._inner(node.value, name, depth)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return self._inner(node.value, node.slice.value, depth)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and node.args
        ):
            key = node.args[0]
            return self._inner(node.func.value, key.value, depth) if isinstance(key, ast.Constant) else None
        return None

    def _inner(self, value: ast.expr, name: object, depth: int) -> _Path | None:
        path = self._path(value, depth)
        is_read = isinstance(name, str) and name != "get" and not name.startswith("__")
        return (*path, str(name)) if path is not None and is_read else None

    def _handed_on(self, call: ast.Call) -> Iterator[_Path]:
        """What others read off a part that they are given."""
        places: list[tuple[int | str, ast.expr]] = [*enumerate(call.args)]
        places += [(each.arg, each.value) for each in call.keywords if each.arg is not None]
        given = [(place, path) for place, each in places if (path := self._path(each)) is not None]
        callee = self._callee(called_function(call)) if given else None
        if callee is None:
            return
        try:
            names = list(inspect.signature(callee).parameters)
        except (TypeError, ValueError):
            return
        for place, path in given:
            name = place if isinstance(place, str) else names[place] if place < len(names) else ""
            reads = _reads(callee, name, self._depth - 1, self._functions) if name in names else {}
            yield from ((*path, *each) for each in _paths_in(reads))

    def _callee(self, function: ast.expr) -> Callable[..., object] | None:
        value = named_value(function, self._module)
        home = str(self._module.get("__name__", "")).partition(".")[0]
        is_own = str(getattr(value, "__module__", "")).partition(".")[0] == home
        if not is_own or not callable(value):
            return None
        inner = value if isinstance(value, type) else unwrap(value)
        return inner if isinstance(inner, (type, types.FunctionType)) else None


def _paths_in(reads: Reads) -> Iterator[_Path]:
    for name, inner in reads.items():
        yield (name,)
        yield from ((name, *each) for each in _paths_in(inner))
