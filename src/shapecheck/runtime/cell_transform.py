"""Probes in the cells that IPython is about to run.

What is used of IPython is public, and it is imported by nobody here. It gives a text to the functions in
`input_transformers_post`, and its tree to the objects in `ast_transformers`:
https://ipython.readthedocs.io/en/stable/config/inputtransforms.html. Comments stand in the text alone.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections import Counter, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shapecheck.evaluate.own_errors import HANDLE
from shapecheck.runtime.autoreload import ReloadedFunctions
from shapecheck.runtime.cell_names import context_statements
from shapecheck.runtime.cell_source import Cell, CellEnd, with_end
from shapecheck.runtime.check_session import CheckSession
from shapecheck.runtime.errors import CheckError
from shapecheck.worker.messages.plans import later

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

_TEXTS = 8  # latest ones, which may wait for their trees
_MAGIC = re.compile(r"%%?[\w.]+")


class CellTransformer(ast.NodeTransformer):
    """Knows the cells of a shell, and puts probes into those that it begins to run. `failed` is called if it cannot."""

    def __init__(self, shell: InteractiveShell, session: CheckSession, failed: Callable[[CheckError], None]) -> None:
        self._shell, self._session, self._failed = shell, session, failed
        self._texts: deque[str] = deque(maxlen=_TEXTS)
        self._outermost: Any = None  # the cell that runs, inside of which magics may run others
        self._title = ""
        self._begun: Any = None  # a cell that waits for its tree
        self._names: Counter[str] = Counter()
        self._following = ReloadedFunctions(session.probing)
        self.known: list[Cell] = []
        self.on = False

    def note(self, lines: list[str]) -> list[str]:
        """Remember a text, just before IPython parses it."""
        self._texts.appendleft("".join(lines))
        return lines

    def begin(self, info: ExecutionInfo) -> None:
        """A cell begins. One that runs inside of another goes by the other's name: it is what people see."""
        if self._shell.ast_transformers[:1] != [self]:  # later ones may change what texts and trees have in common
            self.leave()
            self._shell.ast_transformers.insert(0, self)
        if info.store_history or self._outermost is None:
            self._outermost, self._title = info, ""
        self._begun = info

    def end(self, result: ExecutionResult) -> None:
        """A cell has ended."""
        if result.info is self._outermost:
            self._outermost = None

    def leave(self) -> None:
        """Look at trees no more."""
        self._shell.ast_transformers[:] = [each for each in self._shell.ast_transformers if each is not self]

    def visit(self, tree: ast.AST) -> object:
        """The tree of a cell, or of a part of one that a magic runs (`%%time`), with its probes."""
        text = next((text for text in self._texts if _is_tree_of(tree, text)), None) if self.on else None
        if text is None or not isinstance(tree, ast.Module):
            return tree
        self._texts.remove(text)
        cell = self._cell(*self._cell_names(text), text, tree)
        names: dict[str, object] = {}
        try:
            self._following.follow()
            probed = self._session.probing.cell(cell, names)
        except CheckError as error:
            self._failed(error)
            return tree
        self.known.append(cell)
        if self._session.watches:
            names[HANDLE] = CellEnd(self._session.wait)
            probed = with_end(probed or tree, cell.shows_assigned)
        self._shell.user_global_ns.update(names)
        return probed or tree

    def _cell(self, name: str, file: str, text: str, tree: ast.Module) -> Cell:
        count = self._names[name]
        self._names[name] += 1
        mentioned = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        before = context_statements(text, mentioned, self._shell.user_ns)
        shows = self._shell.ast_node_interactivity == "last_expr_or_assign"
        handle, variables = f"__shapecheck_{len(self.known) + 1}__", self._shell.user_global_ns
        return Cell(
            name=later(name, count),
            file=file,
            text=text,
            mentioned=mentioned,
            before=before,
            handle=handle,
            variables=variables,
            shows_assigned=shows,
        )

    def _cell_names(self, text: str) -> tuple[str, str]:
        """What people call a cell, and what Python calls its code."""
        begun, self._begun = self._begun, None
        count = self._shell.execution_count
        compiler, name, file = self._shell.compile, f"In[{count}]", ""
        for number in (count, count - 1) if begun is not None else ():  # since IPython 9 it is the next cell's
            found = compiler.get_code_name(begun.raw_cell, text, number)
            if linecache.getlines(found):
                name, file = (compiler.format_code_name(found) or ("", name))[1], found
                break
        if begun is self._outermost or not self._title:
            self._title = name
            return name, file
        magic = _MAGIC.search(self._outermost.raw_cell)
        return f"{self._title}{f' {magic.group()}' if magic else ''}", file


def _is_tree_of(tree: ast.AST, text: str) -> bool:
    try:
        own = ast.parse(text.encode())  # IPython passes over a declared encoding, and bytes have it
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return ast.dump(own, include_attributes=True) == ast.dump(tree, include_attributes=True)
