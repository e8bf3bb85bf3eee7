"""Code of the user's that shows how a package is called: in docs, docstrings, example scripts, `__main__` blocks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

SNIPPET = "snippet"
"""The origin of what such code shows."""
SnippetKind = Literal["docstring", "document", "main", "script"]


@dataclass(frozen=True, kw_only=True)
class CodeBlock:
    """Some lines of code: `line` is where the first one stands, in a notebook's `cell` (from 1) that in the cell.

    What is said to `raise` is wrong on purpose.
    """

    line: int
    text: str
    raises: bool = False
    cell: int = 0


@dataclass(frozen=True, kw_only=True)
class Snippet:
    """Blocks that share their variables, one after the other, in a file (absolute, and `path` as messages show it).

    A docstring's, and a `__main__` block, have those of their module besides.
    """

    path: str
    file: str
    kind: SnippetKind
    blocks: tuple[CodeBlock, ...]

    @property
    def line(self) -> int:
        """Where the first block begins."""
        return self.blocks[0].line

    @property
    def key(self) -> str:
        """Its place, and a hash of its content: the same in each process."""
        content = repr([self.kind, [(block.line, block.text, block.raises, block.cell) for block in self.blocks]])
        return f"{SNIPPET}:{self.path}:{self.line}:{hashlib.sha256(content.encode()).hexdigest()[:16]}"
