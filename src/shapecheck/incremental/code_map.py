"""Takes a file apart into its functions, each with a digest that does not say where it stands."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shapecheck.incremental.content_hash import DROPPED, content, may_yield, yields
from shapecheck.model import Position, Scope, Site
from shapecheck.model.other_compilers import compiled_elsewhere
from shapecheck.worker.code_units import CodeUnit, CodeUnits
from shapecheck.worker.messages.plans import ModulePlan

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
# What looks at its own text, or at where that stands, may do another thing after any edit.
_SELF_READING = re.compile(rb"getsource|getcomments|linecache|tokenize|lineno")
_Key = tuple[int, int, int, int]


def code_units(source: bytes, plan: ModulePlan) -> CodeUnits | None:
    """The units of a file with what is planned for it; None where that cannot be said of its parts."""
    if _SELF_READING.search(source):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in other people's strings
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if compiled_elsewhere(tree):  # nobody knows when these run
        return None
    scope_at = {(s.position.line, s.position.column): s.index for s in plan.scopes if s.position is not None}
    if any(_start(node) not in scope_at for node in ast.walk(tree) if isinstance(node, _Function)):
        return None
    functions = {scope_at[_start(node)]: node for node in _outermost(tree)}
    owner = _owners(plan.scopes, functions)
    names = _unit_names(plan.scopes, functions)
    sites: dict[int | None, list[Site]] = {}
    for site in plan.sites:
        sites.setdefault(owner[site.scope], []).append(site)
    scopes: dict[int | None, list[int]] = {}
    for index, root in owner.items():
        scopes.setdefault(root, []).append(index)
    generators = may_yield(source)
    units: dict[str, CodeUnit] = {}
    for root, node in functions.items():
        writer = _TreeWriter(generators, bodies=True)
        writer.write(node)
        units[names[root]] = _unit(writer, scopes[root], sites.get(root, ()), last=node.end_lineno or node.lineno)
    writer = _TreeWriter(generators, bodies=False)
    writer.write(tree)
    place = {
        index: (names[root] if root is not None else "", scopes[root].index(index)) for index, root in owner.items()
    }
    said = [
        [plan.path, plan.root, plan.name, plan.aliases, list(units)],
        [place[index] for index in plan.claimed],
        [(place[each.scope], each.parameter, repr(each)[repr(each).index("parameter=") :]) for each in plan.described],
        [(place[scope], names_of) for scope, names_of in plan.names],
        [(place[each.scope], each.parameter, each.axes, each.type, each.texts) for each in plan.hints],
    ]
    units[""] = _unit(writer, scopes.get(None, ()), sites.get(None, ()), said=said)
    return CodeUnits(units=units, digest=content(repr([(n, u.digest) for n, u in units.items()]).encode()))


def _start(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _outermost(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions that no other one is around."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, _Function):
            yield child
        elif not isinstance(child, ast.expr):
            yield from _outermost(child)


def _owners(scopes: Sequence[Scope], functions: Iterable[int]) -> dict[int, int | None]:
    """The outermost function of each scope, if it is in one. Parents stand before what is inside of them."""
    outermost = set(functions)
    owner: dict[int, int | None] = {}
    for scope in scopes:
        above = owner.get(scope.parent) if scope.parent is not None else None
        owner[scope.index] = scope.index if scope.index in outermost else above
    return owner


def _unit_names(scopes: Sequence[Scope], functions: Iterable[int]) -> dict[int, str]:
    """Qualified names, numbered where several functions have the same."""
    counts: dict[str, int] = {}
    found = {}
    for index in functions:
        name = scopes[index].qualname
        counts[name] = counts.get(name, 0) + 1
        found[index] = f"{name}#{counts[name]}"
    return found


@dataclass
class _TreeWriter:
    """Writes a tree in prefix notation, each line as its number among those on which something begins.

    Functions go without their `bodies` where these are units of their own.
    """

    generators: bool
    bodies: bool
    tokens: list[str] = field(default_factory=list)
    nodes: dict[_Key, int] = field(default_factory=dict)  # the number of the first that stands there
    lines: dict[int, str] = field(default_factory=dict)

    def write(self, tree: ast.AST) -> None:
        """Write it all: with a stack of its own, for trees may be deeper than Python's calls."""
        placed: list[tuple[int, int]] = []  # an index into the tokens, and the line that goes there
        pending: list[object] = [tree]
        count = 0
        while pending:
            item = pending.pop()
            if isinstance(item, ast.AST):
                self.tokens.append(type(item).__name__)
                line = getattr(item, "lineno", None)
                if isinstance(line, int):
                    placed.append((len(self.tokens), line))
                    self.tokens.append("")
                    self.nodes.setdefault(_key(item), count)
                    if isinstance(item, ast.stmt):
                        self.tokens.append(str(item.col_offset))
                count += 1
                fields = [name for name in item._fields if name not in DROPPED]
                if isinstance(item, _Function) and not self.bodies:
                    fields.remove("body")
                    self.tokens.append(str(self.generators and yields(item)))
                pending.extend([getattr(item, name) for name in reversed(fields)])
            elif isinstance(item, list):
                self.tokens.append(f"[{len(item)}")
                pending.extend(reversed(item))
            elif type(item) is int:
                self.tokens.append(hex(item))
            else:
                self.tokens.append(repr(item))
        self.lines = {line: f"L{number}" for number, line in enumerate(sorted({line for _, line in placed}))}
        for index, line in placed:
            self.tokens[index] = self.lines[line]

    def place(self, line: int) -> str:
        """A line as its number; one on which nothing begins as it is."""
        return self.lines.get(line, str(line))

    def node(self, position: Position | None) -> object:
        """The number of the node at a position; what is no node as it is."""
        if position is None:
            return None
        key = (position.line, position.column, position.end_line, position.end_column)
        return self.nodes.get(key, repr(key))


def _key(node: ast.AST) -> _Key:
    return (
        getattr(node, "lineno", 0),
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", 0),
        getattr(node, "end_col_offset", 0),
    )


def _unit(
    writer: _TreeWriter, scopes: Sequence[int], sites: Sequence[Site], *, said: object = (), last: int = 0
) -> CodeUnit:
    numbers: Mapping[int, int] = {index: number for number, index in enumerate(scopes)}
    observed = [
        (
            site.kind,
            numbers[site.scope],
            writer.node(site.position),
            (site.name, site.when, site.names, site.part),
            tuple(map(writer.place, site.loop)),
            tuple((writer.place(line), column) for line, column in site.paths),
        )
        for site in sites
    ]
    text = "\n".join((*writer.tokens, repr(observed), repr(said)))
    return CodeUnit(
        digest=content(text.encode("utf-8", "surrogatepass")),
        scopes=tuple(scopes),
        sites=tuple(site.index for site in sites),
        lines=tuple(sorted(writer.lines)),
        last=last,
    )
