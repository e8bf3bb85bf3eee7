"""F-strings as they are written, field by field, so that one can become a format string with arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass

from shapecheck.model import Field, FormatString
from shapecheck.syntax.source_text import SourceText

_OPENING = re.compile(r"([rRfF]{1,2})('''|\"\"\"|'|\")")
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
# What `jax.debug.print` takes itself.
_OPTIONS = frozenset({"fmt", "ordered", "partitioned", "skip_format_check", "_use_logging"})


def read_template(source: SourceText, call: ast.Call) -> FormatString | None:
    """The f-string that is the only argument by place of a call, where all of it can be moved; else None.

    It cannot where a field converts (`!r`, `=`), or has another in its format; where there are doubled braces, several
    literals in a row, or several lines.
    """
    if len(call.args) != 1 or not isinstance(call.args[0], ast.JoinedStr) or None in [k.arg for k in call.keywords]:
        return None
    node = call.args[0]
    span = source.span(node)
    if span.line != span.end_line:
        return None
    raw = source.lines[span.line - 1][span.column - 1 : span.end_column - 1]
    written = _LiteralReader(raw).read_literal()
    values = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    if written is None or [_dump(each) for each in written.expressions] != [ast.dump(value) for value in values]:
        return None
    taken = _OPTIONS | {k.arg for k in call.keywords if k.arg is not None}
    pairs = zip(written.expressions, written.specs, strict=True)
    fields = tuple(Field(text.strip(), spec, _keyword(text.strip(), taken)) for text, spec in pairs)
    template = FormatString(span, tuple(written.texts), fields)
    return template if fields and _stands_alone(source, call, template) else None


def _keyword(expression: str, taken: Collection[str]) -> str:
    return expression if expression.isidentifier() and expression not in taken else ""


def _dump(expression: str) -> str:
    try:
        return ast.dump(ast.parse(expression.strip(), mode="eval").body)
    except SyntaxError:
        return ""


def _stands_alone(source: SourceText, call: ast.Call, template: FormatString) -> bool:
    """Whether arguments may follow right behind the literal: not if it stands in brackets of its own."""
    span, line = source.span(call), template.span.line
    lines = list(source.lines[span.line - 1 : span.end_line])
    lines[-1] = lines[-1][: span.end_column - 1]
    at = line - span.line
    lines[at] = lines[at][: template.span.column - 1] + "None, None" + lines[at][template.span.end_column - 1 :]
    lines[0] = lines[0][span.column - 1 :]
    try:
        made = ast.parse("\n".join(lines), mode="eval").body
    except SyntaxError:
        return False
    return isinstance(made, ast.Call) and len(made.args) == len(call.args) + 1


@dataclass
class _FieldText:
    texts: list[str]
    expressions: list[str]
    specs: list[str]


class _LiteralReader:
    """Reads one literal from its first quote to its last."""

    def __init__(self, raw: str) -> None:
        self.raw, self.at = raw, 0

    def read_literal(self) -> _FieldText | None:
        """Its parts; None for what is no single f-string of plain fields."""
        opening = _OPENING.match(self.raw)
        if opening is None or "\\N" in self.raw or "{{" in self.raw or "}}" in self.raw:
            return None
        prefix, quote = opening.group(1), opening.group(2)
        found = _FieldText([], [], [])
        start, self.at = opening.end(), opening.end()
        while self.at < len(self.raw):
            if self.raw.startswith(quote, self.at):
                found.texts.append(self.raw[start : self.at] + quote)
                found.texts[0] = prefix.replace("f", "").replace("F", "") + quote + found.texts[0]
                return found if self.at + len(quote) == len(self.raw) else None
            if self.raw[self.at] == "{":
                found.texts.append(self.raw[start : self.at])
                if not self._field(found):
                    return None
                start = self.at
            else:
                self.at += 2 if self.raw[self.at] == "\\" else 1
        return None

    def _field(self, found: _FieldText) -> bool:
        """Read over a field, from its brace on."""
        start = self.at + 1
        end = self._expression_end(start)
        if end is None or self.raw[end] not in ":}":
            return False
        close = self.raw.find("}", end)
        spec = self.raw[end:close]
        if close < 0 or set(spec) & set("{'\"\\"):
            return False
        found.expressions.append(self.raw[start:end])
        found.specs.append(spec)
        self.at = close + 1
        return True

    def _expression_end(self, at: int) -> int | None:
        """Where the expression ends: at its `}`, `:`, `!` or `=`."""
        depth = 0
        while at < len(self.raw):
            sign, following = self.raw[at], self.raw[at + 1 : at + 2]
            if sign in "'\"":
                close = self.raw.find(sign, at + 1)
                if close < 0:
                    return None
                at = close
            elif depth == 0 and sign in ":}":
                return at
            elif sign in "=!<>" and following == "=":
                at += 1
            elif depth == 0 and sign in "!=":
                return at
            depth += _BRACKETS.get(sign, 0)
            at += 1
        return None
