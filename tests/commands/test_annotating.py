"""`shapecheck annotate`: what evaluation proved, and nothing else, written into the source."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shapecheck.commands import file_changes
from shapecheck.commands.annotate import AnnotatedFile

Run = Callable[..., Any]

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.py").write_text(SOURCE)
    return tmp_path


def test_comments_in_the_dialect_of_the_file(folder: Path, command_line: Run) -> None:
    shown = command_line(folder, "annotate", "m.py")
    assert (folder / "m.py").read_text() == SOURCE  # not without --write
    assert "+    z = layer(h, v)  # [batch, out]" in shown.stdout
    only = command_line(folder, "annotate", "m.py", "--only", "proj*")
    assert "[d, 7]" in only.stdout
    assert "[batch, out]" not in only.stdout
    command_line(folder, "annotate", "m.py", "--write")
    expected = SOURCE
    for line, comment in COMMENTS.items():
        expected = expected.replace(f"{line}\n", f"{line}{comment}\n")
    assert (folder / "m.py").read_text() == expected
    claims = json.loads(command_line(folder, "check", "m.py", "--no-cache", "--output-format", "json").stdout)["claims"]
    assert claims["mismatched"] == claims["verified_loosely"] == 0
    assert command_line(folder, "annotate", "m.py").stdout == ""


def test_an_underscore_names_no_axis(tmp_path: Path, command_line: Run) -> None:
    text = "def f(x):\n    b, {} = x.shape\n    y = x * 2\n    return y.reshape(b, -1)\n"
    (tmp_path / "m.py").write_text(text.format("_"))
    (tmp_path / "n.py").write_text(text.format("d"))
    assert command_line(tmp_path, "annotate", "m.py").stdout == ""
    assert "+    y = x * 2  # (b, d)" in command_line(tmp_path, "annotate", "n.py").stdout


def test_what_looks_at_values_is_not_looked_into_meanwhile(tmp_path: Path, command_line: Run) -> None:
    """To describe a `Node` reads its attributes, whose code has a claim, which would describe it again."""
    source = """\
import jax.numpy as jnp


class Node:
    def __init__(self, parts):
        self.parts = parts
        self.this = self

    def __getattribute__(self, name):
        value = object.__getattribute__(self, name)  # (b, d)
        return value

    def first(self):
        node = self.this
        return node.parts[0]


def f(x):
    # x: (b, d)
    node = Node([x, x])
    y = node.first() * 2
    return y
"""
    (tmp_path / "m.py").write_text(source)
    shown = command_line(tmp_path, "annotate", "m.py")
    assert (shown.returncode, "+    y = node.first() * 2  # (b, d)" in shown.stdout) == (0, True)
    assert command_line(tmp_path, "check", "m.py", "--no-cache").returncode == 0


SPREAD = """\
import jax.numpy as jnp


def spread(x, width, depth):
    # x: (n,)
    shift = jnp.arange(width)
    y = x[:, None] + shift
    z = y[None].repeat(width * depth, axis=0)
    pad = jnp.zeros(depth)
    return y, z, pad
"""
TEST_OF_SPREAD = """\
import jax.numpy as jnp
import pytest

from m import spread


@pytest.mark.parametrize(("n", "width", "depth"), {cases})
def test_spread(n, width, depth):
    spread(jnp.ones(n), width, depth)
"""


@pytest.mark.parametrize(
    ("cases", "y", "z", "pad"),
    [
        ([(4, 3, 1), (4, 5, 1), (9, 7, 1)], "(n, width)", "", ""),  # `depth` is 1 wherever it was seen
        ([(4, 3, 2), (4, 5, 3), (9, 7, 4)], "(n, width)", "(width*depth, n, width)", "(depth,)"),
        ([(4, 1, 1)], "", "", ""),
    ],
)
def test_a_name_is_right_in_all_calls(
    tmp_path: Path, cases: list[tuple[int, int, int]], y: str, z: str, pad: str, command_line: Run
) -> None:
    (tmp_path / "m.py").write_text(SPREAD)
    (tmp_path / "test_m.py").write_text(TEST_OF_SPREAD.format(cases=cases))
    command_line(tmp_path, "annotate", ".", "--write")
    written = (tmp_path / "m.py").read_text()
    comments = [line.partition("  # ")[2] for line in written.splitlines() if " = " in line]
    assert comments[1:] == [y, z, pad]
    claims = json.loads(command_line(tmp_path, "check", ".", "--no-cache", "--output-format", "json").stdout)["claims"]
    assert claims["verified"] == claims["total"]
    assert command_line(tmp_path, "annotate", ".").stdout == ""


POOL = '''\
import jax
import jax.numpy as jnp


def pool(x, target: int, f):
    """Pool.

    Args:
      x: array of shape (dim,).
    """
    dims = jnp.size(x)
    heads = dims % target
    if heads != 0:
        end = heads * (dims // target + 1)
        head_op = jax.vmap(f)(x[:end].reshape(heads, -1))
        tail_op = jax.vmap(f)(x[end:].reshape(-1, dims // target))
        outputs = jnp.concatenate([head_op, tail_op])
    else:
        outputs = jax.vmap(f)(x.reshape(-1, dims // target))
    return outputs
'''
TEST_OF_POOL = """\
import jax.numpy as jnp
import pytest

from m import pool


@pytest.mark.parametrize(("n", "target"), [(14, 4), (14, 14), (9, 3), (9, 5)])
def test_pool(n, target):
    pool(jnp.arange(float(n)), target, jnp.mean)
"""


def test_what_is_written_leaves_nothing_for_a_second_run(tmp_path: Path, command_line: Run) -> None:
    """The comment in one branch binds the name that is right in the other one."""
    (tmp_path / "m.py").write_text(POOL)
    (tmp_path / "test_m.py").write_text(TEST_OF_POOL)
    command_line(tmp_path, "annotate", ".", "--write")
    written = (tmp_path / "m.py").read_text()
    assert [line.partition("  # ")[2] for line in written.splitlines() if "  # " in line] == [
        "(heads,)",
        "(target,)",
        "(target,)",
    ]
    again = command_line(tmp_path, "annotate", ".", "--write")
    assert (again.returncode, (tmp_path / "m.py").read_text()) == (0, written)
    claims = json.loads(command_line(tmp_path, "check", ".", "--no-cache", "--output-format", "json").stdout)["claims"]
    assert (claims["total"], claims["verified"], claims["verified_loosely"]) == (4, 4, 0)


def test_a_rank_that_was_guessed_does_not_outvote_one_that_is_known(tmp_path: Path, command_line: Run) -> None:
    source = """\
import jax.numpy as jnp


def layer(x, w):
    y = jnp.tanh(x @ w)
    return y


def f(x, w):
    # x: (b, t, d), w: (d, e)
    return layer(x, w)
"""
    (tmp_path / "m.py").write_text(source)
    assert "+    y = jnp.tanh(x @ w)  # (b, t, e)" in command_line(tmp_path, "annotate", "m.py").stdout


def test_what_was_not_evaluated_is_said(tmp_path: Path, command_line: Run) -> None:
    (tmp_path / "m.py").write_text("import nothing_there\n\n\ndef f(x):  # x: (b, t)\n    y = x * 2\n    return y\n")
    (tmp_path / "n.py").write_text(
        "raise ValueError('not today')\n\n\ndef f(x):  # x: (b, t)\n    y = x * 2\n    return y\n"
    )
    shown = command_line(tmp_path, "annotate", ".")
    assert "+    y = x * 2  # (b, t)" in shown.stdout
    assert "Not evaluated: nothing_there: it is not installed" in shown.stderr
    assert "not today" in shown.stderr
    assert "1  nothing that was evaluated reaches them" in shown.stderr


def test_annotations_of_what_is_proved(folder: Path, command_line: Run) -> None:
    command_line(folder, "annotate", "m.py", "--style", "annotations", "--write")
    text = (folder / "m.py").read_text()
    ast.parse(text)
    assert '-> Float[Array, "batch out 2"]:' in text
    assert 'def projected(x, size: int) -> Float[Array, "n 7"]:' in text  # the docstring tells of x already
    # Called with different shapes, of which each call binds its own.
    assert 'def layer(x: Float[Array, "batch d"], w: Float[Array, "d hidden"]) -> Float[Array, "batch hidden"]:' in text
    report = json.loads(command_line(folder, "check", "m.py", "--no-cache", "--output-format", "json").stdout)
    assert not report["findings"]
    assert command_line(folder, "annotate", "m.py", "--style", "annotations").stdout == ""


def test_imports_come_with_annotations(tmp_path: Path, command_line: Run) -> None:
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
    command_line(tmp_path, "annotate", "m.py", "--style", "annotations", "--only", "f", "--write")
    text = file.read_text()
    assert "from jaxtyping import Array, Float, Int\n" in text
    assert 'def f(x: Float[Array, "b t"], mask: Float[Array, "b t"] = None, *, n=2) -> Int[Array, " b"]:' in text


def test_a_file_whose_names_mean_something_else_is_left(tmp_path: Path, command_line: Run) -> None:
    source = "import jax\n\n\nclass Float:\n    pass\n\n\ndef f(x):  # x: (b, t)\n    return x.sum(axis=-1)\n"
    (tmp_path / "m.py").write_text(source)
    result = command_line(tmp_path, "annotate", "m.py", "--style", "annotations", "--write")
    assert (tmp_path / "m.py").read_text() == source
    assert result.returncode == 2
    assert "Float means something else" in result.stderr


DOT = """\
import jax.numpy as jnp
import numpy as np
{imports}

def f(x, w):
    # x: (batch, dim), w: (dim,)
    return jnp.dot(x, w)


def slopes(n: int):
    return np.arange(n) * 0.5
"""


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ("import jaxtyping as jt", "-> jt.Float[jt.Array, ' batch']"),
        ("from jaxtyping import Array, Float as F", "-> F[Array, ' batch']"),
        ("from jaxtyping import Array, Float\nY = Float[Array, 'n']", "-> Float[Array, 'batch']"),
    ],
)
def test_annotations_use_the_names_of_the_file(imports: str, expected: str, tmp_path: Path, command_line: Run) -> None:
    (tmp_path / "m.py").write_text(DOT.format(imports=imports))
    command_line(tmp_path, "annotate", "m.py", "--style", "annotations", "--write")
    text = (tmp_path / "m.py").read_text()
    assert expected.replace("'", '"') in text
    assert text.count("jaxtyping") == 1  # no other import
    assert "def slopes(n: int):" in text  # NumPy's arrays are none of JAX's


def test_files_that_cannot_be_annotated_are_named(tmp_path: Path, command_line: Run) -> None:
    (tmp_path / "star.py").write_text(DOT.format(imports="from jaxtyping import *"))
    (tmp_path / "broken.py").write_text("def f(:\n")
    result = command_line(tmp_path, "annotate", ".", "--style", "annotations", "--write")
    assert result.returncode == 2
    assert "broken.py is left alone: this file cannot be parsed" in result.stderr
    assert "star.py is left alone: `from jaxtyping import *` binds none of its names" in result.stderr
    unknown = command_line(tmp_path, "annotate", "star.py", "--only", "slope")
    assert (unknown.returncode, unknown.stderr) == (2, "Error: no function is called 'slope'; did you mean 'slopes'?\n")


def test_what_is_edited_meanwhile_stays(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("# an edit\n")
    change = AnnotatedFile(str(file), b"# as it was read\n", b"# all new\n", 1)
    with pytest.raises(file_changes.ChangedFileError, match="has changed since it was read"):
        file_changes.write(change)
    assert file.read_text() == "# an edit\n"


def test_what_is_written_holds_for_other_integers_than_the_defaults(tmp_path: Path, command_line: Run) -> None:
    source = """\
from jaxtyping import Array, Float


def heads(x: Float[Array, "t d"], n_heads: int = 4):
    q = x.reshape(x.shape[0], n_heads, -1)
    r = x.T
    s = x + 1
    return q, r, s
"""
    (tmp_path / "m.py").write_text(source)
    command_line(tmp_path, "annotate", "m.py", "--write")
    assert "//4" not in (tmp_path / "m.py").read_text()
    assert "s = x + 1  # (t, d)" in (tmp_path / "m.py").read_text()
