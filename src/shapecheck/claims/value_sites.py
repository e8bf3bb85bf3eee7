"""The sites of all values in functions: their parameters, their results, what they assign; and which claim nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from shapecheck.claims.axis_words import words
from shapecheck.model import Module, Position, Site
from shapecheck.syntax.scopes import Function, Tables, arguments, dotted_name, is_generator, survey
from shapecheck.syntax.source_text import SourceText, position_of

SELVES = words("self cls")
"""What methods call their own model: nobody wants to see all of its leaves."""

# They make parts of models rather than arrays; to look into all of these doubles the time of an evaluation.
_CONSTRUCTORS = words("__init__ __post_init__ setup __new__")
# They run whenever anybody reads an attribute, and pass on what that is.
_ACCESSORS = words("__getattr__ __getattribute__ __setattr__ __delattr__")
_LEFT_OUT = _CONSTRUCTORS | _ACCESSORS


def value_sites(tables: Tables) -> Iterator[tuple[Site, ast.stmt]]:
    """Each site, without its number, and the statement that gives the value: for those of a signature the `def`."""
    for scope, node in zip(tables.scopes, tables.nodes, strict=True):
        if not isinstance(node, Function) or node.name in _LEFT_OUT:
            continue
        for parameter in arguments(node):
            if parameter.arg not in SELVES:
                yield Site(index=0, kind="param", scope=scope.index, position=None, name=parameter.arg), node
        if not is_generator(node):
            yield Site(index=0, kind="return", scope=scope.index, position=None, name=""), node
    for statement in tables.statements:
        value, scope_index = value_of(statement.node), tables.function_scope(statement.scope)
        function = tables.nodes[scope_index]
        if value is None or not isinstance(function, Function) or function.name in _LEFT_OUT:
            continue
        place, name = position_of(value), target_text(statement.node)
        site = Site(index=0, kind="value", scope=scope_index, position=place, name=name, loop=statement.loop)
        yield site, statement.node


def with_sites(module: Module, wanted: Iterable[Site]) -> tuple[Module, tuple[int, ...]]:
    """The module with these sites beside its own, and the number of each: that of the module's own if it has it."""
    sites = list(module.sites)
    numbers = {site_key(site): site.index for site in reversed(sites) if site.part is None}
    found = []
    for site in wanted:
        number = numbers.setdefault(site_key(site), len(sites))
        if number == len(sites):
            sites.append(replace(site, index=number))
        found.append(number)
    return replace(module, sites=tuple(sites)), tuple(found)


def site_key(site: Site) -> tuple[str, int, Position | None, str]:
    """What two sites of the same value have in common: it does not matter what an expression is called."""
    return site.kind, site.scope, site.position, "" if site.kind == "value" else site.name


def value_of(node: ast.stmt) -> ast.expr | None:
    """What a statement assigns or returns, unless it is a literal."""
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.Return(value=value):
            return value if not isinstance(value, ast.Constant) else None
    return None


def target_text(node: ast.stmt) -> str:
    """What people would call the value of a statement by."""
    match node:
        case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target):
            return ast.unparse(target).removeprefix("(").removesuffix(")")
        case ast.Return():
            return "return"
    return ""


Style = Literal["comments", "annotations"]

_ARRAYS = words("Array jax.Array jnp.ndarray jax.numpy.ndarray chex.Array")
_MOST_NAMES = 40


@dataclass(frozen=True)
class OpenPlace:
    """A place for a claim on the value of a site: behind the statement that ends on `line`, or in the `def` there.

    `name` is the variable or parameter; "" is the result.
    """

    site: int
    scope: int
    name: str
    line: int
    column: int = 0


def with_open_places(module: Module, source: SourceText, style: Style) -> tuple[Module, tuple[OpenPlace, ...]]:
    """The module with sites for all places of a style, and these places."""
    if source.tree is None:
        return module, ()
    tables = survey(source.tree)
    claimed = {site_key(module.sites[index]) for claim in module.claims for index in claim.sites}
    names = {index: _names_for(tables, index) for index in range(len(tables.nodes))}
    if style == "comments":
        is_open = _UncommentedAssignments(source).includes
    else:
        is_open = _OpenSignatures(_numpy_names(source.tree)).includes
    chosen = [
        (replace(site, names=names[site.scope], arrays=True), node)
        for site, node in value_sites(tables)
        if site_key(site) not in claimed and is_open(site, node)
    ]
    module, numbers = with_sites(module, (site for site, _ in chosen))
    return module, tuple(_place(number, site, node) for number, (site, node) in zip(numbers, chosen, strict=True))


def defaulted_integers(source: SourceText) -> Iterator[tuple[int, str]]:
    """The parameters whose defaults are integers, with the scope of their function: one of them may be a size."""
    tables = survey(source.tree) if source.tree is not None else None
    for scope, node in enumerate(tables.nodes if tables is not None else ()):
        if isinstance(node, Function):
            places = [*node.args.posonlyargs, *node.args.args]
            pairs = [*zip(reversed(places), reversed(node.args.defaults), strict=False)]
            pairs += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
            for parameter, default in pairs:
                if isinstance(default, ast.Constant) and type(default.value) is int:
                    yield scope, parameter.arg


def _place(number: int, site: Site, node: ast.stmt) -> OpenPlace:
    if isinstance(node, Function):
        return OpenPlace(number, site.scope, site.name, node.lineno, node.col_offset)
    return OpenPlace(number, site.scope, site.name, node.end_lineno or node.lineno)


class _UncommentedAssignments:
    """Tells assignments to one name on lines that have no comment, nor another statement behind them."""

    def __init__(self, source: SourceText) -> None:
        self._lines = source.lines
        self._commented = {comment.line for comment in source.comments}
        self._own_lines = {comment.line for comment in source.comments if comment.own_line}

    def includes(self, site: Site, node: ast.stmt) -> bool:
        """Whether it is one."""
        match node:
            case ast.Assign(targets=[ast.Name()], value=value):
                is_plain = not isinstance(value, ast.Name | ast.Attribute)
            case _:
                return False
        end = node.end_lineno or node.lineno
        rest = self._lines[end - 1].encode()[node.end_col_offset or 0 :].strip()
        if node.lineno - 1 in self._own_lines or not self._commented.isdisjoint(range(node.lineno, end + 1)):
            return False
        return site.kind == "value" and is_plain and not rest


def _numpy_names(tree: ast.AST) -> frozenset[str]:
    """What a file calls NumPy, whose arrays no annotation of JAX's describes."""
    imports = (alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names)
    return frozenset(alias.asname or alias.name for alias in imports if alias.name == "numpy")


def _calls_any(node: ast.AST, names: frozenset[str]) -> bool:
    calls = (part.func for part in ast.walk(node) if isinstance(part, ast.Call)) if names else ()
    return any((dotted_name(each) or "").partition(".")[0] in names for each in calls)


class _OpenSignatures:
    """Tells parameters and results without annotation, or with none that says more than that it is an array.

    What computes with `numpy`, as the file calls it, may have NumPy's arrays, which annotations of JAX's do not fit.
    """

    def __init__(self, numpy: frozenset[str]) -> None:
        self._numpy = numpy

    def includes(self, site: Site, node: ast.stmt) -> bool:
        """Whether it is one."""
        if not isinstance(node, Function) or _calls_any(node, self._numpy):
            return False
        if site.kind == "return":
            return _is_open(node.returns)
        stars = (node.args.vararg, node.args.kwarg)
        named = (each for each in arguments(node) if each.arg == site.name and each not in stars)
        return any(_is_open(each.annotation) for each in named)


def _is_open(annotation: ast.expr | None) -> bool:
    return annotation is None or ast.unparse(annotation) in _ARRAYS


def _names_for(tables: Tables, index: int) -> tuple[str, ...]:
    """What the sizes in a function may be called by: what it reads, and what its class is constructed with."""
    names = dict.fromkeys(_names_in(tables.nodes[index]))
    parent = tables.scopes[index].parent
    kept = list(names)[:_MOST_NAMES]
    if parent is not None and isinstance(tables.nodes[parent], ast.ClassDef):
        kept += [name for name in _names_of_construction(tables.nodes[parent]) if name not in names][:_MOST_NAMES]
    return tuple(kept)


def _names_in(node: ast.AST) -> Iterator[str]:
    """The names and attributes that a function reads."""
    for part in ast.walk(node) if isinstance(node, Function) else ():
        name = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
        if name and name not in SELVES:
            yield name


def _names_of_construction(node: ast.AST) -> Iterator[str]:
    """The fields of a class, and the parameters of its constructor."""
    for part in node.body if isinstance(node, ast.ClassDef) else ():
        match part:
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.FunctionDef(name="__init__"):
                yield from (each.arg for each in arguments(part) if each.arg not in SELVES)
