"""The parts that a function takes out of its parameters: `batch["image"]`, `carry[0]` of `h, c = carry`, and `f()`.

A part goes by its text, where a parameter goes by its name: what is written of it, and what code asks of it, is told
and looked up in the same way.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Union

Key = Union[str, int, None]  # noqa: UP007 - evaluated on Python 3.10
"""A key of a dict, the place in a tuple, or None: what a function gives."""

_AnyFunction = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_KEEPING = frozenset({"asarray", "array"})  # functions that keep the shape of their argument


@dataclass(frozen=True)
class Part:
    """A parameter, and the keys that lead to the part of it; none for the whole.

    What a function gives may be `mapped`, so that it has an axis more: `jax.vmap(f)(x)`.
    """

    parameter: str
    keys: tuple[Key, ...] = ()
    mapped: int = field(default=0, compare=False)

    def inner(self, key: Key) -> Part:
        """A part of this one."""
        return Part(self.parameter, (*self.keys, key))

    def of(self, whole: Part) -> Part:
        """What it is where its parameter is this part of another's."""
        return Part(whole.parameter, (*whole.keys, *self.keys))

    def __str__(self) -> str:
        """`batch["image"]`."""
        return "".join([self.parameter, *map(_key_text, self.keys)])


def _key_text(key: Key) -> str:
    if key is None:
        return "()"
    return f'["{key}"]' if isinstance(key, str) else f"[{key}]"


_ENTRIES = re.compile(r'(?P<parameter>\w+)(?P<keys>(?:\["\w+"\])+)')


def entries_of(parameter: str, texts: Iterable[str]) -> Iterator[Part]:
    """The entries of a parameter among the parts with these texts."""
    for text in texts:
        found = _ENTRIES.fullmatch(text)
        if found is not None and found["parameter"] == parameter:
            yield Part(parameter, tuple(re.findall(r"\w+", found["keys"])))


class ParameterParts:
    """The parts that a function takes, and the variables that are one of them: those that are bound just once.

    `assigned` are the parts by variable and by line and column of the statement that binds it, or of the value that
    it gets, however often that is. A parameter that is bound again may be anything from there on. The `others` are the
    nodes, by `id`, of what functions inside call as a parameter is called.
    """

    def __init__(self, function: ast.AST) -> None:
        nodes = list(ast.walk(function))
        own = [*parameter_names(function)]
        bound = Counter(node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
        bound.update(name for node in nodes if node is not function for name in parameter_names(node))
        bound.update(node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef)))
        self.others = _other_variables(function, nodes, own)
        rebound = {node.id for node in _stores(nodes, self.others)}
        defined = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        self.variables: dict[str, Part] = {name: Part(name) for name in own if name not in rebound | defined}
        self._until = {name: line for name, line in _first_stores(nodes, self.others).items() if name in own}
        self._once = {name for name, times in bound.items() if times == 1} - set(own)
        self.assigned: dict[tuple[str, int, int], Part] = {}
        self._taken: dict[Part, None] = {}
        assignments = [node for node in nodes if isinstance(node, (ast.Assign, ast.AnnAssign))]
        for each in sorted(assignments, key=lambda each: (each.lineno, each.col_offset)):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            if each.value is not None and len(targets) == 1:
                self._assign(targets[0], each.value, (each.lineno, each.col_offset))
        for node in nodes:
            if isinstance(node, ast.Call) or (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
                part = self.part(node)
                if part is not None:
                    self._taken[part] = None

    def by_parameter(self) -> Mapping[str, tuple[Part, ...]]:
        """By parameter the parts that are taken, of those that lead to others the last; in order."""
        outer = {Part(each.parameter, each.keys[:end]) for each in self._taken for end in range(len(each.keys))}
        found: dict[str, tuple[Part, ...]] = {}
        for part in self._taken:
            if part not in outer:
                found[part.parameter] = (*found.get(part.parameter, ()), part)
        return found

    def part(self, node: ast.AST) -> Part | None:
        """The part, or the whole parameter, that an expression is."""
        if isinstance(node, ast.Name):
            if id(node) in self.others:
                return None
            is_before = isinstance(node.ctx, ast.Load) and node.lineno <= self._until.get(node.id, 0)
            return Part(node.id) if is_before else self.variables.get(node.id)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            whole, key = self.part(node.value), node.slice.value
            return whole.inner(key) if whole is not None and isinstance(key, str) else None
        if isinstance(node, ast.Call):
            if (mapped := _mapped_function(node.func)) is not None:
                called = self.part(mapped)
                return replace(called.inner(None), mapped=1) if called is not None else None
            called = self.part(node.func)
            return called.inner(None) if called is not None else None
        return None

    def _assign(self, target: ast.expr, value: ast.expr, place: tuple[int, int]) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                self._assign(one, other, place)
            return
        part = self.part(_without_conversion(value))
        if part is None:
            return
        if isinstance(target, ast.Name):
            self._bind(target.id, part, place)
            self._bind(target.id, part, (value.lineno, value.col_offset))
        elif isinstance(target, (ast.Tuple, ast.List)) and not any(isinstance(e, ast.Starred) for e in target.elts):
            for number, each in enumerate(target.elts):
                self._taken[part.inner(number)] = None
                if isinstance(each, ast.Name):
                    self._bind(each.id, part.inner(number), place)

    def _bind(self, name: str, part: Part, place: tuple[int, int]) -> None:
        self.assigned[(name, *place)] = part
        if name in self._once:
            self.variables[name] = part


def _other_variables(function: ast.AST, nodes: Sequence[ast.AST], names: Sequence[str]) -> frozenset[int]:
    """The nodes, by `id`, in functions inside that have a variable of their own by one of these names."""
    found: set[int] = set()
    given = set(names)
    for inner in (node for node in nodes if isinstance(node, _AnyFunction) and node is not function):
        inside = list(ast.walk(inner))
        shared = {name for node in inside if isinstance(node, (ast.Nonlocal, ast.Global)) for name in node.names}
        variables = [node for node in inside if isinstance(node, ast.Name)]
        own = {node.id for node in variables if not isinstance(node.ctx, ast.Load)} | {*parameter_names(inner)}
        hidden = (own - shared) & given
        found.update(id(node) for node in variables if node.id in hidden)
    return frozenset(found)


def _stores(nodes: Sequence[ast.AST], others: Container[int]) -> Iterator[ast.Name]:
    """The places where variables are bound, but `others`."""
    names = (node for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    return (node for node in names if id(node) not in others)


def _first_stores(nodes: Sequence[ast.AST], others: Container[int]) -> dict[str, int]:
    """By variable the last line of the first statement that binds it."""
    ends: dict[int, int] = {}  # of the statements that names stand in
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            ends.update((id(inner), node.end_lineno or node.lineno) for inner in ast.walk(node))
    found: dict[str, int] = {}
    for node in _stores(nodes, others):
        line = ends.get(id(node), node.lineno)
        found[node.id] = min(found.get(node.id, line), line)
    return found


def _mapped_function(called: ast.expr) -> ast.expr | None:
    """`f` of `jax.vmap(f)`, whose results have an axis more, the first one."""
    if isinstance(called, ast.Call) and len(called.args) == 1 and all(k.arg == "in_axes" for k in called.keywords):
        name = called.func.attr if isinstance(called.func, ast.Attribute) else getattr(called.func, "id", "")
        return called.args[0] if name in ("vmap", "filter_vmap") else None
    return None


def _without_conversion(value: ast.expr) -> ast.expr:
    """What has the shape of a value: `x` of `jnp.asarray(x)` and of `x.astype(float)`."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr == "astype":
            return value.func.value
        if value.func.attr in _KEEPING and value.args:
            return value.args[0]
    return value


def parameter_names(function: ast.AST) -> Iterator[str]:
    """The names of a function's parameters, without those with stars; of anything else none."""
    if isinstance(function, _AnyFunction):
        arguments = function.args
        yield from (each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
