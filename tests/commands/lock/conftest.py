"""A project with a lock."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from shapecheck.cli import main

# Without claims, so that checks evaluate nothing but what the lock keeps.
MODEL = """\
import equinox as eqx
import jax
from jaxtyping import Array, Float


class Block(eqx.Module):
    norm: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, d_model: int, width: int, key):
        self.norm = eqx.nn.LayerNorm(d_model)
        self.up, self.down = (eqx.nn.Linear(*sizes, key=key) for sizes in [(d_model, width), (width, d_model)])

    def __call__(self, x):
        return x + self.down(self.up(self.norm(x)))


class GPT(eqx.Module):
    blocks: list[Block]
    head: eqx.nn.Linear

    def __init__(self, d_model: int, width: int, depth: int = 4, *, key):
        self.blocks = [Block(d_model, width, key) for _ in range(depth)]
        self.head = eqx.nn.Linear(d_model, 3, key=key)

    def __call__(self, x):
        for block in self.blocks:
            x = jax.vmap(block)(x)
        return jax.vmap(self.head)(x)
"""
OTHER = """\
import equinox as eqx


class Other(eqx.nn.Linear):
    def __init__(self, key):
        super().__init__(2, 5, key=key)
"""
GIVEN = ("--init", "d_model=8,width=16,depth=3", "--arg", "f32[batch 8]")
NAME = "src/pkg/model.py"
Capture = pytest.CaptureFixture[str]


@dataclass
class Project:
    """A project with a src layout, in which one stands, and GPT in its lock, as `given` makes it."""

    root: Path
    capsys: Capture
    given = GIVEN

    def edit(self, old: str, new: str, file: str = NAME) -> None:
        """Change a file."""
        text = (self.root / file).read_text()
        assert old in text
        (self.root / file).write_text(text.replace(old, new))

    def copy(self, file: str, old: str = "", new: str = "") -> None:
        """Another file with the model, changed."""
        (self.root / file).write_text(MODEL.replace(old, new))

    def add_other(self) -> None:
        """Another model, in other.py."""
        (self.root / "other.py").write_text(OTHER)

    def findings(self, *args: str) -> list[tuple[str, int, str, str]]:
        """What a check says of the lock."""
        self.capsys.readouterr()
        status = main(["check", *(args or (".",)), "--output-format", "json"])
        found = [f for f in json.loads(self.capsys.readouterr().out)["findings"] if f["code"].startswith("SC5")]
        assert status == (1 if found else 0)
        return [(f["code"], f["line"], f["stage"], f["message"]) for f in found]


def lay(folder: Path) -> None:
    (folder / NAME).parent.mkdir(parents=True)
    (folder / NAME).with_name("__init__.py").write_text("")
    (folder / NAME).write_text(MODEL)
    (folder / "pyproject.toml").write_text("[tool.shapecheck]\n")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a lock of GPT holds."""
    folder = tmp_path_factory.mktemp("kept")
    lay(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["template", f"{NAME}:GPT", *GIVEN, "--write-lock"]) == 0
    return (folder / "shapes.lock").read_text()


@pytest.fixture
def project(kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Project:
    lay(tmp_path)
    (tmp_path / "shapes.lock").write_text(kept)
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, capsys)
