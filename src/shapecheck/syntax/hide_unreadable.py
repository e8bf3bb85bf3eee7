"""Statements that libcst cannot read, though Python can: without them the rest of their file can be read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shapecheck.syntax.owners import UnreadableError
from shapecheck.syntax.parse_concrete import parse_concrete, require_shallow, statement_lists


@dataclass(frozen=True)
class HiddenStatements:
    """The `text` of a file in which `pass` stands for some statements, and the reason for each of these."""

    text: str = ""
    reasons: Mapping[ast.stmt, str] = field(default_factory=dict)

    def reason(self, line: int) -> str:
        """Why a line cannot be read; "" if it can."""
        lines = ((_first_line(code), code.end_lineno or 0, why) for code, why in self.reasons.items())
        return next((why for first, last, why in lines if first <= line <= last), "")


def hide_unreadable(lines: Sequence[str], tree: ast.Module, error: UnreadableError) -> HiddenStatements:
    """The smallest statements without which libcst can read a file. Raises `error`, the file's, if there are none."""
    reasons = _unreadable(lines, tree.body)
    text = _without(lines, 1, len(lines), reasons)
    if not reasons or not _is_readable(text):
        raise error
    return HiddenStatements(text, reasons)


def _unreadable(lines: Sequence[str], statements: Sequence[ast.stmt]) -> dict[ast.stmt, str]:
    found: dict[ast.stmt, str] = {}
    for code in _on_own_lines(lines, statements):
        first, last = _first_line(code), code.end_lineno or 0
        opening = "if 1:\n" if lines[first - 1][:1].isspace() else ""  # above an indented statement
        try:
            require_shallow("\n".join(lines), [code])
            parse_concrete(opening + _without(lines, first, last, {}), first - 1 - bool(opening))
        except UnreadableError as error:
            inner: dict[ast.stmt, str] = {}
            for block in statement_lists(code):
                inner |= _unreadable(lines, block)
            enough = inner and _is_readable(opening + _without(lines, first, last, inner))
            found |= inner if enough else {code: str(error)}
    return found


def _is_readable(text: str) -> bool:
    try:
        parse_concrete(text)
    except UnreadableError:
        return False
    return True


def _without(lines: Sequence[str], first: int, last: int, hidden: Iterable[ast.stmt]) -> str:
    """The lines from `first` to `last` with a `pass` for each hidden statement."""
    left = {number: lines[number - 1] for number in range(first, last + 1)}
    for code in hidden:
        begin = _first_line(code)
        blank = len(left[begin]) - len(left[begin].lstrip())
        left[begin] = f"{left[begin][:blank]}pass"
        for number in range(begin + 1, (code.end_lineno or 0) + 1):
            del left[number]
    return "".join(f"{left[number]}\n" for number in sorted(left))


def _on_own_lines(lines: Sequence[str], statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that share no line with another, or with the colon of the one around them."""
    for index, code in enumerate(statements):
        before = lines[code.lineno - 1].encode("utf-8", "surrogatepass")[: code.col_offset]
        shared = index + 1 < len(statements) and _first_line(statements[index + 1]) <= (code.end_lineno or 0)
        if not (before.strip() or shared):
            yield code


def _first_line(code: ast.stmt) -> int:
    """The line on which a statement begins, decorators included."""
    return min((each.lineno for each in getattr(code, "decorator_list", ())), default=code.lineno)
