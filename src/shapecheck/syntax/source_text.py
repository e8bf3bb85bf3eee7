"""From the bytes of a file to its text, lines, comments and syntax tree, whatever Python accepts."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from shapecheck.model import Position, Problem, Span
from shapecheck.syntax.comment_tokens import Comment, find_comments
from shapecheck.syntax.older_syntax import in_older_syntax

if TYPE_CHECKING:
    from shapecheck.syntax.concrete_file import ConcreteFile

_CONSEQUENCE = "so nothing in it is checked"


@dataclass(frozen=True)
class SourceText:
    """The text of one file and its syntax tree. `tree` is None where Python would not accept it: see `problem`.

    Of a text in the syntax of a newer Python the tree is that of `older`, which has the same names in the same places.
    """

    path: str
    text: str
    tree: ast.Module | None
    problem: Problem | None = None
    older: str = ""

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines as Python counts them, without their ends."""
        return tuple(self.text.split("\n"))

    @cached_property
    def comments(self) -> tuple[Comment, ...]:
        """Every comment, in order."""
        return find_comments(self.older or self.text, self.tree)

    @cached_property
    def concrete(self) -> ConcreteFile:
        """The text as libcst reads it, as soon as anybody asks for a node; not for a text without a tree."""
        from shapecheck.syntax.concrete_file import ConcreteFile  # noqa: PLC0415  # loads libcst

        if self.tree is None:
            raise ValueError(f"{self.path} has no syntax tree")
        return ConcreteFile(self.older or self.text, self.tree)

    def characters(self, line: int, column: int) -> int:
        """The column in characters, from 1, of a column in UTF-8 bytes, from 0, as `ast` counts."""
        if not 0 < line <= len(self.lines):
            return column + 1
        text = self.lines[line - 1]
        if text.isascii():
            return column + 1
        return len(text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore")) + 1

    def span(self, node: ast.expr | ast.stmt | ast.arg) -> Span:
        """The span of a syntax node, for people."""
        position = position_of(node)
        return Span(
            position.line,
            self.characters(position.line, position.column),
            position.end_line,
            self.characters(position.end_line, position.end_column),
        )

    def segment(self, node: ast.expr) -> str:
        """The text of a syntax node, its lines joined by single spaces."""
        span = self.span(node)
        lines = [*self.lines[span.line - 1 : span.end_line]]
        if not lines:
            return ""
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return " ".join(line.strip() for line in lines)


def position_of(node: ast.expr | ast.stmt | ast.arg) -> Position:
    """Where a syntax node stands."""
    return Position(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)


def read_source(path: str, data: bytes, *, newer: bool = False) -> SourceText:
    """Decode and parse a file. With `newer` it may have syntax that only newer versions of Python know."""
    try:
        text = _decode(data)
    except (SyntaxError, LookupError, UnicodeError) as error:
        text = data.decode("latin-1").replace("\r\n", "\n").replace("\r", "\n")
        return SourceText(path, text, None, _note(1, 1, f"this file cannot be decoded, {_CONSEQUENCE}: {error}"))
    return parse_text(path, text, newer=newer)


def parse_text(path: str, text: str, *, newer: bool = False) -> SourceText:
    """Parse the text of a file, whose lines end with plain line feeds."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in other people's strings
            return SourceText(path, text, ast.parse(text))
    except SyntaxError as error:
        older = in_older_syntax(text) if newer else text
        found = parse_text(path, older) if older != text else None
        if found is not None and found.tree is not None:
            return SourceText(path, text, found.tree, older=older)
        return SourceText(path, text, None, _syntax_problem(error, text))
    except ValueError as error:  # null bytes
        return SourceText(path, text, None, _note(1, 1, f"this file cannot be parsed, {_CONSEQUENCE}: {error}"))
    except (RecursionError, MemoryError):
        return SourceText(
            path, text, None, _note(1, 1, f"this file nests too deeply for Python's parser, {_CONSEQUENCE}")
        )


def declared_encoding(data: bytes) -> str:
    """The encoding that a file declares, else UTF-8. Raises SyntaxError for one that Python does not know."""
    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]


def _decode(data: bytes) -> str:
    """The text with plain line ends; form feeds and the like stay what they are, since Python counts them as blanks."""
    if data.isascii() and b"coding" not in data[:400]:
        text = data.decode("ascii")
    else:
        encoding = declared_encoding(data)
        text = data.decode(encoding)
        if not isinstance(text, str):  # a codec that is no text encoding
            raise LookupError(f"{encoding} is no text encoding")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _note(line: int, column: int, message: str) -> Problem:
    return Problem("SC104", Span(line, column, line, column + 1), message)


def _syntax_problem(error: SyntaxError, text: str) -> Problem:
    line = error.lineno or 1
    said = f"this file cannot be parsed, {_CONSEQUENCE}: {error.msg}"
    lines = text.split("\n")
    written = lines[line - 1] if line <= len(lines) else ""
    newer = [version for version, syntax in _NEWER_SYNTAX if sys.version_info < version and syntax.search(written)]
    if newer:
        ours, theirs = (f"Python {major}.{minor}" for major, minor in (sys.version_info[:2], newer[0]))
        said += f" (shapecheck runs under {ours}; if this is the syntax of {theirs}, run it under that)"
    return _note(line, max(error.offset or 1, 1), said)


# What a line may hold that older versions of Python cannot parse, by the version that brought it.
_NEWER_SYNTAX = (
    ((3, 12), re.compile(r"^\s*type\s+\w+\s*(\[.*\]\s*)?=")),
    ((3, 12), re.compile(r"^\s*(?:(?:async\s+)?def|class)\s+\w+\s*\[")),
    ((3, 12), re.compile(r"\b[fF][rR]?['\"]|\b[rR][fF]['\"]")),  # quotes and backslashes inside of the braces
    ((3, 14), re.compile(r"\b[tT][rR]?['\"]|\b[rR][tT]['\"]")),
    ((3, 14), re.compile(r"^\s*except\*?\s+[^(:]+,[^:]*:")),
    ((3, 15), re.compile(r"^\s*lazy\s+(?:import|from)\b")),
)
