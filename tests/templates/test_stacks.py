"""Parameters of layers that are slices of a stack: counted as the stack holds them, and others as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float

import shapecheck

X = Float[Array, "batch 4"]
KEYS = jax.random.key_data(jax.vmap(jax.random.key)(jnp.arange(7)))
scan_by_another_name = jax.lax.scan
Init, Apply = Callable[..., Any], Callable[[Any, Any], Any]


def linen_model() -> tuple[Init, Apply]:
    linen = pytest.importorskip("flax.linen")

    class Block(linen.Module):  # type: ignore[misc, name-defined]
        @linen.compact
        def __call__(self, x: Array) -> Array:
            return linen.Dense(4)(linen.relu(linen.Dense(8)(x)))

    model = Block()
    return model.init, model.apply


def haiku_model() -> tuple[Init, Apply]:
    haiku = pytest.importorskip("haiku")

    def forward(x: Array) -> Array:
        return haiku.nets.MLP([8, 4])(x)

    model = haiku.without_apply_rng(haiku.transform(forward))
    return model.init, model.apply


def equinox_model() -> tuple[Init, Apply]:
    def init(key: Any, x: Array) -> Any:
        return eqx.filter(eqx.nn.MLP(4, 4, 8, 1, key=key), eqx.is_array)

    static = eqx.filter(eqx.nn.MLP(4, 4, 8, 1, key=jax.random.PRNGKey(0)), eqx.is_array, inverse=True)
    return init, lambda params, x: jax.vmap(eqx.combine(params, static))(x)


@pytest.mark.parametrize(
    ("make", "inside"), [(linen_model, jax.checkpoint), (haiku_model, jax.jit), (equinox_model, lambda body: body)]
)
def test_layers_that_the_user_scans_over_count_all(
    make: Callable[[], tuple[Init, Apply]], inside: Callable[[Apply], Apply]
) -> None:
    init, apply = make()

    def net(x: Array) -> Array:
        stacked = jax.vmap(lambda key: init(key, x))(KEYS)
        body = inside(lambda x, params: (apply(params, x), None))
        return jax.lax.scan(body, x, stacked)[0]

    template = shapecheck.template(net, X)
    assert template.stages[0].under[0] == "scan(7)"
    assert template.params == 7 * 76
    assert [stage.params for stage in template if stage.type in ("Dense", "Linear")] == [7 * 40, 7 * 36]


@pytest.mark.parametrize("make", [linen_model, haiku_model, equinox_model])
def test_an_ensemble_in_a_scan_counts_both(make: Callable[[], tuple[Init, Apply]]) -> None:
    init, apply = make()

    def net(x: Array) -> Array:
        stacked = jax.vmap(lambda _: jax.vmap(lambda key: init(key, x))(KEYS))(jnp.arange(3))
        each = jax.vmap(apply, (0, None))
        return scan_by_another_name(lambda x, params: (each(params, x).mean(0), None), x, stacked)[0]

    assert shapecheck.template(net, X).params == 3 * 7 * 76


@pytest.mark.parametrize("make", [linen_model, haiku_model, equinox_model])
def test_members_of_an_ensemble_inside_of_jit_count_all(make: Callable[[], tuple[Init, Apply]]) -> None:
    init, apply = make()

    def mapped(x: Array) -> Array:
        stacked = jax.vmap(lambda key: init(key, x), out_axes=-1)(KEYS)
        return jax.vmap(jax.jit(apply), (-1, None))(stacked, x)

    def in_turns(x: Array) -> Array:
        stacked = jax.vmap(lambda _: jax.vmap(lambda key: init(key, x))(KEYS))(jnp.arange(3))
        each = jax.vmap(jax.jit(jax.grad(lambda params, x: apply(params, x).sum())), (0, None))
        return jax.lax.scan(lambda x, params: (x, each(params, x)), x, stacked)[0]

    def shared(x: Array) -> Array:
        return jax.vmap(jax.jit(apply), (None, 0))(init(KEYS[0], x), jnp.stack([x] * 7))

    assert shapecheck.template(mapped, X).params == 7 * 76
    assert shapecheck.template(in_turns, X).params == 3 * 7 * 76
    assert shapecheck.template(shared, X).params == 76


@pytest.mark.parametrize("make", [linen_model, haiku_model, equinox_model])
def test_parameters_that_each_turn_uses_count_once(make: Callable[[], tuple[Init, Apply]]) -> None:
    init, apply = make()

    def train(x: Array) -> Any:
        def step(params: Any, x: Array) -> tuple[Any, Array]:
            loss, slopes = jax.value_and_grad(lambda params: apply(params, x).sum())(params)
            return jax.tree_util.tree_map(lambda a, b: a - b, params, slopes), loss

        return jax.lax.scan(step, init(KEYS[0], x), jnp.stack([x] * 5))[1]

    def shared(x: Array) -> Array:
        params = init(KEYS[0], x)
        return jax.lax.scan(lambda x, _: (apply(params, x), None), x, None, length=5)[0]

    assert shapecheck.template(train, X).params == 76
    assert shapecheck.template(shared, X).params == 76


def test_a_part_that_is_rebuilt_counts_as_the_stack_too() -> None:
    """Whose place in the model is unknown then, for it has another structure."""

    class Wrapped(eqx.Module):
        layers: list[eqx.nn.Linear]  # one, with stacks of arrays

        def __call__(self, x: Array) -> Array:
            def turn(x: Array, stacked: list[eqx.nn.Linear]) -> tuple[Array, None]:
                return eqx.tree_at(lambda linear: linear.bias, stacked[0], None)(x), None

            return jax.lax.scan(turn, x, self.layers)[0]

    made = [eqx.filter_vmap(lambda key: eqx.nn.Linear(4, 4, key=key))(KEYS)]
    template = shapecheck.template(jax.vmap(Wrapped(made)), X)
    assert [(stage.under, stage.params) for stage in template] == [(("vmap(batch)",), 140), (("scan(7)",), 112)]


def test_scan_is_as_before_afterwards() -> None:
    before = jax.lax.scan
    shapecheck.template(lambda x: jax.lax.scan(lambda c, x: (c, x), 0.0, x)[1], jnp.zeros((3, 4)))
    assert jax.lax.scan is before is scan_by_another_name


def test_the_layers_of_a_transparent_stack_have_all_their_parameters() -> None:
    haiku = pytest.importorskip("haiku")
    stack = haiku.experimental.layer_stack

    class Names:
        """`block_0`, `block_1`, ... outside, `block` inside."""

        def stacked_to_flat(self, name: str, index: int) -> str:
            return name.replace("block", f"block_{index}", 1)

        def flat_to_stacked(self, name: str) -> tuple[str, int] | None:
            head, _, rest = name.partition("/")
            number = head.removeprefix("block_")
            return (f"block/{rest}", int(number)) if number.isdigit() else None

    def block(x: Array) -> Array:
        return haiku.nets.MLP([6, 4], name="block")(x)

    def per_layer(x: Array, y: Array) -> tuple[Array, Array]:
        return block(x) + y, x

    options = {"transparent": True, "transparency_map": Names()}

    def forward(x: Array) -> Array:
        x = stack(5, with_per_layer_inputs=True, **options)(per_layer)(x, jnp.zeros((5, 4)))[0]
        return haiku.Linear(4)(x)

    def nested(x: Array) -> Array:
        return stack(3, name="outer")(stack(5, **options)(block))(x)

    found = shapecheck.template(haiku.transform(forward), X)
    assert [(stage.path, stage.under, stage.params) for stage in found] == [
        ("block", ("scan(5)",), 5 * 58),
        ("block/~/linear_0", (), 5 * 30),
        ("block/~/linear_1", (), 5 * 28),
        ("linear", (), 20),
    ]
    found = shapecheck.template(haiku.transform(nested), X)
    assert [(stage.path, stage.under, stage.params) for stage in found.stages] == [
        ("outer/block", ("scan(3)", "scan(5)"), 3 * 5 * 58)
    ]
