"""Templates side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shapecheck.cli import main

Capture = pytest.CaptureFixture[str]


def test_two_targets(project: Any, capsys: Capture) -> None:
    project.copy("wide.py", "d_model, width, key", "d_model, 2 * width, key")
    assert main(["template", "--diff", "src/pkg/model.py:GPT", "wide.py:GPT", *project.given]) == 1
    out = capsys.readouterr().out
    assert out.startswith("--- src/pkg/model.py:GPT\n+++ wide.py:GPT\n  blocks[0..2].down  Linear\n")
    assert "-   input x  f32[16]\n+   input x  f32[32]\n" in out
    assert "-   output  f32[16]\n+   output  f32[32]\n" in out
    assert main(["template", "--diff", "wide.py:GPT", "wide.py:GPT", *project.given]) == 0
    assert capsys.readouterr() == ("", "No difference\n")


def test_locks(project: Any, capsys: Capture) -> None:
    Path("old").mkdir()
    Path("old/shapes.lock").write_bytes(Path("shapes.lock").read_bytes())
    project.edit("d_model, width, key", "d_model, 2 * width, key")
    project.edit("range(depth)", "range(depth - 1)")
    capsys.readouterr()
    assert main(["template", "--diff", "old/shapes.lock", "src/pkg/model.py:GPT"]) == 1
    first = capsys.readouterr().out
    assert first.startswith("--- src/pkg/model.py:GPT  (old/shapes.lock)\n+++ src/pkg/model.py:GPT\n")
    assert "- blocks[2]  Block  f32[8] -> f32[8]  with 3 stages inside\n" in first
    project.add_other()
    assert (
        main(["template", "--write-lock"])
        == main(["template", "other.py:Other", "--arg", "f32[2]", "--write-lock"])
        == 0
    )
    capsys.readouterr()
    assert main(["template", "--diff", "old/shapes.lock", "shapes.lock", "--color", "always"]) == 1
    out = capsys.readouterr().out
    assert "--- (nothing)" in out and "+++ other.py:Other  (shapes.lock)" in out
    assert "\x1b[32m+   output  f32[32]\x1b[0m\n" in out
    assert main(["template", "--diff", "old/shapes.lock#src/pkg/model.py:GPT", "old/shapes.lock"]) == 0
