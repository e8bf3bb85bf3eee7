"""Why claims were not reached, and what the user is told to do about it, by whole runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from shapecheck.commands import check
from shapecheck.config import load
from shapecheck.model import Report

HEAD = "from jaxtyping import Array, Float\n\n\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Check files that are given as name -> text."""
    monkeypatch.chdir(tmp_path)

    def check_files(files: dict[str, str], settings: str = "") -> Report:
        for name, text in files.items():
            (tmp_path / name).write_text(HEAD + text)
        (tmp_path / "pyproject.toml").write_text(f"[tool.shapecheck]\n{settings}\n")
        return check.check([tmp_path], load([tmp_path], flags={"python": Path(sys.executable)}))

    return check_files


COROUTINE = 'async def rows(x: Float[Array, "n d"]):\n    return x.T  # (d, n)\n'
OVERLOADED = """
from typing import overload


@overload
def first(x: Float[Array, "n d"], rows: None = None) -> Float[Array, "d"]: ...
@overload
def first(x: Float[Array, "n d"], rows: int) -> Float[Array, "{rows} d"]: ...
def first(x: Float[Array, "n d"], rows=None):
    return x[0] if rows is None else x[:rows]
"""
LOOP = """
def f(x: Float[Array, "n d"]):
    for _ in range(x.shape[0]):
        x = x + 1  # (n, d)
    raise KeyError("no such unit")
    return x  # (n, d)
"""

EXIT = """
import sys

def load(x: Float[Array, "n d"], files=()):
    if not files:
        sys.exit(1)
    return x.T  # (d, n)
"""


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """One run over files that have nothing to do with each other."""
    folder = tmp_path_factory.mktemp("several")
    files = {"gen.py": COROUTINE, "__main__.py": COROUTINE, "first.py": OVERLOADED, "loop.py": LOOP, "exit.py": EXIT}
    for name, text in files.items():
        (folder / name).write_text(HEAD + text)
    (folder / "pyproject.toml").write_text("[tool.shapecheck]\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return check.check([folder], load([folder], flags={"python": Path(sys.executable)}))


def of(report: Report, path: str) -> list[str]:
    return [each.reason for each in report.unreached if each.path == path]


def test_a_function_that_ends_the_program_says_so(several: Report) -> None:
    assert any("it ends the program (SystemExit: 1)" in reason for reason in of(several, "exit.py"))


def test_a_coroutine_is_called_and_its_body_does_not_run(several: Report) -> None:
    (reason,) = set(of(several, "gen.py"))
    assert reason.startswith("rows was called, but not its body: is it a generator")


def test_a_script_that_is_never_imported(several: Report) -> None:
    assert set(of(several, "__main__.py")) == {"__main__.py is not imported, since it may act at once"}


def test_an_overload_is_no_function_that_could_be_reached(several: Report) -> None:
    assert of(several, "first.py") == ["first is an @overload declaration, which never runs"] * 4
    # The other functions are f and load, which are reached as `first` is, and those whose body does not run.
    assert (several.functions.annotated, several.functions.annotated_reached) == (5, 3)


def test_where_symbols_stop_is_not_told_if_numbers_go_further(several: Report) -> None:
    found = [f for f in several.findings if f.code == "SC302" and f.path == "loop.py"]
    assert [f.span.line for f in found] == [8]
    assert "_DimExpr" not in found[0].message


def test_the_remedy_of_a_failed_import_is_the_import(run) -> None:
    report = run({"model.py": "raise ImportError\n\n" + COROUTINE})
    assert report.remedy == f"First make the import work, under {sys.executable} or another interpreter (--python)."


def test_the_remedy_is_for_what_was_imported(run) -> None:
    model = "class MLPMixer:\n    def mix(self, x):\n        return x  # (n, d)\n"
    report = run({"broken.py": "raise ImportError\n\n" + COROUTINE, "whole.py": model})
    assert "# in whole.py" in report.remedy
    assert "def mlp_mixer_example():" in report.remedy


EXAMPLE = """
from shapecheck import example


def f(x: Float[Array, "n d"]):
    return x


@example
def cube():
    return f, Float[Array, "a b c"]
"""


def test_a_finding_names_the_example_that_led_to_it(run) -> None:
    (found,) = run({"model.py": EXAMPLE}).findings
    assert (found.code, found.details[-1]) == ("SC202", "in example model:cube (model.py:12)")


def test_a_finding_names_the_configured_example_that_led_to_it(run) -> None:
    settings = f"example = [{{ call = 'model:f', args = [{json.dumps('f32[a b c]')}] }}]"
    (found,) = run({"model.py": EXAMPLE.partition("@")[0]}, settings).findings
    assert (found.code, found.details[-1]) == ("SC202", "in example 1 (model:f) (pyproject.toml)")
