"""Statements of a file that cannot be run, as others that can: calls of what finds their names, or stands for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Final

IMPORTER: Final = "__shapecheck_imports__"
"""The name that replaced statements call."""

ATTRIBUTE: Final = "__shapecheck_attribute__"
"""The name that replaced attributes call."""

STATEMENT: Final = "__shapecheck_statement__"
"""The name that stands for what other statements of a module's body would have bound."""


@dataclass(frozen=True, kw_only=True)
class ImportedName:
    """One name that an import statement binds: a module, or a part of one."""

    name: str
    part: str
    is_alias: bool
    bound: str = ""

    @property
    def whole(self) -> str:
        """The dotted name of what is imported."""
        return f"{self.name}.{self.part}" if self.part else self.name


def imports_of(node: ast.Import | ast.ImportFrom) -> Iterator[ImportedName]:
    """The names that an import statement binds."""
    module = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    for each in node.names:
        if module:
            yield ImportedName(name=module, part=each.name, is_alias=True, bound=each.asname or each.name)
        else:
            bound = each.asname or each.name.partition(".")[0]
            yield ImportedName(name=each.name, part="", is_alias=each.asname is not None, bound=bound)


class WithoutImports(ast.NodeTransformer):
    """Puts calls of `IMPORTER` in the place of import statements on some lines."""

    def __init__(self, lines: Set[int]) -> None:
        self._lines = lines

    def replace(self, tree: ast.Module) -> ast.Module:
        """The tree with the calls in it."""
        self.visit(tree)
        return ast.fix_missing_locations(tree)

    def visit_Import(self, node: ast.Import) -> list[ast.stmt] | ast.stmt:
        """A call for each module that it binds."""
        return self._calls(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt] | ast.stmt:
        """A call for each name that it binds; nobody knows those of `*`."""
        return node if any(alias.name == "*" for alias in node.names) else self._calls(node)

    def _calls(self, node: ast.Import | ast.ImportFrom) -> list[ast.stmt] | ast.stmt:
        if node.lineno not in self._lines:
            return node
        return [self._call(node, each) for each in imports_of(node)]

    def _call(self, node: ast.stmt, wanted: ImportedName) -> ast.stmt:
        given = (node.lineno, wanted.name, wanted.part, wanted.is_alias)
        arguments: list[ast.expr] = [ast.Constant(each) for each in given]
        call = ast.Call(func=ast.Name(IMPORTER, ast.Load()), args=arguments, keywords=[])
        return ast.copy_location(ast.Assign(targets=[ast.Name(wanted.bound, ast.Store())], value=call), node)


class WithoutAttributes(ast.NodeTransformer):
    """Puts calls of `ATTRIBUTE` in the place of attributes that packages lack; what a `try` is around stays."""

    def __init__(self, gone: Set[tuple[str, str]]) -> None:
        self._gone = gone

    def replace(self, tree: ast.Module) -> ast.Module:
        """The tree with the calls in it."""
        self.visit(tree)
        return ast.fix_missing_locations(tree)

    def visit_Try(self, node: ast.Try) -> ast.Try:
        """It may be there to see what the package lacks."""
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """The call, if it is one of these."""
        is_gone = isinstance(node.ctx, ast.Load) and (ast.unparse(node.value), node.attr) in self._gone
        self.generic_visit(node)
        if not is_gone:
            return node
        arguments: list[ast.expr] = [ast.Constant(node.lineno), node.value, ast.Constant(node.attr)]
        call = ast.Call(func=ast.Name(ATTRIBUTE, ast.Load()), args=arguments, keywords=[])
        return ast.copy_location(call, node)


class WithoutStatements(ast.NodeTransformer):
    """Puts calls of `STATEMENT` in the place of what statements on some lines of a module's body bind."""

    def __init__(self, lines: Set[int]) -> None:
        self._lines = lines

    def replace(self, tree: ast.Module) -> ast.Module:
        """The tree with the calls in it."""
        tree.body = [new for node in tree.body for new in self._calls(node)]
        return ast.fix_missing_locations(tree)

    def _calls(self, node: ast.stmt) -> Iterator[ast.stmt]:
        if first_line(node) not in self._lines:
            yield node
            return
        for name in dict.fromkeys(_bound_by(node)):
            arguments: list[ast.expr] = [ast.Constant(first_line(node)), ast.Constant(name)]
            call = ast.Call(func=ast.Name(STATEMENT, ast.Load()), args=arguments, keywords=[])
            yield ast.copy_location(ast.Assign(targets=[ast.Name(name, ast.Store())], value=call), node)


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, decorators among it."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _bound_by(node: ast.stmt | ast.ExceptHandler) -> Iterator[str]:
    """The names that a statement binds in the body that it stands in."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = (each for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        yield from (each.id for each in names if isinstance(each.ctx, ast.Store))
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (each.bound for each in imports_of(node))
    else:
        inner = (each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt | ast.ExceptHandler))
        for each in inner:
            yield from _bound_by(each)
