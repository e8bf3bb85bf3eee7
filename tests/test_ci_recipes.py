"""The recipes of the README for CI: each command of ours in them does what the recipe says."""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path

import pytest

from shapecheck.cli import main

README = Path(__file__).parents[1] / "README.md"
SECTION = README.read_text().partition("## On many machines")[2].partition("\n## ")[0]
WRONG = (
    "from jaxtyping import Array, Float\n\n\ndef swap(x: Float[Array, 'b d']):\n    y = x.T  # (b, d)\n    return y\n"
)


def commands(recipe: str, **values: str) -> list[list[str]]:
    """The arguments of each call of shapecheck in a recipe, with the values of the CI's variables."""
    block = next(text for text in re.findall(r"```\w+\n(.*?)```", SECTION, re.DOTALL) if recipe in text)
    lines = re.findall(r"(?:run: |- )(?:uv run )?shapecheck (.*)", block)
    for name, value in values.items():
        lines = [line.replace("${{ matrix." + name + " }}", value).replace(f"${name}", value) for line in lines]
    assert not any("$" in line for line in lines)
    return [shlex.split(line) for line in lines]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "model.py").write_text(WRONG)
    (tmp_path / "pyproject.toml").write_text("[tool.shapecheck]\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_github(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in "1234":
        shard, sarif, github = commands("matrix:", shard=number)
        assert main(shard) == 0
    assert main(sarif) == 0
    (result,) = json.loads((project / "shapecheck.sarif").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "SC201"
    capsys.readouterr()
    assert main(github) == 1
    assert capsys.readouterr().out.startswith("::error")


def test_gitlab(project: Path) -> None:
    for number in "1234":
        shard, merge = commands("parallel:", CI_NODE_INDEX=number, CI_NODE_TOTAL="4")
        assert main(shard) == 0
    assert main(merge) == 1
    assert "SC201" in (project / "shapecheck.xml").read_text()


def test_bazel(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each shard is a test of its own; together they fail for what one machine finds."""
    found = re.search(r"py_test\((.*?)\n\)", SECTION, re.DOTALL)
    assert found is not None
    call = ast.parse(f"f({found[1]})", mode="eval").body
    assert isinstance(call, ast.Call)
    given = {each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg in ("args", "shard_count")}
    monkeypatch.setenv("TEST_TOTAL_SHARDS", str(given["shard_count"]))
    monkeypatch.setenv("TEST_SHARD_STATUS_FILE", str(project / "status"))
    codes = []
    for index in range(2):  # of four: there is one function to check
        monkeypatch.setenv("TEST_SHARD_INDEX", str(index))
        codes.append(main(given["args"]))
    assert codes == [1, 0]
    assert (project / "status").exists()
