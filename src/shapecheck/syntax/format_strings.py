"""An f-string that is printed becomes a format string with arguments: of `f"x {x}"`, `"x {x}", x=x`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from shapecheck.model import DebugCall, Edit, Span
from shapecheck.syntax.owners import UnreadableError
from shapecheck.syntax.parse_concrete import libcst_failures

# What `jax.debug.print` takes itself.
_OPTIONS = frozenset({"fmt", "ordered", "partitioned", "skip_format_check", "_use_logging"})


class FormatString:
    """The f-string of one call: `taken` are the names of its other arguments."""

    def __init__(self, string: cst.FormattedString, span: Span, taken: Collection[str]) -> None:
        self.string = string
        self.span = span
        self.fields = [part for part in string.parts if isinstance(part, cst.FormattedStringExpression)]
        self._taken = _OPTIONS.union(taken)

    def with_arguments(self, moved: Collection[int]) -> Edit:
        """The literal with some of its fields as arguments.

        What Python still formats itself doubles the braces of those.
        """
        stays = len(moved) < len(self.fields)
        opening, closing = ("{{", "}}") if stays else ("{", "}")
        parts: list[cst.BaseFormattedStringContent] = []
        by_place: list[str] = []
        by_name: dict[str, None] = {}
        for part in self.string.parts:
            if not isinstance(part, cst.FormattedStringExpression) or self.fields.index(part) not in moved:
                parts.append(part)
                continue
            text = _code(part.expression)
            is_name = text.isidentifier() and text not in self._taken
            if is_name:
                by_name[f"{text}={text}"] = None
            else:
                by_place.append(text)
            parts.append(cst.FormattedStringText(f"{opening}{text * is_name}{_spec(part)}{closing}"))
        start, code = self.string.start, _code(self.string.with_changes(parts=parts))
        if not stays:
            code = start.replace("f", "").replace("F", "") + code[len(start) :]
        return Edit(self.span, ", ".join([code, *by_place, *by_name]))


def read_format_string(call: DebugCall, lines: Sequence[str]) -> FormatString | None:
    """The f-string that is the only argument by place of a call, where all of it can be moved; else None.

    It cannot where a field converts (`!r`, `=`), or has another in its format; where there are doubled braces, several
    literals in a row, brackets around it, or several lines.
    """
    node = _parsed_call(call.span, lines)
    by_place = [argument for argument in node.args if argument.keyword is None] if node is not None else []
    string = by_place[0].value if len(by_place) == 1 else None
    if node is None or not isinstance(string, cst.FormattedString) or string.lpar:
        return None
    where = MetadataWrapper(_module(node), unsafe_skip_copy=True).resolve(PositionProvider)[string]
    if where.start.line != where.end.line:
        return None
    line = call.span.line + where.start.line - 1
    before = call.span.column if where.start.line == 1 else 1
    span = Span(line, before + where.start.column, line, before + where.end.column)
    found = FormatString(string, span, [each.keyword.value for each in node.args if each.keyword is not None])
    plain = all(map(_is_plain, string.parts))
    return found if plain and found.fields and len(found.fields) == len(call.shown) else None


def _parsed_call(span: Span, lines: Sequence[str]) -> cst.Call | None:
    text = [*lines[span.line - 1 : span.end_line]]
    text[-1] = text[-1][: span.end_column - 1]
    text[0] = text[0][span.column - 1 :]
    try:
        with libcst_failures():
            node = cst.parse_expression("\n".join(text))
    except (UnreadableError, RecursionError):  # then there is no fix, and the finding stays
        return None
    return node if isinstance(node, cst.Call) else None


def _is_plain(part: cst.BaseFormattedStringContent) -> bool:
    if isinstance(part, cst.FormattedStringText):
        return not any(sign in part.value for sign in ("{{", "}}", "\\N"))
    if not isinstance(part, cst.FormattedStringExpression) or part.conversion is not None or part.equal is not None:
        return False
    return all(isinstance(each, cst.FormattedStringText) for each in part.format_spec or ())


def _spec(field: cst.FormattedStringExpression) -> str:
    """The format of a field with its colon; "" if it has none."""
    if field.format_spec is None:
        return ""
    return ":" + "".join(_code(part) for part in field.format_spec)


def _module(node: cst.Call) -> cst.Module:
    return cst.Module([cst.SimpleStatementLine([cst.Expr(node)])])


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
