"""A mutant: a small edit of one file that keeps every line where it is, and the functions in which one may stand."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Edit:
    """Text that takes the place of another, from one character of the file to before another."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """What is changed, by which operator, and in which function; lines count from 1 and are those of the statement."""

    operator: str
    path: str
    function: str
    line: int
    first_line: int
    last_line: int
    edits: tuple[Edit, ...]
    before: str
    after: str

    @property
    def key(self) -> str:
        """The same for the same edit of the same file, in every run."""
        parts = [self.path, self.function, *(f"{e.start}:{e.end}:{e.text}" for e in self.edits)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    def applied(self, source: str) -> str:
        """The file's text with the edits in it."""
        return apply(source, self.edits)

    def as_json(self) -> dict[str, Any]:
        """Plain data, with the key."""
        return {"key": self.key, **asdict(self)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Mutant:
        """The inverse of `as_json`."""
        fields = {name: value for name, value in data.items() if name != "key"}
        return cls(**{**fields, "edits": tuple(Edit(**edit) for edit in data["edits"])})


def apply(source: str, edits: Sequence[Edit]) -> str:
    """The text after the edits, which must not overlap."""
    for edit in sorted(edits, key=lambda e: e.start, reverse=True):
        source = source[: edit.start] + edit.text + source[edit.end :]
    return source


class Source:
    """A file's text with its syntax tree: where nodes begin and end, which statement and function they are in."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text, self.tree = path, text, ast.parse(text)
        self.lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line))

    def start(self, node: ast.expr | ast.keyword) -> int:
        """The node's first character in the text."""
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.keyword) -> int:
        """The character behind the node's last."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column: int) -> int:
        """The syntax tree counts columns in bytes of UTF-8."""
        return self._starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def offset(self, line: int, column: int) -> int:
        """The character at a line and column that count characters, from 1."""
        return self._starts[line - 1] + column - 1

    def of(self, node: ast.expr | ast.keyword) -> str:
        """The node's own text."""
        return self.text[self.start(node) : self.end(node)]

    def put(self, node: ast.expr | ast.keyword, text: str) -> Edit:
        """The edit that writes something else in the node's place."""
        return Edit(start=self.start(node), end=self.end(node), text=text)

    def functions(self) -> dict[str, Function]:
        """Every function by its dotted name, `Class.method.inner`."""
        return {name: node for name, node in _named(self.tree, "") if not isinstance(node, ast.ClassDef)}

    def mutant(self, operator: str, function: str, line: int, edits: Sequence[Edit]) -> Mutant | None:
        """The mutant, unless the edits change nothing, move lines, or leave what is no Python."""
        after = apply(self.text, edits)
        lines = after.splitlines()
        if after == self.text or len(lines) != len(self.lines):
            return None
        try:
            ast.parse(after)
        except SyntaxError:
            return None
        first, last = self.statement(line)
        changed = [n for n, (a, b) in enumerate(zip(self.text.splitlines(), lines, strict=True)) if a != b]
        return Mutant(
            operator=operator,
            path=self.path,
            function=function,
            line=changed[0] + 1,
            first_line=first,
            last_line=last,
            edits=tuple(edits),
            before="\n".join(self.text.splitlines()[n].strip() for n in changed),
            after="\n".join(lines[n].strip() for n in changed),
        )

    def statement(self, line: int) -> tuple[int, int]:
        """The first and the last line of the simple statement on a line, or of a compound statement's head."""
        best = (line, line)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt):
                first, last = node.lineno, node.end_lineno or node.lineno
                body = getattr(node, "body", None)
                if body:
                    last = max(first, body[0].lineno - 1)
                if first <= line <= last and (best == (line, line) or last - first < best[1] - best[0]):
                    best = (first, last)
        return best


def _named(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function | ast.ClassDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            yield prefix + child.name, child
            yield from _named(child, f"{prefix}{child.name}.")
        else:
            yield from _named(child, prefix)
