"""Arrays that two frameworks lay out in different ways, and what may not pass for that."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shapecheck
from shapecheck.evaluate.compare.array_difference import difference
from shapecheck.evaluate.compare.equal_arrays import layouts
from shapecheck.model import Tolerance

KEY = jax.random.PRNGKey(0)


class Features(eqx.Module):
    """Takes and gives HWC if it is `last`, else CHW."""

    conv: eqx.nn.Conv2d
    last: bool = eqx.field(static=True)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.conv(x.transpose(2, 0, 1)).transpose(1, 2, 0) if self.last else self.conv(x)


class Channels(eqx.Module):
    """Takes HWC if it is `last`, else CHW."""

    features: Features
    mix: eqx.nn.Linear

    def __init__(self, channels: int, size: int, *, last: bool):
        one, other = jax.random.split(KEY)
        self.features = Features(eqx.nn.Conv2d(channels, channels, 1, key=one), last)
        self.mix = eqx.nn.Linear(channels * size, 4, key=other)

    def __call__(self, x: jax.Array) -> jax.Array:
        y = self.features(x)
        y = y.transpose(2, 0, 1) if self.features.last else y
        return jax.vmap(self.mix)(y.transpose(1, 0, 2).reshape(y.shape[1], -1))


def last(model: Channels) -> Callable[[jax.Array], jax.Array]:
    return lambda x: model(x.transpose(1, 2, 0))


def test_a_stage_may_have_its_axes_in_another_order() -> None:
    x = jnp.arange(60.0).reshape(3, 4, 5)
    found = shapecheck.compare(Channels(3, 5, last=False), last(Channels(3, 5, last=True)), x)
    (features,) = (stage for stage in found.stages if stage.path == "features")
    assert (features.equal, features.layout, features.inputs) == (True, "transposed (1, 2, 0)", True)
    assert found.equal
    assert "equal, A has f32[3,4,5] (transposed (1, 2, 0))" in str(found)


def test_orders_that_are_known_hold_for_equal_sizes() -> None:
    class Two(eqx.Module):
        first: Channels
        second: Channels

        def __call__(self, x: jax.Array, y: jax.Array) -> jax.Array:
            if self.first.features.last:
                x, y = x.transpose(1, 2, 0), y.transpose(1, 2, 0)
            return self.first(x)[0] + self.second(y)[0]

    cube, other = jnp.arange(64.0).reshape(4, 4, 4), jnp.arange(60.0).reshape(3, 4, 5)
    one, two = (Two(Channels(4, 4, last=last), Channels(3, 5, last=last)) for last in (False, True))
    assert shapecheck.compare(one, two, cube, other).equal
    found = shapecheck.compare(one.first, last(two.first), cube)
    assert (found.equal, found.first) == (False, "features")


@pytest.mark.parametrize("model", [lambda x: 2 * x.T, lambda x: 2 * x[None], lambda x: 2 * x.reshape(-1)])
def test_what_the_whole_gives_has_to_be_laid_out_as_what_it_takes(model: Callable[[jax.Array], jax.Array]) -> None:
    found = shapecheck.compare(model, lambda x: 2 * x, jnp.arange(6.0).reshape(2, 3))
    assert (found.equal, found.first) == (False, "")
    assert "what it gives is equal once that of A is " in str(found)


def test_a_square_that_lies_transposed_differs_and_that_is_said() -> None:
    found = shapecheck.compare(lambda x: x.T, lambda x: x, jnp.arange(9.0).reshape(3, 3))
    assert not found.equal
    assert str(found).endswith("Its inputs agree, and what it gives is equal once that of A is transposed (1, 0).")


def test_the_orders_of_axes_are_all_those_that_fit() -> None:
    array = np.arange(24).reshape(2, 3, 1, 4)
    found = {str(layout): layout.of(array) for layout in layouts(array.shape, (4, 2, 3))}
    assert set(found) == {"reshaped", "transposed (3, 0, 1)"}
    np.testing.assert_array_equal(found["transposed (3, 0, 1)"], array[:, :, 0].transpose(2, 0, 1))
    assert not list(layouts((2, 3), (2, 4)))
    assert [str(layout) for layout in layouts((3, 3), (3, 3))] == ["transposed (1, 0)"]


@pytest.mark.parametrize(("dtype", "share"), [(np.float32, 1e-6), (jnp.bfloat16, 2e-3), (np.float64, 1e-9)])
def test_rounding_is_no_difference_and_more_is(dtype: type, share: float) -> None:
    values = np.random.default_rng(0).normal(size=1000) * 1000
    noise = np.random.default_rng(1).normal(size=1000) * 1000
    rounded, wrong = (((values + factor * noise).astype(dtype)) for factor in (share, 200 * share))
    exact = values.astype(dtype)
    assert difference(rounded, exact, Tolerance()).close
    assert not difference(wrong, exact, Tolerance()).close


def test_what_stands_for_nothing_makes_no_tolerance() -> None:
    b = np.where(np.arange(100) % 2, 1.0, -1e9).astype(np.float32)
    a = np.where(b > 0, b + np.float32(0.001), b)
    assert not difference(a, b, Tolerance()).close


def test_a_function_around_a_model_is_compared_too() -> None:
    model = eqx.nn.MLP(4, 3, 8, 1, key=KEY)
    found = shapecheck.compare(lambda x: 2 * model(x), model, jnp.ones(4))
    assert (found.equal, found.first) == (False, "")
    assert {stage.path: stage.equal for stage in found.stages}["layers[1]"]
    same = shapecheck.compare(lambda x: model(x + 0), model, jnp.ones(4))
    assert (same.equal, same.only_a) == (True, ())
