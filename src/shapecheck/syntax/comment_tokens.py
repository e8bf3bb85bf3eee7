"""The comments in a text, without a parser: what is looked at before libcst is asked for."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Comment:
    """One comment: `line` from 1, `column` in characters from 0 (that of the `#`), `text` with the `#`.

    `code` is what stands before it on its line; an own-line comment has only white space there.
    """

    line: int
    column: int
    text: str
    code: str

    @property
    def own_line(self) -> bool:
        """Whether the comment has its line for itself."""
        return not self.code.strip()

    @property
    def position(self) -> tuple[int, int]:
        """Line and column as `ast` counts them: the column in UTF-8 bytes."""
        return self.line, self.column if self.code.isascii() else len(self.code.encode("utf-8", "surrogatepass"))


# In valid Python a `#` outside of a string begins a comment, and where a string ends does not depend on its prefix.
# The quantifiers are possessive: on hostile input the scan stays linear.
_STRINGS_AND_COMMENTS = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+"""'
    r"|'''(?:[^'\\]|\\.|'(?!''))*+'''"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|'(?:[^'\\\n]|\\.)*+'"
    r"|(#[^\n]*+)",
    re.DOTALL,
)


def find_comments(text: str, tree: ast.Module | None) -> tuple[Comment, ...]:
    """Every comment of a text with plain line ends, in order; `tree` is its syntax tree, if it has one."""
    if "#" not in text:
        return ()
    starts = _line_starts(text)
    result: list[Comment] = []
    line = 0
    for match in _STRINGS_AND_COMMENTS.finditer(text):
        if match.group(1) is None:
            continue
        while line < len(starts) and starts[line] <= match.start():
            line += 1
        begin = starts[line - 1]
        result.append(Comment(line, match.start() - begin, match.group(1), text[begin : match.start()]))
    if result and sys.version_info >= (3, 12) and tree is not None and _inside_template(tree, result):
        return _tokenize_comments(text)
    return tuple(result)


def _line_starts(text: str) -> list[int]:
    starts = [0]
    found = text.find("\n")
    while found >= 0:
        starts.append(found + 1)
        found = text.find("\n", found + 1)
    return starts


def _inside_template(tree: ast.Module, comments: Sequence[Comment]) -> bool:
    """Whether a comment seems to stand inside an f-string, which since Python 3.12 may hold strings of its own."""
    templates = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    if not templates:
        return False
    lines = {line for node in templates for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return any(comment.line in lines for comment in comments)


def _tokenize_comments(text: str) -> tuple[Comment, ...]:
    result: list[Comment] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                result.append(Comment(row, column, token.string, token.line[:column]))
    except (tokenize.TokenError, SyntaxError):
        return tuple(result)
    return tuple(result)
