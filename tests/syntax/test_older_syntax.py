"""Syntax of newer versions of Python: what older ones can parse instead, with each name where it was."""

from __future__ import annotations

import ast
import sys

import pytest

from shapecheck import claims
from shapecheck.syntax.older_syntax import in_older_syntax
from shapecheck.syntax.source_text import read_source

NEWER = {
    "an alias": 'type Row = Float[Array, "n"]\nkept = 1\n',
    "an alias with parameters": "type Pair[T] = tuple[T, T]\nkept = 1\n",
    "an alias in a class": "class A:\n    type Row = int; kept = 1\n",
    "a generic function": "def f[T](kept: T) -> T: return kept\n",
    "parameters on several lines": "def f[\n    T: (int, float),  # numbers ]\n\n    *Ts,\n](kept: T): return kept\n",
    "a generic class": "class A[T = int](Base):\n    def kept[S](self): ...\n",
    "the same quotes inside": 'label = f"{names["a"]:>{names["b"]}} # {{"; kept = 1\n',
    "a raw template": 'label = rf"{names["a"]}\\d"; kept = 1\n',
    "a template on several lines": 'label = f"""{names["a"]\n} """; kept = 1\n',
    "several exceptions": "try: pass\nexcept A, B.c:\n    kept = 1\n",
    "a lazy import": "lazy import a.b as kept\nlazy from a import b\n",
}
SAME = {
    "names": "type = 1\ntype[0] = 2\nlazy = type(3)\n",
    "strings": "\"type A = int\"\n'''\ndef f[T](x): ...\n'''\n# type A = int\n",
    "templates": "f\"{names['a']}\" f'''{1:{2}}\n''' F\"{{\" b\"\" u\"\"\n",
}


def names_of(tree: ast.AST) -> set[tuple[int, int]]:
    """Where the name `kept` stands."""
    nodes = (node for node in ast.walk(tree) if "kept" in (getattr(node, "id", ""), getattr(node, "arg", "")))
    return {(node.lineno, node.col_offset) for node in nodes}


@pytest.mark.parametrize("text", NEWER.values(), ids=NEWER)
def test_newer_syntax_is_parsed_with_each_name_where_it_was(text: str) -> None:
    older = in_older_syntax(text)
    lines = text.split("\n")
    assert all(lines[line - 1][column:].startswith("kept") for line, column in names_of(ast.parse(older)))
    assert older.count("\n") == text.count("\n")


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_what_is_no_newer_syntax_stays_as_it_is(text: str) -> None:
    assert in_older_syntax(text) == text


def test_claims_are_read_under_an_older_python_than_the_users() -> None:
    text = (
        "from jaxtyping import Array, Float\n"
        'type Row = Float[Array, "n"]\n'
        "def total[T](x: Row, names: T):\n"
        '    label = f"{names["# (no, comment)"]}"\n'
        "    y = x[None]  # (1, n)\n"
        "    return y\n"
    )
    module = claims.read_module("m.py", text.encode())
    assert [(claim.span.line, claim.text) for claim in module.claims] == [(3, 'Float[Array, "n"]'), (5, "(1, n)")]
    assert not module.problems


def test_what_no_python_can_parse_is_still_a_problem() -> None:
    module = claims.read_module("m.py", b"type A = int\ndef f[T](x:\n")
    assert [problem.code for problem in module.problems] == ["SC104"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there it is no newer syntax")
def test_whoever_writes_into_a_file_has_its_own_syntax_alone() -> None:
    assert read_source("m.py", b"type A = int\n").tree is None
