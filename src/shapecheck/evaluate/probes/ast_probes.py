"""The source's own syntax tree with a probe around each value of interest, line numbers untouched.

For a function with sites the transform gives, in effect,

    def f(self, x):
        __sc_7__ = __shapecheck__.enter(7, __sc_3__)
        y = __shapecheck__.value(__sc_7__, 12, self.proj(x))
        return __shapecheck__.returned(__sc_7__, y)

where 7 is the function's scope, 3 that of the function around it, and 12 a site. A function without sites only tells
that it ran, a constructor shows its variables at its start and end, and another method that assigns fields with claims
shows these at its end. Names end in underscores so that class bodies do not mangle them. Lambdas and comprehensions
reach their function's scope through their closure.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeVar, cast

from shapecheck.evaluate.own_errors import HANDLE
from shapecheck.evaluate.parse_python import parse_python
from shapecheck.evaluate.probes.bound_names import ScopedNode, assigned_names, bound_names, is_generator, target
from shapecheck.model import INSERTED, Point, Position, Scope, Site
from shapecheck.model.other_compilers import compiled_elsewhere

Key = tuple[int, int, int, int]


def body_start(body: Sequence[ast.stmt], *, module: bool = False) -> int:
    """Where a statement may be put in front: behind the docstring and, in a module, behind `from __future__`."""
    start = 0
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        start = int(isinstance(body[0].value.value, str))
    while module and start < len(body):
        statement = body[start]
        if not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            break
        start += 1
    return start


def anchor(body: Sequence[ast.stmt], start: int) -> ast.AST:
    """The node whose line a statement gets that is put there."""
    if body:
        return body[min(start, len(body) - 1)]
    return ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)


def start_of(position: Position) -> tuple[int, int]:
    """Line and column, by which a scope is found."""
    return position.line, position.column


def key(position: Position) -> Key:
    """The place of a site, by which its node is found."""
    return position.line, position.column, position.end_line, position.end_column


def node_key(node: ast.AST) -> Key:
    """The same of a node; zeros for one that has no place."""
    return (
        getattr(node, "lineno", 0),
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", 0) or 0,
        getattr(node, "end_col_offset", 0) or 0,
    )


OUTERMOST = "__sc_0__"  # holds the call of the module's own scope
_WATCHES = {"called": "observe_calls", "yielded": "observe_items"}
_OF_VALUES = {"value": "value", "shown": "observe_text", "called": "observe_calls"}

_Function = TypeVar("_Function", ast.FunctionDef, ast.AsyncFunctionDef)
_Node = TypeVar("_Node", bound=ast.AST)
_ScopedNode = TypeVar("_ScopedNode", bound=ScopedNode)


def instrument(
    source: bytes, filename: str, scopes: Sequence[Scope], sites: Sequence[Site], *, leaving: bool = False
) -> ast.Module:
    """Parse `source` and put the probes of `sites` into it; raises SyntaxError as `compile` would.

    With `leaving`, as in a running program, functions with sites tell their end too, and modules theirs; and what
    `shapecheck instrument` wrote stays in it.
    """
    tree = parse_python(source, filename)
    if INSERTED.encode() in source and not leaving:
        _drop_inserted(tree, source)
    return ast.fix_missing_locations(_Transformer(scopes, sites, leaving).transform(tree))


def _drop_inserted(tree: ast.Module, source: bytes) -> None:
    """Leave out the run-time checks that `shapecheck instrument` wrote: they would stop at the first mismatch."""
    lines = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    marked = {number for number, line in enumerate(lines, 1) if line.rstrip().endswith(INSERTED.encode())}

    def is_marked(node: ast.AST) -> bool:
        return isinstance(node, (ast.stmt, ast.expr)) and not hasattr(node, "body") and node.end_lineno in marked

    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody", "decorator_list"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                left = [each for each in block if not is_marked(each)]
                block[:] = left if left or name == "decorator_list" else block


class _Transformer(ast.NodeTransformer):
    """One walk over one module."""

    def __init__(self, scopes: Sequence[Scope], sites: Sequence[Site], leaving: bool) -> None:
        self.scopes, self.leaving = scopes, leaving
        self.values: dict[Key, list[Site]] = {}
        self.names: dict[Key, list[Site]] = {}
        self.returns: dict[int, Site] = {}
        self.fields: dict[int, list[Site]] = {}
        self.later: dict[int, list[Site]] = {}  # of what parameters and results show when they are called, or yield
        self.formatted: dict[Key, list[Site]] = {}
        self.classes = {scope.index for scope in scopes if scope.kind == "class"}
        self.by_position = {start_of(s.position): s for s in scopes if s.position is not None}
        self.probed = _probed_scopes(scopes, sites)
        # A running program has its sizes, and one path: which others there are is of no interest there.
        self.paths = {(s.scope, point) for s in sites for point in s.paths} if not leaving else set()
        self.derived: set[int] = set()  # classes with bases
        self.overriding: set[int] = set()  # methods that may override a declaration
        self.stack: list[int] = [0]
        self.own: list[frozenset[str]] = []  # names, of the functions and classes around
        self.compiled: frozenset[tuple[int, int]] = frozenset()  # functions of which another compiler reads the code
        for site in sites:
            if site.part is not None and site.position is not None:
                self.formatted.setdefault(key(site.position), []).append(site)
            elif site.kind in ("value", "shown", "called") and site.position is not None:
                self.values.setdefault(key(site.position), []).append(site)
            elif site.kind == "name" and site.position is not None:
                self.names.setdefault(key(site.position), []).append(site)
            elif site.kind == "return":
                self.returns[site.scope] = site
            elif site.kind == "field" or (site.kind == "called" and site.scope in self.classes):
                self.fields.setdefault(site.scope, []).append(site)
            elif site.kind in ("called", "yielded"):
                self.later.setdefault(site.scope, []).append(site)

    def transform(self, tree: ast.Module) -> ast.Module:
        """Instrument the module body and open the module's own scope."""
        self.compiled = compiled_elsewhere(tree)
        tree = self._within(tree)
        if 0 in self.probed:
            start = body_start(tree.body, module=True)
            tree.body.insert(start, self._enter(0, None, anchor(tree.body, start)))
            if self.leaving:
                tree.body.append(self._leave(0, anchor(tree.body, len(tree.body))))
        return tree

    def visit(self, node: ast.AST) -> ast.AST:
        """Visit a node, then wrap it if it is the expression of a site."""
        if not isinstance(node, ast.expr):
            other: ast.AST = super().visit(node)
            return other
        readable = isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and not isinstance(node, ast.Starred)
        found = self.values.pop(node_key(node), ()) if readable else ()
        result: ast.expr = super().visit(node)
        for site in found:
            method = _OF_VALUES[site.kind]
            result = self._call(method, [self._scope(), _constant(site.index), result], node)
        return result

    def visit_stmt_list(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Visit statements, with the probes of named variables before and after them."""
        result: list[ast.stmt] = []
        for statement in body:
            sites = self.names.get(node_key(statement), ())
            point = (statement.lineno, statement.col_offset)
            visited = cast("ast.stmt", self.visit(statement))
            if (self.stack[-1], point) in self.paths:
                result.append(self._reach(point, statement))
            result += [self._name_probe(s, statement) for s in sites if s.when == "before"]
            result.append(visited)
            inner = [self._name_probe(s, statement) for s in sites if s.when == "body"]
            if inner and isinstance(visited, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)):
                visited.body[:0] = inner
            result += [self._name_probe(s, statement) for s in sites if s.when == "after"]
        return result

    def _within(self, scope: _ScopedNode) -> _ScopedNode:
        """Visit all of a scope."""
        self.own.append(bound_names(scope) if self.leaving else frozenset())
        self.generic_visit(scope)
        self.own.pop()
        return scope

    def generic_visit(self, node: _Node) -> _Node:
        """As the standard one, but statement lists go through `visit_stmt_list`."""
        for name, old in ast.iter_fields(node):
            if isinstance(old, list):
                if old and isinstance(old[0], ast.stmt):
                    old[:] = self.visit_stmt_list(old)
                else:
                    old[:] = [self.visit(item) if isinstance(item, ast.AST) else item for item in old]
            elif isinstance(old, ast.AST):
                setattr(node, name, self.visit(old))
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        """Go by the order of their fields: inside f-strings, positions differ between Python versions."""
        fields = [part for part in node.values if isinstance(part, ast.FormattedValue)]
        for site in self.formatted.pop(node_key(node), ()):
            if site.part is not None and site.part < len(fields):
                field = fields[site.part]
                field.value = self._call("observe_text", [self._scope(), _constant(site.index), field.value], node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Open the function's scope at its start."""
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        """Open the function's scope at its start."""
        return self._function(node)

    def _function(self, node: _Function) -> _Function:
        scope = self.by_position.get((node.lineno, node.col_offset))
        if (node.lineno, node.col_offset) in self.compiled:
            return node
        if scope is None:
            return self._within(node)
        # Decorators and defaults belong to the scope around the function.
        node.decorator_list = [cast("ast.expr", self.visit(item)) for item in node.decorator_list]
        node.args = cast("ast.arguments", self.visit(node.args))
        self.stack.append(scope.index)
        self.own.append(bound_names(node) if self.leaving else frozenset())
        if self._may_override(scope, node):
            self.overriding.add(scope.index)
        sets_fields = node.name != "__init__" and self._sets_fields(scope, node)
        node.body = self.visit_stmt_list(node.body)
        self.own.pop()
        self.stack.pop()
        if sets_fields:
            place = len(node.body) - isinstance(node.body[-1], ast.Return)
            node.body.insert(place, self._later_fields_probe(scope, anchor(node.body, place)))
        if scope.index in self.probed:
            start = body_start(node.body)
            if self.leaving and node.body[start:]:
                node.body[start:] = [self._with_exit(scope.index, node.body[start:])]
            node.body[start:start] = self._open_call(scope, anchor(node.body, start))
        elif scope.index in self.overriding:
            start = body_start(node.body)
            first = anchor(node.body, start)
            owner = ast.copy_location(ast.Name(scope.parameters[0], ast.Load()), first)
            opened = self._call("enter_override", [_constant(scope.index), owner], first)
            held = ast.Assign([ast.Name(_variable(scope.index), ast.Store())], opened)
            node.body.insert(start, ast.copy_location(held, first))
        else:
            start = body_start(node.body)
            touch = self._call("touch", [_constant(scope.index)], anchor(node.body, start))
            node.body.insert(start, ast.copy_location(ast.Expr(touch), anchor(node.body, start)))
        if node.name == "__init__" and scope.parameters and self._is_method(scope):
            start = body_start(node.body)
            for place in (start, len(node.body) + 1):
                node.body.insert(place, self._constructor_probe(scope, anchor(node.body, place)))
        return node

    def _sets_fields(self, scope: Scope, node: _Function) -> bool:
        """Whether a method itself assigns a field that its class has claims of, as Flax's `setup` does."""
        owner, sites = next(iter(scope.parameters), ""), self.fields.get(scope.parent or 0, ())
        fields = {f"{owner}.{site.name}" for site in sites if site.kind == "field"}
        statements = (each for each in ast.walk(node) if isinstance(each, ast.stmt))
        return bool(fields) and any(not fields.isdisjoint(assigned_names(each)) for each in statements)

    def _open_call(self, scope: Scope, anchor: ast.AST) -> list[ast.stmt]:
        """What opens a call, and watches what it is given."""
        watched = [site for site in self.later.get(scope.index, ()) if site.name]
        opening = self._enter(scope.index, self._outer(scope), anchor)
        return [opening, *(self._watch(site, anchor) for site in watched)]

    def _may_override(self, scope: Scope, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether a function is a method of a class with bases, which runs when it is called."""
        if self.leaving or scope.parent not in self.derived or scope.declares or not scope.parameters:
            return False
        # What Python calls by itself, as `__getattr__` and `__eq__`, it may call for what the probe does as well.
        is_special = node.name.startswith("__") and node.name.endswith("__") and node.name != "__call__"
        return isinstance(node, ast.FunctionDef) and not is_special and not is_generator(node)

    def _is_method(self, scope: Scope) -> bool:
        return scope.parent is not None and self.scopes[scope.parent].kind == "class"

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Observe the fields of what the class constructs, by the outermost decorator."""
        scope = self.by_position.get((node.lineno, node.col_offset))
        if scope is not None and node.bases:
            self.derived.add(scope.index)
        self._within(node)
        if scope is not None and scope.index in self.fields:
            decorator = self._call("fields", [_constant(scope.index), self._outer(scope)], node)
            node.decorator_list.insert(0, decorator)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        """Observe what is returned."""
        self.generic_visit(node)
        if node.value is not None and self.stack[-1] in self.returns:
            node.value = self._call("observe_return", [self._scope(), node.value], node)
        for site in self._own_later():
            if node.value is not None:
                node.value = self._call(_WATCHES[site.kind], [self._scope(), _constant(site.index), node.value], node)
        if self.stack[-1] in self.overriding and node.value is not None:
            node.value = self._call("observe_override", [self.stack[-1], node.value], node)
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.Yield:
        """Observe what a generator yields."""
        self.generic_visit(node)
        for site in self._own_later():
            if node.value is not None and site.kind == "yielded":
                node.value = self._call("observe_yield", [self._scope(), _constant(site.index), node.value], node)
        return node

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.YieldFrom:
        """Observe what a generator yields of another."""
        self.generic_visit(node)
        for site in self._own_later():
            if site.kind == "yielded":
                node.value = self._call("observe_items", [self._scope(), _constant(site.index), node.value], node)
        return node

    def _own_later(self) -> list[Site]:
        """The sites of what the function around a statement gives back, seen when that is called, or yields."""
        return [site for site in self.later.get(self.stack[-1], ()) if not site.name]

    def _watch(self, site: Site, anchor: ast.AST) -> ast.stmt:
        """`f = __shapecheck__.observe_calls(__sc_7__, 3, f)`."""
        variable = ast.copy_location(ast.Name(site.name, ast.Load()), anchor)
        call = self._call(_WATCHES[site.kind], [self._scope_of(site.scope), _constant(site.index), variable], anchor)
        return ast.copy_location(ast.Assign([target(site.name)], call), anchor)

    def _outer(self, scope: Scope) -> int | None:
        """The nearest probed function (not class) around `scope`."""
        parent = scope.parent
        while parent is not None:
            if parent in self.probed and self.scopes[parent].kind == "function":
                return parent
            parent = self.scopes[parent].parent
        return None

    def _scope(self) -> ast.expr:
        return self._scope_of(self.stack[-1])

    def _scope_of(self, scope: int) -> ast.expr:
        return ast.Name(_variable(scope), ast.Load()) if scope in self.probed else _constant(None)

    def _enter(self, scope: int, outer: int | None, anchor: ast.AST) -> ast.stmt:
        call = self._call("enter", [_constant(scope), outer], anchor)
        target = ast.Name(_variable(scope), ast.Store())
        return ast.copy_location(ast.Assign([target], call), anchor)

    def _with_exit(self, scope: int, body: list[ast.stmt]) -> ast.stmt:
        """`try: ...`, `except BaseException: fail(); raise`, `finally: leave()`."""
        last = body[-1]
        failed = ast.copy_location(ast.Expr(self._call("fail", [scope], last)), last)
        handler = ast.ExceptHandler(None, None, [failed, ast.copy_location(ast.Raise(), last)])
        leave = self._leave(scope, last)
        return ast.copy_location(ast.Try(body, [ast.copy_location(handler, last)], [], [leave]), body[0])

    def _leave(self, scope: int, anchor: ast.AST) -> ast.stmt:
        return ast.copy_location(ast.Expr(self._call("leave", [scope], anchor)), anchor)

    def _constructor_probe(self, scope: Scope, anchor: ast.AST) -> ast.stmt:
        call = self._call("note_constructor", [_constant(scope.index)], anchor)
        return ast.copy_location(ast.Expr(call), anchor)

    def _later_fields_probe(self, scope: Scope, anchor: ast.AST) -> ast.stmt:
        cls = self.scopes[scope.parent or 0]
        call = self._call("later_fields", [_constant(cls.index), self._outer(cls), _constant(scope.index)], anchor)
        return ast.copy_location(ast.Expr(call), anchor)

    def _reach(self, point: Point, statement: ast.stmt) -> ast.stmt:
        call = self._call("reach", [self._scope(), *map(_constant, point)], statement)
        return ast.copy_location(ast.Expr(call), statement)

    def _name_probe(self, site: Site, statement: ast.stmt) -> ast.stmt:
        """`observe_name(...)`; in a running program, where `x` may be assigned, `if ...: x = replacement(...)`."""
        call = self._call("observe_name", [self._scope(), _constant(site.index)], statement)
        own = self.own[-1] if "." not in site.name else assigned_names(statement) if site.when != "before" else ()
        if not self.leaving or site.name not in own:
            return ast.copy_location(ast.Expr(call), statement)
        taken = ast.Assign([target(site.name)], self._call("replacement", [self._scope()], statement))
        return ast.copy_location(ast.If(call, [ast.copy_location(taken, statement)], []), statement)

    @staticmethod
    def _call(method: str, arguments: Sequence[ast.expr | int | None], anchor: ast.AST) -> ast.Call:
        function = ast.Attribute(ast.Name(HANDLE, ast.Load()), method, ast.Load())
        given = [
            a if isinstance(a, ast.expr) else ast.Name(_variable(a), ast.Load()) if a is not None else _constant(None)
            for a in arguments
        ]
        call = ast.Call(function, given, [])
        for part in ast.walk(call):
            if not hasattr(part, "lineno"):
                ast.copy_location(part, anchor)
        return call


def _probed_scopes(scopes: Sequence[Scope], sites: Sequence[Site]) -> set[int]:
    """The scopes with sites, and the functions around them, whose bindings they read."""
    probed = {s.scope for s in sites if scopes[s.scope].kind != "class"}
    for index in [*probed, *(s.scope for s in sites if scopes[s.scope].kind == "class")]:
        parent = scopes[index].parent
        while parent is not None:
            if scopes[parent].kind == "function":
                probed.add(parent)
            parent = scopes[parent].parent
    return probed


def _variable(scope: int) -> str:
    return f"__sc_{scope}__"


def _constant(value: int | None) -> ast.expr:
    return ast.Constant(value)
