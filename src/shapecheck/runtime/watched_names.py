"""Variables that shall be watched: their assignments, in the syntax tree of a file."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from shapecheck.evaluate.probes.bound_names import assigned_names
from shapecheck.model import Site
from shapecheck.syntax.intended_nonfinite import intended_nonfinite

HANDLE: Final = "__shapecheck_watch__"
RETURNED: Final = "__shapecheck_returned__"

_Place = tuple[int, int, int, int]
_Scope = TypeVar("_Scope", ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def wrap_assignments(tree: ast.Module, globs: Sequence[str]) -> ast.Module:
    """The tree with a call around what is assigned to names that match, as `x` or as `function.x`."""
    changed: ast.Module = _AssignmentWrapper([glob.removeprefix("grad:") for glob in globs]).visit(tree)
    return ast.fix_missing_locations(changed)


def wrap_returns(tree: ast.Module) -> ast.Module:
    """The tree with a call around what methods return, which is given the line too."""
    changed: ast.Module = _ReturnWrapper().visit(tree)
    return ast.fix_missing_locations(changed)


def single_returns(source: bytes) -> dict[int, int]:
    """Of functions with one `return`, the line of it, by the first line of the function, which is a decorator's."""
    found: dict[int, int] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = list(_return_lines(node.body))
            if len(lines) == 1:
                found[min([node.lineno, *(each.lineno for each in node.decorator_list)])] = lines[0]
    return found


def _return_lines(body: Iterable[ast.AST]) -> Iterator[int]:
    for node in body:
        if isinstance(node, ast.Return):
            yield node.lineno
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from _return_lines(ast.iter_child_nodes(node))


@dataclass(frozen=True)
class ValueOrigin:
    """What a value is made of: variables and attributes of such (`self.layer`), and NaN or infinity if `intended`."""

    names: tuple[str, ...] = ()
    intended: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Operands:
    """What values are made of: those of sites, and those that are returned on a line."""

    sites: Mapping[int, ValueOrigin]
    returns: Mapping[int, ValueOrigin]


def operands(source: bytes, sites: Sequence[Site]) -> Operands:
    """What the values of sites, and those that functions return, are made of."""
    by_place: dict[_Place, list[Site]] = {}
    for site in sites:
        if (at := site.position) is not None:
            by_place.setdefault((at.line, at.column, at.end_line, at.end_column), []).append(site)
    found: dict[int, ValueOrigin] = {}
    returns: dict[int, ValueOrigin] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Return) and node.value is not None:
            returns[node.value.lineno] = ValueOrigin(_unique(_names(node.value)), intended_nonfinite(node.value))
        if not isinstance(node, (ast.expr, ast.stmt)):
            continue
        place = node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0
        for site in by_place.get(place, ()):
            if isinstance(node, ast.expr) and site.kind == "value":
                found[site.index] = ValueOrigin(_unique(_names(node)), intended_nonfinite(node))
            elif isinstance(node, ast.stmt) and site.kind == "name":
                found[site.index] = _before(node, site)
    return Operands(found, returns)


def _before(statement: ast.stmt, site: Site) -> ValueOrigin:
    """What a statement makes its variables of, as far as these are not what it has just assigned."""
    value = statement.iter if isinstance(statement, (ast.For, ast.AsyncFor)) else getattr(statement, "value", None)
    if site.when == "before" or not isinstance(value, ast.expr):
        return ValueOrigin()
    return ValueOrigin(
        _unique(name for name in _names(value) if name not in assigned_names(statement)), intended_nonfinite(value)
    )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _names(node: ast.AST) -> Iterator[str]:
    """The variables and attributes inside of an expression; of `self.a.b` not those that it goes through."""
    chain, below = [], node
    while isinstance(below, ast.Attribute):
        chain.append(below.attr)
        below = below.value
    if isinstance(below, ast.Name):
        yield ".".join([below.id, *reversed(chain)])
        return
    for child in ast.iter_child_nodes(below):
        yield from _names(child)


def chain_value(variables: Mapping[str, object], chain: str) -> object:
    """What a variable has, or its attribute, if it is there without running any code of others; else None."""
    first, *attributes = chain.split(".")
    value = variables.get(first)
    for attribute in attributes:
        value = getattr(value, "__dict__", {}).get(attribute)
    return value


class _ReturnWrapper(ast.NodeTransformer):
    """One walk over one module. Functions that are no methods stay: Numba and its like may compile them."""

    def __init__(self) -> None:
        self._in_method = False

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Its methods."""
        for each in node.body:
            self._in_method = isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))
            (self.generic_visit if self._in_method else self.visit)(each)
            self._in_method = False
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A function, in a method too, whose returns are not those of the method."""
        return self._inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        """A function, in a method too."""
        return self._inside(node)

    def _inside(self, node: _Scope) -> _Scope:
        before, self._in_method = self._in_method, False
        self.generic_visit(node)
        self._in_method = before
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        """`return f(y)`."""
        if self._in_method and node.value is not None:
            call = ast.Call(ast.Name(RETURNED, ast.Load()), [ast.Constant(node.lineno), node.value], [])
            node.value = ast.copy_location(call, node.value)
        return node


class _AssignmentWrapper(ast.NodeTransformer):
    """One walk over one module."""

    def __init__(self, globs: Sequence[str]) -> None:
        self._globs = globs
        self._scopes: list[str] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Names inside of it begin with its own."""
        return self._inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        """Names inside of it begin with its own."""
        return self._inside(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Names inside of it begin with its own."""
        return self._inside(node)

    def _inside(self, node: _Scope) -> _Scope:
        self._scopes.append(node.name)
        self.generic_visit(node)
        self._scopes.pop()
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        """`x = f(y)`."""
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                node.value = self._wrap_value(target, node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        """`x: Array = f(y)`."""
        self.generic_visit(node)
        if node.value is not None and isinstance(node.target, ast.Name):
            node.value = self._wrap_value(node.target, node.value)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.NamedExpr:
        """`(x := f(y))`."""
        self.generic_visit(node)
        node.value = self._wrap_value(node.target, node.value)
        return node

    def _wrap_value(self, target: ast.Name, value: ast.expr) -> ast.expr:
        name = ".".join([*self._scopes, target.id])
        if target.id.startswith("__sc_"):
            return value
        if not any(fnmatch.fnmatchcase(each, glob) for each in (name, target.id) for glob in self._globs):
            return value
        call = ast.Call(ast.Name(HANDLE, ast.Load()), [ast.Constant(name), ast.Constant(target.lineno), value], [])
        return ast.copy_location(call, value)
