"""One file as libcst parses it, and which of libcst's statements is which of Python's syntax tree.

What libcst cannot read, though Python can, is hidden from it, so that the rest of the file can be read.

What is claimed is found in the syntax tree of `ast`. Both trees hold the same statements in the same order, so that
counting finds the libcst node of a statement, and no position has to be computed for any other node. Whoever reads
comments or writes source stands on this one pairing.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from shapecheck.syntax.owners import PairingError, UnreadableError

_DEEPEST = 300  # expressions inside each other: libcst's time grows with the square of it, and its stack has an end
_SHORT = 2 * _DEEPEST  # characters: a statement of fewer cannot nest as deeply

# libcst recurs several frames deep for each `elif` and each operand; `ast` takes as many of them as memory allows.
_FRAMES = 20_000


def parse_concrete(content: str | bytes, above: int = 0) -> cst.Module:
    """The concrete syntax of a text or of a file's bytes. Raises UnreadableError, with lines from `above` on."""
    with deep_recursion(), libcst_failures(above):
        return cst.parse_module(content)


@contextmanager
def libcst_failures(above: int = 0) -> Iterator[None]:
    """Whatever libcst's parser raises meanwhile becomes UnreadableError, but for a recursion that its caller limits."""
    try:
        yield
    except cst.ParserSyntaxError as error:
        raise UnreadableError(f"libcst cannot parse line {above + error.raw_line}: {error.message}") from error
    except RecursionError:
        raise
    except Exception as error:  # text that is not UTF-8, or a bug of libcst's: 1.9 has one for `async` at a line's end
        raise UnreadableError(f"libcst cannot parse it ({type(error).__name__}: {error})") from error
    except BaseException as error:
        if type(error).__module__ != "pyo3_runtime":
            raise
        raise UnreadableError(f"libcst's parser has failed: {error}") from error  # a panic of its Rust code


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let libcst recur as deeply as most files need it. Raises UnreadableError where that is not enough."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _FRAMES))
    try:
        yield
    except RecursionError as error:
        raise UnreadableError("it nests too deeply for libcst") from error
    finally:
        sys.setrecursionlimit(limit)


def statement_lists(code: ast.stmt | ast.Module) -> list[list[ast.stmt]]:
    """The lists of statements inside a statement, in the order of the text; none of them is empty."""
    if isinstance(code, ast.Match):
        return [case.body for case in code.cases]
    handlers = [handler.body for handler in getattr(code, "handlers", ())]
    found = [getattr(code, "body", []), *handlers, getattr(code, "orelse", []), getattr(code, "finalbody", [])]
    return [statements for statements in found if statements]


def require_shallow(text: str, statements: Sequence[ast.stmt]) -> None:
    """Raise UnreadableError if expressions of these statements, or of any inside them, nest too deeply for libcst."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    lists: list[Sequence[ast.stmt]] = [statements]
    while lists:
        for code in lists.pop():
            inner = statement_lists(code)
            last = inner[0][0].lineno if inner else code.end_lineno or code.lineno
            if starts[last] - starts[code.lineno - 1] > _SHORT and _depth(code) > _DEEPEST:
                raise UnreadableError(f"the statement on line {code.lineno} nests too deeply for libcst")
            lists += inner


def _depth(code: ast.stmt) -> int:
    """How many nodes stand inside each other in a statement, without the statements inside it."""
    deepest = 0
    stack: list[tuple[ast.AST, int]] = [(code, 0)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        stack += [(child, depth + 1) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
    return deepest


Suite = cst.Module | cst.IndentedBlock | cst.SimpleStatementSuite
Line = cst.SimpleStatementLine | cst.BaseCompoundStatement


@dataclass(frozen=True)
class StatementPlace:
    """Where a statement stands: on the `index`-th line of a suite, which is `line`.

    `line` is None where the whole suite stands on the line of its `if` or the like.
    """

    suite: Suite
    index: int
    line: Line | None
    is_first: bool = True

    @property
    def is_alone(self) -> bool:
        """Whether a simple statement has its lines for itself: no other behind a semicolon, and no semicolon."""
        if not isinstance(self.line, cst.SimpleStatementLine) or len(self.line.body) != 1:
            return False
        return isinstance(self.line.body[0].semicolon, cst.MaybeSentinel)


class ConcreteFile:
    """A file with both of its trees. libcst parses it when a node is asked for: that raises UnreadableError.

    Of statements in `hidden` the file has nothing but a `pass` (see `readable_part`).
    """

    def __init__(self, content: str | bytes, tree: ast.Module, hidden: Collection[ast.stmt] = ()) -> None:
        self.data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        self.tree = tree
        self._content = content
        self._hidden = hidden

    @cached_property
    def module(self) -> cst.Module:
        """The tree of libcst."""
        module = parse_concrete(self._content)
        # libcst does not take a single carriage return for the end of the last line.
        return module.with_changes(has_trailing_newline=True) if self.data.endswith(b"\r") else module

    def place(self, statement: ast.stmt) -> StatementPlace:
        """Where a statement stands; not for an `elif`."""
        return self._pairs.places[id(statement)]

    def statement(self, node: cst.CSTNode) -> ast.stmt:
        """The statement of `ast` that a simple or compound statement of libcst is, or an `elif`."""
        return self._pairs.statements[id(node)]

    def statements(self, line: cst.BaseStatement) -> list[ast.stmt]:
        """The statements on a line of a suite, or the compound one that begins there."""
        nodes = line.body if isinstance(line, cst.SimpleStatementLine) else (line,)
        return [self._pairs.statements[id(node)] for node in nodes]

    @cached_property
    def _pairs(self) -> _Pairs:
        return _pair_statements(self.tree, self.module, self._hidden)


def leading_lines(node: cst.CSTNode) -> Sequence[cst.EmptyLine]:
    """The blank lines and comments that libcst counts to a statement or clause, since they stand right above it."""
    found: Sequence[cst.EmptyLine] = getattr(node, "leading_lines", ())
    return found


@dataclass(frozen=True)
class _Pairs:
    """The places of the statements of `ast`, and the statements of `ast` for the nodes of libcst, both by identity."""

    places: dict[int, StatementPlace]
    statements: dict[int, ast.stmt]


def _pair_statements(tree: ast.Module, module: cst.Module, hidden: Collection[ast.stmt]) -> _Pairs:
    pairs = _Pairs({}, {})
    stack: list[tuple[cst.CSTNode, list[ast.stmt]]] = [(module, tree.body)]
    while stack:
        suite, block = stack.pop()
        nodes = list(_in_suite(suite))
        if len(nodes) != len(block):
            raise PairingError(f"{len(nodes)} statements of libcst, {len(block)} of ast")
        for (node, place), statement in zip(nodes, block, strict=True):
            pairs.statements[id(node)] = statement
            if place is not None:
                pairs.places[id(statement)] = place
            if isinstance(node, cst.BaseCompoundStatement) and statement not in hidden:
                suites, lists = list(_suites(node)), statement_lists(statement)
                if len(suites) != len(lists):
                    raise PairingError(f"line {statement.lineno}: {len(suites)} blocks of libcst, {len(lists)} of ast")
                stack += zip(suites, lists, strict=True)
    return pairs


def _in_suite(suite: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, StatementPlace | None]]:
    """The statements of a suite; an `elif` is an `if` in no suite of its own."""
    if isinstance(suite, cst.If):
        yield suite, None
    elif isinstance(suite, cst.SimpleStatementSuite):
        yield from ((node, StatementPlace(suite, index, None)) for index, node in enumerate(suite.body))
    elif isinstance(suite, cst.Module | cst.IndentedBlock):
        for index, line in enumerate(suite.body):
            if isinstance(line, cst.SimpleStatementLine):
                for number, node in enumerate(line.body):
                    yield node, StatementPlace(suite, index, line, number == 0)
            elif isinstance(line, cst.BaseCompoundStatement):
                yield line, StatementPlace(suite, index, line)


def _suites(node: cst.BaseCompoundStatement) -> Iterator[cst.CSTNode]:
    """The suites inside a statement, in the order of the text; an `elif` is given as it is."""
    if isinstance(node, cst.Match):
        yield from (case.body for case in node.cases)
        return
    yield node.body
    yield from (handler.body for handler in getattr(node, "handlers", ()))
    for name in ("orelse", "finalbody"):
        part = getattr(node, name, None)
        if part is not None:
            yield part.body if isinstance(part, cst.Else | cst.Finally) else part


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
