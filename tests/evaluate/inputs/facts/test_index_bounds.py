"""How large integers may be, by what a traced program looks up with them."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import pytest

from shapecheck.evaluate.inputs.facts.index_bounds import index_bounds

TABLE = jnp.zeros((11, 4))
IDS = jax.ShapeDtypeStruct((3, 5), jnp.int32)


def bound(function: Callable[..., object]) -> int | None:
    return index_bounds(jax.make_jaxpr(function)(IDS)).get(0)


@pytest.mark.parametrize(
    "function",
    [
        lambda ids: TABLE[ids],
        lambda ids: jnp.take(TABLE, ids.T.reshape(-1).astype(jnp.uint32), axis=0, mode="clip"),
        lambda ids: jax.nn.one_hot(ids, 11),
        lambda ids: jax.ops.segment_sum(jnp.ones(15), ids.ravel(), num_segments=11),
        lambda ids: jax.lax.scan(lambda carry, row: (carry, TABLE[row]), 0, ids),
        lambda ids: jax.jit(jax.grad(lambda table: jax.vmap(lambda i: table[i])(ids).sum()))(TABLE),
        lambda ids: jnp.take_along_axis(jnp.zeros((3, 5, 11)), ids[..., None], axis=-1),
        lambda ids: jnp.zeros((40, 11))[ids[:, :2] * 2, ids[:, :2]],
        lambda ids: jax.lax.cond(ids.sum() > 3, lambda i: TABLE[i].sum(), lambda i: 0.0, ids),
        lambda ids: jax.lax.fori_loop(0, 3, lambda step, total: total + TABLE[ids[step]].sum(), 0.0),
        lambda ids: TABLE[jnp.where(ids == 3, 0, ids)] + jnp.zeros((99, 4))[ids],
    ],
)
def test_what_is_looked_up_bounds_the_index(function: Callable[..., object]) -> None:
    assert bound(function) == 11


@pytest.mark.parametrize(
    "function", [lambda ids: ids * 2 + TABLE[0, 0], lambda ids: TABLE[ids // 7], lambda ids: ids == ids.T.sum()]
)
def test_other_integers_have_none(function: Callable[..., object]) -> None:
    assert bound(function) is None
