"""`shapecheck instrument`, as it is typed."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from shapecheck.cli import main

MODEL = """import jax.numpy as jnp
from jaxtyping import Array, Float


def f(x: Float[Array, "b d"]):
    y = jnp.sum(x, axis=1)  # (b,)
    return y / g(x)  # (b,)
"""
SHAPES = MODEL.replace(
    "import jax.numpy",
    """from beartype import beartype  # isort: skip  # shapecheck: inserted
from jaxtyping import Shaped, jaxtyped  # isort: skip  # shapecheck: inserted
import jax.numpy""",
)
SHAPES = SHAPES.replace("def f", "@jaxtyped(typechecker=beartype)  # shapecheck: inserted\ndef f")
SHAPES = SHAPES.replace(
    "    return", '    assert isinstance(y, Shaped[Array, "b"])  # shapecheck: inserted\n    return'
)


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    Path("m.py").write_text(MODEL)
    return tmp_path / "m.py"


def test_a_diff_is_shown_and_nothing_changes(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instrument", "m.py"]) == 0
    told = capsys.readouterr()
    assert model.read_text() == MODEL
    assert told.out.startswith("--- a/m.py\n+++ b/m.py\n@@")
    added = [line[1:] for line in told.out.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert added == [line for line in SHAPES.splitlines() if line.endswith("inserted")]
    assert "1 file would change; --write changes them" in told.err
    assert "2 claims checked, 1 not\n     1  comment: it is about a returned value, which has no name" in told.err
    assert "\033" not in told.out


def test_colours_are_for_terminals_or_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instrument", "m.py", "--color", "always", "-q"]) == 0
    told = capsys.readouterr()
    assert "\033[32m+@jaxtyped(typechecker=beartype)  # shapecheck: inserted\033[0m\n" in told.out
    assert told.err == ""


def test_write_twice_and_remove(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model.chmod(0o640)
    link = model.with_name("link.py")
    link.symlink_to(model)
    for _ in range(2):
        assert main(["instrument", ".", "--write"]) == 0
        assert model.read_text() == SHAPES
    assert "1 file changed" in capsys.readouterr().err
    assert main(["instrument", "m.py", "--remove"]) == 0
    assert "-@jaxtyped(typechecker=beartype)  # shapecheck: inserted\n" in capsys.readouterr().out
    assert model.read_text() == SHAPES
    assert main(["instrument", "link.py", "--remove", "--write"]) == 0
    assert model.read_text() == MODEL
    assert link.is_symlink()
    assert model.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in model.parent.iterdir()) == ["link.py", "m.py"]


def test_the_other_checks_come_in_place_of_those_of_shapes(model: Path) -> None:
    assert main(["instrument", "m.py", "--numerics", "--print", "f.*", "--write"]) == 0
    text = model.read_text()
    assert 'jax.debug.print("m.py:8 f.y = {y}", y=y)' in text
    assert 'y = eqx.error_if(y, ~jnp.isfinite(y), "m.py:8 f: y is not finite") if eqx.is_inexact' in text
    assert "jaxtyped" not in text
    assert main(["instrument", "m.py", "--numerics", "--nan-only", "--write"]) == 0
    assert 'y = eqx.error_if(y, jnp.isnan(y), "m.py:7 f: y is not finite")' in model.read_text()
    assert main(["instrument", "m.py", "--nan-only", "--write"]) == 2
    assert main(["instrument", "m.py", "--shapes", "--breakpoint", "--write"]) == 0
    text = model.read_text()
    assert "jax.debug.breakpoint()" in text
    assert "jaxtyped" in text
    assert "error_if" not in text


def test_files_that_cannot_be_read_are_left_alone_and_the_others_done(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = {
        "a.py": "def f(:\n",
        "b.py": "if a:\n  if b:\n\t  c = x  # shape: (b,)\n",
        "z.py": "<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n",
    }
    for name, text in broken.items():
        Path(name).write_text(text)
    assert main(["instrument", ".", "--write"]) == 2
    told = capsys.readouterr().err
    assert "Error: a.py is left alone: line 1: this file cannot be parsed" in told
    unread = "the shape comments of this statement are not checked: libcst cannot parse line 1"
    assert f"Error: b.py is left alone: {unread}" in told
    assert "Error: z.py is left alone: it has the markers of a merge conflict; resolve that first" in told
    assert model.read_text() == SHAPES
    assert {name: Path(name).read_text() for name in broken} == broken


def test_a_file_that_libcst_itself_fails_on_is_left_alone_and_the_others_done(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "from jaxtyping import Array, Float\n\n\nasync def g(xs):\n    return [x async\n            for x in xs]\n\n\n"
        'def f(x: Float[Array, "b"]) -> Float[Array, "b"]:\n    return x\n'
    )
    Path("b.py").write_text(text)
    assert main(["instrument", ".", "--write"]) == 2
    assert "Error: b.py is left alone: libcst cannot parse it (AttributeError" in capsys.readouterr().err
    assert (model.read_text(), Path("b.py").read_text()) == (SHAPES, text)


def test_verbose_lists_what_is_not_checked_and_exclude_holds(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text('[tool.shapecheck]\nexclude = ["legacy/"]\n')
    Path("legacy").mkdir()
    Path("legacy", "n.py").write_text(MODEL)
    assert main(["instrument", ".", "-v"]) == 0
    told = capsys.readouterr()
    assert "  m.py:7: comment: it is about a returned value, which has no name\n" in told.err
    assert "legacy" not in told.out


def test_stdin_to_stdout(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MODEL.replace("\n", "\r\n").encode())))
    assert main(["instrument", "-", "-q"]) == 0
    assert capfdbinary.readouterr().out == SHAPES.replace("\n", "\r\n").encode()


@pytest.mark.parametrize("args", [["--remove", "--numerics"], ["-", "m.py"], ["nowhere.py"]])
def test_what_makes_no_sense_is_refused(args: list[str], model: Path) -> None:
    assert main(["instrument", *args, "m.py"]) == 2
    assert model.read_text() == MODEL
