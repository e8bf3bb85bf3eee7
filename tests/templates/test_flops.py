"""What each stage costs, in exact counts of what one can count by hand."""

# ruff: noqa: F722, UP037 - dims are no types

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float

import shapecheck
from shapecheck.cli import main
from shapecheck.evaluate.stages.stage_memo import SplitArguments
from shapecheck.model import Stage
from shapecheck.templates import Template
from shapecheck.templates.template_views import FORMATS

KEY = jax.random.PRNGKey(0)
X4 = jax.ShapeDtypeStruct((4,), "float32")
LAYER = 2 * 4 * 4 + 4  # flops of a 4 x 4 layer with its bias


def counted(model: Any, *args: Any) -> Template:
    return shapecheck.template(model, *args, flops=True)


def linear(inside: int, out: int) -> eqx.nn.Linear:
    return eqx.nn.Linear(inside, out, key=KEY)


def applied(part: Any, how: Callable[..., Any], *args: Any) -> Template:
    """The template of a model that does `how` with its `part`."""

    class Applied(eqx.Module):
        part: Any

        def __call__(self, *args: Any) -> Any:
            return how(self.part, *args)

    return counted(Applied(part), *args)


def test_a_layer_costs_its_product_and_its_bias() -> None:
    assert counted(linear(5, 7), jax.ShapeDtypeStruct((5,), "float32")).flops == 2 * 5 * 7 + 7


def test_nobody_counts_unasked() -> None:
    template = shapecheck.template(linear(4, 4), X4)
    assert (template.flops, [stage.flops for stage in template]) == (None, [None])


def test_a_mapped_stage_costs_all_that_it_is_mapped_over() -> None:
    template = applied(linear(4, 4), lambda part, x: jax.vmap(jax.vmap(part))(x), Float[Array, "3 5 4"])
    assert template["part"].flops == 15 * LAYER == template.flops


def test_free_sizes_enter_as_text() -> None:
    template = applied(linear(48, 192), lambda part, x: jax.vmap(jax.vmap(part))(x), Float[Array, "batch seq 48"])
    assert template["part"].flops == f"{2 * 48 * 192 + 192}*batch*seq"


def test_a_scan_costs_all_its_turns() -> None:
    def how(part: Any, x: Array) -> Array:
        def inner(h: Array, _: None) -> tuple[Array, None]:
            return part(h), None

        return jax.lax.scan(lambda h, _: jax.lax.scan(inner, h, None, length=3), x, None, length=7)[0]

    assert applied(linear(4, 4), how, X4)["part"].flops == 21 * LAYER
    free = applied(
        linear(4, 4), lambda part, x: jax.lax.scan(lambda h, _: (part(h), None), x[0], x)[0], Float[Array, "n 4"]
    )
    assert free["part"].flops == f"{LAYER}*n"


def test_a_while_loop_costs_one_turn() -> None:
    def how(part: Any, x: Array) -> Array:
        return jax.lax.while_loop(lambda h: h[0] > 0, lambda h: part(h), x)  # noqa: PLW0108 - arrays have no hash

    template = applied(linear(4, 4), how, X4)
    assert (template["part"].flops, template.flops) == (LAYER, LAYER + 1)


def test_of_branches_the_dearest_counts_and_each_shows_its_own() -> None:
    def how(parts: Any, x: Array) -> Array:
        cheap, dear = parts
        return jax.lax.cond(x[0] > 0, lambda y: cheap(y), lambda y: dear(dear(y)), x)  # noqa: PLW0108 - as above

    template = applied((linear(4, 4), linear(4, 4)), how, X4)
    assert [stage.flops for stage in template] == [2 * LAYER + 1, LAYER, LAYER, LAYER]


def test_branches_that_cannot_be_compared_are_both_told() -> None:
    def how(_: Any, sure: Array, x: Array, y: Array) -> Array:
        return jax.lax.cond(sure, lambda: jnp.sum(x), lambda: jnp.sum(y))

    free = Float[Array, "a"], Float[Array, "b"]
    assert applied(None, how, jax.ShapeDtypeStruct((), "bool"), *free).flops == "max(b - 1, a - 1)"


@pytest.mark.parametrize("how", ["plain", "checkpoint", "jit"])
def test_derivatives_count_for_the_stage_that_they_are_of(how: str) -> None:
    wrap = {"plain": lambda f: f, "checkpoint": eqx.filter_checkpoint, "jit": eqx.filter_jit}[how]

    def loss(part: Any, x: Array) -> Array:
        return jax.vmap(wrap(part))(x).sum()

    template = applied(
        linear(4, 6), lambda part, x: eqx.filter_grad(lambda p: loss(*p))((part, x)), Float[Array, "8 4"]
    )
    product = 2 * 8 * 4 * 6
    # Forward, by the weight and by the input; the bias is added to 8 x 6 numbers, which its derivative adds up to 6.
    assert template["part"].flops == 3 * product + 48 + (48 - 6)


def test_what_a_checkpoint_computes_again_counts_again() -> None:
    class Curved(eqx.Module):
        layer: eqx.nn.Linear

        def __call__(self, x: Array) -> Array:
            return jnp.sin(self.layer(jnp.sin(self.layer(x))))

    def cost(wrap: Callable[..., Any]) -> int:
        def how(part: Any, x: Array) -> Array:
            return jax.grad(lambda y: wrap(part)(y).sum())(x)

        found = applied(Curved(linear(32, 32)), how, jax.ShapeDtypeStruct((32,), "float32"))["part"].flops
        assert isinstance(found, int)
        return found

    product = 2 * 32 * 32
    assert cost(lambda part: part) == pytest.approx(4 * product, rel=0.1)
    assert cost(eqx.filter_checkpoint) == pytest.approx(6 * product, rel=0.1)


class Block(eqx.Module):
    layer: eqx.nn.Linear

    def __call__(self, x: Float[Array, "4"]) -> Float[Array, "4"]:
        return jnp.tanh(self.layer(x))


class Deep(eqx.Module):
    blocks: list[Block]
    how: Callable[..., Any] = eqx.field(static=True)

    def __call__(self, x: Float[Array, "4"]) -> Array:
        for block in self.blocks:
            x = self.how(block, x)
        return x


HOW: dict[str, Callable[..., Any]] = {
    "plain": lambda block, x: block(x),
    "grad": lambda block, x: jax.grad(lambda y: block(y).sum())(x),
    "vmap": lambda block, x: jax.vmap(block)(jnp.stack([x, x, x])).sum(0),
    "scan": lambda block, x: jax.lax.scan(lambda h, _: (block(h), None), x, None, length=3)[0],
    "jit": lambda block, x: eqx.filter_jit(block)(x),
    "remat": lambda block, x: jax.grad(lambda y: eqx.filter_checkpoint(block)(y).sum())(x),
    "grad of scan": lambda block, x: jax.grad(lambda y: HOW["scan"](block, y).sum())(x),
    "hessian": lambda block, x: jax.hessian(lambda y: block(y).sum())(x)[0],
}


@pytest.mark.parametrize("how", HOW)
def test_repeated_stages_cost_what_they_cost_if_each_is_evaluated(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = eqx.filter_eval_shape(lambda: Deep([Block(linear(4, 4)) for _ in range(5)], HOW[how]))
    template = counted(model, X4)
    monkeypatch.setattr(SplitArguments, "key", lambda self: None)
    assert counted(model, X4) == template
    for each in ("blocks[{}]", "blocks[{}].layer"):
        found = {template[each.format(index)].flops for index in range(5)}
        assert len(found) == 1 and found != {0}


FLAGS = ("jax_scan3", "jax_remat3", "jax_custom_jvp3", "jax_custom_vjp3")


@pytest.fixture
def high_level() -> Iterator[Callable[[], None]]:
    """Switches on what JAX is to have instead of its present scan, checkpoint and functions with own derivatives."""
    there = [flag for flag in FLAGS if hasattr(jax.config, flag)]
    if not there:
        pytest.skip(f"JAX {jax.__version__} has none of the flags {', '.join(FLAGS)}")
    before = {flag: getattr(jax.config, flag) for flag in there}

    def switch_on() -> None:
        for flag in there:
            jax.config.update(flag, True)

    yield switch_on
    for flag, value in before.items():
        jax.config.update(flag, value)


@jax.custom_jvp
def doubled_sine(x: Array) -> Array:
    return 2 * jnp.sin(x)


@doubled_sine.defjvp
def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return doubled_sine(*primals), 2 * jnp.cos(*primals) * tangents[0]


@jax.custom_vjp
def tripled_sine(x: Array) -> Array:
    return 3 * jnp.sin(x)


tripled_sine.defvjp(lambda x: (tripled_sine(x), x), lambda x, cotangent: (3 * jnp.cos(x) * cotangent,))


HIGH_LEVEL: dict[str, Callable[..., Any]] = {
    "scan": HOW["scan"],
    "nested scan": lambda block, x: jax.lax.scan(lambda h, _: (HOW["scan"](block, h), None), x, None, length=7)[0],
    "checkpoint": lambda block, x: eqx.filter_checkpoint(block)(x),
    "remat": HOW["remat"],
    "scan of checkpoint": lambda block, x: HOW["scan"](eqx.filter_checkpoint(block), x),
    "custom_jvp": lambda block, x: doubled_sine(block(x)),
    "grad of custom_jvp": lambda block, x: jax.grad(lambda y: doubled_sine(block(y)).sum())(x),
    "custom_vjp": lambda block, x: tripled_sine(block(x)),
    "grad of custom_vjp": lambda block, x: jax.grad(lambda y: tripled_sine(block(y)).sum())(x),
}


@pytest.mark.parametrize("how", HIGH_LEVEL)
def test_operations_above_those_of_xla_cost_what_is_inside_of_them(how: str, high_level: Callable[[], None]) -> None:
    model = eqx.filter_eval_shape(lambda: Deep([Block(linear(4, 4)) for _ in range(3)], HIGH_LEVEL[how]))
    plain = counted(model, X4)
    high_level()
    assert [(each.path, each.flops) for each in counted(model, X4)] == [(each.path, each.flops) for each in plain]
    assert counted(model, X4) == plain


def test_a_stage_that_repeats_another_under_vmap_costs_what_it_is_mapped_over() -> None:
    def how(part: Block, x: Array) -> Array:
        return jax.vmap(part)(jnp.stack([part(part(x)), x, x]))

    once, again, mapped = (stage for stage in applied(Block(linear(4, 4)), how, X4) if stage.path == "part.layer")
    assert (once.flops, again.flops, mapped.flops) == (LAYER, LAYER, 3 * LAYER)


@jax.jit
def helper(x: Array) -> Array:
    with jax.named_scope("inner"):
        return x @ x


def scoped(x: Float[Array, "4 4"]) -> Array:
    with jax.named_scope("outer"):
        x = helper(helper(x))
        return x + 1


def test_what_jax_traces_once_and_runs_twice_shows_one_run() -> None:
    product = 2 * 4**3
    template = counted(scoped, jax.ShapeDtypeStruct((4, 4), "float32"))
    assert {stage.path: stage.flops for stage in template} == {"outer": 2 * product + 16, "outer.inner": product}


class Activated(eqx.Module):
    functions: list[Callable[..., Any]]

    def __call__(self, x: Array) -> Array:
        for function in self.functions:
            x = function(x)
        return x


def test_functions_in_fields_have_their_own() -> None:
    template = counted(Activated([jnp.sin, jax.jit(lambda x: x * 2 + 1)]), X4)
    assert [stage.flops for stage in template] == [12, 4, 8]


class Transformer(eqx.Module):
    attention: list[eqx.nn.MultiheadAttention]
    mlps: list[eqx.nn.MLP]
    norm: eqx.nn.LayerNorm

    def __init__(self) -> None:
        self.attention = [eqx.nn.MultiheadAttention(2, 8, key=KEY) for _ in range(4)]
        self.mlps = [eqx.nn.MLP(8, 8, 16, 1, key=KEY) for _ in range(4)]
        self.norm = eqx.nn.LayerNorm(8)

    def __call__(self, x: Float[Array, "seq 8"]) -> Array:
        for attention, mlp in zip(self.attention, self.mlps, strict=True):
            y = jax.vmap(self.norm)(x)
            x = x + jax.vmap(mlp)(attention(y, y, y))
        return x


def test_a_stage_costs_no_less_than_those_inside() -> None:
    def sums(stages: tuple[Stage, ...]) -> Iterator[tuple[Any, Any]]:
        for stage in stages:
            yield stage.flops, sum(child.flops for child in stage.children)  # type: ignore[misc]
            yield from sums(stage.children)

    def how(part: Transformer, x: Array) -> Any:
        return eqx.filter_grad(lambda part: jax.vmap(part)(x).sum())(part)

    template = applied(Transformer(), how, jax.ShapeDtypeStruct((3, 5, 8), "float32"))
    found = list(sums(template.stages))
    assert len(found) > 40
    assert [(whole, parts) for whole, parts in found if whole < parts] == []


@pytest.mark.parametrize("framework", ["linen", "nnx", "haiku"])
def test_a_layer_of_other_frameworks_costs_the_same(framework: str) -> None:
    x = jax.ShapeDtypeStruct((3, 4), "float32")
    if framework == "linen":
        linen = pytest.importorskip("flax.linen")
        template = counted(linen.Dense(6), x)  # whose parameters are made in the same call, which is no part of it
    elif framework == "nnx":
        nnx = pytest.importorskip("flax.nnx")
        template = counted(nnx.Linear(4, 6, rngs=nnx.Rngs(0)), x)
    else:
        haiku = pytest.importorskip("haiku")
        template = counted(haiku.transform(lambda x: haiku.Linear(6)(x)), x)  # noqa: PLW0108
    assert template.flops == 3 * (2 * 4 * 6 + 6)


SCOPES = """

def scopes(x: Float[Array, "4 4"]):
    with jax.named_scope("first"):
        x = x @ x
    with jax.named_scope("second"):
        x = x + 1
    return x
"""


@pytest.fixture
def run(
    net: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    (tmp_path / "model.py").write_text(net + SCOPES)
    monkeypatch.chdir(tmp_path)

    def shown(*args: str) -> str:
        main(["template", *args])
        return capsys.readouterr().out

    return shown


def test_the_command_shows_them_and_the_total(run: Callable[..., str]) -> None:
    init = ("model.py:Net", "--init", "d_in=4,d_model=10")
    assert "flops" not in run(*init)
    numbers = run(*init, "--flops", "--arg", "f32[1000 4]")
    assert re.search(r"hidden Linear.* 90k flops$", numbers, re.MULTILINE)
    assert numbers.endswith(" 163k flops\n")
    free = Template.from_json(run(*init, "--flops", "--format", "json"))
    assert free.flops == "163*batch"
    assert re.search(r"out Linear.* 63\*batch flops$", FORMATS["tree"](free, color=False), re.MULTILINE)
    assert "Flops: 63*batch\n" in run(*init, "--flops", "--format", "log")


def test_the_footer_adds_up_where_there_is_no_whole(run: Callable[..., str]) -> None:
    assert run("model.py:scopes", "--flops").endswith(f" {2 * 64 + 16} flops\n")


def test_text_adds_up_as_text() -> None:
    (stage,) = counted(linear(4, 4), X4).stages
    stages = stage, replace(stage, flops=0), replace(stage, flops="36*n")
    assert FORMATS["markdown"](Template("three", (), stages, 3)).endswith(" 36*n + 36 flops\n")


def test_locks_have_none(run: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    run("model.py:Net", "--write-lock")
    assert "flops" not in Path("shapes.lock").read_text()
    assert main(["template", "model.py:Net", "--check-lock", "--flops"]) == 2
    assert "--flops" in capsys.readouterr().err


class Counting(eqx.Module):
    layer: eqx.nn.Linear

    def __call__(self, x: Array, *, flops: bool = False) -> Array:
        return jnp.concatenate([self.layer(x)] * (1 + flops))


def test_an_argument_of_the_model_is_not_taken_for_the_option() -> None:
    model = Counting(linear(4, 4))
    for flops in (True, False):
        with pytest.raises(ValueError, match=r"Counting takes it too: write shapecheck.template\(lambda x: model"):
            shapecheck.template(model, X4, flops=flops)
    assert shapecheck.template(model, X4).flops is None
    template = shapecheck.template(lambda x: model(x, flops=True), X4, flops=True)
    assert (template.flops, template.stages[0].output.shape) == (LAYER, ("8",))  # type: ignore[union-attr]
