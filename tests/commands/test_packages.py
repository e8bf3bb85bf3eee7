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


@pytest.mark.parametrize("fails", [False, True])
def test_the_shards_of_packages_are_merged_to_the_report_of_all(
    libs: Path, capsys: pytest.CaptureFixture[str], fails: bool
) -> None:
    packages, form = ["libs/one", "libs/two"], ["--output-format", "json"]
    if fails:  # the package alone that wants it
        table = libs / "libs" / "two" / "pyproject.toml"
        table.write_text(table.read_text().replace('["SC201"]', '["SC"]') + "fail-on-unreached = true\n")
        model = libs / "libs" / "two" / "pkg_two" / "model.py"
        model.write_text(f"{WRONG}\n\ndef read(path):\n    return open(path)  # shape: (n,)\n")
        (libs / "libs" / "one" / "pkg_one" / "model.py").write_text("x = 1\n")
    whole_code = main([*packages, *form])
    whole = capsys.readouterr().out
    for number in ("1", "2"):
        shard = ["--shard", f"{number}/2", "--output-format", "blob", "--output-file", f"r{number}.blob"]
        assert main(["check", *packages, *shard]) == 0
        assert f"Shard {number}/2: " in capsys.readouterr().err
    assert main(["merge", "r2.blob", "r1.blob", *form]) == whole_code == 1
    assert capsys.readouterr().out == whole
    lines = (libs / "r2.blob").read_text().splitlines(keepends=True)
    (libs / "r2.blob").write_text(lines[0])
    assert main(["merge", "r1.blob", "r2.blob"]) == 2
    assert "r2.blob: it is damaged" in capsys.readouterr().err
    shard = ["--shard", "2/2", "--output-format", "blob", "--output-file", "r2.blob"]
    assert main(["check", "libs/one", *shard, "-q"]) == 0
    assert main(["merge", "r1.blob", "r2.blob"]) == 2
    assert "of 2 and 1 packages" in capsys.readouterr().err


def test_a_shard_of_packages_says_what_it_left_of_all(libs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    targets: list[str] = []
    for number in ("1", "2"):
        main(["check", "libs/one", "libs/two", "--shard", f"{number}/2", "--output-format", "json"])
        shard = json.loads(capsys.readouterr().out)["shard"]
        assert shard["left"] == len(shard["left_targets"])
        assert shard["taken"] == 1, "not the first all that cannot be divided"
        targets += shard["left_targets"]
    assert sorted(targets) == ["pkg_one.model:swap", "pkg_two.model:swap"]


def test_each_package_is_evaluated_in_the_environment_that_lies_with_it(
    libs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        package = libs / "libs" / name
        table = package / "pyproject.toml"
        table.write_text("".join(line for line in table.read_text().splitlines(True) if "python" not in line))
        (package / ".venv" / "bin").mkdir(parents=True)
        (package / ".venv" / "pyvenv.cfg").write_text("")
        (libs / f"python-{name}").rename(package / ".venv" / "bin" / "python")
    main(["libs/one", "libs/two", "-v"])
    used = [line for line in capsys.readouterr().err.splitlines() if line.startswith("interpreter: ")]
    assert [Path(line).relative_to(Path(f"interpreter: {libs}") / "libs").parts[0] for line in used] == ["one", "two"]
