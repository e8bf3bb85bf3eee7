"""shapes.lock as it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shapecheck.cli import main
from shapecheck.commands.lock.lock_location import lock_file
from shapecheck.config import load

Capture = pytest.CaptureFixture[str]


def test_the_lock_says_how_it_was_made(project: Any) -> None:
    text = (project.root / "shapes.lock").read_text()
    how = 'init = ["d_model=8", "width=16", "depth=3"]\nargs = ["f32[batch 8]"]\nstages = [\n'
    assert f'["src/pkg/model.py:GPT"]\n{how}' in text
    first = '  { path = "", type = "GPT", input = { x = "f32[batch,8]" }, output = "f32[batch,3]", params = '
    assert text.partition("stages = [\n")[2].startswith(first)
    assert '{ path = "blocks[0..2].down", type = "Linear", ' in text
    assert str(project.root) not in text and "equinox" not in text and "model.py:" in text


def test_writing_again_changes_no_byte(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = project.root / "shapes.lock"
    before, time = lock.read_bytes(), lock.stat().st_mtime_ns
    assert main(["template", "--write-lock"]) == 0
    assert main(["template", "pkg.model:GPT", "--write-lock"]) == 0  # the same by its other name
    monkeypatch.chdir("src/pkg")
    assert main(["template", "model.py:GPT", "--write-lock"]) == 0
    assert (lock.read_bytes(), lock.stat().st_mtime_ns) == (before, time)
    assert not Path("shapes.lock").exists()


def test_other_targets_stay(project: Any, capsys: Capture) -> None:
    project.add_other()
    assert main(["template", "other.py:Other", "--arg", "f32[2]", "--write-lock"]) == 0
    assert (
        main(
            [
                "template",
                "equinox.nn:Linear",
                "--init",
                "in_features=2,out_features=3",
                "--arg",
                "f32[2]",
                "--write-lock",
            ]
        )
        == 0
    )
    heads = [line for line in Path("shapes.lock").read_text().split("\n") if line.startswith("[")]
    assert heads == ['["equinox.nn:Linear"]', '["other.py:Other"]', '["src/pkg/model.py:GPT"]']
    assert main(["template", "--check-lock"]) == 0
    assert "3 templates in shapes.lock: 16 stages, no difference" in capsys.readouterr().err


def test_new_arguments_take_the_place_of_the_old(project: Any, capsys: Capture) -> None:
    init = ["--init", "d_model=8,width=20,depth=3", "--arg", "f32[batch 8]"]
    assert main(["template", "src/pkg/model.py:GPT", *init, "--write-lock"]) == 0
    assert "14 stages, 2 changed" in capsys.readouterr().err
    assert '"width=20"' in Path("shapes.lock").read_text()
    assert main(["template", "--check-lock"]) == 0


def test_what_is_made_up_stays_the_same(project: Any) -> None:
    """A new parameter in front of the others would else take their sizes away."""
    Path("shapes.lock").unlink()
    project.edit("__call__(self, x):\n        for", "__call__(self, x: Float[Array, 'batch d_model']):\n        for")
    assert main(["template", "src/pkg/model.py:GPT", "--write-lock"]) == 0
    assert "made_up = { d_model = 48, width = 64 }\n" in Path("shapes.lock").read_text()
    project.edit(
        "def __init__(self, d_model: int, width: int, depth",
        "def __init__(self, n_new: int, d_model: int, width: int, depth",
    )
    assert project.findings() == []


def test_a_size_instead_of_any_is_no_difference(project: Any) -> None:
    project.edit("        for block in", "        if x.shape[0] > 20:\n            pass\n        for block in")
    assert project.findings() == []


@pytest.mark.parametrize("name", ["pyproject.toml", "shapes.lock"])
def test_the_lock_lies_at_the_root(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).write_text("")
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a")
    assert lock_file(load([Path("b")]), Path("b")) == tmp_path / "shapes.lock"
    monkeypatch.chdir("/")
    assert lock_file(load([tmp_path / "a"]), tmp_path / "a") == tmp_path / "shapes.lock"


def test_files_of_batches_are_those_around_the_lock(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    np.save("src/batch.npy", np.zeros((7, 8), np.float32))
    monkeypatch.chdir("src")
    init = ["--init", "d_model=8,width=16", "--arg", "x=@batch.npy"]
    assert main(["template", "pkg/model.py:GPT", *init, "--write-lock"]) == 0
    text = (project.root / "shapes.lock").read_text()
    assert 'args = ["x=@src/batch.npy"]' in text and 'output = "f32[7,3]"' in text
    monkeypatch.chdir(project.root)
    assert main(["template", "--check-lock"]) == 0
    np.save("src/batch.npy", np.zeros((9, 8), np.float32))
    assert main(["template", "--check-lock"]) == 1
