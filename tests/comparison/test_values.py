"""When the values of two arrays are equal, and which stage of one model is which of the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import shapecheck
from shapecheck.evaluate.compare.array_difference import difference
from shapecheck.evaluate.compare.array_store import ArrayStore, load_array
from shapecheck.evaluate.compare.collect_stages import StageCollector, TooLargeError
from shapecheck.evaluate.compare.rename_stages import RenameError, Renames
from shapecheck.model import Tolerance

Function = Callable[[jax.Array], object]
X = jnp.asarray([1.0, 2.0, 0.0])
ARRAYS = nps.arrays(np.float32, 4, elements=st.floats(width=32))
TOLERANCES = st.sampled_from([0.0, 1e-5, 0.1])


@given(ARRAYS, ARRAYS, TOLERANCES, TOLERANCES)
def test_tolerance_is_that_of_numpy(
    a: np.ndarray[tuple[int], np.dtype[np.float32]],
    b: np.ndarray[tuple[int], np.dtype[np.float32]],
    rtol: float,
    atol: float,
) -> None:
    with np.errstate(all="ignore"):
        expected = np.allclose(a.astype(float), b.astype(float), rtol, atol, equal_nan=True)
    assert difference(a, b, Tolerance(rtol, atol)).close == expected


def test_integers_have_to_be_the_same() -> None:
    a = np.asarray([2**60, 5], np.int64)
    assert difference(a, a, Tolerance(0, 0)).close
    assert not difference(a, a + np.asarray([1, 0]), Tolerance(1.0, 1.0)).close


def test_large_arrays_are_compared_in_pieces() -> None:
    a = np.zeros(3_000_000, np.float32)
    b = a.copy()
    a[-1], b[-1], a[0] = 3, 2, 1e-9
    found = difference(a, b, Tolerance(1e-5, 1e-8))
    assert (found.absolute, found.relative, found.close) == (1.0, 0.5, False)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (lambda x: x.at[0].set(jnp.nan), lambda x: x.at[0].set(jnp.nan), "equal, 1 NaN in both"),
        (lambda x: x.at[0].set(jnp.nan), lambda x: x, "differs, 1 NaN in one only"),
        (lambda x: x.astype(jnp.bfloat16), lambda x: x, "differs, A has bf16[3]"),
        (lambda x: (x, x), lambda x: x, "differs, A has (f32[3], f32[3])"),
        (lambda x: x[:2], lambda x: x, "Shapes or dtypes differ in 1 stage:\n  the whole  A f32[2], B f32[3]\n"),
        (lambda x: x > 1, lambda x: x >= 1, "bool[3]  1"),
        (lambda x: x + 1e-9, lambda x: x, "within rounding; the largest difference is 1e-09"),
    ],
)
def test_what_differs_is_said(a: Function, b: Function, said: str) -> None:
    found = shapecheck.compare(a, b, X)
    assert said in str(found)
    assert found.equal == ("equal" in said or "within" in said)


@pytest.mark.parametrize(
    ("rules", "path", "renamed"),
    [
        ({"blocks": "layers"}, "blocks[0].attn", "layers[0].attn"),
        ({"blocks": "layers"}, "blocks2[0]", "blocks2[0]"),
        ({"blocks": "layers"}, "net.blocks", "net.blocks"),
        ({"blocks": "layers", "blocks[*].attn": "layers[*].attention"}, "blocks[12].attn.q", "layers[12].attention.q"),
        ({"blocks[*].attn": "layers[*].attention"}, "blocks[0].attn2", "blocks[0].attn2"),
        ({"*.attn": "*.attention"}, "net.blocks[0].attn.q", "net.blocks[0].attention.q"),
        ({"blocks[*]": "layers"}, "blocks[3].ln", "layers.ln"),
        ({"a": "b"}, "a/~/linear", "b/~/linear"),
        ({"": "net"}, "", "net"),
        ({"": "net"}, "hidden", "net.hidden"),
        ({"net": ""}, "net.hidden", "hidden"),
    ],
)
def test_paths_are_renamed(rules: dict[str, str], path: str, renamed: str) -> None:
    assert Renames(rules)(path) == renamed


def test_a_star_has_to_come_from_somewhere() -> None:
    with pytest.raises(RenameError, match=r"^a=b\[\*\]: there are more stars in the new name"):
        Renames({"a": "b[*]"})


def test_arrays_come_back_as_they_were_and_equal_ones_are_kept_once(tmp_path: Path) -> None:
    keeping = ArrayStore(str(tmp_path / "values"))
    arrays = [np.asarray(value) for value in (jnp.arange(6.0, dtype=jnp.bfloat16).reshape(2, 3), 1.5, np.zeros((0, 2)))]
    found = [keeping.store("", array) for array in [*arrays, arrays[0].copy()]]
    keeping.close()
    assert found[0] == found[3]
    assert (tmp_path / "values").stat().st_size == 12 + 8
    for tensor, array in zip(found, arrays, strict=False):
        back = load_array(str(tmp_path / "values"), tensor)
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(back, array)


def test_too_much_is_told(tmp_path: Path) -> None:
    keeping = ArrayStore(str(tmp_path / "values"))
    keeping.most = 8
    keeping.store("", np.zeros(3))
    keeping.close()
    with pytest.raises(TooLargeError, match="compare with smaller inputs"):
        StageCollector(keeping).runs()
