"""The fixture `shapes`: what holds passes, what does not is told with the sizes that show it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from shapecheck import check
from shapecheck.evaluate.live.shapes_fixture import ShapesFixture
from shapecheck.evaluate.live.signature_check import SignatureError

shapes = ShapesFixture()
# Where the package is installed pytest finds the fixture by itself; from a checkout it has to be told.
INSTALLED = any(point.name == "shapecheck-fixture" for point in metadata.entry_points(group="pytest11"))
PLUGIN = [] if INSTALLED else ["-p", "shapecheck.evaluate.live.shapes_fixture"]


def project(x: jax.Array, w: jax.Array) -> jax.Array:
    return x @ w


def mean_and_peak(x: jax.Array, axis: int = 0) -> tuple[jax.Array, jax.Array]:
    return x.mean(axis), x.argmax(axis)


def squeezed(x: jax.Array) -> jax.Array:
    return x.squeeze()


def narrow_only(x: jax.Array) -> jax.Array:
    if x.ndim > 2:
        x = x.sum(0)
    return x


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (project, "b t d, d e -> b t e"),
        (project, "*b d, d e -> *b e"),
        (project, "... d, d 5 -> ... 5"),
        (mean_and_peak, "t d -> float32[d], int32[d]"),
        (lambda x: x.reshape(x.shape[0], 4, -1), "b 4*k -> b 4 k"),
        (lambda x: x[:, 1:] - x[:, :-1], "b t -> b t-1"),
        (lambda x: x.sum(), "b 3 -> ()"),
        (lambda key: jax.random.normal(key, (3,)), "key[] -> 3"),
        (lambda tokens: jnp.zeros((*tokens.shape, 7)), "int32[b t] -> b t width"),
        (lambda x: {"a": x, "b": (x.T,)}, "m n -> m n, n m"),
    ],
)
def test_what_holds_for_all_sizes_passes(function: Callable[..., object], signature: str) -> None:
    shapes.check(function, signature)


def test_axes_without_a_name_have_sizes_of_their_own() -> None:
    shapes.check(lambda x, y: (x.sum(1), y.sum(0)), "b _, _ e -> b, e")
    with pytest.raises(TypeError, match="contracting"):
        shapes.check(project, "b _, _ e -> b e")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
def test_what_the_function_raises_says_for_which_shapes() -> None:
    with pytest.raises(TypeError) as caught:
        shapes.check(project, "b t d, s e -> b t e")
    assert any("for f32[" in note and "'b t d, s e -> b t e'" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("function", "signature", "told"),
    [
        (project, "b t d, d e -> b e t", "not b e t"),
        (lambda x: x + 1, "h w -> w h", "not w h"),
        (squeezed, "b d -> b d", r"for f32\[1,1\] it gives f32\[\]"),
        (narrow_only, "*b d -> *b d", "not "),
        (mean_and_peak, "t d -> d, float32[d]", "i32"),
        (mean_and_peak, "t d -> d", "2 arrays, not 1"),
        (lambda tokens: jnp.zeros((*tokens.shape, 7)), "int32[b t] -> b t 8", "not b t 8"),
    ],
)
def test_what_does_not_is_told_with_the_sizes(function: Callable[..., object], signature: str, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        shapes.check(function, signature)


def test_keywords_are_handed_on_as_they_are() -> None:
    shapes.check(mean_and_peak, "b t -> b, b", axis=1)
    with pytest.raises(AssertionError):
        shapes.check(mean_and_peak, "b t -> b, b", axis=0)


@pytest.mark.parametrize(
    ("signature", "told"),
    [
        ("b t", "an arrow"),
        ("b t -> b -> t", "an arrow"),
        ("floot[b t] -> b", "no dtype"),
        ("b t, t e -> b 2*k", "nothing says the size"),
        ("b 2*, t e -> b", "no shape"),
    ],
)
def test_a_signature_that_cannot_be_read_says_why(signature: str, told: str) -> None:
    with pytest.raises(SignatureError, match=told):
        shapes.check(project, signature)


TEST = """
import jax.numpy as jnp


def outer(x, y):
    z = x[:, None] * y  # (n, m)
    return z.T  # (n, m)


def test_outer(shapes):
    shapes.check(outer, "n, m -> n m")
"""


@pytest.mark.usefixtures("installed_plugins")
def test_pytest_finds_it_and_a_failure_shows_the_line_of_the_test(tmp_path: Path) -> None:
    tmp_path.joinpath("test_outer.py").write_text(TEST)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *PLUGIN, "-p", "no:cacheprovider", "-n", "0", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert run.returncode == 1
    assert 'shapes.check(outer, "n, m -> n m")' in run.stdout
    assert "AssertionError: outer: n, m -> n m: for f32[" in run.stdout
    assert "signature_check.py" not in run.stdout


@pytest.mark.usefixtures("installed_plugins")
def test_the_checker_evaluates_tests_that_use_it(tmp_path: Path) -> None:
    tmp_path.joinpath("tests").mkdir()
    tmp_path.joinpath("tests", "test_outer.py").write_text(TEST)
    tmp_path.joinpath("pyproject.toml").write_text("[tool.shapecheck]\n")
    report = check(tmp_path, python=sys.executable, cache=False)
    assert [(finding.span.line, finding.code) for finding in report] == [(7, "SC201")]
    assert [claim.verdict for claim in report.claims] == ["verified", "mismatched"]
