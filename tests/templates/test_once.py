"""Stages that repeat each other are evaluated at most twice, where that makes no difference, and only there."""

# ruff: noqa: UP037 - dims are no types

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

import shapecheck
from shapecheck.evaluate.stages.stage_memo import SplitArguments, StageMemo
from shapecheck.templates import Template

KEY = jax.random.PRNGKey(0)
ran: list[str] = []


class Block(eqx.Module):
    layer: eqx.nn.Linear
    kind: str = eqx.field(static=True)

    def __call__(self, x: Float[Array, "4"], extra: object = None) -> Float[Array, "4"]:
        ran.append(self.kind)
        if self.kind == "effect":
            jax.debug.print("{}", x.sum())
        elif self.kind == "value" and extra[0] > 0:
            x = x[::-1]
        elif self.kind == "closure":
            x = extra(x)
        return self.layer(x)


class Deep(eqx.Module):
    blocks: list[Block]
    how: Callable = eqx.field(static=True)

    def __call__(self, x: Float[Array, "4"]) -> Array:
        for block in self.blocks:
            x = self.how(block, x)
        return x


class Counting(eqx.Module):
    index: eqx.nn.StateIndex

    def __call__(self, x: Array, state: eqx.nn.State) -> tuple[Array, eqx.nn.State]:
        ran.append("state")
        return x, state.set(self.index, state.get(self.index) + 1)


class Repeated(eqx.Module):
    counting: Counting

    def __call__(self, x: Float[Array, "4"], state: eqx.nn.State) -> tuple[Array, eqx.nn.State]:
        for _ in range(5):
            x, state = self.counting(x, state)
        return x, state


def plainly(block: Block, x: Array) -> Array:
    return block(x)


def differentiated(block: Block, x: Array) -> Array:
    return jax.grad(lambda y: block(y).sum())(x)


def mapped(block: Block, x: Array) -> Array:
    return jax.vmap(block)(jnp.stack([x, x, x])).sum(0)


def scanned(block: Block, x: Array) -> Array:
    return jax.lax.scan(lambda h, _: (block(h), None), x, None, length=3)[0]


def jitted(block: Block, x: Array) -> Array:
    return eqx.filter_jit(block)(x)


def deep(how: Callable, kind: str = "") -> Template:
    ran.clear()
    model = eqx.filter_eval_shape(lambda: Deep([Block(eqx.nn.Linear(4, 4, key=KEY), kind) for _ in range(5)], how))
    return shapecheck.template(model, jax.ShapeDtypeStruct((4,), jnp.float32))


@pytest.mark.parametrize("how", [plainly, differentiated, mapped, scanned, jitted])
def test_equal_stages_show_the_same_as_when_each_is_evaluated(how: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    template = deep(how)
    few = len(ran)
    monkeypatch.setattr(SplitArguments, "key", lambda self: None)
    assert deep(how) == template
    assert few <= 2 * len(ran) // 5 or how is jitted  # where each jit is traced anew
    assert [stage.path for stage in template][-2:] == ["blocks[4]", "blocks[4].layer"]


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("effect", plainly),
        ("value", lambda block, x: block(x, np.ones(3))),
        ("closure", lambda block, x: block(x, lambda y: y + x)),
    ],
)
def test_where_it_could_make_a_difference_each_is_evaluated(kind: str, how: Callable) -> None:
    template = deep(how, kind)
    assert len(ran) >= 5
    assert [stage.path for stage in template if stage.path.endswith("layer")] == [
        f"blocks[{i}].layer" for i in range(5)
    ]
    assert not any(stage.call for stage in template if stage.path.startswith("blocks"))


def test_stages_with_a_state_are_evaluated_each_time() -> None:
    ran.clear()
    shapecheck.template(Repeated(Counting(eqx.nn.StateIndex(jnp.zeros(())))), jax.ShapeDtypeStruct((4,), jnp.float32))
    assert len(ran) == 5


class Made(eqx.Module):
    weight: Array
    shared: Array
    number: int = eqx.field(static=True)
    index: eqx.nn.StateIndex | None = None

    def __init__(self, shared: Array, key: Array, *, kind: str = "plain"):
        ran.append(kind)
        self.weight = jax.random.normal(key, (4, 4))
        self.shared = shared
        self.number = len(ran) if kind == "counted" else 0
        self.index = eqx.nn.StateIndex(jnp.zeros(3)) if kind == "state" else None

    def __call__(self, x: Array) -> Array:
        return self.shared + self.weight @ x


class Row(eqx.Module):
    parts: list[Made]

    def __init__(self, kind: str):
        shared = jnp.zeros(4)
        self.parts = [Made(shared, key, kind=kind) for key in jax.random.split(KEY, 9)]

    def __call__(self, x: Array) -> Array:
        for part in self.parts:
            x = part(x)
        return x


@pytest.mark.parametrize(("kind", "most"), [("plain", 3), ("counted", 9), ("state", 9)])
def test_what_is_constructed_alike_is_constructed_three_times_at_most(kind: str, most: int) -> None:
    ran.clear()
    seen: list[Row] = []

    def make() -> Row:
        seen.append(Row(kind))
        return seen[-1]

    template = shapecheck.template(make, jax.ShapeDtypeStruct((4,), "float32"))
    assert len(ran) == most
    assert [stage.path for stage in template] == ["", *(f"parts[{index}]" for index in range(9))]
    # An array that all parts share counts once, and each has a weight of its own.
    assert template.params == 9 * 16 + 4
    assert len({id(part.weight) for part in seen[0].parts}) == 9
    numbers = {part.number for part in seen[0].parts}
    assert len(numbers) == (9 if kind == "counted" else 1)
    if kind == "state":
        assert len({id(part.index.marker) for part in seen[0].parts if part.index is not None}) == 9


class Keyed(eqx.Module):
    layer: eqx.nn.Linear

    def __call__(self, parts: dict[int | str, Array]) -> Array:
        return self.layer(parts[1]) + parts["a"]


def test_what_jax_cannot_take_apart_is_evaluated_each_time() -> None:
    """A dict whose keys have no order."""
    model = Keyed(eqx.nn.Linear(4, 4, key=KEY))
    template = shapecheck.template(lambda x: [model({1: x, "a": x}) for _ in range(3)], jnp.zeros(4))
    assert [stage.type for stage in template] == ["Keyed", "Linear"] * 3


def test_a_bug_of_ours_is_raised() -> None:
    once = StageMemo()
    once.under = None  # type: ignore[assignment]

    def called(x: Array) -> Array:
        return once.call(jnp.sin, (x,), {})[0] + once.call(jnp.sin, (x,), {})[0]

    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        jax.eval_shape(called, jnp.zeros(3))


class Unfit(eqx.Module):
    inner: object

    def __call__(self, x: Array) -> Array:
        return self.inner(x, 1, 2)


@pytest.mark.parametrize("inner", [Block(eqx.nn.Linear(4, 4, key=KEY), "plain"), jnp.tanh, lambda x: x])
def test_a_call_that_does_not_fit_is_the_users(inner: object) -> None:
    with pytest.raises(ValueError, match=r"Unfit cannot be evaluated: .*\(\) takes .* \(.*test_once.py:\d+, in "):
        shapecheck.template(Unfit(inner), jnp.zeros(4))
