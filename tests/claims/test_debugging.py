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


def test_what_a_callback_is_given_becomes_text_at_once(read: Read) -> None:
    (found,) = read("import jax\njax.debug.callback(print, f'{x}', y, end=str(z), ordered=True)").debug_calls
    assert (found.function, [text for _, text in found.shown]) == ("jax.debug.callback", ["x", "z"])
    assert read("import jax\njax.debug.callback(show, x, ordered=bool(y))").debug_calls == ()


@pytest.mark.parametrize(
    ("callback", "captured"),
    [
        ("lambda: print(x)", ["x"]),
        ("lambda v: print(v, x + y)", ["x", "y"]),
        ("lambda v: [x for row in v]", ["x"]),
        ("show", ["x"]),
        ("partial(show, x, 3, k=y.mean())", ["x", "y.mean()"]),
        ("lambda x: print(x, x.shape)", []),
        ("lambda v: print(x.shape, y.dtype, len(x), jnp.ndim(x), isinstance(x, int), y is not None)", []),
        ("lambda v, x=x: print(v)", []),
        ("lambda v: print(LIMIT, v)", []),
        ("print", []),
    ],
)
def test_what_a_callback_has_from_around_it(read: Read, callback: str, captured: list[str]) -> None:
    head = "import jax\nimport jax.numpy as jnp\nfrom functools import partial\nLIMIT = 3\ndef f(x):\n    y = x + 1\n"
    module = read(f"{head}    def show(v, k=1):\n        return v + x\n    jax.debug.callback({callback}, x)\n")
    calls = [each for each in module.debug_calls if each.function == "jax.debug.callback"]
    assert [name for each in calls for _, name in each.captured] == captured


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("'{y}', x=x", "no argument is called y"),
        ("'{}'", "its format wants 1 by place, and none is given"),
        ("'{} {}', x", "its format wants 2 by place, and 1 is given"),
        ("'{2}', x, y", "its format wants 3 by place, and 2 are given"),
        ("'{x}', x=x, y=y, ordered=True", "its format does not show y"),
        ("'{}', x, y", "its format shows 1 of 2 arguments by place"),
        ("'a', x", "its format shows none of 1 arguments by place"),
        ("'{} {0}', x", "its format numbers some fields and not others"),
        ("'{', x", "its format is none"),
        ("'a' '{y}', x=x", "no argument is called y"),
        ("'{x:{w}}', x=x", "no argument is called w"),
    ],
)
def test_a_format_that_does_not_fit_its_arguments(read: Read, arguments: str, reason: str) -> None:
    (found,) = read(f"import jax\njax.debug.print({arguments})").debug_calls
    assert found.unfit.startswith(reason)


@pytest.mark.parametrize(
    "arguments",
    [
        "'{} {y}', x, y=y",
        "'{0} {0} {1}', x, y",
        "'{x.shape} {y[0]:.2f} {{z}}', x=x, y=y",
        "'{x:{w}}', x=x, w=3",
        "'plain', ordered=True",
        "'{y}', **values",
        "'{} {}', *values",
        "'{y}', x=x, skip_format_check=True",
        "f'{{y}} {z}', y=y",
        "text, x=x",
        "'{y}'.format(y=y)",
        "",
    ],
)
def test_one_that_fits_or_that_nobody_can_tell_of(read: Read, arguments: str) -> None:
    assert [each.unfit for each in read(f"import jax\njax.debug.print({arguments})").debug_calls] == [""]


def test_a_call_behind_an_inserted_line_is_found_where_it_stands(read: Read) -> None:
    (found,) = read(f"import jax\nx = 1  {INSERTED}\njax.debug.print(f'{{y}}')\n").debug_calls
    assert (found.span.line, found.span.end_line) == (3, 3)
