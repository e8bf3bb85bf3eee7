"""Shapes that code states: assertions, patterns of einops, and names that end in the letters of dims."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shapecheck.model import Module

ASSERTIONS = {
    "all axes": ("assert y.shape == (b, t, 2 * d)", ["[b t 2*d]: y before 5"]),
    "the other way around": ("assert (b, t) == y.shape", ["[b t]: y before 5"]),
    "several arrays": ("assert y.shape == z.shape == (b, t)", ["[b t]: y before 5", "[b t]: z before 5"]),
    "several tests": ("assert y.shape == (b, t) and z.shape == (t,), 'no'", ["[b t]: y before 5", "[t]: z before 5"]),
    "all but the first axis": ("assert y.shape[1:] == (t, d)", ["[_ t d]: y before 5"]),
    "the last two axes": ("assert y.shape[-2:] == (t, d)", ["[... t d]: y before 5"]),
    "all but the last axis": ("assert y.shape[:-1] == (b, t)", ["[b t _]: y before 5"]),
    "the first axes": ("assert y.shape[:2] == (b, t)", ["[b t ...]: y before 5"]),
    "a size that is computed": ("assert y.shape == (b, size_of(t), None)", ["[b _ _]: y before 5"]),
    "a sum of shapes": ("assert y.shape == (b,) + rest", ["[b ...]: y before 5"]),
    "axes from a tuple": ("assert y.shape == (*rest, t)", ["[... t]: y before 5"]),
    "a part of an array": ("assert y[0].shape == (t, d)", ["[t d]: value y[0]"]),
    "jnp.shape": ("assert jnp.shape(y) == (b, t)", ["[b t]: y before 5"]),
    "a test that raises": ("if y.shape != (b, t): raise ValueError", ["[b t]: y before 5"]),
    "chex": ("chex.assert_shape(y, (b, None, t))", ["[b _ t]: y before 5"]),
    "chex, another table": ('chex.assert_shape(y, shapes["OUT"])', []),
    "chex, a size of a table": ('chex.assert_shape(y, (b, sizes["T"]))', ["[b _]: y before 5"]),
    "chex, several arrays": ("chex.assert_shape([y, z], (b, t))", ["[b t]: y before 5", "[b t]: z before 5"]),
    "chex, several shapes": ("chex.assert_shape([y, z], [(b, t), (t,)])", ["[b t]: y before 5", "[t]: z before 5"]),
    "unittest": ("self.assertEqual(y.shape, (b, t))", ["[b t]: y before 5"]),
}
NONE = {
    "equal shapes": "assert y.shape == z.shape",
    "one axis": "assert y.shape[-1] == d",
    "a rank": "assert len(y.shape) == 3",
    "a variable": "assert y.shape == expected",
    "only other tuples": "assert y.shape == expected + rest",
    "an order": "assert y.shape <= (b, t)",
    "either": "assert y.shape == (b, t) or y.shape == (t,)",
    "a branch": "if y.shape != (b, t): y = y.T",
    "values": "assert y == (b, t)",
    "an axis that is compared with a part": "assert y.shape[1:3:2] == (b, t)",
}


def _code(read: Callable[[str], Module], line: str) -> Module:
    return read(f"def f(x, rest):\n    b, t, d = x.shape\n    y = g(x)\n    z = h(x)\n    {line}\n    return y\n")


@pytest.mark.parametrize(("line", "expected"), ASSERTIONS.values(), ids=ASSERTIONS.keys())
def test_an_assertion_of_a_shape_is_a_claim(
    line: str, expected: list[str], described: Callable[..., list[str]]
) -> None:
    source = f"def f(x, rest):\n    b, t, d = x.shape\n    y = g(x)\n    z = h(x)\n    {line}\n    return y\n"
    assert described(source, "code") == expected


@pytest.mark.parametrize("line", NONE.values(), ids=NONE.keys())
def test_what_says_no_whole_shape_is_none(line: str, read: Callable[[str], Module]) -> None:
    assert not [claim for claim in _code(read, line).claims if claim.notation == "code"]


@pytest.mark.parametrize(
    ("head", "table"),
    [
        ("def f(y):\n    dims = chex.Dimensions(B=2, T=3, D=4)", "dims"),
        ("def f(y, dims: chex.Dimensions | None):\n    pass", "dims"),
        ("def f(self, y):\n    self.dims = Dimensions(B=2)", "self.dims"),
    ],
)
def test_the_key_of_dimensions_says_a_shape(head: str, table: str, described: Callable[..., list[str]]) -> None:
    found = described(f'{head}\n    y = g(y)\n    chex.assert_shape(y, {table}["B1(TD)*"])\n', "code")
    assert found == ["[B 1 T*D _]: y before 4"]


def test_an_assertion_about_an_argument_describes_it(described: Callable[..., list[str]]) -> None:
    source = """
        def f(x, y, mask=None):
            n, d = x.shape
            assert y.shape == (d,)
            if mask is not None:
                assert mask.shape == (n,)
            x = x @ y
            assert x.shape == (n,)
    """
    assert described(source, "code") == [
        "[d]: param y | y before 4",
        "[n]: mask before 6",
        "[n]: x before 8",
    ]


def test_what_only_narrows_an_argument_is_tentative(read: Callable[[str], Module]) -> None:
    source = """
        def f(x, y: Float[Array, "n m"], mask=None):
            n, d = x.shape
            assert x.shape == (n, d)
            assert y.shape == (n, d)
            if mask is not None:
                assert mask.shape == (n,)
            z = y + mask
            assert z.shape == (n, d)
            assert z.shape == (3, 4)
    """
    module = read(source)
    sure = {claim.span.line: claim.sure for claim in module.claims if claim.notation == "code"}
    assert sure == {4: True, 5: False, 7: False, 9: True, 10: False}


EINOPS = {
    "names that are dims": ('rearrange(x, "b t (h d) -> b t h d", h=4)', ["[b t 4*d]: value x", "[b t 4 d]: value"]),
    "any names": ('rearrange(x, "p q -> q p")', ["[_ _]: value x", "[_ _]: value"]),
    "an ellipsis and ones": ('repeat(x, "... d -> ... 1 d")', ["[... d]: value x", "[... 1 d]: value"]),
    "a keyword's variable": ('reduce(x, "b (n k) -> b n", "mean", k=d)', ["[b _]: value x", "[b _]: value"]),
}


@pytest.mark.parametrize(("call", "expected"), EINOPS.values(), ids=EINOPS.keys())
def test_a_pattern_of_einops_is_tentative(call: str, expected: list[str], read: Callable[[str], Module]) -> None:
    module = read(f"def f(x):\n    b, t, d = x.shape\n    return {call}\n")
    found = [claim for claim in module.claims if claim.notation == "code"]
    assert not any(claim.sure for claim in found)
    said = [f"[{claim.spec}]: value {claim.target if claim.target == 'x' else ''}".strip() for claim in found]
    assert said == expected


@pytest.mark.parametrize(
    "call", ['meter.reduce("mean")', 'text.rearrange(x, "{a} -> b")', 'reduce(add, "b -> c -> d")']
)
def test_other_calls_of_these_names_are_no_patterns(call: str, read: Callable[[str], Module]) -> None:
    assert not [claim for claim in read(f"y = {call}\n").claims if claim.notation == "code"]


SUFFIXES = """
    def f(x_BTD, w_DF, rate_KL):
        B, T, D = x_BTD.shape
        h_BTF = jnp.einsum("BTD,DF->BTF", x_BTD, w_DF)
        loss_KL = g(h_BTF)
        y_BTD = h_BTF @ w_DF.T
        return y_BTD
"""


def test_capitals_behind_a_name_are_its_dims(
    described: Callable[..., list[str]], read: Callable[[str], Module]
) -> None:
    assert described(SUFFIXES, "code") == [
        "[B T D]: param x_BTD",
        "[D F]: param w_DF",
        "[B T F]: h_BTF after 4",
        "[B T D]: y_BTD after 6",
    ]
    sure = {claim.target: claim.sure for claim in read(SUFFIXES).claims}
    assert sure == {
        "x_BTD": True,
        "w_DF": False,
        "h_BTF": False,
        "y_BTD": True,
    }  # F is a letter of the contraction alone


def test_capitals_that_are_no_dims_of_the_file_are_abbreviations(described: Callable[..., list[str]]) -> None:
    assert described("def f(x):\n    B, T = x.shape\n    loss_KL = g(x)\n    x_TV, n_BT2, BT = h(x)\n", "code") == []


CROSSES = """
    def f(x_BxLxD: jax.Array, w_DxF: Float[Array, "d f"], pad_2x3=None):
        q_BxLxHxDh, size_1x = g(x_BxLxD)
        mask_1x1xLxL = jnp.tril(h(q_BxLxHxDh))
        weights_hxw, NAME_AxIS = k(mask_1x1xLxL)
        return mask_1x1xLxL
"""


def test_axes_between_crosses_are_dims_whatever_the_file_knows(
    described: Callable[..., list[str]], read: Callable[[str], Module]
) -> None:
    assert described(CROSSES, "code") == [
        "[B L D]: param x_BxLxD",
        "[B L H Dh]: q_BxLxHxDh after 3",
        "[1 1 L L]: mask_1x1xLxL after 4",
    ]
    assert all(claim.sure for claim in read(CROSSES).claims if claim.notation == "code")
    assert not any(claim.sure for claim in read("def f(x_BxL):\n    return x_BxL\n").claims)
