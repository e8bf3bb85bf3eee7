"""Calls that print, Python's `print` and those of `jax.debug`; and those that give JAX a function to call back."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shapecheck.claims.annotation_names import Names
from shapecheck.claims.callback_captures import CALLBACKS, captured_names
from shapecheck.claims.claim_sites import SiteKey, Sites
from shapecheck.model import DebugCall
from shapecheck.syntax.scopes import PlacedStatement, Tables, dotted_name
from shapecheck.syntax.source_text import SourceText, position_of

_PRINT = "print"
_LATE_PRINT, _CALLBACK = "jax.debug.print", "jax.debug.callback"
_FUNCTIONS = frozenset({_LATE_PRINT, "jax.debug.breakpoint", *CALLBACKS})
_OPTIONS = frozenset({"ordered", "partitioned", "skip_format_check", "_use_logging"})
_LAST_NAMES = sorted({_PRINT, *(name.rpartition(".")[2] for name in _FUNCTIONS)})
_INNER = (ast.stmt, ast.excepthandler, ast.match_case)


@dataclass(frozen=True)
class _TextExpression:
    """An expression that becomes text: a node, or the field `part` of that f-string."""

    node: ast.expr
    text: str
    part: int | None = None


class DebugCalls:
    """Finds the calls of one file."""

    def __init__(self, source: SourceText, tables: Tables, sites: Sites, names: Names) -> None:
        self.source, self.tables, self.sites, self.names = source, tables, sites, names
        defined = any(scope.qualname.rpartition(".")[2] == _PRINT for scope in tables.scopes)
        self._has_print = not (defined or names.starred or _PRINT in names.imported)

    def calls(self) -> Iterator[DebugCall]:
        """All of them, in the order of the text."""
        lines = self._mentions()
        for placed in self.tables.statements if lines else ():
            if not lines.isdisjoint(range(placed.node.lineno, placed.header_end + 1)):
                for node in _calls(placed.node):
                    yield from self._call(placed, node)

    def _mentions(self) -> set[int]:
        """The lines on which a name stands that may be one of the functions'."""
        text = self.source.text
        if _PRINT not in text and "debug" not in text and "callback" not in text:
            return set()
        own = [name for name, origin in self.names.imported.items() if ".".join(origin) in _FUNCTIONS]
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, [*_LAST_NAMES, *own]))})\b")
        return {number for number, line in enumerate(self.source.lines, 1) if pattern.search(line)}

    def _call(self, placed: PlacedStatement, node: ast.Call) -> Iterator[DebugCall]:
        function = self._function(placed.scope, node.func)
        if not function:
            return
        span = self.source.span(node)
        shown: list[_TextExpression] = []
        if function == _PRINT:
            shown = [each for argument in node.args for each in self._print_expressions(argument)]
        elif function == _LATE_PRINT:
            shown = [each for argument in node.args[:1] for each in self._format_expressions(argument)]
        elif function == _CALLBACK:  # whose first argument is the function
            given = [*node.args[1:], *(each.value for each in node.keywords if each.arg not in _OPTIONS)]
            shown = [each for argument in given for each in self._format_expressions(argument)]
        captured: list[_TextExpression] = []
        if function in CALLBACKS and node.args:
            captured = list(self._callback_inputs(placed.scope, node.args[0]))
        if (function == _PRINT or function in CALLBACKS) and not (shown or captured):
            return
        unfit = _unfit(node) if function == _LATE_PRINT else ""
        yield DebugCall(function, span, self._sites(placed, shown), unfit, self._sites(placed, captured))

    def _sites(self, placed: PlacedStatement, expressions: Sequence[_TextExpression]) -> tuple[tuple[int, str], ...]:
        scope = self.tables.function_scope(placed.scope)
        places = [
            SiteKey(
                kind="shown",
                scope=scope,
                position=position_of(s.node),
                name=s.text,
                when="",
                loop=placed.loop,
                part=s.part,
            )
            for s in expressions
        ]
        return tuple((self.sites.add(place, ()), place.name) for place in places)

    def _callback_inputs(self, scope: int, callback: ast.expr) -> Iterator[_TextExpression]:
        """What a function that JAX is to call has from around it; and what `functools.partial` gives it at once."""
        if isinstance(callback, ast.Call) and self._is_partial(scope, callback.func):
            given = [*callback.args[1:], *(keyword.value for keyword in callback.keywords)]
            yield from (self._plain(each) for each in given if not isinstance(each, ast.Starred | ast.Constant))
            return
        for name in captured_names(callback, self.tables, self.tables.function_scope(scope)):
            yield _TextExpression(callback, name)

    def _is_partial(self, scope: int, node: ast.expr) -> bool:
        return self._imported_name(scope, dotted_name(node) or "") == "functools.partial"

    def _function(self, scope: int, node: ast.expr) -> str:
        """The full name of one of the functions; "" for any other."""
        name = dotted_name(node)
        if name is None:
            return ""
        if name == _PRINT and _PRINT not in self.names.imported:
            return _PRINT if self._has_print and not self.tables.is_visible(scope, _PRINT) else ""
        full = self._imported_name(scope, name)
        return full if full in _FUNCTIONS else ""

    def _imported_name(self, scope: int, name: str) -> str:
        """The full name of what is imported; "" for what is not, or is a variable there."""
        first, _, rest = name.partition(".")
        if self.tables.is_visible(scope, first) or first not in self.names.imported:
            return ""
        return ".".join(part for part in (*self.names.imported[first], rest) if part)

    def _print_expressions(self, node: ast.expr) -> Iterator[_TextExpression]:
        """What an argument of `print` shows."""
        found = list(self._format_expressions(node))
        if found:
            yield from found
        elif isinstance(node, ast.Starred):
            yield self._plain(node.value)
        elif not isinstance(node, ast.Constant | ast.JoinedStr):
            yield self._plain(node)

    def _format_expressions(self, node: ast.expr) -> Iterator[_TextExpression]:
        """The expressions that become text before the call of which `node` is an argument."""
        if isinstance(node, ast.JoinedStr):
            fields = [value for value in node.values if isinstance(value, ast.FormattedValue)]
            for part, field in enumerate(fields):
                # Where it stands, only Python 3.12 and newer tell rightly.
                yield _TextExpression(node, ast.unparse(field.value), part)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            yield from self._format_expressions(node.left)
            yield from self._format_expressions(node.right)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left):
            yield from map(self._plain, _operands(node.right))
        elif isinstance(node, ast.Call):
            yield from map(self._plain, _arguments(node))

    def _plain(self, node: ast.expr) -> _TextExpression:
        return _TextExpression(node, self.source.segment(node))


def _unfit(node: ast.Call) -> str:
    """Why a call's format and its arguments do not go together; "" if they do, or if nobody can tell from the text."""
    named = {each.arg for each in node.keywords}
    plain = bool(node.args) and _is_text(node.args[0]) and not any(isinstance(each, ast.Starred) for each in node.args)
    if not plain or None in named or "skip_format_check" in named:
        return ""
    text = ast.literal_eval(node.args[0])
    try:
        fields = list(_field_names(text))
    except ValueError as error:
        return f"its format is none ({error})"
    automatic = fields.count("")
    if automatic and any(name.isdigit() for name in fields):
        return "its format numbers some fields and not others"
    places = {str(number) for number in range(automatic)} | {name for name in fields if name.isdigit()}
    given = len(node.args) - 1
    missing = sorted({name for name in fields if name and not name.isdigit()} - named)
    if missing:
        return f"no argument is called {missing[0]}, which its format names"
    if any(int(place) >= given for place in places):
        wanted = max(map(int, places)) + 1
        return f"its format wants {wanted} by place, and {given or 'none'} {'is' if given < 2 else 'are'} given"
    unused = sorted(name for name in named - _OPTIONS - set(fields) if name is not None)
    if unused:
        return f"its format does not show {unused[0]}"
    return "" if given == len(places) else f"its format shows {len(places) or 'none'} of {given} arguments by place"


def _field_names(text: str) -> Iterator[str]:
    """The first names of a format's fields, those inside of formats too; raises ValueError for what is no format."""
    for _, name, spec, _ in string.Formatter().parse(text):
        if name is not None:
            yield re.split(r"[.\[]", name, maxsplit=1)[0]
            yield from _field_names(spec or "")


def _calls(statement: ast.stmt) -> list[ast.Call]:
    """The calls in a statement, without those in statements inside it, in the order of the text."""
    found: list[ast.Call] = []
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            found.append(node)
        if not isinstance(node, ast.JoinedStr):
            stack += [child for child in ast.iter_child_nodes(node) if not isinstance(child, _INNER)]
    return sorted(found, key=lambda call: (call.lineno, call.col_offset))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _operands(node: ast.expr) -> Sequence[ast.expr]:
    """What `"..." % node` formats."""
    if isinstance(node, ast.Tuple):
        return [each for each in node.elts if not isinstance(each, ast.Starred)]
    return node.values if isinstance(node, ast.Dict) else [node]


def _arguments(node: ast.Call) -> Sequence[ast.expr]:
    """What a call formats: `"...".format(x)`, `str(x)`, `repr(x)`."""
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    plain = [each for each in arguments if not isinstance(each, ast.Starred)]
    if isinstance(node.func, ast.Attribute) and node.func.attr == "format" and _is_text(node.func.value):
        return plain
    is_name = isinstance(node.func, ast.Name) and node.func.id in ("str", "repr")
    return plain if is_name and len(arguments) == 1 else []
