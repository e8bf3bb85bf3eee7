"""What has changed since shapes.lock was written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shapecheck.cli import main

Capture = pytest.CaptureFixture[str]


def test_the_same_is_told_to_be_the_same(project: Any, capsys: Capture) -> None:
    assert main(["."]) == 0
    assert "1 template in shapes.lock: 14 stages, no difference\n" in capsys.readouterr().err
    assert main(["template", "src/pkg/model.py:GPT", "--check-lock"]) == 0
    assert capsys.readouterr() == ("", "1 template in shapes.lock: 14 stages, no difference\n")


def test_a_stage_that_changed(project: Any, capsys: Capture) -> None:
    project.edit("d_model, width, key", "d_model, 2 * width, key")
    where = "src/pkg/model.py:15:5: SC501 blocks[0..2]"
    assert main(["template", "--check-lock"]) == 1
    out, err = capsys.readouterr()
    assert f"{where}.up: output was f32[16], is f32[32]\n" in out
    assert f"{where}.down: input x was f32[16], is f32[32]\n" in out
    assert "  number of parameters was 144 (576 bytes), is 288 (1152 bytes)\n  in src/pkg/model.py:GPT, kept in " in out
    assert out.count("SC50") == 2
    assert "2 differences (if they are meant: shapecheck template --write-lock)" in err
    assert main(["."]) == 1
    assert capsys.readouterr().out == out
    assert main(["template", "--write-lock"]) == main(["."]) == 0


def test_stages_that_come_and_go(project: Any) -> None:
    project.edit("range(depth)", "range(depth + 1)")
    project.edit("jax.vmap(self.head)(x)", "x")
    assert project.findings() == [
        ("SC502", 15, "blocks[3]", "blocks[3]: was added, Block f32[8] -> f32[8] with 3 stages inside"),
        ("SC501", 27, "", "GPT: output was f32[batch,3], is f32[batch,8]"),
        ("SC503", 27, "head", "head: was removed, it was Linear f32[8] -> f32[3]"),
    ]


def test_other_formats_tell_it_too(project: Any, capsys: Capture) -> None:
    project.edit("d_model, 3, key=key", "d_model, 5, key=key")
    capsys.readouterr()
    assert main([".", "--output-format", "sarif"]) == 1
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert [r["ruleId"] for r in results] == ["SC501", "SC501"]
    assert results[0]["message"]["text"].startswith("GPT: output was f32[batch,3], is f32[batch,5]\n")
    place = results[0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("src/pkg/model.py", 27)
    main([".", "--output-format", "json"])
    document = json.loads(capsys.readouterr().out)
    first = document["findings"][0]
    assert (first["claimed"], first["observed"]) == ("f32[batch,3]", "f32[batch,5]")
    assert document["lock"] == {"path": "shapes.lock", "templates": 1, "stages": 14, "differences": 2, "failed": 0}
    lock = {"target": "src/pkg/model.py:GPT", "origin": "lock", "mode": "symbolic", "status": "ok", "reason": ""}
    assert lock in document["entries"]


def test_it_can_be_suppressed_selected_and_switched_off(project: Any, capsys: Capture) -> None:
    project.edit("d_model, 3, key=key", "d_model, 5, key=key")
    ignore = "  # shapecheck: ignore[SC501]"
    project.edit("def __call__(self, x):", f"def __call__(self, x):{ignore}")
    assert project.findings() == []
    assert main(["template", "--check-lock"]) == 0
    project.edit(ignore, "")
    assert len(project.findings()) == 2
    for flags in (["--no-lock"], ["--ignore", "SC5"], ["--select", "SC2"]):
        capsys.readouterr()
        assert main([".", *flags]) == 0
        assert "shapes.lock" not in capsys.readouterr().err  # nothing was evaluated
    Path("pyproject.toml").write_text("[tool.shapecheck]\nlock = false\n")
    assert project.findings() == []


def test_what_lies_elsewhere_is_not_evaluated(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project.edit("d_model, 3, key=key", "d_model, 5, key=key")
    project.add_other()
    assert project.findings("other.py") == []
    assert len(project.findings("src")) == len(project.findings("src/pkg/model.py")) == 2
    monkeypatch.chdir("src/pkg")
    assert [f[1] for f in project.findings(".")] == [27, 27]


def test_a_model_that_is_gone(project: Any, capsys: Capture) -> None:
    project.edit("class GPT", "class GPT2")
    ((code, line, _, message),) = project.findings()
    assert (code, message) == ("SC503", "src/pkg/model.py:GPT: was removed, it was 14 stages")
    assert Path("shapes.lock").read_text().split("\n")[line - 1] == '["src/pkg/model.py:GPT"]'
    Path("src/pkg/model.py").unlink()
    assert [f[0] for f in project.findings()] == ["SC503"]
    assert main(["template", "--write-lock"]) == 0
    assert "src/pkg/model.py:GPT: left out (There is no file" in capsys.readouterr().err
    assert "GPT" not in Path("shapes.lock").read_text()


@pytest.mark.parametrize("command", [["."], ["template", "--check-lock"], ["template", "--write-lock"]])
def test_a_model_that_fails_does_not_pass(command: list[str], project: Any, capsys: Capture) -> None:
    before = Path("shapes.lock").read_bytes()
    project.edit("self.down(self.up(self.norm(x)))", "self.up(x[1:])")
    capsys.readouterr()
    assert main(command) == 2
    err = capsys.readouterr().err
    assert "src/pkg/model.py:GPT cannot be evaluated: " in err
    assert "no difference" not in err
    assert Path("shapes.lock").read_bytes() == before


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--write-lock", "--check-lock"], "only one of --write-lock, --check-lock and --diff A B"),
        (["a.py:A", "--diff", "b", "c"], "only one of --write-lock, --check-lock and --diff A B"),
        ([], "Missing argument 'TARGET'"),
        (["--write-lock", "--init", "a=3"], "--init and --arg are for one TARGET"),
        (["--check-lock", "--init", "a=3"], "--check-lock takes --init and --arg from the lock"),
        (
            ["--check-lock", "--format", "json"],
            "--format, --depth, --filter, --collapse and --flops are for showing a template",
        ),
        (["--check-lock"], "shapes.lock does not keep any template yet: `shapecheck template TARGET --write-lock`"),
        (["--write-lock"], "shapes.lock keeps no template yet: name a TARGET to write"),
        (["a.py:A", "--check-lock"], "There is no file 'a.py'."),
        (["json:dumps", "--check-lock"], "shapes.lock does not keep json:dumps yet: `shapecheck template json:dumps"),
        (["--diff", "nothing", "more"], "'nothing' names no model"),
    ],
)
def test_usage(args: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.shapecheck]\n")
    assert main(["template", *args]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", [["."], ["template", "--check-lock"], ["template", "--write-lock"]])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: f"<<<<<<< ours\n{text}", "shapes.lock:1: a merge conflict is not resolved: take either side"),
        (lambda text: text.replace("version = 1", "version = 2"), "shapes.lock: a newer shapecheck wrote it"),
        (lambda text: text[:-3], "shapes.lock: is not valid TOML: "),
    ],
)
def test_a_lock_that_cannot_be_read(
    command: list[str],
    change: Callable[[str], str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shapes.lock").write_text(change('version = 1\n\n["model.py:GPT"]\nstages = [\n]\n'))
    before = Path("shapes.lock").read_bytes()
    assert main(command) == 2
    assert f"Error: {message}" in capsys.readouterr().err
    assert Path("shapes.lock").read_bytes() == before
