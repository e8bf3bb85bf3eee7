"""What is left out of a template when it is shown."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float

import shapecheck
from shapecheck.templates import Template, down_to, filter_matching, fold_repeats

KEY = jax.random.PRNGKey(0)


class Block(eqx.Module):
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, width: int) -> None:
        self.up, self.down = eqx.nn.Linear(4, width, key=KEY), eqx.nn.Linear(width, 4, key=KEY)

    def __call__(self, x: Float[Array, 4]) -> Float[Array, 4]:
        return self.down(self.up(x))


class Deep(eqx.Module):
    blocks: list[Block]

    def __call__(self, x: Float[Array, 4]) -> Float[Array, 4]:
        for block in self.blocks:
            x = block(x)
        return x


@pytest.fixture(scope="module")
def deep() -> Template:
    widths = (8, 8, 8, 6, 8)
    return shapecheck.template(Deep([Block(width) for width in widths]), jnp.zeros(4))


def paths(template: Template) -> list[str]:
    return [stage.path for stage in template]


def test_equal_neighbours_are_one_stage(deep: Template) -> None:
    names = ["blocks[0..2]", "blocks[3]", "blocks[4]"]
    assert paths(fold_repeats(deep)) == ["", *(p for n in names for p in (n, f"{n}.up", f"{n}.down"))]
    assert (fold_repeats(deep).count, fold_repeats(deep).params) == (16, deep.params)


def test_so_are_those_that_flax_and_haiku_number() -> None:
    haiku = pytest.importorskip("haiku")

    def net(x: Array) -> Array:
        for width in (4, 4, 4, 6, 4):
            x = haiku.nets.MLP([width])(x)
        return x

    whole = shapecheck.template(haiku.transform(net), jnp.zeros(4), flops=True)
    names = ["mlp", "mlp_1..2", "mlp_3", "mlp_4"]
    assert paths(fold_repeats(whole)) == [p for name in names for p in (name, f"{name}/~/linear_0")]
    assert (
        (fold_repeats(whole).params, fold_repeats(whole).flops)
        == (whole.params, whole.flops)
        == (3 * 20 + 30 + 28, 214)
    )


def test_a_depth(deep: Template) -> None:
    assert paths(down_to(deep, 0)) == [""]
    assert paths(down_to(deep, 1)) == ["", *(f"blocks[{index}]" for index in range(5))]


def test_paths_that_match_come_with_those_around_them(deep: Template) -> None:
    assert paths(filter_matching(deep, "blocks[3].*")) == ["", "blocks[3]", "blocks[3].up", "blocks[3].down"]
    assert paths(filter_matching(deep, "*.u?")) == [
        "",
        *(p for i in range(5) for p in (f"blocks[{i}]", f"blocks[{i}].up")),
    ]
    assert paths(filter_matching(deep, "nothing")) == []
