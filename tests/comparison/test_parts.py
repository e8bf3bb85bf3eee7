"""Outputs and inputs of several arrays, integers among them: which belong together, and which of them differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shapecheck

X = jnp.asarray([[1.0, 2.0, 3.0], [3.0, 1.0, 0.5]])
Function = Callable[[jax.Array], object]


class Cache(NamedTuple):
    v: jax.Array
    k: jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    v: jax.Array
    k: jax.Array


def dicts(x: jax.Array) -> Any:
    return x, {"k": 2 * x, "v": 3 * x}


def test_parts_go_by_their_names_whatever_holds_them() -> None:
    ways: list[Function] = [lambda x: (x, Cache(v=3 * x, k=2 * x)), lambda x: (x, State(v=3 * x, k=2 * x))]
    for way in ways:
        assert shapecheck.compare(way, dicts, X).equal
    swapped = shapecheck.compare(lambda x: (x, {"k": 3 * x, "v": 2 * x}), dicts, X)
    assert "differs in [1]['k'], in [1]['v']\n" in str(swapped)


def test_places_count_where_both_have_nothing_else() -> None:
    found = shapecheck.compare(lambda x: (2 * x, x), lambda x: (x, 2 * x), X)
    assert (found.equal, found.first) == (False, "")


def test_what_one_calls_by_name_and_the_other_does_not_goes_by_what_it_holds() -> None:
    found = shapecheck.compare(lambda x: {"last": x, "all": 2 * x}, lambda x: (x, 2 * x), X)
    assert found.equal
    assert "equal, ['all'] of A is [1] of B, ['last'] of A is [0] of B" in str(found)


def test_a_part_that_is_missing_is_a_difference() -> None:
    for less in (lambda x: (x, 2 * x), lambda x: {"y": x}, lambda x: None):
        assert not shapecheck.compare(less, lambda x: (x, 2 * x, 3 * x), X).equal


def test_a_layer_may_give_its_parts_in_another_order_and_some_besides() -> None:
    class Equinox(eqx.Module):
        cell: eqx.nn.LSTMCell

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.cell(x, (jnp.ones(4), jnp.arange(4.0)))[0]

    class Linen(nn.Module):
        @nn.compact
        def __call__(self, x: jax.Array) -> Any:
            return nn.OptimizedLSTMCell(4, name="cell")((jnp.arange(4.0), jnp.ones(4)), x)[1]

    variables = Linen().init(jax.random.PRNGKey(0), X[0])
    held = variables["params"]["cell"]
    weights = [jnp.concatenate([held[f"{kind}{gate}"]["kernel"].T for gate in "ifgo"]) for kind in "ih"]
    cell = eqx.nn.LSTMCell(3, 4, key=jax.random.PRNGKey(0))
    bias = jnp.concatenate([held[f"h{gate}"]["bias"] for gate in "ifgo"])
    cell = eqx.tree_at(lambda c: (c.weight_ih, c.weight_hh, c.bias), cell, (*weights, bias))
    found = shapecheck.compare(Equinox(cell), lambda x: Linen().apply(variables, x), X[0])
    assert found.equal
    assert "[0] of A is [0][1] of B, [1] of A is [0][0] of B" in str(found)
    wrong = eqx.tree_at(lambda c: c.weight_hh, cell, weights[1][::-1])
    assert not shapecheck.compare(Equinox(wrong), lambda x: Linen().apply(variables, x), X[0]).equal


class Codes(eqx.Module):
    dtype: str = eqx.field(static=True, default="int32")
    shift: int = eqx.field(static=True, default=0)

    def __call__(self, x: jax.Array) -> jax.Array:
        return (jnp.argmax(x, -1) + self.shift).astype(self.dtype)


class Quantised(eqx.Module):
    codes: Codes

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.eye(4)[self.codes(x)]


def test_integers_inside_may_be_of_another_width_and_what_the_whole_gives_may_not() -> None:
    right, narrow, wrong = (Quantised(Codes(*each)) for each in ((), ("uint8",), ("int32", 1)))
    assert shapecheck.compare(narrow, right, X).equal
    found = shapecheck.compare(wrong, right, X)
    assert found.first == "codes"
    assert "differs in 2 of 2 numbers" in str(found)
    alone = shapecheck.compare(narrow.codes, right.codes, X)
    assert not alone.equal
    assert "The numbers are the same, in another dtype (A u8[2], B i32[2])." in str(alone)


def test_a_choice_that_rounding_decides_is_called_so() -> None:
    nearly = jnp.asarray([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0], [3.0, 0.0, 1.0]])
    found = shapecheck.compare(
        lambda x: jnp.argmax(x + jnp.asarray([0, 1e-6, 0]), -1), lambda x: jnp.argmax(x, -1), nearly
    )
    assert str(found).endswith(
        "What differs are integers; where values are nearly tied, rounding decides between them."
    )


class Masked(eqx.Module):
    def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
        return jnp.where(mask, x, 0)


class Outer(eqx.Module):
    inner: Masked
    mask: Callable[[int], jax.Array] = eqx.field(static=True)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.inner(x, self.mask(len(x)))


def causal(size: int) -> jax.Array:
    return jnp.tril(jnp.ones((size, size), bool))


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (lambda n: causal(n).astype(jnp.float32), None),
        (lambda n: jnp.ones((n, n), bool), "(mask in 3 of 9 numbers)."),
        (lambda n: jnp.ones((n, n)), "(mask in 3 of 9 numbers: A f32[3,3], B bool[3,3])."),
    ],
)
def test_the_argument_that_differs_is_named(mask: Callable[[int], jax.Array], said: str | None) -> None:
    square = jnp.arange(9.0).reshape(3, 3)
    found = shapecheck.compare(Outer(Masked(), mask), Outer(Masked(), causal), square)
    assert found.equal == (said is None)
    if said is not None:
        assert str(found).endswith(f"inner, the first inside of it that differs, as what it is given does {said}")


def test_stages_that_give_nothing_are_there_and_are_no_evidence() -> None:
    class Log(eqx.Module):
        def __call__(self, x: jax.Array) -> None: ...

    class Logged(eqx.Module):
        log: Log
        shift: float

        def __call__(self, x: jax.Array) -> jax.Array:
            self.log(x + self.shift)
            return 2 * x

    found = shapecheck.compare(Logged(Log(), 1.0), Logged(Log(), 0.0), X)
    assert "gives no arrays, though its inputs differ" in str(found)
    assert str(found).endswith("Equal: 1 stage within rounding.")
    assert not shapecheck.compare(lambda x: None, lambda x: x, X).equal
    with pytest.raises(ValueError, match=r"in common gives an array, so nothing was compared$"):
        shapecheck.compare(Log(), Log(), np.ones(3))
