"""One walk over the statements of a file: scopes, where statements stand, names, and what they hold."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from shapecheck.model import Scope, ScopeKind
from shapecheck.syntax.source_text import position_of


def split_chain(node: ast.AST) -> tuple[ast.AST, tuple[str, ...]]:
    """What an attribute chain starts from, and the attributes: of `f(x).a.b` the call and ("a", "b")."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return node, tuple(reversed(attributes))


def name_chain(node: ast.AST) -> tuple[str, ...] | None:
    """`a.b.c` as ("a", "b", "c"); None for anything else."""
    first, attributes = split_chain(node)
    return (first.id, *attributes) if isinstance(first, ast.Name) else None


def targets(node: ast.stmt) -> list[ast.expr]:
    """The expressions that a statement assigns to."""
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For | ast.AsyncFor):
        return [node.target]
    if isinstance(node, ast.With | ast.AsyncWith):
        return [item.optional_vars for item in node.items if item.optional_vars is not None]
    return []


def single_targets(target: ast.expr) -> Iterator[ast.expr]:
    """What a target assigns to one by one, through tuples, lists and stars, in the order of the text."""
    stack = [target]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Tuple | ast.List):
            stack += reversed(node.elts)
        elif isinstance(node, ast.Starred):
            stack.append(node.value)
        else:
            yield node


_TUPLES = frozenset({"tuple", "Tuple", "typing.Tuple"})
Function = ast.FunctionDef | ast.AsyncFunctionDef
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPOUND = (*_LOOPS, ast.If, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match, ast.ClassDef, Function)


@dataclass(frozen=True, kw_only=True)
class PlacedStatement:
    """A statement with its surroundings. `place` counts statements in the order of the text."""

    node: ast.stmt
    scope: int
    loop: tuple[int, ...]
    place: int
    block: int  # identifies the list of statements that it stands in
    header_end: int  # the last line of the statement itself, without the statements inside it

    @property
    def compound(self) -> bool:
        """Whether statements stand inside it."""
        return isinstance(self.node, _COMPOUND)


@dataclass(kw_only=True)
class Tables:
    """What the walk found. Filled by `survey`, then only read."""

    scopes: list[Scope] = field(default_factory=list)
    nodes: list[Function | ast.ClassDef | ast.Module] = field(default_factory=list)
    statements: list[PlacedStatement] = field(default_factory=list)
    scope_of: dict[tuple[int, int], int] = field(default_factory=dict)
    assigned: defaultdict[int, dict[str, list[int]]] = field(default_factory=lambda: defaultdict(dict))

    @cached_property
    def by_node(self) -> dict[ast.stmt, PlacedStatement]:
        """Where each statement stands."""
        return {statement.node: statement for statement in self.statements}

    def assignments(self, scope: int, name: str) -> Sequence[int]:
        """The places of the statements that assign a variable, or an attribute chain such as `self.w`, in a scope."""
        return self.assigned[scope].get(name, ())

    def next_assignment(self, scope: int, name: str, place: int) -> PlacedStatement | None:
        """The first statement behind `place` that assigns the variable."""
        places = self.assignments(scope, name)
        index = bisect_left(places, place + 1)
        return self.statements[places[index]] if index < len(places) else None

    def assigns(self, statement: PlacedStatement, name: str) -> bool:
        """Whether a statement, or one inside it that is of the same scope, assigns the variable."""
        end = (statement.node.end_lineno or 0, statement.node.end_col_offset or 0)
        places = self.assignments(statement.scope, name)
        found = (
            self.statements[places[index]] if (index := bisect_left(places, statement.place)) < len(places) else None
        )
        return found is not None and (found.node.lineno, found.node.col_offset) < end

    def has_field(self, scope: int, name: str) -> bool:
        """Whether the body of a class declares or assigns a field, or its constructor sets it."""
        makers = (s.index for s in self.scopes[scope + 1 :] if s.parent == scope and s.qualname.endswith(".__init__"))
        return name in self.assigned[scope] or any(f"self.{name}" in self.assigned[maker] for maker in makers)

    def function_scope(self, scope: int) -> int:
        """The nearest function or module: a class body runs in the scope around it."""
        while self.scopes[scope].kind == "class":
            scope = self.scopes[scope].parent or 0
        return scope

    def is_visible(self, scope: int, name: str) -> bool:
        """Whether a parameter, a local or an attribute of `self` has this name in the scope or a function around it."""
        if name.startswith("self."):
            return self._is_attribute(scope, name)
        current: int | None = scope
        while current is not None:
            if name in self.scopes[current].parameters or name in self.assigned[current]:
                return self.scopes[current].kind != "class"
            current = self.scopes[current].parent
        return False

    def _is_attribute(self, scope: int, name: str) -> bool:
        """Whether a method of the class assigns `self.x`, or its body declares `x`."""
        owner: int | None = scope
        while owner is not None and self.scopes[owner].kind != "class":
            owner = self.scopes[owner].parent
        if owner is None or "self" not in self.scopes[scope].parameters:
            return False
        methods = (s.index for s in self.scopes[owner:] if s.parent == owner)
        return name.removeprefix("self.") in self.assigned[owner] or any(name in self.assigned[m] for m in methods)


@dataclass(frozen=True)
class _PendingBody:
    """A list of statements that is still to be walked."""

    body: Sequence[ast.stmt]
    scope: int
    loop: tuple[int, ...]


def survey(tree: ast.Module) -> Tables:
    """Walk all statements of a file, in the order of the text."""
    tables = Tables()
    tables.scopes.append(Scope(index=0, kind="module", qualname="<module>", parent=None, position=None))
    tables.nodes.append(tree)
    # Explicit stack: an `elif` chain nests as deeply as it is long.
    stack: list[Iterator[PlacedStatement]] = [_place(tables, _PendingBody(tree.body, 0, ()), 0)]
    blocks = 0
    while stack:
        placed = next(stack[-1], None)
        if placed is None:
            stack.pop()
            continue
        _note_assignments(tables, placed)
        inner = list(_bodies(tables, placed))
        for pending in reversed(inner):
            blocks += 1
            stack.append(_place(tables, pending, blocks))
    return tables


def _place(tables: Tables, pending: _PendingBody, block: int) -> Iterator[PlacedStatement]:
    for node in pending.body:
        place = len(tables.statements)
        placed = PlacedStatement(
            node=node, scope=pending.scope, loop=pending.loop, place=place, block=block, header_end=_header_end(node)
        )
        tables.statements.append(placed)
        yield placed


def _header_end(node: ast.stmt) -> int:
    if not isinstance(node, _COMPOUND):
        return node.end_lineno or node.lineno
    inner: list[ast.stmt] = [case.body[0] for case in node.cases] if isinstance(node, ast.Match) else node.body
    first = inner[0]
    decorators = getattr(first, "decorator_list", None)
    line = decorators[0].lineno if decorators else first.lineno
    return max(node.lineno, line - 1)


def _bodies(tables: Tables, placed: PlacedStatement) -> Iterator[_PendingBody]:
    """The lists of statements inside a statement, in the order of the text."""
    node, scope, loop = placed.node, placed.scope, placed.loop
    if isinstance(node, Function | ast.ClassDef):
        yield _PendingBody(node.body, _open_scope(tables, node, scope), ())
    elif isinstance(node, _COMPOUND):
        inner = (*loop, node.lineno) if isinstance(node, _LOOPS) else loop
        if isinstance(node, ast.Match):
            for case in node.cases:
                yield _PendingBody(case.body, scope, loop)
            return
        yield _PendingBody(node.body, scope, inner)
        for handler in getattr(node, "handlers", ()):
            yield _PendingBody(handler.body, scope, loop)
        for name in ("orelse", "finalbody"):
            if body := getattr(node, name, None):
                yield _PendingBody(body, scope, loop)


def _open_scope(tables: Tables, node: Function | ast.ClassDef, parent: int) -> int:
    index = len(tables.scopes)
    outer = tables.scopes[parent]
    prefix = "" if outer.kind == "module" else f"{outer.qualname}."
    kind: ScopeKind = "class" if isinstance(node, ast.ClassDef) else "function"
    parameters = tuple(a.arg for a in arguments(node)) if isinstance(node, Function) else ()
    tables.scopes.append(
        Scope(
            index=index,
            kind=kind,
            qualname=prefix + node.name,
            parent=parent,
            position=position_of(node),
            parameters=parameters,
            declares=isinstance(node, Function) and _declares(node),
        )
    )
    tables.nodes.append(node)
    tables.scope_of[node.lineno, node.col_offset] = index
    return index


_DECLARING = frozenset(
    {"overload", "abstractmethod", "abstractproperty", "abstractclassmethod", "abstractstaticmethod"}
)


def _declares(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether there is nothing in a function to run."""
    if any((dotted_name(each) or "").rpartition(".")[2] in _DECLARING for each in node.decorator_list):
        return True
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return bool(body) and all(map(_is_left_open, body))


def _is_left_open(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and statement.value.value is ...
    )


def arguments(node: Function | ast.Lambda) -> list[ast.arg]:
    """All parameters of a function, in the order of the text."""
    args = node.args
    starred = [args.vararg] if args.vararg else []
    double = [args.kwarg] if args.kwarg else []
    return [*args.posonlyargs, *args.args, *starred, *args.kwonlyargs, *double]


def parameter_defaults(node: Function) -> Iterator[tuple[ast.arg, ast.expr]]:
    """The parameters of a function that have a default, with it."""
    args = node.args
    yield from zip(reversed([*args.posonlyargs, *args.args]), reversed(args.defaults), strict=False)
    yield from ((a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None)


def _note_assignments(tables: Tables, placed: PlacedStatement) -> None:
    for target in targets(placed.node):
        for name in target_names(target):
            places = tables.assigned[placed.scope].setdefault(name, [])
            if not places or places[-1] != placed.place:
                places.append(placed.place)


def target_names(target: ast.expr) -> Iterator[str]:
    """The variables and attribute chains that a target assigns, through tuples and stars."""
    return (name for single in single_targets(target) if (name := dotted_name(single)) is not None)


def dotted_name(node: ast.expr) -> str | None:
    """The text of a variable or attribute chain, None for anything else."""
    chain = name_chain(node)
    return None if chain is None else ".".join(chain)


def last_name(node: ast.expr) -> str:
    """The name of what is called, without what stands before it: of `jnp.zeros` it is `zeros`; "" for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_generator(node: Function) -> bool:
    """Whether a `yield` stands in the function's own body."""
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in own_nodes(node))


def returned_values(node: Function) -> Iterator[ast.expr]:
    """What the function's own `return` statements return; of `return a if flag else b` both."""
    left = [part.value for part in own_nodes(node) if isinstance(part, ast.Return) and part.value is not None][::-1]
    while left:
        value = left.pop()
        if isinstance(value, ast.IfExp):
            left += (value.orelse, value.body)
        else:
            yield value


def result_count(node: Function) -> int:
    """How many results a function returns, as a tuple: 0 if that is not plain.

    Where it passes on what another one returns, its annotation may say so: `-> tuple[Array, Array | None]`.
    """
    values = list(returned_values(node))
    counts = {len(value.elts) if isinstance(value, ast.Tuple) else 0 for value in values}
    if any(isinstance(part, ast.Starred) for value in values if isinstance(value, ast.Tuple) for part in value.elts):
        return 0
    passes_on = all(isinstance(value, ast.Tuple | ast.Call) for value in values)
    if passes_on and counts == {0, _annotated_count(node)}:
        return max(counts)
    return counts.pop() if len(counts) == 1 else 0


def _annotated_count(node: Function) -> int:
    """How many results the annotation says in a tuple, 0 if it says none or leaves it open."""
    match node.returns:
        case ast.Subscript(value=kind, slice=ast.Tuple(elts=members)) if dotted_name(kind) in _TUPLES:
            is_open = any(isinstance(each, ast.Constant) and each.value is ... for each in members)
            return 0 if is_open else len(members)
    return 0


def own_nodes(owner: Function | ast.ClassDef | ast.Module) -> Iterator[ast.AST]:
    """Every node that runs in a function, class or module itself: not inside of functions and classes in it."""
    stack: list[ast.AST] = list(owner.body)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Function | ast.ClassDef):
            stack += node.decorator_list
        elif not isinstance(node, ast.Lambda):
            stack += ast.iter_child_nodes(node)
