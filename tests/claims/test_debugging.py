"""Which calls are those of Python's print and of jax.debug, and which f-strings can become format strings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shapecheck.model import Module

Read = Callable[[str], Module]


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("import jax", "jax.debug.print('')"),
        ("import jax.debug", "jax.debug.print('')"),
        ("import jax as j", "j.debug.print('')"),
        ("import jax.debug as jd", "jd.print('')"),
        ("from jax import debug", "debug.print('')"),
        ("from jax import debug as d", "d.print('')"),
        ("from jax.debug import print as dprint", "dprint('')"),
        ("from jax.debug import print", "print('')"),
    ],
)
def test_names_lead_to_jax(read: Read, imports: str, call: str) -> None:
    (found,) = read(f"{imports}\nif True:\n    {call}\n").debug_calls
    assert found.function == "jax.debug.print"
    assert (found.span.line, found.span.column, found.span.end_column) == (3, 5, 5 + len(call))


@pytest.mark.parametrize(
    "source",
    [
        "import torch as jax\njax.debug.print(f'{x}')",
        "from jax import debug\ndef f(debug, x): debug.print(f'{x}')",
        "import jax\nshow = jax.debug.print",
        "log.print(x)",
        "def f(print, x): print(x)",
        "def print(x): ...\nprint(y)",
        "from rich import print\nprint(x)",
        "from rich import *\nprint(x)",
        "print('tracing', 3)",
    ],
)
def test_other_functions_are_left_alone(read: Read, source: str) -> None:
    assert read(source).debug_calls == ()


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ("x, 'y', y.mean(), sep=z", ["x", "y.mean()"]),
        ("f'{x} {y.mean():.2f}' f' {z!r}'", ["x", "y.mean()", "z"]),
        ("'%s %d' % (x, y)", ["x", "y"]),
        ("'%(a)s' % {'a': x}", ["x"]),
        ("'{} {a}'.format(x, a=y)", ["x", "y"]),
        ("'a' + str(x) + repr(y)", ["x", "y"]),
        ("*xs", ["xs"]),
    ],
)
def test_what_becomes_text_at_once(read: Read, arguments: str, shown: list[str]) -> None:
    module = read(f"print({arguments})")
    (found,) = module.debug_calls
    assert [text for _, text in found.shown] == shown
    assert [module.sites[site].kind for site, _ in found.shown] == ["shown"] * len(shown)


def test_what_is_formatted_late_is_not_shown(read: Read) -> None:
    (found,) = read("import jax\njax.debug.print('{} {y}', x, y=y)").debug_calls
    assert found.shown == ()


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ("f'x {x}'", [("x", "", "x")]),
        ("rf'\\d {x:>8.3f}', ordered=True", [("x", ":>8.3f", "x")]),
        ("f'{ x.mean() } {d[\"a:b\"]}'", [("x.mean()", "", ""), ('d["a:b"]', "", "")]),
        ("f'{a if b == c else d}'", [("a if b == c else d", "", "")]),
        ("f'{x} {ordered}', x=1", [("x", "", ""), ("ordered", "", "")]),  # both are taken
        ("f'grüße {größe}'", [("größe", "", "größe")]),
    ],
)
def test_f_strings_that_can_be_moved(read: Read, arguments: str, fields: list[tuple[str, str, str]]) -> None:
    (found,) = read(f"import jax\njax.debug.print({arguments})").debug_calls
    assert found.template is not None
    assert [(field.expression, field.spec, field.keyword) for field in found.template.fields] == fields


@pytest.mark.parametrize(
    "arguments",
    [
        "f'{x!r}'",
        "f'{x=}'",
        "f'{x:{width}}'",
        "f'{{}} {x}'",
        "f'{x}' 'y'",
        "'y' f'{x}'",
        "f'''{x}\n'''",
        "f'\\N{EM DASH} {x}'",
        "f'{x}', y",
        "(f'{x}')",
        "f'{x}', **more",
        "*rest",
        "f'none'",
        "'%s' % x",
    ],
)
def test_f_strings_that_cannot(read: Read, arguments: str) -> None:
    (found,) = read(f"import jax\njax.debug.print({arguments})").debug_calls
    assert found.template is None
