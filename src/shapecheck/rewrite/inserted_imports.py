"""The names that inserted lines use: those that the file has already, or else imports of their own."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor, ImportItem

from shapecheck.rewrite.insertion import NoPlaceError, Spot, Spots
from shapecheck.rewrite.insertion_points import is_docstring

_FULL = {"eqx": "equinox", "eqxi": "equinox.internal", "jnp": "jax.numpy", "jax": "jax"}
_IMPORTS = (ast.Import, ast.ImportFrom)
_ALLOWED = (*_IMPORTS, ast.If, ast.Try)  # style checkers let imports stand behind these
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(kw_only=True)
class NeededImports:
    """Collects the names that inserted lines use, and gives each as it is to be written in this file.

    The file's own imports serve if they stand above line `above`.
    """

    tree: ast.Module
    spots: Spots
    above: int = sys.maxsize
    used: dict[str, str] = field(default_factory=dict)  # "jaxtyping.Float" or "equinox" -> the name in the file
    _own: dict[str, str] = field(default_factory=dict)
    _lines: dict[str, int] = field(default_factory=dict)
    _names_in_use: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        once = _unambiguous_names(self.tree)
        for name, origin, line in _top_imports(self.tree):
            if name in once and line < self.above:
                self._own.setdefault(origin, name)
                self._lines[origin] = line
        self._names_in_use = _used_names(self.tree)

    def typing_name(self, name: str) -> str:
        """A name of jaxtyping, or `beartype`."""
        return self._name("beartype.beartype" if name == "beartype" else f"jaxtyping.{name}", name)

    def module(self, short: str) -> str:
        """A module by its usual short name: `jax`, `jnp`, `eqx`."""
        return self._name(_FULL[short], short)

    def _name(self, origin: str, short: str) -> str:
        if origin not in self.used:
            own = self._own.get(origin)
            name = own or short
            while own is None and name in self._names_in_use:
                name = f"_{name}"
            self._names_in_use.add(name)
            self.used[origin] = name
        return self.used[origin]

    def last_own(self) -> int:
        """The line of the last of the file's own imports that serve."""
        return max((self._lines.get(origin, 0) for origin in self.used), default=0)

    def lines(self) -> Sequence[str]:
        """The import statements that are missing: names from modules, then modules."""
        items: list[ImportItem] = []
        for origin, name in self.used.items():
            module, _, own = origin.rpartition(".")
            if origin in self._own:
                continue
            if module in ("jaxtyping", "beartype"):
                items.append(ImportItem(module, own, None if own == name else name))
            else:
                items.append(ImportItem(origin, None, None if origin == name else name))
        return _statements(tuple(sorted(items, key=repr)))

    def spot(self, first_use: int) -> tuple[Spot, bool]:
        """Where imports go, at the latest above line `first_use`; and whether other statements stand above them.

        That is the head of the file's last paragraph of imports: behind what sets the scene for these, and where
        import sorters let lines be that they shall skip.
        """
        spot, others, after_others = self._top(), False, False
        for index, statement in enumerate(self.tree.body):
            if (statement.end_lineno or 0) >= first_use or isinstance(statement, _DEFINITIONS):
                break
            try:
                if (index == 0 and is_docstring(statement)) or _is_future(statement):
                    spot = self.spots.behind(statement)
                elif isinstance(statement, _IMPORTS) and (head := self._head(statement)) is not None:
                    self.spots.behind(statement)
                    spot, after_others = head, others
            except NoPlaceError:
                continue
            others = others or not (isinstance(statement, _ALLOWED) or is_docstring(statement))
        return spot, after_others

    def _head(self, statement: ast.stmt) -> Spot | None:
        """The place above an import that begins a paragraph, and above its comments unless they head the file."""
        above, comments = self._above(statement)
        if above > comments:
            return self.spots.above_comments(statement, comments)
        # A shebang or the encoding has to stay first.
        return self.spots.above_comments(statement, 0) if statement is self.tree.body[0] else None

    def _top(self) -> Spot:
        """The place above the first statement, and above the comments that head it, where those are not the file's."""
        first = self.tree.body[0]
        above, comments = self._above(first)
        own = above - comments >= 2  # shebang and coding stand on the first two
        return self.spots.above_comments(first, comments if own else 0)

    def _above(self, statement: ast.stmt) -> tuple[int, int]:
        """How many lines stand between a statement and the one before it, and how many comments right above it."""
        lines = self.spots.lines_above(statement)
        blank = [index for index, line in enumerate(lines, 1) if line.comment is None]
        return len(lines), len(lines) - max(blank, default=0)


@cache  # the visitor takes long to make, and most files of a package need the same
def _statements(items: tuple[ImportItem, ...]) -> Sequence[str]:
    """Import statements, those of names first; added to the file itself, they would change lines that it has."""
    module = AddImportsVisitor(CodemodContext(), items).transform_module(cst.Module([]))
    return sorted(filter(None, module.code.splitlines()))


def _top_imports(tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """What the file imports at its top, above all definitions: the name in it, what that stands for, and the line."""
    for statement in tree.body:
        if isinstance(statement, _DEFINITIONS):
            return
        if isinstance(statement, _IMPORTS):
            yield from ((*each, statement.lineno) for each in _imported_origins(statement))


def _imported_origins(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            whole = alias.name if alias.asname else alias.name.partition(".")[0]
            yield alias.asname or whole, whole
        else:
            origin = f"{'.' * statement.level}{statement.module or ''}.{alias.name}"
            # jax.Array is what jaxtyping calls so, too.
            yield alias.asname or alias.name, "jaxtyping.Array" if origin == "jax.Array" else origin


def _unambiguous_names(tree: ast.Module) -> set[str]:
    """The names that stand for one thing in the whole file, wherever they are bound."""
    meanings: dict[str, set[object]] = {}
    for name, meaning in _bindings(tree):
        meanings.setdefault(name, set()).add(meaning)
    return {name for name, found in meanings.items() if len(found) == 1}


def defined_once(tree: ast.Module) -> set[str]:
    """The names that are imported at the top of a file, or assigned on its top level, and mean nothing else in it."""
    targets = (s.targets[0] for s in tree.body if isinstance(s, ast.Assign) and len(s.targets) == 1)
    top = {name for name, _, _ in _top_imports(tree)} | {t.id for t in targets if isinstance(t, ast.Name)}
    return top & _unambiguous_names(tree)


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _used_names(tree: ast.Module) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | {name for name, _ in _bindings(tree)}


def _bindings(tree: ast.Module) -> Iterator[tuple[str, object]]:
    """Every name that something in the file binds, and to what; what is no import means something of its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id, node
        elif isinstance(node, ast.arg):
            yield node.arg, node
        elif isinstance(node, _DEFINITIONS):
            yield node.name, node
        elif isinstance(node, _IMPORTS):
            yield from _imported_origins(node)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name, node
