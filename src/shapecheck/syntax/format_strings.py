"""A string that is formatted before it is printed becomes a format with arguments: of `f"x {x}"`, `"x {x}", x=x`."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from shapecheck.model import DebugCall, Edit, Span
from shapecheck.syntax.concrete_file import libcst_failures
from shapecheck.syntax.owners import UnreadableError

_PERCENT = re.compile(r"%(?:%|s|(\.\d+[feg]))")
# What `jax.debug.print` takes itself.
_OPTIONS = frozenset({"fmt", "ordered", "partitioned", "skip_format_check", "_use_logging"})


class FormatString:
    """The f-string of one call: `taken` are the names of its other arguments."""

    def __init__(self, string: cst.FormattedString, span: Span, taken: Collection[str]) -> None:
        self.string = string
        self.span = span
        self.fields = [part for part in string.parts if isinstance(part, cst.FormattedStringExpression)]
        self._reserved_names = _OPTIONS.union(taken)

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
            is_name = text.isidentifier() and text not in self._reserved_names
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
    literal = by_place[0].value if len(by_place) == 1 else None
    if node is None or not isinstance(literal, cst.FormattedString) or literal.lpar:
        return None
    span = _span_of(literal, node, call)
    if span is None:
        return None
    found = FormatString(literal, span, [each.keyword.value for each in node.args if each.keyword is not None])
    plain = all(map(_is_plain, literal.parts))
    return found if plain and found.fields and len(found.fields) == len(call.shown) else None


@dataclass(frozen=True)
class FormatCall:
    """A string that is formatted at once, and what it becomes; `has_formats` if some field says how."""

    edit: Edit
    has_formats: bool


def read_format_call(call: DebugCall, lines: Sequence[str]) -> FormatCall | None:
    """`"...".format(x)` or `"..." % x` as the only argument by place of a call, if it can be moved; else None.

    It cannot where a field converts, looks into an argument or is none that `str.format` has, nor on several lines.
    """
    node = _parsed_call(call.span, lines)
    by_place = [argument for argument in node.args if argument.keyword is None] if node is not None else []
    value = by_place[0].value if len(by_place) == 1 else None
    if node is None or value is None or value.lpar:
        return None
    span = _span_of(value, node, call)
    taken = _OPTIONS.union(each.keyword.value for each in node.args if each.keyword is not None)
    parts = _format_method(value, taken) or _percent(value)
    if span is None or parts is None:
        return None
    text, arguments = parts
    if len(arguments) != len(call.shown):
        return None
    has_formats = any(spec for _, _, spec, _ in string.Formatter().parse(ast.literal_eval(text)))
    return FormatCall(Edit(span, ", ".join([text, *arguments])), has_formats)


def _span_of(value: cst.BaseExpression, node: cst.Call, call: DebugCall) -> Span | None:
    """Where an argument stands in the file; None if on several lines."""
    where = MetadataWrapper(_module(node), unsafe_skip_copy=True).resolve(PositionProvider)[value]
    if where.start.line != where.end.line:
        return None
    line = call.span.line + where.start.line - 1
    before = call.span.column if where.start.line == 1 else 1
    return Span(line, before + where.start.column, line, before + where.end.column)


def _format_method(value: cst.BaseExpression, taken: Collection[str]) -> tuple[str, list[str]] | None:
    """The string and the arguments of `"...".format(x, y=y)`."""
    if not isinstance(value, cst.Call) or not isinstance(value.func, cst.Attribute):
        return None
    text = value.func.value
    starred = any(each.star or (each.keyword is not None and each.keyword.value in taken) for each in value.args)
    if not isinstance(text, cst.SimpleString) or value.func.attr.value != "format" or starred:
        return None
    if _is_elaborate(str(text.evaluated_value)):
        return None
    return text.value, [_code(each.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for each in value.args]


def _is_elaborate(text: str) -> bool:
    """Whether a format is none, or has fields that convert, look into arguments, or have others in their formats."""
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError:
        return True
    named = [(name, spec or "", conversion) for _, name, spec, conversion in fields if name is not None]
    return any(conversion or re.search(r"[.\[]", name) or "{" in spec for name, spec, conversion in named)


def _percent(value: cst.BaseExpression) -> tuple[str, list[str]] | None:
    """The string that `str.format` takes, and the arguments, of `"..." % (x, y)`."""
    is_percent = isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Modulo)
    if not isinstance(value, cst.BinaryOperation) or not is_percent or not isinstance(value.left, cst.SimpleString):
        return None
    text = value.left.value
    if value.left.prefix or re.search(r"[{}]", text) or _PERCENT.sub("", text).count("%"):
        return None
    right = value.right
    operands = [each.value for each in right.elements] if isinstance(right, cst.Tuple) else [right]
    if isinstance(right, cst.Dict):
        return None
    plain = _PERCENT.sub(_late_field, text)
    return plain, [_code(each) for each in operands]


def _late_field(found: re.Match[str]) -> str:
    """What `str.format` writes for `%s`, `%.2f` or `%%`."""
    return "%" if found[0] == "%%" else f"{{:{found[1]}}}" if found[1] else "{}"


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
