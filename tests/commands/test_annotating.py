"""`shapecheck annotate`: what evaluation proved, and nothing else, written into the source."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = '''\
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def layer(x, w):
    y = jnp.tanh(x @ w)
    return y


def mlp(x: Float[Array, "batch d"], w: Float[Array, "d hidden"], v: Float[Array, "hidden out"]):
    h = layer(x, w)  # [batch, hidden]
    z = layer(h, v)
    # What stands under a comment is explained already.
    y = z * 2
    name = "z"
    mean = z.mean(axis=0)
    halves = jnp.stack([z, z], axis=-1)
    norm = z.sum()
    return halves


def projected(x, size: int):
    """Project.

    Args:
      x: array of shape (n, d).
    """
    w = jnp.ones((x.shape[-1], 7))
    return x @ w
'''
COMMENTS = {
    "z = layer(h, v)": "  # [batch, out]",
    "mean = z.mean(axis=0)": "  # [out]",
    "halves = jnp.stack([z, z], axis=-1)": "  # [batch, out, 2]",
    "w = jnp.ones((x.shape[-1], 7))": "  # [d, 7]",
}


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shapecheck", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.py").write_text(SOURCE)
    return tmp_path


def test_comments_in_the_dialect_of_the_file(folder: Path) -> None:
    shown = run(folder, "annotate", "m.py")
    assert (folder / "m.py").read_text() == SOURCE  # not without --write
    assert "+    z = layer(h, v)  # [batch, out]" in shown.stdout
    only = run(folder, "annotate", "m.py", "--only", "proj*")
    assert "[d, 7]" in only.stdout
    assert "[batch, out]" not in only.stdout
    run(folder, "annotate", "m.py", "--write")
    expected = SOURCE
    for line, comment in COMMENTS.items():
        expected = expected.replace(f"{line}\n", f"{line}{comment}\n")
    assert (folder / "m.py").read_text() == expected
    claims = json.loads(run(folder, "check", "m.py", "--no-cache", "--output-format", "json").stdout)["claims"]
    assert claims["mismatched"] == claims["verified_loosely"] == 0
    assert run(folder, "annotate", "m.py").stdout == ""


def test_an_underscore_names_no_axis(tmp_path: Path) -> None:
    text = "def f(x):\n    b, {} = x.shape\n    y = x * 2\n    return y.reshape(b, -1)\n"
    (tmp_path / "m.py").write_text(text.format("_"))
    (tmp_path / "n.py").write_text(text.format("d"))
    assert run(tmp_path, "annotate", "m.py").stdout == ""
    assert "+    y = x * 2  # (b, d)" in run(tmp_path, "annotate", "n.py").stdout


def test_annotations_of_what_is_proved(folder: Path) -> None:
    run(folder, "annotate", "m.py", "--style", "annotations", "--write")
    text = (folder / "m.py").read_text()
    ast.parse(text)
    assert '-> Float[Array, "batch out 2"]:' in text
    assert 'def projected(x, size: int) -> Float[Array, "n 7"]:' in text  # the docstring tells of x already
    assert "def layer(x, w):" in text  # called with different shapes
    report = json.loads(run(folder, "check", "m.py", "--no-cache", "--output-format", "json").stdout)
    assert not report["findings"]
    assert run(folder, "annotate", "m.py", "--style", "annotations").stdout == ""


def test_imports_come_with_annotations(tmp_path: Path) -> None:
    source = '''\
"""Doc."""

import jax.numpy as jnp


def g(x):
    # x: (b, t)
    return f(x, x)


def f(x, mask=None, *, n=2):
    return jnp.argmax(x, axis=-1)
'''
    file = tmp_path / "m.py"
    file.write_text(source)
    run(tmp_path, "annotate", "m.py", "--style", "annotations", "--only", "f", "--write")
    text = file.read_text()
    assert "from jaxtyping import Array, Float, Int\n" in text
    assert 'def f(x: Float[Array, "b t"], mask: Float[Array, "b t"] = None, *, n=2) -> Int[Array, "b"]:' in text


def test_a_file_whose_names_mean_something_else_is_left(tmp_path: Path) -> None:
    source = "import jax\n\n\nclass Float:\n    pass\n\n\ndef f(x):  # x: (b, t)\n    return x.sum(axis=-1)\n"
    (tmp_path / "m.py").write_text(source)
    result = run(tmp_path, "annotate", "m.py", "--style", "annotations", "--write")
    assert (tmp_path / "m.py").read_text() == source
    assert result.returncode == 2
    assert "Float means something else" in result.stderr
