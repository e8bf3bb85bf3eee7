"""Files as libcst parses them, or the reason why it does not."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import libcst as cst

from shapecheck.syntax.owners import UnreadableError

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
