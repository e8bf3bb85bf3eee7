"""False claims written as they should be, where it is the claim that is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BEFORE = '''\
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def turned(x: Float[Array, "b t d"], w: Float[Array, "d h"]):
    round_ = x @ w  # (t, b, h)
    square = x.swapaxes(0, 1)  # [b, t, d]
    labelled = jnp.swapaxes(x, 1, 2)  # labelled: (b, t, d), as the head takes it
    arrow = x.mean(axis=1)  # (b, t, d) -> (b, t)
    number = x[..., :3]  # (b, t, d)  # noqa: E501
    shorter = x[:, 1:]  # (b, t, d)
    dtype = jnp.sum(x, axis=(0, 1))  # f32[b]
    which = jnp.argmax(x, axis=-1)  # f32[b, t]: the best
    return round_, square, labelled, arrow, number, shorter, dtype, which


def documented(x: Float[Array, "n d"]):
    """Halve.

    Args:
      x: what to halve, of shape (n, d).

    Returns:
      The half, an array of shape (d, n).
    """
    return x / 2


def annotated(x: Float[Array, "n d"]) -> Float[Array, "d n"]:
    return x * 2


def agreeing(x: Float[Array, "n d"]) -> Float[Array, "n"]:
    total = x.sum(axis=0)  # (n,)
    return total


def nameless(x: Float[Array, "n d"]):
    y = jnp.convolve(x[0], x[1])  # (n, d)
    return y


def outer(x: Float[Array, "n d"]):
    return inner(x.T)


def inner(x):  # x: (n, d)
    n, d = x.shape
    return x
'''
EDITS = {
    "# (t, b, h)": "# (b, t, h)",
    "# [b, t, d]": "# [t, b, d]",
    "# labelled: (b, t, d), as": "# labelled: (b, d, t), as",
    "-> (b, t)": "-> (b, d)",
    "# (b, t, d)  # noqa": "# (b, t, 3)  # noqa",
    "x[:, 1:]  # (b, t, d)": "x[:, 1:]  # (b, t-1, d)",
    "# f32[b]\n": "# f32[d]\n",
    "# f32[b, t]: the": "# i32[b, t]: the",
    "shape (d, n).": "shape (n, d).",
}
UNSAFE = {'-> Float[Array, "d n"]': '-> Float[Array, "n d"]'}


def after(edits: dict[str, str], text: str = BEFORE) -> str:
    for old, new in edits.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.fixture
def run(command_line: Callable[..., Any]) -> Callable[..., Any]:
    """Check `m.py` in a folder, with these options."""
    return lambda folder, *options: command_line(folder, "check", "m.py", "--no-cache", *options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fixes")
    (path / "m.py").write_bytes(BEFORE.replace("\n", "\r\n").encode())
    return path


def test_safe_then_unsafe_then_nothing(folder: Path, run: Callable[..., Any]) -> None:
    file = folder / "m.py"
    report = json.loads(run(folder, "--output-format", "json").stdout)
    kinds = [each["fix_applicability"] for each in report["findings"]]
    assert kinds.count("safe") == len(EDITS)
    assert kinds.count("unsafe") == len(UNSAFE)
    first = run(folder, "--fix")
    assert file.read_bytes().decode() == after(EDITS).replace("\n", "\r\n")
    assert "1 more can be fixed in annotations, with --unsafe-fixes" in first.stderr
    agreeing = "line 35 says so too, so the code may be what is wrong"
    assert agreeing in first.stdout
    run(folder, "--fix", "--unsafe-fixes")
    assert file.read_bytes().decode() == after({**EDITS, **UNSAFE}).replace("\n", "\r\n")
    left = run(folder, "--diff", "--unsafe-fixes")
    assert not left.stdout


def test_unsafe_fixes_alone_mean_nothing(folder: Path, run: Callable[..., Any]) -> None:
    result = run(folder, "--unsafe-fixes")
    assert result.returncode == 2
    assert "give one of them with it" in result.stderr


def test_two_results_that_one_annotation_tells_of_may_both_be_meant(tmp_path: Path, run: Callable[..., Any]) -> None:
    text = """\
from jaxtyping import Array, Bool, Float


def match(a: Float[Array, "4"], b: Float[Array, "4"]) -> tuple[Bool[Array, "S"], Float[Array, "B S"]]:
    return (a - b < 0.1).all(), (a - b).sum()
"""
    (tmp_path / "m.py").write_text(text)
    shown = run(tmp_path, "--fix", "--unsafe-fixes").stdout
    assert shown.count("what stands beside it says so too, so the code may be what is wrong") == 2
    assert (tmp_path / "m.py").read_text() == text


def test_a_number_that_the_code_may_have_taken_off_the_wrong_axis_is_left_to_its_author(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    text = """\
from jaxtyping import Array, Float


class Kronecker:
    def __init__(self, places: Float[Array, "out_dims spots dims"]):
        count = places.shape[0]
        self.states = 2 * count
        self.places = places * 2  # (out_dims, count, dims)
        self.turned = places.swapaxes(0, 1)  # (out_dims, spots, dims)
"""
    (tmp_path / "m.py").write_text(text)
    result = run(tmp_path, "--fix")
    turned = "swapaxes(0, 1)  # (out_dims, spots, dims)"
    fixed = text.replace(turned, turned.replace("out_dims, spots", "spots, out_dims"))
    assert (tmp_path / "m.py").read_text() == fixed
    assert "count and out_dims would be one axis" in result.stdout


def test_a_shape_in_numbers_stays_one_and_one_in_names_too(tmp_path: Path, run: Callable[..., Any]) -> None:
    text = """\
import jax.numpy as jnp

x = jnp.ones((3, 4))  # shape: (n, k)
columns = x.sum(0)  # shape: (3,)
rows = x.sum(1)  # shape: (k,)
"""
    (tmp_path / "m.py").write_text(text)
    run(tmp_path, "--fix")
    assert (tmp_path / "m.py").read_text() == text.replace("(3,)", "(4,)").replace("(k,)", "(n,)")


def test_axes_of_what_a_made_up_function_gives_are_written_nowhere(tmp_path: Path, run: Callable[..., Any]) -> None:
    text = '''\
from collections.abc import Callable
import jax
import jax.numpy as jnp


def make_sampler(
    params: jax.Array, transformer: Callable[[jax.Array], jax.Array], length: int = 12
) -> Callable[[jax.Array], jax.Array]:
    kinds = 32

    def sample(key: jax.Array) -> jax.Array:
        """Sample.

        Args:
            key (jax.Array): random key

        Returns:
            The best, of shape (length, kinds).
        """
        logits = transformer(params, key, jnp.zeros((length, kinds)))
        return jnp.argmax(jax.nn.softmax(logits, axis=-1), axis=-1)

    return sample
'''
    (tmp_path / "m.py").write_text(text)
    result = run(tmp_path, "--fix")
    assert (tmp_path / "m.py").read_text() == text
    assert "docstring says (length, kinds), but the returned value is ()" in result.stdout
    assert "--fix leaves it: transformer was made up" in result.stdout
