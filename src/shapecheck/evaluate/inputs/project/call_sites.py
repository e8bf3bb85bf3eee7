"""Values that the project writes out where it calls a function: `pool(x, mode="max")`, `Model(dim=64, heads=4)`.

What nothing else describes is what its callers give it: a literal, a variable or default that is one, or an array of
so many axes (`jnp.ones((2, 8, 4))`). Only text is read, of modules, tests of those, and of docs and scripts; nothing is
run. So it is an invention all the same: of several calls each has its turn.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.parameter_facts import called_name
from shapecheck.evaluate.inputs.facts.written_tables import written_tables
from shapecheck.evaluate.parse_python import parse_python
from shapecheck.evaluate.probes.attribute_access import unwrap

_SHAPE_FIRST = frozenset({"zeros", "ones", "empty", "full", "ShapeDtypeStruct"})
_SHAPE_SECOND = frozenset({"normal", "uniform", "randint", "bernoulli", "truncated_normal", "gumbel"})
_SIZES_EACH = frozenset({"randn", "rand"})
_MOST = 8  # calls that are looked at, of one function
_LONGEST = 64  # items of a literal: longer ones are data
_DEFINED = re.compile(r"^\s*(?:def|class) (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class WrittenArray:
    """An array of which a call says how many axes it has, and its dtype as one of jaxtyping's, or "".

    `sizes` are those of its axes, if all are written.
    """

    axes: int
    dtype: str = ""
    sizes: tuple[int, ...] = ()


class UnknownValueError(Exception):
    """An argument of which its call does not say what it is."""


@dataclass(frozen=True)
class CallingText:
    """A text with calls, and the path by which results depend on it."""

    path: str
    text: str


CallValues = Mapping[str, object]
"""What one call gives, by parameter, as far as it is known."""


class CallSites:
    """The calls in some texts, which are read when the first is asked for."""

    def __init__(
        self,
        texts: Callable[[], Iterable[CallingText]] = lambda: (),
        note: Callable[[str], None] = lambda path: None,
    ) -> None:
        self._load, self._note = texts, note
        self._texts: Sequence[CallingText] | None = None
        self._trees: dict[str, ast.Module | None] = {}
        self._calls: dict[str, Mapping[str, Sequence[_UnboundCall]]] = {}
        self._definitions: Counter[str] | None = None
        self._found: dict[str, Sequence[CallValues]] = {}
        self._written: dict[str, Sequence[Mapping[str, object]]] = {}

    def values(self, function: Callable[..., object], parameter: str) -> Sequence[object]:
        """The different values that calls give for a parameter, of those calls first that say most."""
        key = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
        if key not in self._found:
            self._found[key] = tuple(self._calls_of(function))
        self._note_sources()
        found: list[object] = []
        for call in self._found[key]:
            if parameter in call and not any(_is_same(call[parameter], each) for each in found):
                found.append(call[parameter])
        return found

    def settled_integers(self, function: Callable[..., object]) -> Mapping[str, int]:
        """The integers that a class or function is given wherever the project calls it with something of its own.

        `FeedForward(dim, 4)`: those of this project are four times as wide. `FeedForward(64, 4)` is one among many.
        """
        found: dict[str, set[object]] = {}
        self._note_sources()
        for call in self._every_call(function):
            known = call.known_values()
            if all(name in known or name_hints.is_key(name) for name in call.arguments):
                continue
            for name, node in call.arguments.items():
                if isinstance(node, ast.Constant):
                    found.setdefault(name, set()).add(node.value)
        only = {name: next(iter(values)) for name, values in found.items() if len(values) == 1}
        return {name: value for name, value in only.items() if type(value) is int and value > 0}

    def table(self, names: Collection[str]) -> Mapping[str, object]:
        """The smallest table that is written out somewhere with all these names, as far as its values are known."""
        if not names:
            return {}
        found: list[Mapping[str, object]] = []
        for source in self._sources():
            self._note(source.path)
            if all(name in source.text for name in names):
                found += [each for each in self._tables(source) if each.keys() >= set(names)]
        return min(found, key=len, default={})

    def _tables(self, source: CallingText) -> Sequence[Mapping[str, object]]:
        if source.path not in self._written:
            tree = self._tree(source)
            self._written[source.path] = tuple(written_tables(tree)) if tree is not None else ()
        return self._written[source.path]

    def _note_sources(self) -> None:
        for source in self._sources():
            self._note(source.path)  # any of them may get another call

    def _sources(self) -> Sequence[CallingText]:
        if self._texts is None:
            self._texts = tuple(self._load())
        return self._texts

    def _calls_of(self, function: Callable[..., object]) -> list[CallValues]:
        found: list[CallValues] = []
        for call in self._every_call(function):
            values = call.known_values()
            if values and not any(_is_same(values, each) for each in found):
                found.append(values)
        return sorted(found, key=len, reverse=True)[:_MOST]

    def _every_call(self, function: Callable[..., object]) -> Iterator[_CallSite]:
        """The calls of a function, if it is the only one of its name."""
        own = unwrap(function)
        name = getattr(own, "__name__", "")
        parameters = _parameters(own)
        if not name.isidentifier() or name.startswith("__") or not parameters:
            return
        if self._definitions is None:
            self._definitions = Counter(name for each in self._sources() for name in _DEFINED.findall(each.text))
        if self._definitions[name] > 1:
            return  # who knows which of them is called
        top = str(getattr(own, "__module__", "")).partition(".")[0]
        is_method = parameters[0] in ("self", "cls") and not isinstance(own, type)
        for source in self._sources():
            if name not in source.text or top not in f"{source.path} {source.text}":
                continue
            for call in self._calls_in(source).get(name, ()):
                yield call.bound_to(parameters[is_method:])

    def _calls_in(self, source: CallingText) -> Mapping[str, Sequence[_UnboundCall]]:
        """All calls of a text, by the name of what is called: it is walked once, whatever is asked for."""
        if source.text not in self._calls:
            tree, found = self._tree(source), dict[str, list[_UnboundCall]]()
            for name, call in _named_calls(tree) if tree is not None else ():
                found.setdefault(name, []).append(call)
            self._calls[source.text] = found
        return self._calls[source.text]

    def _tree(self, source: CallingText) -> ast.Module | None:
        if source.text not in self._trees:
            try:
                self._trees[source.text] = parse_python(source.text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._trees[source.text] = None
        return self._trees[source.text]


@dataclass(frozen=True)
class _UnboundCall:
    """The arguments of a call, and what variables around it are, as far as that is known."""

    positional: Sequence[ast.expr]
    named: Mapping[str, ast.expr]
    variables: Mapping[str, ast.expr]

    def bound_to(self, parameters: Sequence[str]) -> _CallSite:
        """The same by the names of parameters."""
        given = {**dict(zip(parameters, self.positional, strict=False)), **self.named}
        return _CallSite({name: node for name, node in given.items() if name in parameters}, self.variables)


@dataclass(frozen=True)
class _CallSite:
    """What a call gives for each parameter, and the variables around it."""

    arguments: Mapping[str, ast.expr]
    variables: Mapping[str, ast.expr]

    def known_values(self) -> dict[str, object]:
        """The values that are written out."""
        found: dict[str, object] = {}
        for name, node in self.arguments.items():
            try:
                found[name] = written_value(node, self.variables)
            except UnknownValueError:
                continue
        return found


def _parameters(own: Callable[..., object]) -> list[str]:
    try:
        return list(inspect.signature(own).parameters)
    except (TypeError, ValueError):
        return []


def _named_calls(tree: ast.AST, variables: Mapping[str, ast.expr] | None = None) -> Iterator[tuple[str, _UnboundCall]]:
    """The calls in a tree with the name of what is called, also through `functools.partial`."""
    variables = {**(variables or {}), **_known_variables(tree)}
    todo = list(ast.iter_child_nodes(tree))
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from _named_calls(node, variables)
            continue
        todo += ast.iter_child_nodes(node)
        if not isinstance(node, ast.Call):
            continue
        called, arguments = node.func, node.args
        name = called_name(called)[0]
        if name == "partial" and arguments:
            name, arguments = called_name(arguments[0])[0], arguments[1:]
        if name:
            named = {each.arg: each.value for each in node.keywords if each.arg is not None}
            plain = next((n for n, each in enumerate(arguments) if isinstance(each, ast.Starred)), len(arguments))
            yield name, _UnboundCall(arguments[:plain], named, variables)


def _known_variables(tree: ast.AST) -> dict[str, ast.expr]:
    """The variables of a scope that are bound once, and the defaults of its parameters."""
    found: dict[str, ast.expr] = {}
    bound: list[str] = []
    if isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        arguments = tree.args
        by_place = [*arguments.posonlyargs, *arguments.args]
        with_default = by_place[len(by_place) - len(arguments.defaults) :]
        defaults = [*zip(with_default, arguments.defaults, strict=True)]
        defaults += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
        found.update((parameter.arg, default) for parameter, default in defaults)
        bound += [each.arg for each in (*by_place, *arguments.kwonlyargs)]
    todo = list(ast.iter_child_nodes(tree))
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        todo += ast.iter_child_nodes(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.append(node.id)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, node.value)
    # What is bound otherwise hides the variable of that name around.
    unknown = ast.Name("", ast.Load())
    return {name: found.get(name, unknown) if bound.count(name) == 1 else unknown for name in bound}


def written_value(node: ast.expr, variables: Mapping[str, ast.expr]) -> object:
    """The value that an expression is, written out; an array as `WrittenArray`. Raises UnknownValueError."""
    if isinstance(node, ast.Constant) and node.value is not Ellipsis and not isinstance(node.value, bytes):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = written_value(node.operand, variables)
        if isinstance(value, (int, float)):
            return -value
    if isinstance(node, ast.Name) and node.id in variables:
        rest = {name: each for name, each in variables.items() if name != node.id}
        return written_value(variables[node.id], rest)
    if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) <= _LONGEST:
        values = [written_value(each, variables) for each in node.elts]
        return tuple(values) if isinstance(node, ast.Tuple) else values
    if isinstance(node, ast.Dict) and all(node.keys) and len(node.keys) <= _LONGEST:
        keys = [written_value(each, variables) for each in node.keys if each is not None]
        if all(isinstance(key, (str, int)) for key in keys):
            return dict(zip(keys, (written_value(each, variables) for each in node.values), strict=True))
    if isinstance(node, ast.Call):
        return _written_array(node, variables)
    raise UnknownValueError


def _written_array(call: ast.Call, variables: Mapping[str, ast.expr]) -> WrittenArray:
    name, arguments = called_name(call.func)[0], call.args
    named = {each.arg: each.value for each in call.keywords}
    place = 0 if name in _SHAPE_FIRST else 1 if name in _SHAPE_SECOND else None
    dtype = "Int" if name in ("randint", "arange") else ""
    if name == "arange" and arguments:
        return WrittenArray(1, dtype)
    if name in _SIZES_EACH and arguments:
        return WrittenArray(len(arguments))
    if place is not None and (len(arguments) > place or "shape" in named):
        shape = written_value(named["shape"] if "shape" in named else arguments[place], variables)
        shape = (shape,) if isinstance(shape, int) else shape
        if isinstance(shape, (tuple, list)):
            sizes = tuple(each for each in shape if isinstance(each, int))
            return WrittenArray(len(shape), dtype, sizes if len(sizes) == len(shape) else ())
    raise UnknownValueError


def _is_same(one: object, other: object) -> bool:
    return type(one) is type(other) and repr(one) == repr(other)
