"""SC401 to SC406 in files without shape claims: who prints to find a bug has none."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.model import Report

FILES = {
    "traced.py": """
import jax
from jax.experimental import io_callback

@jax.jit
def early(x):
    y = x.mean()
    jax.debug.print(f"mean {y}")  # ~SC401
    return y

@jax.jit
def printed(x, scale: float, name="x"):
    print(name, x)  # ~SC403
    return x * scale

def body(carry, x):
    print(carry)  # ~SC403
    return carry + x, x

def loops(xs):
    return jax.lax.scan(body, 0.0, xs)

@jax.jit
def handed(x):
    jax.debug.callback(print, f"{x}")  # ~SC401
    return x

@jax.jit
def percent(x):
    jax.debug.print("mean %s" % x.mean())  # ~SC401
    return x

@jax.jit
def unfit(x):
    jax.debug.print("mean {mean}", x=x)  # ~SC405
    return x

@jax.jit
def fine(x, n: int):
    print(x.shape, n)
    jax.debug.print("x {}", x)
    return x

def never_traced(x):
    print(x)
    return x

def note(value):
    pass

def logged(row):
    io_callback(note, None, row, ordered=True)  # ~SC404
    return row

def rows(x):
    return jax.vmap(logged)(x)
""",
    "captured.py": """
from functools import partial

import jax
from jax.experimental import io_callback

@jax.jit
def from_a_lambda(x):
    y = x.mean()
    jax.debug.callback(lambda: print(y))  # ~SC406
    return y

@jax.jit
def from_a_function(x):
    y = x.mean()

    def show(value):
        print(value, y + 1)

    jax.debug.callback(show, x)  # ~SC406
    return y

@jax.jit
def given_at_once(x):
    io_callback(partial(print, x), None)  # ~SC406
    return x

@jax.jit
def computed(x):
    return jax.pure_callback(lambda v: v + x, jax.ShapeDtypeStruct(x.shape, x.dtype), x)  # ~SC406

@jax.jit
def fine(x):
    y, name, both = x.mean(), "mean", {"x": x, "name": "x"}
    jax.debug.callback(lambda v: print(name, both["name"], v, x.shape, len(x), y is None), y)
    jax.debug.callback(partial(print, name), y)

    def show(y):
        print(y, x.ndim)

    jax.debug.callback(show, y)
    return y

def never_traced(x):
    y = x.mean()
    jax.debug.callback(lambda: print(y))
    return y
""",
    # What is printed by code that JAX never traces is no reason to import a file.
    "script.py": "def show(x):\n    print(x)\n\nraise SystemExit('imported')\n",
    # The arguments of a function without any claims are a guess: they show nothing of those of others.
    "guesses.py": """
import jax
from jaxtyping import Array, Float

@jax.jit
def caller(x):
    print(x)  # ~SC403
    return claimed(x)

def claimed(x: Float[Array, "b d"]) -> Float[Array, "b"]:
    y = x.sum(-1)  # (b,)
    return y

@jax.jit
def claims_something(x):
    print(x)
    return (lambda z: z + 1)(x)  # (b, d)
""",
}


def run(folder: Path, **flags: object) -> Report:
    with contextlib.chdir(folder):
        return check([folder], load([folder], flags=flags))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("prints")
    (found / "pyproject.toml").write_text("[tool.shapecheck]\ncache = false\n")
    for name, text in FILES.items():
        (found / name).write_text("\n".join(line.partition("  # ~")[0] for line in text.splitlines()))
    return found


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    return run(folder)


@pytest.mark.parametrize("name", FILES)
def test_they_are_found(name: str, report: Report) -> None:
    expected = [
        (number, line.partition("  # ~")[2]) for number, line in enumerate(FILES[name].splitlines(), 1) if "# ~" in line
    ]
    assert [(each.span.line, each.code) for each in report.findings if each.path == name] == expected


def test_the_claims_of_others_are_judged_by_their_own_arguments(report: Report) -> None:
    assert [(each.path, each.line) for each in report.verified] == [("guesses.py", 10)] * 2 + [("guesses.py", 11)]
    assert [each.reason for each in report.unreached] == [
        "`x` has no annotation, and no comment or docstring describes it"
    ]


def test_nothing_is_evaluated_for_rules_that_are_off(folder: Path) -> None:
    report = run(folder, ignore=("SC4",))
    assert not any(each.origin == "print" for each in report.entries)
    assert report.findings == ()
