from __future__ import annotations

import ast
import inspect
import time
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecheck.incremental.content_hash import content
from shapecheck.incremental.module_summary import surface


def skeleton(source: bytes) -> str:
    return surface(source).outline


SOURCE = '''\
"""The module."""

import jax
from jax import numpy as jnp

WIDTH = 4
SCALES = [2 * n for n in range(3)]
double = lambda x: x * 2


@jax.jit
def forward(x: "Float[b d]", /, width: int = WIDTH, *rest: int, flag=True, **more) -> "Float[b]":
    """Sum."""
    y = x.sum(-1)  # (b,)
    return y


class Model(Base, metaclass=Meta):
    """The model."""

    size: int = 3

    @property
    def weight(self):
        return self.w

    async def fetch(self, url=None):
        def inner(z=1):
            return z
        return await inner()


if WIDTH > 3:
    def late():
        return 1
'''


def edited(old: str, new: str, source: str = SOURCE) -> str:
    assert source.count(old) == 1, old
    return source.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("y = x.sum(-1)", "y = x.max(-1) + jnp.sin(3)"),
        ("# (b,)", "# (b, d)"),
        ("  # (b,)", ""),
        ('"""Sum."""', '"""Sums up."""'),
        ('    """Sum."""\n', ""),
        ("return self.w", "import os; return os"),
        ("return z", "global z; z = [lambda: 1]"),
        ("def inner(z=1)", "async def inner(z=2, *y)"),
        ("        def inner(z=1):\n            return z\n", "        class Inner:\n            pass\n"),
        ("        return 1", "        raise ValueError"),
        ("WIDTH = 4", "WIDTH   =  (4)  # wide"),
        ("WIDTH = 4", "WIDTH = 0x4"),
        ("\n\nWIDTH", "\n\n\n\n# a comment\nWIDTH"),
        ("import jax\n", "import jax;\n"),
        ("flag=True,", "\n    flag = True,\n"),
        ("[2 * n for n in range(3)]", "[\n    2 * n\n    for n in range(3)\n]"),
        ('"Float[b d]"', "'Float[b d]'"),
    ],
)
def test_what_importing_does_not_run_does_not_count(old: str, new: str) -> None:
    assert skeleton(edited(old, new).encode()) == skeleton(SOURCE.encode())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""The module."""', '"""A module."""'),
        ('"""The model."""', '"""A model."""'),
        ("import jax\n", "import jax.nn\n"),
        ("import jax\n", "import jax\nimport os\n"),
        ("numpy as jnp", "numpy as np"),
        ("WIDTH = 4", "WIDTH = 5"),
        ("WIDTH = 4", "WIDTH = 4.0"),
        ("WIDTH = 4", "WIDTH = '4'"),
        ("WIDTH = 4", "WIDTH: int = 4"),
        ("WIDTH = 4", "WIDTH = 4\n[WIDTH]"),
        ("2 * n", "n * 2"),
        ("x * 2", "x * 3"),
        ("@jax.jit\n", ""),
        ("@jax.jit", "@jax.remat"),
        ("def forward", "def backward"),
        ('(x: "', '(z: "'),
        (" /,", ""),
        ('"Float[b d]"', '"Float[b e]"'),
        ("= WIDTH,", "= 3,"),
        ("*rest: int", "*rest"),
        ("*rest: int", "*"),
        ("flag=True", "flag=False"),
        ("flag=True", "flag"),
        ("**more", "**less"),
        (' -> "Float[b]"', ""),
        ("return y", "yield y"),
        ("return self.w", "yield from self.w"),
        ("async def fetch", "def fetch"),
        ("return await inner()", "yield"),
        ("url=None", "url=''"),
        ("(Base, ", "("),
        ("=Meta", "=Beta"),
        ("class Model", "class Models"),
        ("size: int = 3", "size: int = 4"),
        ("size: int = 3", "size: int"),
        ("    def late", "    def lately"),
        ("WIDTH > 3", "WIDTH >= 3"),
        ("        return 1\n", "        return 1\nelse:\n    pass\n"),
        ("        return 1\n", "        return 1\n\n\ndef new():\n    pass\n"),
        ("        return self.w\n\n", "        return self.w\n\n    def new(self):\n        pass\n\n"),
    ],
)
def test_what_importing_runs_counts(old: str, new: str) -> None:
    changed = edited(old, new)
    ast.parse(changed)
    assert skeleton(changed.encode()) != skeleton(SOURCE.encode())


@pytest.mark.parametrize(
    "body",
    [
        "yield",
        "x = yield 1",
        "yield from ()",
        "if x:\n  while x:\n   with x: yield",
        "lambda: (yield)",
        "lambda y=(yield): y",
        "def g(): yield",
        "async def g(): yield",
        "def g(y=(yield)): pass",
        "def g(*, y=(yield)): pass",
        "@(yield)\n def g(): pass",
        "class C:\n  def g(self): yield",
        "class C((yield)): pass",
        "[y for y in (yield)]",
        "f'{(yield)}'",
        "'yield'",
        "return (y for y in x)",
        "match x:\n  case 1 if (yield): pass",
    ],
)
def test_generators_are_told_as_python_tells_them(body: str) -> None:
    source = f"def f(x):\n {body}\n"
    namespace: dict[str, object] = {}
    exec(source, namespace)  # noqa: S102
    is_generator = skeleton(source.encode()) == skeleton(b"def f(x): yield")
    assert is_generator == inspect.isgeneratorfunction(namespace["f"])
    assert is_generator != (skeleton(source.encode()) == skeleton(b"def f(x): pass"))


def test_order_and_grouping_count() -> None:
    sources = [b"a\nb", b"b\na", b"a, b", b"[a, b]", b"a(b)", b"a.b", b"a['b']", b"'a'\n'b'", b"'a' 'b'", b"'a\\n' 'b'"]
    sources += [b"if a:\n b", b"if a: pass\nb", b"if a: pass\nelse: b", b"a = b", b"b = a", b"a: b", b"del a, b", b""]
    assert len({skeleton(source) for source in sources}) == len(sources)


def test_line_ends_marks_and_encodings_do_not_count() -> None:
    text = 'WORD = "é"\n\ndef f():\n    return 1\n'
    hashes = {
        skeleton(text.encode()),
        skeleton(text.replace("\n", "\r\n").encode()),
        skeleton(text.encode("utf-8-sig")),
        skeleton(b"# coding: latin-1\n" + text.encode("latin-1")),
    }
    assert len(hashes) == 1


def test_a_yield_in_an_encoding_that_hides_it_is_seen() -> None:
    hidden = b"# coding: utf-7\ndef f(): +AHkAaQBlAGwAZA-\n"
    assert skeleton(hidden) == skeleton(b"def f(): yield")


@pytest.mark.parametrize(
    "source",
    [
        b"def f(:",
        b"x = '",
        b"x = 1\0",
        b"x = '\xff'",
        b"# coding: nonsense\n",
        b"# coding: hex\nx",
        b"(" * 5000,
        b"(" * 500 + b")" * 500,
        b"-" * 100_000 + b"1",
        b"x" + b".a" * 100_000,
        b"x = 1" + b" + 1" * 100_000,
        b"if x: pass\n" + b"elif x: pass\n" * 20_000,
    ],
    ids=lambda source: repr(source[:20]),
)
def test_what_python_cannot_parse_is_hashed_whole(source: bytes) -> None:
    assert skeleton(source) != skeleton(source + b"\n#")


@pytest.mark.parametrize("source", [b"x = 0x" + b"f" * 9000, b"x = 1" + b" + 1" * 900, b"x = '\\ud800\\d'", b""])
def test_what_python_parses_barely_is_not(source: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of the invalid escape
        assert skeleton(source) == skeleton(source + b"\n#")


@given(st.binary() | st.text("\n \t()[]{}:,='\"\\#@*.abdefyield1").map(str.encode))
def test_any_bytes_have_a_fingerprint(source: bytes) -> None:
    assert len(content(source)) == 64
    assert len(skeleton(source)) == 64
    assert skeleton(source) == skeleton(bytes(source))


def test_it_is_fast() -> None:
    function = 'def f{n}(x, y={n}):\n    """Text."""\n    z = x @ y.T + {n}\n    return [z, *x.shape]  # (b, d)\n\n\n'
    source = "".join(function.format(n=n) for n in range(50)).encode()
    assert source.count(b"\n") == 300
    rounds = []
    for _ in range(3):
        begin = time.process_time()
        for number in range(30):
            ast.parse(source + b"#" * number)
        parsed = time.process_time()
        for number in range(30):
            skeleton(source + b"#" * number)
        rounds.append((time.process_time() - parsed) / (parsed - begin))
    assert min(rounds) < 12  # of what parsing costs; takes five times that
