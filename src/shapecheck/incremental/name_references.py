"""What a piece of code refers to: names, parts of modules that it imported, and names inside of its strings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from shapecheck.syntax.scopes import split_chain

Chain = tuple[str, ...]


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WORD = re.compile(r"[^\W\d]\w*")
_DOTTED = re.compile(r"[^\W\d]\w*(?:[.:][^\W\d]\w*)*")
_LONG = 2000  # characters: nobody keeps a name in a text like that
# What leads to modules or classes, or lists them, without naming them.
_BLIND = words(
    """__import__ __globals__ __subclasses__ attrgetter cloudpickle dill f_globals find_loader get_objects getmodule
    import_module iter_modules load_module locate pickle pkgutil reload resolve_name run_module run_path
    walk_packages"""
)
_OWN = frozenset({"eval", "exec", "globals"})  # what may reach any name of its own module


@dataclass(frozen=True)
class Import:
    """One name of an import statement: `from ..a.b import c` has level 2, module ("a", "b") and name "c".

    `import a.b` has the name "", a star import "*".
    """

    level: int
    module: Chain
    name: str


@dataclass(kw_only=True)
class References:
    """What was referred to.

    `chains` are names with the attributes that are looked up on them: `a.b.c` is ("a", "b", "c"). `words` are names in
    strings, `quoted` strings that are nothing but a (dotted) name. `late` are imports that run with their function, or
    whose failure may be caught. `blind` tells that modules may be reached without being named, `own` that the names of
    its own module may be.
    """

    chains: set[Chain] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    quoted: set[str] = field(default_factory=set)
    late: set[Import] = field(default_factory=set)
    blind: bool = False
    own: bool = False

    def add(self, other: References) -> None:
        """Take in what another piece refers to."""
        self.chains |= other.chains
        self.words |= other.words
        self.quoted |= other.quoted
        self.late |= other.late
        self.blind |= other.blind
        self.own |= other.own


def imports(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Import]]:
    """What an import statement binds, and to what; a star is bound to "*"."""
    for alias in statement.names:
        if isinstance(statement, ast.ImportFrom):
            module = tuple((statement.module or "").split(".")) if statement.module else ()
            yield alias.asname or alias.name, Import(statement.level, module, alias.name)
        elif alias.asname:
            yield alias.asname, Import(0, tuple(alias.name.split(".")), "")
        else:
            # `import a.b` binds `a`, and the chain `a.b.c` then leads on.
            yield alias.name.partition(".")[0], Import(0, tuple(alias.name.split(".")[:1]), "")


def references(nodes: list[ast.AST], *, bodies: bool) -> References:
    """What these nodes refer to, with or without the bodies of functions (which defining them does not run)."""
    found = References()
    pending: list[ast.AST] = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Attribute):
            pending += _chain(node, found)
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Store):
                _note(found, (node.id,))
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                _quote(found, node.value)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.late.update(target for _, target in imports(node))
            found.late.update(Import(0, tuple(alias.name.split(".")), "") for alias in _plain(node))
        elif isinstance(node, _FUNCTIONS):
            pending += [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
            pending += getattr(node, "type_params", ())
            pending += node.body if bodies else ()
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            pass  # a docstring
        else:
            pending += ast.iter_child_nodes(node)
    return found


def _plain(node: ast.Import | ast.ImportFrom) -> list[ast.alias]:
    return node.names if isinstance(node, ast.Import) else []


def _chain(node: ast.AST, found: References) -> list[ast.AST]:
    """Note an attribute chain; what is left to look at is what it starts from, if that is no name."""
    first, attributes = split_chain(node)
    found.blind |= not _BLIND.isdisjoint(attributes)
    if not isinstance(first, ast.Name):
        return [first]
    _note(found, (first.id, *attributes))
    return []


def _note(found: References, chain: Chain) -> None:
    found.chains.add(chain)
    found.blind |= chain[0] in _BLIND or chain[:2] == ("sys", "modules")
    found.own |= chain[0] in _OWN


def _quote(found: References, text: str) -> None:
    if len(text) > _LONG:
        return
    if _DOTTED.fullmatch(text):
        found.quoted.add(text.replace(":", "."))
    found.words.update(_WORD.findall(text))
