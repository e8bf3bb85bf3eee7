"""What we raise ourselves in the midst of the user's code is never taken for an error of that code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import shapecheck

CheckFolder = Callable[..., Any]
EVALUATE = Path(shapecheck.__file__).parent / "evaluate"
SCRIPT = Path(__file__).parents[1] / "bench" / "faults" / "fault_runs.py"

# The functions are prepared for errors of other code; the second one for its own, and not for ours.
PREPARED = """
import jax.numpy as jnp
from jaxtyping import Array, Float

def caught(x: Float[Array, "b d"]) -> Float[Array, "d b"]:
    try:
        y = x.T  # (d, b)
    except Exception:
        y = x
    return y

def own(x: Float[Array, "b d"]) -> Float[Array, "b d"]:
    try:
        x @ x
    except TypeError:
        y = x * 2  # (b, d)
    return y
"""
TESTS = """
import jax.numpy as jnp
from prepared import caught

def test_caught():
    try:
        caught(jnp.zeros((3, 4)))
    except Exception:
        pass
"""
# What is called is written in C, or does not take these arguments: its error has no other frame than that of ours.
CALLED_BY_US = """
import operator
import jax
from jaxtyping import Array, Float

class Record(dict):
    w: Float[Array, "d"] ~unreached

class Number(float):
    w: Float[Array, "d"] ~unreached

class Plain:
    w: Float[Array, "d"] ~unreached

def caught(x: Float[Array, "b d"]) -> Float[Array, "d b"]:
    for call in (lambda: Record(5), lambda: Number("a"), lambda: Plain(1, 2), lambda: jax.vmap(operator.index)(x)):
        try:
            call()
        except (TypeError, ValueError):
            y = x.T  # (d, b)
    return y

def uncaught(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~unreached
    Record(5) ~SC302
    return x

def unfit(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~unreached
    Plain(1, 2) ~SC302
    return x

def wrong(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~SC203
    return x.T
"""


@pytest.fixture(scope="module")
def fault_runs(load_script: Callable[[Path], Any]) -> Any:
    return load_script(SCRIPT)


@pytest.mark.parametrize(("request_name", "tests"), [("EvaluateEntry", {}), ("RunTest", {"tests/test_it.py": TESTS})])
def test_handlers_of_the_user_s_do_not_hide_it(
    fault_runs: Any, tmp_path: Path, request_name: str, tests: dict[str, str]
) -> None:
    with fault_runs.fault_runs(tmp_path, {"prepared.py": PREPARED, **tests}) as runs:
        before = runs.run()
        assert {(path, line): kind for path, line, kind in before.lines}["prepared.py", 16] == "verified"
        assert not before.bugs
        (place,) = (
            each
            for each in runs.functions()
            if (Path(each.file).name, each.name, each.request) == ("probe_runtime.py", "value", request_name)
        )
        after = runs.with_fault(place, "RuntimeError")
        assert after.hit
        assert "in caught" in after.stack
        assert any("a fault that was put here" in bug for bug in after.bugs)
        assert not after.new_errors(before)


def test_what_is_called_by_us_and_raises_is_the_users(check_folder: CheckFolder) -> None:
    folder = check_folder({"called.py": CALLED_BY_US})
    assert not folder.report.bugs
    assert folder.cases["called.py"].as_marked()


def broad_handlers(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], list[ast.stmt], int]]:
    """Of each handler of all errors: what it is around, what it does, and its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            for handler in node.handlers:
                if handler.type is None or not is_narrow(handler.type):
                    yield node.body, handler.body, handler.lineno
        elif isinstance(node, ast.With):
            for item in node.items:
                call = item.context_expr
                suppressing = isinstance(call, ast.Call) and ast.unparse(call.func).endswith("suppress")
                if suppressing and not all(map(is_narrow, call.args)):
                    yield node.body, [], node.lineno


def is_narrow(kind: ast.expr) -> bool:
    return {"Exception", "BaseException"}.isdisjoint(ast.unparse(kind).strip("()").replace(" ", "").split(","))


def calls_of_ours(body: list[ast.stmt], tree: ast.Module) -> list[str]:
    """The functions of ours that some statements call."""
    ours: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shapecheck"):
            ours |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            ours.add(node.name)
    called = (node.func for statement in body for node in ast.walk(statement) if isinstance(node, ast.Call))
    names = [ast.unparse(function) for function in called]
    return [name for name in names if name.partition(".")[0] in ours | {"self"}]


def is_passed_on(handler: list[ast.stmt]) -> bool:
    """Whether a handler looks whose error it is, or raises every one."""
    text = "\n".join(map(ast.unparse, handler))
    return "is_own(" in text or "raise_own(" in text or text.endswith("raise") or "end_with_bug()" in text


@pytest.mark.parametrize("file", sorted(EVALUATE.rglob("*.py")), ids=lambda file: str(file.relative_to(EVALUATE)))
def test_who_catches_everything_around_functions_of_ours_passes_it_on(file: Path) -> None:
    tree = ast.parse(file.read_bytes())
    for body, handler, line in broad_handlers(tree):
        if not is_passed_on(handler):
            assert not calls_of_ours(body, tree), f"{file.name}:{line} would hide a bug of ours"
