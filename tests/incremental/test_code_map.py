"""What an edit leaves as it was: the functions of a file, and what may last in it from one call to the next."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from shapecheck.claims import read_module
from shapecheck.commands.module_plans import plan
from shapecheck.config import load
from shapecheck.incremental.code_map import code_units
from shapecheck.incremental.kept_state import kept_state, stateful_names
from shapecheck.model import Call, Evaluation, Failure, Frame, Observation, OtherValue
from shapecheck.worker.code_units import CodeUnits, Mover, find_move, kept_units

SOURCE = '''\
"""A module."""
import functools
import jax
import jax.numpy as jnp


def double(x):
    """Twice."""
    y = x + x  # (n, d)
    return y


class Layer:
    width: int = 4

    @functools.partial(jax.jit, static_argnums=0)
    def apply(self, x):
        def inner(z):
            return z * 2

        return inner(x)  # (n, d)

    def other(self, x):
        return jnp.sin(
            x
        )  # (n, d)
'''


def units(text: str, tmp_path: Path) -> CodeUnits | None:
    file = tmp_path / "model.py"
    file.write_text(text)
    config = load([tmp_path], flags={})
    return code_units(text.encode(), plan(file, read_module("model.py", text.encode()), config))


def changed(old: str, new: str, tmp_path: Path) -> set[str]:
    """The units whose digests an edit changes."""
    assert SOURCE.count(old) == 1, old
    before, after = units(SOURCE, tmp_path), units(SOURCE.replace(old, new), tmp_path)
    assert before is not None
    assert after is not None
    assert list(before.units) == list(after.units)
    found = {name for name, unit in before.units.items() if after.units[name].digest != unit.digest}
    assert bool(found) == (before.digest != after.digest)
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import jax\n", "import jax  # the usual\n\n\n"),
        ('    """Twice."""\n', '    """Twice."""\n\n    # adds\n'),
        ("x + x  #", "x  +  x   #"),
        ("            x\n", "\n            # the angle\n            x\n"),
        ("    def other", "\n\n    def other"),
    ],
)
def test_comments_and_layout_are_no_part_of_the_code(old: str, new: str, tmp_path: Path) -> None:
    assert changed(old, new, tmp_path) == set()


@pytest.mark.parametrize(
    ("old", "new", "which"),
    [
        ("x + x", "x - x", {"double#1"}),
        ("    y = x + x", "    z = 1\n    y = x + x", {"double#1"}),
        ("z * 2", "z * 3", {"Layer.apply#1"}),
        ("jnp.sin(\n", "jnp.sin(  x.T +\n", {"Layer.other#1"}),
        ("width: int = 4", "width: int = 5", {""}),
        ("static_argnums=0", "static_argnums=1", {"", "Layer.apply#1"}),
        ("def double(x)", "def double(x, k=1)", {"", "double#1"}),
        ("x + x  # (n, d)", "x + x  # (n, e)", {"", "double#1"}),  # other claims may go by its names
        ("inner(x)  # (n, d)", "inner(x)", {"", "Layer.apply#1"}),
    ],
)
def test_an_edit_changes_the_functions_that_it_is_in(old: str, new: str, which: set[str], tmp_path: Path) -> None:
    assert changed(old, new, tmp_path) == which


@pytest.mark.parametrize(
    "line",
    [
        "import inspect; T = inspect.getsource(f)",
        "def broken(:",
        "N = f.__code__.co_firstlineno",
        "import numba; G = numba.njit(f)",  # nothing in it tells when it runs
    ],
)
def test_text_that_means_itself_has_no_parts(line: str, tmp_path: Path) -> None:
    assert units(f"def f(x):\n    return x  # (n,)\n{line}\n", tmp_path) is None


def test_what_was_shown_moves_with_its_function(tmp_path: Path) -> None:
    before = units(SOURCE, tmp_path)
    text = SOURCE.replace("import jax\n", "import jax\n\n\n").replace("    def other", "    # below\n    def other")
    after = units(text.replace('"""Twice."""', '"""Twice."""\n'), tmp_path)
    assert before is not None
    assert after is not None
    inner = next(iter(before.units["Layer.apply#1"].scopes))
    names = before.names_around([inner], [23])
    assert names == {"", "Layer.apply#1", "Layer.other#1"}
    move = find_move(kept_units(before, names), after)
    assert move is not None
    assert not move.is_still
    site = before.units["Layer.apply#1"].sites[0]
    call = Call(
        path="model.py",
        scope=inner,
        number=0,
        parent=None,
        observations=(Observation(site, OtherValue("int")),),
        caller=Frame("model.py", 21, "f"),
    )
    failure = Failure(kind="shape", message="add does not fit", frame=Frame("model.py", 24, "g"))
    shown = Evaluation(
        target="model:Layer",
        origin="model",
        path="model.py",
        line=13,
        mode="sized",
        status="stopped",
        reason="",
        calls=(call,),
        failure=failure,
    )
    moved = Mover({"model.py": move}).evaluation(shown)
    assert moved.line == 16
    assert moved.calls[0].caller == Frame("model.py", 24, "f")
    assert moved.failure is not None
    assert moved.failure.frame == Frame("model.py", 28, "g")
    assert moved.calls[0].observations[0].site == after.units["Layer.apply#1"].sites[0]
    with pytest.raises(LookupError):  # a function that it was not said to depend on
        Mover({"model.py": move}).function(("model.py", before.units["double#1"].scopes[0]))


def test_what_tells_of_a_line_in_words_does_not_move(tmp_path: Path) -> None:
    before, after = units(SOURCE, tmp_path), units("\n" + SOURCE, tmp_path)
    assert before is not None
    assert after is not None
    move = find_move(kept_units(before, before.units), after)
    assert move is not None
    shown = Evaluation(
        target="",
        origin="model",
        path="model.py",
        line=13,
        mode="sized",
        status="failed",
        reason="see line 7",
        calls=(),
    )
    with pytest.raises(LookupError):
        Mover({"model.py": move}).evaluation(shown)


def test_another_body_is_no_move(tmp_path: Path) -> None:
    before, after = units(SOURCE, tmp_path), units(SOURCE.replace("x + x", "x - x"), tmp_path)
    assert before is not None
    assert after is not None
    assert find_move(kept_units(before, ["double#1"]), after) is None
    assert find_move(kept_units(before, ["", "Layer.apply#1"]), after) is not None


IMPORTS = "import jax\nfrom dataclasses import field\nfrom typing import TypeVar\n"
STATEFUL = [
    ("_seen = {}\ndef f(k):\n    _seen[k] = 1\n", "_seen"),
    ("_seen = []\ndef f(k):\n    _seen.append(k)\n", "_seen"),
    ("_seen = dict()\ndef f(k):\n    note(_seen, k)\n", "_seen"),
    ("_seen = {'a': {}}\ndef f(k):\n    _seen['a'][k] = 1\n", "_seen"),
    ("n = 0\ndef f(k):\n    global n\n    n += 1\n", "n"),
    ("class C:\n    made = 0\n    def f(self):\n        type(self).made += 1\n", "*"),
    ("class C:\n    made = 0\n    @classmethod\n    def f(cls):\n        cls.made += 1\n", "C"),
    ("class C:\n    kept = {}\n    def f(self, k):\n        self.kept[k] = 1\n", "C"),
    ("def f(k, memo={}):\n    memo[k] = 1\n", "f"),
    ("def f(k):\n    f.last = k\n", "f"),
    ("model = Model()\ndef f(k):\n    return model.step(k)\n", "model"),
    ("stream = iter(range(9))\ndef f(k):\n    return next(stream)\n", "stream"),
    ("_seen = {}\nTABLES = {'a': _seen}\ndef f(k):\n    d = TABLES['a']\n    d[k] = 1\n", "_seen"),
    ("def f(k):\n    setattr(C, 'x', k)\n", "*"),
]
STATELESS = [
    "N = 4\nNAMES = ('a', 'b')\ndef f(k):\n    return N + k\n",
    "TABLE = {'relu': jax.nn.relu}\ndef f(k):\n    return TABLE[k](k)\n",
    "TABLE = {'relu': 1}\ndef f(k):\n    return TABLE.get(k, len(TABLE))\n",
    "T = TypeVar('T')\nfast = jax.jit(g)\ndef f(k):\n    return fast(k)\n",
    "class C(Module):\n    w: jax.Array\n    k: int = field(static=True)\n"
    "    def __init__(self):\n        self.w = jnp.ones(3)\n    def f(self, x):\n        return g(self.k, x)\n",
    "def f(k):\n    found = {}\n    found[k] = 1\n    found.update(a=2)\n    return found\n",
]


def names(text: str) -> set[str]:
    state = kept_state(ast.parse(IMPORTS + text))
    own = {n.name for n in ast.parse(text).body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    own |= {held.owner for held in state.holding} | ({"n"} if "global" in text else set())
    return {"*"} if state.hidden else {name for _, name in stateful_names({"m": state}) if name in own}


@pytest.mark.parametrize(("text", "name"), STATEFUL)
def test_what_one_call_may_leave_for_another_is_found(text: str, name: str) -> None:
    assert names(text) == {name}


@pytest.mark.parametrize("text", STATELESS)
def test_what_stays_as_it_is_is_no_state(text: str) -> None:
    assert names(text) == set()


def test_a_table_may_be_changed_from_another_module() -> None:
    table, user = kept_state(ast.parse("TABLE = {}\n")), kept_state(ast.parse("def f(k):\n    tables.TABLE[k] = 1\n"))
    assert ("tables", "TABLE") in set(stateful_names({"tables": table, "user": user}))
    assert set(stateful_names({"tables": table})) == set()
