"""Haiku's `multi_transform`: its apply functions are stages, with what is inside of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import pytest
from jaxtyping import Array, Float

import shapecheck
from shapecheck.templates import Template

haiku: Any = pytest.importorskip("haiku")
Function = Callable[..., Any]
X = Float[Array, "batch 4"]


class Pair(NamedTuple):
    """The apply functions."""

    encode: Function
    decode: Function


def coder() -> tuple[Function, Pair]:
    encoder, decoder = haiku.Linear(2, name="encoder"), haiku.Linear(4, name="decoder")

    def encode(x: Array) -> Array:
        return jax.nn.relu(encoder(x))

    def to_output(z: Array, scale: float | None = None) -> Array:
        with jax.named_scope("tail"):
            return decoder(z)

    return (lambda x: to_output(encode(x))), Pair(encode, to_output)


def rows(template: Template) -> list[tuple[str, str]]:
    return [(stage.path, stage.type) for stage in template]


@pytest.mark.parametrize("transform", [haiku.multi_transform, haiku.multi_transform_with_state])
@pytest.mark.parametrize("without", [lambda pair: pair, haiku.without_apply_rng], ids=["", "without_rng"])
def test_apply_functions_are_stages_by_their_names_in_the_tree(transform: Function, without: Function) -> None:
    found = shapecheck.template(without(transform(coder)), X, flops=True)
    assert rows(found) == [
        ("encode", "encode"),
        ("encoder", "Linear"),
        ("decode", "to_output"),
        ("decode.tail", "scope"),
        ("decoder", "Linear"),
    ]
    assert [name for name, _ in found["decode"].input] == ["z"]
    assert found.params == 22
    # Without those of making parameters.
    assert [stage.flops for stage in found.stages] == ["20*batch", "20*batch"]
    assert found.flops == "40*batch"


def test_what_two_functions_share_is_counted_once() -> None:
    def actor_critic() -> tuple[Function, tuple[Function, ...]]:
        torso, pi, v = haiku.nets.MLP([8, 8], name="torso"), haiku.Linear(3, name="pi"), haiku.Linear(1, name="v")

        def policy(x: Array) -> Array:
            return pi(torso(x))

        def value(x: Array) -> Array:
            return v(torso(x))[..., 0]

        return (lambda x: (policy(x), value(x))), (policy, value)

    found = shapecheck.template(haiku.multi_transform(actor_critic), X)
    assert [stage.path for stage in found.stages] == ["policy", "value"]
    assert [stage.path for stage in found.stages[1].children] == ["torso", "v"]
    assert found.params == 112 + 27 + 9


def test_functions_of_one_source_are_told_apart() -> None:
    def heads() -> tuple[Function, dict[str, Any]]:
        def calling(head: Function) -> Function:
            return lambda x: head(x) * 2

        made = [haiku.Linear(size, name=f"of_{size}") for size in (2, 3)]
        bound = {str(head.output_size): (lambda x, head=head: head(x)) for head in made}
        closed = [calling(head) for head in made]
        return (lambda x: [f(x) for f in (*bound.values(), *closed)]), {"bound": bound, "closed": closed}

    found = shapecheck.template(haiku.multi_transform(heads), X)
    assert [(stage.path, stage.children[0].path) for stage in found.stages] == [
        ("bound.2", "of_2"),
        ("bound.3", "of_3"),
        ("closed[0]", "of_2"),
        ("closed[1]", "of_3"),
    ]
    assert {stage.type for stage in found.stages} == {"<lambda>"}
