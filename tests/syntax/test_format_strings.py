"""Which printed f-strings can become format strings with arguments, and what then stands in their place."""

from __future__ import annotations

import pytest

from shapecheck.claims import read_module
from shapecheck.model import Edit
from shapecheck.syntax.format_strings import FormatString, read_format_call, read_format_string


def string_of(call: str) -> FormatString | None:
    module = read_module("m.py", f"import jax\nif True:\n    {call}\n".encode())
    (found,) = module.debug_calls
    return read_format_string(found, module.lines)


def edit_call(call: str, *moved: int) -> str:
    """The call with these fields of its f-string moved; with all, if none are named."""
    string = string_of(call)
    assert string is not None
    edit: Edit = string.with_arguments(set(moved) or set(range(len(string.fields))))
    lines = f"    {call}".split("\n")
    row = edit.span.line - 3
    lines[row] = lines[row][: edit.span.column - 1] + edit.replacement + lines[row][edit.span.end_column - 1 :]
    return "\n".join(lines).removeprefix("    ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("f'x {x}'", "'x {x}', x=x"),
        ("f'{x} {x:.1f} {y.z}'", "'{x} {x:.1f} {}', y.z, x=x"),
        ("rf'\\d {x:>8.3f}', ordered=True", "r'\\d {x:>8.3f}', x=x, ordered=True"),
        ("f'{ x.mean() } {d[\"a:b\"]}'", "'{} {}', x.mean(), d[\"a:b\"]"),
        ("f'{a if b == c else d}'", "'{}', a if b == c else d"),
        ("f'{x} {ordered}', x=1", "'{} {}', x, ordered, x=1"),  # both names are taken
        ("f'grüße {größe}', ordered=True", "'grüße {größe}', größe=größe, ordered=True"),
        ('\n  F"""ü {x}""" ,  # why\n', '\n  """ü {x}""", x=x ,  # why\n'),
    ],
)
def test_fields_become_arguments(arguments: str, expected: str) -> None:
    assert edit_call(f"jax.debug.print({arguments})") == f"jax.debug.print({expected})"


def late_call(call: str) -> str:
    """The call with what `.format` or `%` formats in it as arguments; "" if it stays."""
    module = read_module("m.py", f"import jax\nif True:\n    {call}\n".encode())
    (found,) = module.debug_calls
    late = read_format_call(found, module.lines)
    if late is None:
        return ""
    line = f"    {call}"
    edited = line[: late.edit.span.column - 1] + late.edit.replacement + line[late.edit.span.end_column - 1 :]
    return edited.removeprefix("    ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("'x {}'.format(x)", "'x {}', x"),
        ("'{a} {} {:.2f}'.format(x, y.z, a=b), ordered=True", "'{a} {} {:.2f}', x, y.z, a=b, ordered=True"),
        ("'{0} {0}'.format(x)", "'{0} {0}', x"),
        ("'x %s' % x", "'x {}', x"),
        ("'%s is %.3f%%' % (x, y.mean())", "'{} is {:.3f}%', x, y.mean()"),
    ],
)
def test_what_format_and_percent_format_becomes_arguments(arguments: str, expected: str) -> None:
    assert late_call(f"jax.debug.print({arguments})") == f"jax.debug.print({expected})"


@pytest.mark.parametrize(
    "arguments",
    [
        "'{!r}'.format(x)",
        "'{0.shape}'.format(x)",
        "'{:{}}'.format(x, y)",
        "'{'.format(x)",
        "'{ordered}'.format(ordered=x)",
        "'{}'.format(*x)",
        "'%d' % x",
        "'%5s' % x",
        "'{} %s' % x",
        "'%(a)s' % {'a': x}",
        "'a' + str(x)",
        "('{}'.format(x))",
        "'{}'.format(x), y",
    ],
)
def test_what_nobody_can_move_stays_as_it_is(arguments: str) -> None:
    assert late_call(f"jax.debug.print({arguments})") == ""


def test_fields_that_stay_are_formatted_by_python() -> None:
    call = "jax.debug.print(f'{i:03} {x} { y }')"
    assert edit_call(call, 1) == "jax.debug.print(f'{i:03} {{x}} { y }', x=x)"


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
def test_f_strings_that_stay(arguments: str) -> None:
    assert string_of(f"jax.debug.print({arguments})") is None
