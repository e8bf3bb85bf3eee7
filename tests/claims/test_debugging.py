"""Which calls are those of Python's print and of jax.debug, and what becomes text in them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shapecheck.model import INSERTED, Module

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


def test_a_call_behind_an_inserted_line_is_found_where_it_stands(read: Read) -> None:
    (found,) = read(f"import jax\nx = 1  {INSERTED}\njax.debug.print(f'{{y}}')\n").debug_calls
    assert (found.span.line, found.span.end_line) == (3, 3)
