"""Wherever a comment may stand inside a statement, the nodes of `ast` around it are those that libcst has there."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

import pytest

import shapecheck
from shapecheck.syntax.comment_owners import comment_owners
from shapecheck.syntax.owners import Inside
from shapecheck.syntax.source_text import parse_text

EVERYTHING = '''\
@decorator(1, *a)
async def f(a, /, b: int = (1), *c: list[int], d=lambda x, *y, z=1, **w: (x, y), **e) -> dict[str, tuple[int, ...]]:
    """Text."""
    x = y = a.b[c][d, e:f:g, ..., None](h, *i, k=l, **m)
    x, (y, *z), [v] = ((1)), [2, 3,], (4,)
    (x.y[z]) += -a ** ~b % +c // d @ e - (f << g) & h | i ^ j
    x: dict[str, int] = {**a, "b": c, (d): [e for f in g if h if not i for j in k]}
    x = {a, *b, "c" "d" f"e{f!r:>{g}}" "h"}, {i: j for i, j in k}, {l for l in m}, (await n for o in p)
    x = a if b else c if (d) else (e)
    x = a or b or (c or d) and e and f or not g
    x = a < b <= c != d is not e not in (f, g) in h
    y = (z := a), (yield), (yield a, b), (yield from c)
    assert a, (b, c)
    del a, b.c, (d, e[f])
    return f(a for a in b), f((a for a in b), c), (yield)


class A(B, *C, metaclass=D(e), **f):
    x: int
    y: "str" = 1j + 2.5 + 0x1F

    def g(self, *, a): return super().g(a)[0]


for a, *b in c, *d:
    while (a, b) > (c := d):
        continue
    else:
        pass
with a as b, (c) as (d, e), f(g) as h.i[j]:
    raise a(b) from c
with (a as b, c(d)):
    pass
try:
    import a.b, c as d
    from e import (f as g, h)
except* (A, B) as e:
    global x, y
else:
    print(a, file=b); x[a:b, c:d, ::e] = ()
finally:
    pass
match a, b:
    case (1 | -2, {"x": y}) if a[b]:
        pass
    case A(b, c=[d, *e]) as f: x = f(g)
'''
if sys.version_info >= (3, 12):
    EVERYTHING += 'def f[T: (int, str), U](a: T): return f"{a + f"{b[c]}"}", type(a)\ntype X[Y] = list[Y]\n'

FILES = [file for file in sorted(Path(shapecheck.__file__).parent.rglob("*.py")) if file.name != "__init__.py"]
SOURCES = [EVERYTHING, *(file.read_text() for file in FILES[::20])]


def _with_comments(text: str, own_line: bool) -> str:
    """The text with every bracket broken into lines, one for each token, and a comment at each break."""
    result: list[str] = []
    depth, inside = 0, 0
    line, column = 1, 0
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row, start = token.start
        if row != line:
            result += [lines[line - 1][column:], *lines[line : row - 1]]
            column = 0
        result += [lines[row - 1][column:start] if row <= len(lines) else "", token.string]
        line, column = token.end
        if tokenize.tok_name[token.type] in {"FSTRING_START", "FSTRING_END"}:
            inside += 1 if tokenize.tok_name[token.type] == "FSTRING_START" else -1
        if token.type == tokenize.OP and not inside:
            depth += (token.string in "([{") - (token.string in ")]}")
        if depth and not inside and token.type not in (tokenize.NL, tokenize.COMMENT):
            result.append(f"\n# {len(result)}\n" if own_line else f"  # {len(result)}\n")
    return "".join(result)


@pytest.mark.parametrize("own_line", [True, False], ids=["own line", "trailing"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source[:30].strip().partition("\n")[0])
def test_the_nodes_around_a_comment_are_where_it_stands(source, own_line):
    read = parse_text("module.py", _with_comments(source, own_line))
    owners = comment_owners(read, read.comments).owners
    inside = [(comment.position, owner) for comment, owner in owners.items() if isinstance(owner, Inside)]
    assert inside
    for position, owner in inside:
        for node in owner.enclosing:
            assert (node.lineno, node.col_offset) <= position <= (node.end_lineno, node.end_col_offset)
        assert all((node.end_lineno, node.end_col_offset) <= position for node in owner.before)
        assert all((node.lineno, node.col_offset) >= position for node in owner.after)
        sizes = [len(list(ast.walk(node))) for node in (*owner.enclosing, *owner.after)]
        assert sizes == [*sorted(sizes[: len(owner.enclosing)])[::-1], *sorted(sizes[len(owner.enclosing) :])[::-1]]
