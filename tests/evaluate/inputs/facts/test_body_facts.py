"""What the body of a function asks of its arguments, as its source says it."""

from __future__ import annotations

import pytest

from shapecheck.evaluate.inputs.facts.body_facts import facts_of
from shapecheck.evaluate.inputs.facts.body_shapes import BodyShape, body_shapes
from shapecheck.model import DocstringHint
from shapecheck.worker.messages.plans import ParameterSpec

# The functions below are read, and never called: what they call need not be there.
# ruff: noqa: F821

AXES = 3


def unpacked(x):
    b, t, c = x.shape
    return b, t, c


def partly_unpacked(x):
    b, *rest = x.shape
    return b, rest


def asserted(x, y):
    assert x.ndim == AXES and len(y.shape) == 1


def refused(x, y):
    if x.ndim != 2 or y.ndim not in (1, 2):
        raise ValueError("no")


def told_by_chex(x, y, z):
    chex.assert_rank([x, y], [1, {0, 2}])
    chex.assert_type(x, int)
    chex.assert_shape(z, (None, 4))


def equal(x, y):
    chex.assert_equal_shape([x, y])
    chex.assert_rank(x, 2)


def contracted(x, y):
    return jnp.einsum("bij,jk->bik", x, y)


def rearranged_to_one(x, size):
    return rearrange(x, "b c l 3 -> b l (c 3)", c=1, l=size)


def rearranged(x):
    return rearrange(x, "b (h w) c -> b h w c")


def spread(x):
    return repeat(x, "() 1 (h w) c -> d h w c", d=3)


def indexed(x, y, z, table):
    return x[:, None, 0], y[..., 1], z.shape[-2], table["a", 1]


def permuted(x, y):
    return x.transpose(0, 2, 1), jnp.swapaxes(y, 0, 3)


def reduced(x):
    return jnp.sum(x, axis=(1, 2))


def bound_again(x):
    x = x[None]
    a, b = x.shape
    return a, b


def converted(x):
    x = jnp.asarray(x)
    a, b = x.shape
    return a, b


def branch(x):
    if x.ndim == 1:
        x = x[None]
    return x


def never_an_array(config, f):
    return f(config)


def asserted_sizes(a, b, c):
    n, d = a.shape[0], a.shape[-1]
    assert a.ndim == 2
    assert b.shape == (n - 1, 2 * d)
    if c.shape[1] != n:
        raise ValueError("no")


def asserted_alike(q, k, config):
    assert q.shape[:-2] == k.shape[:-2]
    assert q.ndim == 3 and k.ndim == 3
    assert q.shape[-1] == k.shape[-1]
    assert k.shape[-2] == config.heads


def asserted_last(x, m, config):
    assert m.shape[-1] == config.width
    return x[:, None] + m[:, None, :]


def looked_up(table, ids: jax.Array, rows: jax.Array, order: jax.Array, kept: jax.Array):
    rows = jnp.clip(rows, 0, 9)
    found = jnp.where(order >= 0, order, 0)
    flat = found.reshape(-1)
    kept = sorted(kept)
    return table[ids], table[rows], table.at[flat].set(0), table[kept]


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (looked_up, {"ids": "Int ids0+", "rows": "Int rows0+", "order": "Int order0+", "table": "table0+"}),
        (asserted_sizes, {"a": "n d", "b": "n-1 2*d", "c": "c0 n+"}),
        (asserted_alike, {"q": "q0 q1 k2", "k": "k0 config.heads k2"}),
        (asserted_last, {"x": "x0+", "m": "m0 m1+ config.width"}),
        (unpacked, {"x": "b t c"}),
        (partly_unpacked, {"x": "x0+"}),
        (asserted, {"x": "x0 x1 x2", "y": "y0"}),
        (refused, {"x": "x0 x1", "y": "y0 y1"}),
        (told_by_chex, {"x": "Int x0", "y": "y0 y1", "z": "z0 4"}),
        (equal, {"x": "x0 x1", "y": "x0 x1"}),
        (contracted, {"x": "x0 x1 x2", "y": "x2 y1"}),
        (rearranged, {"x": "b x1 c"}),
        (rearranged_to_one, {"x": "b 1 l 3"}),
        (spread, {"x": "1 1 x2 c"}),
        (indexed, {"x": "x0 x1+", "y": "y0+", "z": "z0 z1+"}),
        (permuted, {"x": "x0 x1 x2", "y": "y0 y1 y2 y3+"}),
        (reduced, {"x": "x0 x1 x2+"}),
        (bound_again, {"x": "x0+"}),
        (converted, {"x": "a b"}),
        (branch, {"x": "x0+"}),
        (never_an_array, {}),
    ],
)
def test_arguments_are_as_the_body_takes_them(function, shapes) -> None:
    found = body_shapes(function, {})
    assert {name: as_text(shape) for name, shape in found.items()} == shapes


def as_text(shape: BodyShape) -> str:
    """The dtype and the spec, with a plus where there may be more axes."""
    return f"{shape.dtype} {shape.spec}{'' if shape.exact else '+'} {shape.last}".strip()


def test_what_is_described_names_the_axes_that_are_equal() -> None:
    described = {"x": ParameterSpec(scope=0, parameter="x", spec="batch rows cols", dtype="")}
    assert body_shapes(contracted, described) == {"y": BodyShape("cols y1", "", exact=True)}


def test_the_letters_of_a_pattern_are_no_names_that_somebody_wrote() -> None:
    assert not body_shapes(rearranged_to_one, {})["x"].named
    assert body_shapes(converted, {})["x"].named


def test_words_count_where_the_body_admits_them() -> None:
    hints = {"x": DocstringHint(0, "x", axes=2)}
    assert body_shapes(branch, {}, hints)["x"] == BodyShape("x0 x1", "", exact=True)
    assert body_shapes(unpacked, {}, hints)["x"].spec == "b t c"


def choose(x, kind: str):
    if kind == "sum":
        return x.sum()
    return x.mean() if kind in ("mean", "average") else x


def test_the_texts_that_an_argument_is_compared_with() -> None:
    assert facts_of(choose).parameters["kind"].texts == ("sum", "mean", "average")
