"""Which names of a module hold what one call may leave for another: a cache, a registry, a counter.

What was evaluated then depends on functions that ran for something else, before it. Everything counts as such that is
not known to hold nothing: these lists may lack things.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shapecheck.incremental.name_references import imports, words
from shapecheck.incremental.side_effects import pure_packages
from shapecheck.syntax.scopes import name_chain, target_names, targets

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# Ways to reach names that no text shows.
_HIDDEN = words("setattr delattr globals exec eval vars __dict__ __setattr__ modules import_module object_setattr")
# Methods that change nothing, and functions that only look at what they are given.
_READING_METHODS = words("get items keys values copy index count union intersection join format startswith endswith")
_READING_FUNCTIONS = words(
    "len sorted list tuple set frozenset dict enumerate zip isinstance sum min max any all range reversed str repr"
)
# Of packages that keep nothing, those whose calls make what changes and is the user's; and what others make that does.
_MAKE_MUTABLE = words("contextlib copy hypothesis inspect numpy pytest types unittest")
_CONTAINERS = words(
    """dict list set bytearray defaultdict deque OrderedDict Counter count cycle iter open WeakKeyDictionary
    WeakValueDictionary"""
)
_DISPLAYS = (ast.List, ast.Dict, ast.Set)


@dataclass(frozen=True)
class HeldValue:
    """A value that could change: under `name`, the module's own or an attribute of `owner` there.

    What is in it stays as it is if it is `flat`.
    """

    owner: str
    name: str
    flat: bool = False


@dataclass(frozen=True)
class KeptState:
    """What a module holds that could change, and what its functions do by name.

    They do more than read what is `used`, they look into what is `opened`, and set `changed` names, or attributes of
    these. If it is `hidden`, they may change anything.
    """

    holding: tuple[HeldValue, ...] = ()
    changed: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()
    opened: frozenset[str] = frozenset()
    hidden: bool = False


def kept_state(tree: ast.Module) -> KeptState:
    """Read a module."""
    found = _StateReader(_packages(tree))
    found.body(tree.body, "")
    return KeptState(
        holding=tuple(dict.fromkeys(found.holding)),
        changed=frozenset(found.changed),
        used=frozenset(found.used),
        opened=frozenset(found.opened),
        hidden=found.hidden,
    )


def stateful_names(modules: Mapping[str, KeptState]) -> Iterator[tuple[str, str]]:
    """The names of each module that may hold what one call leaves for another, by all that is done in any of them.

    A name that is used means all that have it, wherever they are.
    """
    used = frozenset().union(*(each.used | each.changed for each in modules.values()))
    opened = used.union(*(each.opened for each in modules.values()))
    changed = frozenset().union(*(each.changed for each in modules.values()))
    for module, state in modules.items():
        yield from ((module, held.owner) for held in state.holding if held.name in (used if held.flat else opened))
        yield from ((module, name) for name in changed)


def _packages(tree: ast.Module) -> dict[str, str]:
    """The packages that names of a module are imported from."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {
                name: target.module[0] if target.module and not target.level else "" for name, target in imports(node)
            }
    return found


class _StateReader:
    """Collects over one module."""

    def __init__(self, packages: Mapping[str, str]) -> None:
        self.packages = packages  # that names come from
        self.holding: list[HeldValue] = []
        self.changed: set[str] = set()
        self.used: set[str] = set()
        self.opened: set[str] = set()
        self.hidden = False

    def body(self, statements: list[ast.stmt], owner: str) -> None:
        """The statements of the module, or of a class that is in the module as `owner`."""
        for statement in statements:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                defaults = [
                    each for each in (*statement.args.defaults, *statement.args.kw_defaults) if each is not None
                ]
                if not all(map(self._is_lasting, defaults)):
                    self.holding.append(HeldValue(owner or statement.name, statement.name))
                    self.changed.add(statement.name)  # the function itself is what reads it
                self._function(statement, owner)
            elif isinstance(statement, ast.ClassDef):
                self.body(statement.body, owner or statement.name)
            else:
                self._statement(statement, owner)

    def _statement(self, statement: ast.stmt, owner: str) -> None:
        value = getattr(statement, "value", None)
        if not (isinstance(statement, (ast.Assign, ast.AnnAssign)) and (value is None or self._is_lasting(value))):
            names = (name for target in targets(statement) for name in target_names(target) if name)
            flat = isinstance(value, _DISPLAYS) and all(map(self._is_lasting, _children(value)))
            self.holding += [HeldValue(owner or name, name.rpartition(".")[2], flat) for name in names]
        for node in ast.walk(value) if isinstance(value, ast.expr) else ():
            if isinstance(node, ast.Lambda):
                self._function(node, owner)
            elif isinstance(node, (ast.Name, ast.Attribute)):  # it has another name from now on
                self.used.add(node.id if isinstance(node, ast.Name) else node.attr)
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list):
                self.body([each for each in inner if isinstance(each, ast.stmt)], owner)
        for handler in getattr(statement, "handlers", ()):
            self.body(handler.body, owner)

    def _is_lasting(self, value: ast.expr) -> bool:
        """Whether a value surely stays what it is."""
        return all(map(self._stays, _parts(value)))

    def _stays(self, value: ast.expr) -> bool:
        if isinstance(value, ast.Call):
            chain = name_chain(value.func)
            package = self.packages.get(chain[0]) if chain is not None else None
            if chain is None or package is None or package in _MAKE_MUTABLE:
                return False
            return package in pure_packages() and chain[-1] not in _CONTAINERS
        return not isinstance(value, (*_DISPLAYS, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp))

    def _function(self, function: ast.AST, owner: str) -> None:
        parents: dict[ast.AST, ast.AST] = {}
        pending = [function]
        while pending:
            node = pending.pop()
            children = list(ast.iter_child_nodes(node))
            parents.update(dict.fromkeys(children, node))
            pending += children
        for node in parents:
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                self.changed.update(node.names)
            elif isinstance(node, (ast.Name, ast.Attribute)):
                self._name(node, parents, owner)

    def _name(self, node: ast.Name | ast.Attribute, parents: dict[ast.AST, ast.AST], owner: str) -> None:
        name = node.id if isinstance(node, ast.Name) else node.attr
        self.hidden |= name in _HIDDEN
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            self._note_change(node, owner)
        elif isinstance(node.ctx, ast.Load):
            (self.opened if _only_reads(node, parents) else self.used).add(name)

    def _note_change(self, node: ast.Attribute, owner: str) -> None:
        """An attribute is set: of an object, which has it then; of a class, a function or a module; or of who knows."""
        chain = name_chain(node.value)
        if chain in (("cls",), ("self", "__class__")):
            self.changed.add(owner)
        inner: ast.expr = node.value
        while isinstance(inner, (ast.Attribute, ast.Subscript)):
            if isinstance(inner, ast.Attribute):
                self.changed.add(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            self.changed.add(inner.id)
        else:
            self.hidden = True


def _only_reads(node: ast.expr, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether what is done with a value can neither change it nor hand it on."""
    parent = parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return isinstance(parent.ctx, ast.Load)
    if isinstance(parent, ast.Attribute):
        call = parents.get(parent)
        is_called = isinstance(call, ast.Call) and call.func is parent
        return not is_called or parent.attr in _READING_METHODS
    if isinstance(parent, ast.Call):
        function = name_chain(parent.func)
        return parent.func is not node and function is not None and function[-1] in _READING_FUNCTIONS
    if isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)):
        return parent.iter is node
    return isinstance(parent, (ast.Compare, ast.UnaryOp, ast.BinOp, ast.FormattedValue))


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    """A value, and those that it is made from; not what a function does in its body."""
    yield value
    if not isinstance(value, _FUNCTIONS):
        for child in _children(value):
            yield from _parts(child)


def _children(value: ast.expr) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(value):
        inner = child.value if isinstance(child, ast.keyword) else child
        if isinstance(inner, ast.expr):
            yield inner
