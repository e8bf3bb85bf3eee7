"""Whatever Python accepts is read; whatever it does not is one clear note."""

from __future__ import annotations

import cProfile
import io
import sys
import tokenize
from pathlib import Path

import pytest

from shapecheck.claims import read_module
from shapecheck.syntax.source_text import read_source

LIBRARY = Path(io.__file__).parent

READABLE = {
    "plain": b"y = f(x)  # (b, t)\n",
    "no end of line": b"y = f(x)  # (b, t)",
    "byte order mark": b"\xef\xbb\xbfy = f(x)  # (b, t)\n",
    "windows lines": b"z = 1\r\ny = f(x)  # (b, t)\r\n",
    "old mac lines": b"z = 1\ry = f(x)  # (b, t)\r",
    "latin-1": b"# -*- coding: latin-1 -*-\ny = f('\xe9')  # (b, t)\n",
    "a codec by its other name": b"# vim: set fileencoding=cp1252 :\ny = f('\x80')  # (b, t)\n",
    "form feeds": b"z = 1\n\x0c\ny = f(x)  # (b, t)\n",
    "a line separator in a string": "z = '\u2028\x85'\ny = f(x)  # (b, t)\n".encode(),
    "a tab": b"if z:\n\ty = f(x)  # (b, t)\n",
    "a continued line": b"y = \\\n    f(x)  # (b, t)\n",
    "strings with number signs": b"y = f('#', \"#\", '''#\n#''', r'\\\\', rb'#')  # (b, t)\n",
    "a quote in a comment": b"# it's\ny = f(x)  # (b, t)\n",
    "an f-string": b"y = f(f'{z!r:#x} # (c,)', f\"{z}\")  # (b, t)\n",
    "a warning": b"y = f('\\d')  # (b, t)\n",
}

UNREADABLE = {
    "an unknown encoding": (b"# coding: no-such-thing\n", "cannot be decoded"),
    "a wrong byte": (b"y = '\xff'\n", "cannot be decoded"),
    "a codec that is no encoding": (b"# coding: hex\n6b\n", "cannot be decoded"),
    "a syntax error": (b"x = 1\ny = = 2\n", "invalid syntax"),
    "a null byte": (b"x = 1\0\n", "cannot"),
    "deep nesting": (b"x = " + b"-" * 20000 + b"1\n", "too deeply"),
}


@pytest.mark.parametrize("data", READABLE.values(), ids=READABLE)
def test_readable(data):
    module = read_module("m.py", data)
    assert module.problems == ()
    (claim,) = module.claims
    assert claim.text == "(b, t)"
    line = module.lines[claim.span.line - 1]
    assert line[claim.span.column - 1 : claim.span.end_column - 1] == "(b, t)"


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("type Batch = int =", (3, 12)),
        ("def f[T](x: T -> T: pass", (3, 12)),
        ("except ValueError, TypeError:", (3, 14)),
        ("x = t'{y'", (3, 14)),
        ("lazy import jax =", (3, 15)),
        ("x = = 1", (9, 0)),
        ("print 'n'", (9, 0)),
        ("def f(x:", (9, 0)),
        ("except:", (9, 0)),
    ],
)
def test_newer_syntax_is_thought_of_only_where_it_may_be_one(line, version):
    (problem,) = read_module("m.py", line.encode()).problems
    hint = f"if this is the syntax of Python {version[0]}.{version[1]}, run it under that"
    assert (hint in problem.message) == (sys.version_info < version < (9, 0))
    assert ("shapecheck runs under" in problem.message) == (hint in problem.message)


@pytest.mark.parametrize(("data", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable(data, message):
    module = read_module("m.py", data)
    (problem,) = module.problems
    assert problem.code == "SC104"
    assert message in problem.message
    assert module.claims == ()
    assert [scope.kind for scope in module.scopes] == ["module"]


def test_a_syntax_error_is_where_python_says(read):
    (problem,) = read_module("m.py", b"x = 1\ny = = 2\n").problems
    assert (problem.span.line, problem.span.column) == (2, 5)
    assert problem.message == "this file cannot be parsed, so nothing in it is checked: invalid syntax"


@pytest.mark.parametrize("data", [b"", b"\n", b"#", b"# (b, t)", b"\x0c", b"pass"])
def test_nothing_to_read(data):
    assert read_module("m.py", data).claims == ()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="f-strings cannot hold their own quotes before Python 3.12")
def test_a_string_inside_an_f_string():
    module = read_module("m.py", b'y = f(f"{z["#"]} # (c,)")  # (b, t)\n')
    assert [claim.text for claim in module.claims] == ["(b, t)"]


def test_comments_are_those_of_the_standard_tokenizer():
    """Over the standard library's own sources, which hold every odd way to write a string."""
    for path in sorted(LIBRARY.glob("*.py"))[::5]:
        source = read_source(path.name, path.read_bytes())
        tokens = tokenize.generate_tokens(io.StringIO(source.text).readline)
        expected = [(*t.start, t.string) for t in tokens if t.type == tokenize.COMMENT]
        assert [(c.line, c.column, c.text) for c in source.comments] == expected, path.name


def test_the_standard_library_is_read_without_a_crash():
    for path in sorted(LIBRARY.glob("*/*.py"))[::40]:
        read_module(path.name, path.read_bytes())


LONG = {
    "statements": lambda n: "".join(f"x{i} = f(x)  # (b, t{i})\n" for i in range(n)),
    "one literal": lambda n: "x = {\n" + "".join(f"    {i}: f({i}),  # (b, t)\n" for i in range(n)) + "}\n",
    "one header": lambda n: "def f(\n" + "".join(f"    a{i},  # (b, t)\n" for i in range(n)) + "):\n    pass\n",
    "labels": lambda n: "def f(x):\n" + "".join(f"    # x: (b, t)\n    y = f({i})\n" for i in range(n)),
    "parameters": lambda n: "def f(x):\n" + "".join(f"    # (b, t)\n    f(x, {i})\n    z{i} = 1\n" for i in range(n)),
    "one block of comments": lambda n: "# (b, t)\n" * n + "y = f(x)\n",
    "headings": lambda n: "# turn it (b, t) -> (t, b)\ny = f(x)\n" * n,
    "one elif chain": lambda n: (
        "if a:\n    pass\n" + "".join(f"elif a == {i}:\n    y = f(x)  # (b, t)\n" for i in range(n))
    ),
    "one docstring": lambda n: 'def f(x):\n    """F.\n\n' + "    Args:\n        x: of shape (b, t)\n" * n + '    """\n',
}


@pytest.mark.parametrize("source", LONG.values(), ids=LONG)
def test_a_file_of_four_times_the_length_is_four_times_the_work(source):
    """Work is counted in calls, of which every machine makes the same number."""
    few, many = (_calls_to_read(source(length)) for length in (200, 800))
    assert many < 5 * few


def _calls_to_read(source: str) -> int:
    with cProfile.Profile(subcalls=False) as profile:
        module = read_module("m.py", source.encode())
    assert len(module.claims) >= source.count("(b, t") // 2
    return sum(each.callcount for each in profile.getstats())
