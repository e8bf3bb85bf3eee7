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
from typing import Any

from shapecheck.runtime.cells import Cell, Ending, with_end
from shapecheck.runtime.errors import CheckError
from shapecheck.runtime.meaning import meaning
from shapecheck.runtime.session import Session
from shapecheck.stage.observe.probes import HANDLE
from shapecheck.stage.protocol import later

_TEXTS = 8  # latest ones, which may wait for their trees
_MAGIC = re.compile(r"%%?[\w.]+")


class Cells(ast.NodeTransformer):
    """Knows the cells of a shell, and puts probes into those that it begins to run. `failed` is told if it cannot."""

    def __init__(self, shell: Any, session: Session, failed: Callable[[CheckError], None]) -> None:
        self._shell, self._session, self._failed = shell, session, failed
        self._texts: deque[str] = deque(maxlen=_TEXTS)
        self._outermost: Any = None  # the cell that runs, inside of which magics may run others
        self._title = ""
        self._begun: tuple[str, str, str] | None = None  # its text, its name, what Python calls its code
        self._names: Counter[str] = Counter()
        self.known: list[Cell] = []
        self.on = False

    def note(self, lines: list[str]) -> list[str]:
        """Remember a text, just before IPython parses it."""
        self._texts.appendleft("".join(lines))
        return lines

    def begin(self, info: Any) -> None:
        """A cell begins. One that runs inside of another goes by the other's name: it is what people see."""
        if self._shell.ast_transformers[:1] != [self]:  # later ones may change what texts and trees have in common
            self.leave()
            self._shell.ast_transformers.insert(0, self)
        number = self._shell.execution_count - bool(info.store_history)
        if info.store_history or self._outermost is None:
            self._outermost, self._title = info, f"In[{number}]"
        text = self._texts[0] if self._texts else ""
        name = self._title if info is self._outermost else self._inside()
        self._begun = text, name, self._shell.compile.get_code_name(info.raw_cell, text, number)

    def end(self, result: Any) -> None:
        """A cell has ended."""
        if result.info is self._outermost:
            self._outermost = None

    def leave(self) -> None:
        """Look at trees no more."""
        self._shell.ast_transformers[:] = [each for each in self._shell.ast_transformers if each is not self]

    def visit(self, tree: ast.AST) -> Any:
        """The tree of a cell, or of a part of one that a magic runs (`%%time`), with its probes."""
        text = next((text for text in self._texts if _is_tree_of(tree, text)), None) if self.on else None
        if text is None or not isinstance(tree, ast.Module):
            return tree
        self._texts.remove(text)
        begun, self._begun = self._begun, None
        name, file = begun[1:] if begun is not None and begun[0] == text else (self._inside(), "")
        cell = self._cell(name, file if linecache.getlines(file) else "", text, tree)
        names: dict[str, Any] = {}
        try:
            probed = self._session.probing.cell(cell, names)
        except CheckError as error:
            self._failed(error)
            return tree
        self.known.append(cell)
        if self._session.watches:
            names[HANDLE] = Ending(self._session.wait)
            probed = with_end(probed or tree, cell.shows_assigned)
        self._shell.user_global_ns.update(names)
        return probed or tree

    def _cell(self, name: str, file: str, text: str, tree: ast.Module) -> Cell:
        count = self._names[name]
        self._names[name] += 1
        mentioned = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        before = meaning(text, mentioned, self._shell.user_ns)
        shows = self._shell.ast_node_interactivity == "last_expr_or_assign"
        handle, variables = f"__shapecheck_{len(self.known) + 1}__", self._shell.user_global_ns
        return Cell(later(name, count), file, text, mentioned, before, handle, variables, shows)

    def _inside(self) -> str:
        """The name of what a magic of the cell runs."""
        magic = _MAGIC.search(self._outermost.raw_cell if self._outermost is not None else "")
        return f"{self._title or f'In[{self._shell.execution_count}]'}{f' {magic.group()}' if magic else ''}"


def _is_tree_of(tree: ast.AST, text: str) -> bool:
    try:
        own = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return ast.dump(own, include_attributes=True) == ast.dump(tree, include_attributes=True)
