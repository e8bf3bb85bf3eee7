"""The expressions of one statement by line, for comments that stand inside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shapecheck.syntax.scopes import arguments

_DISPLAYS = (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class ScopedExpression:
    """An expression, with the lines of the loops, comprehensions and lambdas around it."""

    node: ast.expr
    loop: tuple[int, ...]


@dataclass
class Lines:
    """The expressions of one statement by line: the largest that ends, starts, or is opened there.

    `whole` gives for what an arithmetic expression begins with (a, a + b in a + b - c) the expression, by node.
    """

    ending: dict[int, ScopedExpression] = field(default_factory=dict)
    starting: dict[int, ScopedExpression] = field(default_factory=dict)
    opening: dict[tuple[int, int], ScopedExpression] = field(default_factory=dict)
    whole: dict[ast.expr, ScopedExpression] = field(default_factory=dict)


def index_lines(roots: Sequence[ast.expr], loop: tuple[int, ...]) -> Lines:
    """One walk over the expressions of a statement, so that many comments in one long literal cost no more than one."""
    lines = Lines()
    stack: list[tuple[ast.AST, int, int, tuple[int, ...]]] = [(root, 0, 0, loop) for root in roots]
    while stack:
        node, start, end, loop = stack.pop()
        if isinstance(node, ast.expr) and not isinstance(node, ast.Slice):
            found = ScopedExpression(node, loop)
            first, last = node.lineno, node.end_lineno or node.lineno
            if last != end:
                best = lines.ending.get(last)
                if best is None or (best.node.end_col_offset or 0) < (node.end_col_offset or 0):
                    lines.ending[last] = found
            if first != start:
                leftmost = lines.starting.get(first)
                if leftmost is None or node.col_offset < leftmost.node.col_offset:
                    lines.starting[first] = found
            _note_opening(lines, found)
            _note_whole(lines, found)
            start, end = first, last
            if isinstance(node, _INNER):
                loop = (*loop, node.lineno)
        if isinstance(node, ast.JoinedStr) or type(node).__name__ == "TemplateStr":
            continue
        children = [child for child in ast.iter_child_nodes(node) if not _is_store(child)]
        stack += [(child, start, end, loop) for child in reversed(children)]
    return lines


def right_operands(node: ast.expr) -> Iterator[ast.expr]:
    """What stands last in an arithmetic expression, from the largest on: b * c and c in a - b * c."""
    while isinstance(node, ast.BinOp):
        node = node.right
        yield node


def outermost(opened: ScopedExpression, leftmost: ScopedExpression | None) -> ScopedExpression:
    """Of `jnp.array([` at the end of a line the whole call, not the list."""
    if leftmost is None or leftmost.node.col_offset > opened.node.col_offset:
        return opened
    ends = (leftmost.node.end_lineno or 0, leftmost.node.end_col_offset or 0)
    return leftmost if ends >= (opened.node.end_lineno or 0, opened.node.end_col_offset or 0) else opened


def _note_whole(lines: Lines, found: ScopedExpression) -> None:
    node = found.node
    while isinstance(node, ast.BinOp) and node.left not in lines.whole:
        node = node.left
        lines.whole[node] = lines.whole.get(found.node, found)


def _note_opening(lines: Lines, found: ScopedExpression) -> None:
    node = found.node
    if isinstance(node, _DISPLAYS):
        lines.opening.setdefault((node.lineno, node.col_offset), found)
    elif isinstance(node, ast.Call):
        lines.opening.setdefault((node.func.end_lineno or 0, node.func.end_col_offset or 0), found)
    elif isinstance(node, ast.Subscript):
        lines.opening.setdefault((node.value.end_lineno or 0, node.value.end_col_offset or 0), found)


def _is_store(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store) or isinstance(node, ast.arguments)


def roots(node: ast.stmt) -> list[ast.expr]:
    """The expressions that a statement evaluates, without those of the statements inside it."""
    if isinstance(node, ast.With | ast.AsyncWith):
        return [item.context_expr for item in node.items]
    names = ("value", "test", "iter", "subject", "exc", "msg")
    found = (getattr(node, name, None) for name in names)
    return [root for root in found if isinstance(root, ast.expr)]


def header_nodes(node: ast.stmt) -> Iterator[ast.expr | ast.arg]:
    """The expressions in the header of a compound statement."""
    yield from roots(node)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from arguments(node)
        yield from node.args.defaults
        yield from (default for default in node.args.kw_defaults if default is not None)
        if node.returns is not None:
            yield node.returns
    elif isinstance(node, ast.ClassDef):
        yield from node.bases
        yield from (keyword.value for keyword in node.keywords)
    elif isinstance(node, ast.For | ast.AsyncFor):
        yield node.target
    elif isinstance(node, ast.With | ast.AsyncWith):
        yield from (item.optional_vars for item in node.items if item.optional_vars is not None)
