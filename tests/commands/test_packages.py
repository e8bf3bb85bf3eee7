"""Several packages in one run: each by its own configuration, in one report."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from shapecheck.cli import main

WRONG = (
    "from jaxtyping import Array, Float\n\n\ndef swap(x: Float[Array, 'b d']):\n    y = x.T  # (b, d)\n    return y\n"
)


@pytest.fixture
def libs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two packages with a wrong comment each; one does not want to hear of it. Each has an interpreter of its own."""
    for name, ignored in (("one", "[]"), ("two", '["SC201"]')):
        package = tmp_path / "libs" / name
        (package / f"pkg_{name}").mkdir(parents=True)
        (package / f"pkg_{name}" / "__init__.py").write_text("")
        (package / f"pkg_{name}" / "model.py").write_text(WRONG)
        python = tmp_path / f"python-{name}"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        table = f'[tool.shapecheck]\nignore = {ignored}\npython = "../../python-{name}"\ntests = []\ncache = false\n'
        (package / "pyproject.toml").write_text(table)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_package_has_its_own_settings_and_all_one_report(libs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["libs/one", "libs/two", "--output-format", "json", "-v"])
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert code == 1
    assert [each["path"] for each in document["findings"]] == ["libs/one/pkg_one/model.py"]
    assert document["claims"]["total"] == 4
    assert document["claims"]["mismatched"] == 2
    used = [line.rpartition("/")[2] for line in shown.err.splitlines() if line.startswith("interpreter: ")]
    assert used == ["python-one", "python-two"]
    assert "4 claims" in shown.err


def test_a_clean_package_alone_is_clean(libs: Path) -> None:
    assert main(["libs/two", "-q"]) == 0


def test_one_configuration_for_all_can_be_named(libs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["libs/one", "libs/two", "--config", "libs/two/pyproject.toml", "-q"]) == 0
    assert capsys.readouterr().out == ""


def test_packages_of_several_configurations_are_not_sharded_together(
    libs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "libs/one", "libs/two", "--shard", "1/2"]) == 2
    assert "a configuration each" in capsys.readouterr().err
