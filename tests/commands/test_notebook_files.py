"""Notebooks are checked as the module that their code cells are together; findings name cell and line."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

import shapecheck
from shapecheck.commands import fix
from shapecheck.commands.check import check
from shapecheck.config import ConfigError, load
from shapecheck.files.notebook_source import NotebookError, cell_python, read_notebook, split_cell_path, with_python
from shapecheck.model import Report
from shapecheck.report import FORMATS

CELLS = [
    "%matplotlib inline\nimport jax\nimport jax.numpy as jnp\nfrom jaxtyping import Array, Float\n!pip list\n",
    "%%bash\nls | wc (",
    "def f(x: Float[Array, 'b d']) -> Float[Array, 'b d']:\n    y = x.T  # (b, d)\n    return y\n",
    'files = !ls\nf?\n@jax.jit\ndef g(x: Float[Array, "b d"]) -> Float[Array, "d b"]:\n'
    '    jax.debug.print(f"x {x}")\n    return x.T',
    "%%time\nif True:\n    %time z = g(jnp.zeros((3, 4)))\n    z = jnp.ones(3)  # shape: (3,)\nz",
]


def notebook(cells: list[str], language: str = "python") -> dict[str, Any]:
    code: list[dict[str, Any]] = []
    for text in cells:
        source = text.splitlines(keepends=True)
        code.append({"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source})
    title = {"cell_type": "markdown", "metadata": {}, "source": ["# An é and a number: 1e-3"]}
    about = {"kernelspec": {"display_name": "x", "language": language, "name": "x"}}
    return {"cells": [title, *code], "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def text_of(document: object, indent: int | None = 1) -> str:
    return json.dumps(document, indent=indent, ensure_ascii=False) + "\n"


def run(folder: Path) -> Report:
    with contextlib.chdir(folder):
        return check([folder], load([folder]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("notebooks")
    (found / "nb.ipynb").write_text(text_of(notebook(CELLS)))
    (found / "julia.ipynb").write_text(text_of(notebook(["f(x) = 1"], "julia")))
    (found / "none.ipynb").write_text("[1]")
    (found / "plain.py").write_text(CELLS[0].split("\n")[3] + "\n" + CELLS[2])
    return found


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    return run(folder)


def test_a_cell_that_was_left_unfinished_keeps_no_other_from_being_checked(tmp_path: Path) -> None:
    cells = [CELLS[0], "class Filter:\n    ", CELLS[2], "y = f(jnp.ones((3, 4))\nz = 1", CELLS[4]]
    (tmp_path / "nb.ipynb").write_text(text_of(notebook(cells)))
    report = run(tmp_path)
    assert [(each.path, each.span.line, each.code) for each in report.findings] == [
        ("nb.ipynb:cell 2", 2, "SC104"),
        ("nb.ipynb:cell 3", 1, "SC203"),
        ("nb.ipynb:cell 3", 2, "SC201"),
        ("nb.ipynb:cell 4", 1, "SC104"),
    ]
    assert {each.message.partition(" cannot")[0] for each in report.findings if each.code == "SC104"} == {"this cell"}


def test_lines_that_findings_name_are_those_of_cells(tmp_path: Path) -> None:
    twice = "def h(x: Float[Array, 'b d']):\n    y = x.T  # (b, d)\n    return y * 2  # (b, d)\n"
    (tmp_path / "nb.ipynb").write_text(text_of(notebook([CELLS[0], CELLS[2], twice, "class Filter:\n    "])))
    report = run(tmp_path)
    found = [each for each in report.findings if each.path == "nb.ipynb:cell 3"]
    words = [text for each in found for text in each.details if "says so too" in text]
    assert words == [f"--fix leaves it: line {line} says so too, so the code may be what is wrong" for line in (3, 2)]
    assert next(each.message for each in report.findings if each.code == "SC104").endswith("on line 1")


def test_findings_name_cell_and_line(report: Report) -> None:
    assert [(each.path, each.span.line, each.code) for each in report.findings] == [
        ("nb.ipynb:cell 3", 1, "SC203"),
        ("nb.ipynb:cell 3", 2, "SC201"),
        ("nb.ipynb:cell 4", 5, "SC401"),
        ("plain.py", 2, "SC203"),
        ("plain.py", 3, "SC201"),
    ]
    assert {each.path for each in report.verified} == {f"nb.ipynb:cell {number}" for number in (3, 4, 5)} | {"plain.py"}
    text = FORMATS["full"](report)
    assert "nb.ipynb:cell 3:2:16: SC201 comment says (b, d), but y is (d, b)\n    2 |     y = x.T  # (b, d)\n" in text
    assert "from x: Float[Array, 'b d'] (nb.ipynb:cell 3:1)" in text
    assert "file=nb.ipynb,line=2" in FORMATS["github"](report)
    assert '"uri": "nb.ipynb"' in FORMATS["sarif"](report)


def test_claims_of_the_python_interface_name_cell_and_line(folder: Path) -> None:
    with contextlib.chdir(folder):
        found = shapecheck.check("nb.ipynb", cache=False)
    claims = [claim for claim in found.claims if claim.claim == "(b, d)"]
    places = [(split_cell_path(claim.path)[1], claim.span.line, claim.verdict) for claim in claims]
    assert places == [(3, 2, "mismatched")]
    assert {(bound.name, bound.line) for bound in claims[0].bindings} == {("b", 1), ("d", 1)}


def test_what_is_no_notebook_of_python_is_named(report: Report) -> None:
    assert report.unread == (
        ("julia.ipynb", "its language is julia"),
        ("none.ipynb", "it is no notebook of version 4: it has no cells"),
    )


def test_an_unchanged_notebook_gives_the_same_report(folder: Path) -> None:
    for name in ("julia.ipynb", "none.ipynb"):
        (folder / name).unlink()
    assert run(folder).findings == run(folder).findings


@pytest.mark.parametrize("indent", [1, 4, None])
def test_a_fix_changes_its_cell_and_keeps_all_else(report: Report, folder: Path, indent: int | None) -> None:
    before = text_of(notebook(CELLS), indent)
    (folder / "nb.ipynb").write_text(before)
    with contextlib.chdir(folder):
        (fixed,) = fix.fixes(report)
    assert fixed.path == "nb.ipynb"
    assert fixed.after.decode() == before.replace('jax.debug.print(f\\"x {x}\\")', 'jax.debug.print(\\"x {x}\\", x=x)')
    assert fixed.before != fixed.after


def test_a_notebook_that_would_not_stay_as_it_is_is_left_alone(report: Report, folder: Path) -> None:
    (folder / "nb.ipynb").write_text(text_of(notebook(CELLS)).replace('"nbformat": 4', '"nbformat":  4'))
    with contextlib.chdir(folder), pytest.raises(ConfigError, match="not written as Jupyter writes notebooks"):
        list(fix.fixes(report))


def test_lines_stay_lines() -> None:
    found = read_notebook(text_of(notebook(CELLS)).encode())
    assert len(found.cells) == len(CELLS)
    lines = found.module.split("\n")
    for number, text in enumerate(CELLS, 1):
        for line, written in enumerate(text.split("\n"), 1):
            at = found.cells[number - 1].begin + line - 1
            assert found.place(at) == (number, line)
            assert lines[at - 1] in (written, "") or "pass" in lines[at - 1] or "None" in lines[at - 1]
    assert "ls | wc" not in found.module
    assert "    pass" in found.module
    assert "files = None" in found.module


@pytest.mark.parametrize("text", ["x = (10\n% 3)", "text = '''\n%d\n!\n'''", "x = y != 3"])
def test_python_is_no_magic(text: str) -> None:
    assert read_notebook(text_of(notebook([text])).encode()).module.rstrip("\n") == text


@pytest.mark.parametrize("data", [b"", b"\xff", b"{}", b'{"cells": 3}'])
def test_other_files_are_no_notebooks(data: bytes) -> None:
    with pytest.raises(NotebookError):
        read_notebook(data)


def test_a_magic_may_go_on_over_several_lines() -> None:
    text = "import os\nif missing:\n  !git clone --quiet \\\n     https://example.org/a \\\n    b\n  x = 1\n"
    python = "import os\nif missing:\n  pass\n\n\n  x = 1\n"
    assert cell_python(text) == python


def test_a_magic_may_stand_without_its_sign() -> None:
    assert cell_python("ls ../data/x\ncd ..\npip install -q flax").split("\n") == ["pass"] * 3
    assert cell_python("ls = [1]\nx = (\n") == "ls = [1]\nx = (\n"  # no Python, but no magic in it


def test_a_cell_may_be_indented_as_a_whole() -> None:
    text = "\n  def f():\n      return 1\n\n  y = f()\n"
    assert cell_python(text) == "\ndef f():\n    return 1\n\ny = f()\n"
    assert with_python(text, cell_python(text).replace("y = f()", "z = f()")) == text.replace("y = f()", "z = f()")


def test_paths_of_cells() -> None:
    assert split_cell_path("a/b.ipynb:cell 12") == ("a/b.ipynb", 12)
    assert split_cell_path("a/b.py") == ("a/b.py", 0)


def test_a_title_may_stand_ahead_of_a_magic() -> None:
    assert cell_python("#@title install\n%%bash\nls | wc (").strip() == ""
    assert cell_python("# not one\nx = 1\n%%bash").startswith("# not one\nx = 1\n")
