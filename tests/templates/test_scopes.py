"""Plain code: blocks and functions under `jax.named_scope`, and functions that modules hold."""

from __future__ import annotations

import copy
import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float

import shapecheck
from shapecheck.templates import Template

Rows = Callable[[Template], dict[str, str]]
KEY = jax.random.PRNGKey(0)


def attention(q: Array, k: Array, v: Array) -> Array:
    with jax.named_scope("scores"):
        scaled = q / 2.0
        scores = scaled @ k.T
        with jax.named_scope("softmax"):
            weights = jax.nn.softmax(scores)
    with jax.named_scope("mix"):
        return weights @ v


def test_a_block_takes_what_it_reads_and_gives_what_it_sets_or_returns(shown: Rows) -> None:
    template = shapecheck.template(attention, Float[Array, "n 8"], Float[Array, "m 8"], Float[Array, "m 8"])
    assert shown(template) == {
        "scores: scope": "q=f32[n,8], k=f32[m,8] -> {scaled=f32[n,8], scores=f32[n,m], weights=f32[n,m]}",
        "scores.softmax: scope": "f32[n,m] -> f32[n,m]",
        "mix: scope": "weights=f32[n,m], v=f32[m,8] -> f32[n,8]",
    }


def test_a_block_that_raises_is_no_stage(shown: Rows) -> None:
    def careful(x: Array) -> Array:
        try:
            with jax.named_scope("fails"):
                return x @ jnp.zeros((3, 3))
        except TypeError:
            with jax.named_scope("mended"):
                x = 2 * x
        return x

    assert list(shown(shapecheck.template(careful, jnp.zeros(5)))) == ["mended: scope"]


def test_blocks_inside_of_modules_lie_inside_of_their_stages(shown: Rows) -> None:
    class Scoped(eqx.Module):
        layer: eqx.nn.Linear

        def __call__(self, x: Array) -> Array:
            with jax.named_scope("project"):
                x = self.layer(x)
            return 2 * x

    model = Scoped(eqx.nn.Linear(4, 3, key=KEY))
    assert shown(shapecheck.template(model, jnp.zeros(4))) == {
        "Scoped: Scoped": "f32[4] -> f32[3]",
        "project: scope": "f32[4] -> f32[3]",
        "layer: Linear": "f32[4] -> f32[3]",
    }


def test_decorated_functions_are_stages_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(
        "import jax\n\n\n"
        '@jax.named_scope("norm")\ndef norm(x):\n    return x - x.mean()\n\n\n'
        "def run(x):\n    return norm(norm(x))\n"
    )
    command = [sys.executable, "-m", "shapecheck", "template", "plain.py:run", "--arg", "f32[n 4]"]
    done = subprocess.run([*command, "--format", "markdown"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "| `norm` | scope | `f32[n,4]` | `f32[n,4]` |" in done.stdout, done.stderr
    assert "| `norm #2` | scope | `f32[n,4]` | `f32[n,4]` |" in done.stdout


def test_functions_in_fields_are_stages(shown: Rows) -> None:
    class Holding(eqx.Module):
        mlp: eqx.nn.MLP
        tail: list[Callable[..., Array]]
        head: dict[str, Callable[..., Array]] = eqx.field(static=True)

        def __call__(self, x: Array) -> Array:
            x = self.mlp(x)
            for function in self.tail:
                x = function(x)
            return self.head["out"](x)

    mlp = eqx.nn.MLP(4, 3, 5, 1, activation=jax.nn.gelu, key=KEY)
    tail = [jax.nn.relu, functools.partial(jnp.reshape, shape=(3, 1)), eqx.nn.Lambda(jnp.sin)]
    rows = shown(shapecheck.template(Holding(mlp, tail, {"out": jax.jit(lambda x: x[:, 0])}), jnp.zeros(4)))
    assert rows["mlp.activation vmap(5): gelu"] == "f32[] -> f32[]"
    assert rows["tail[0]: relu"] == "f32[3] -> f32[3]"
    assert rows["tail[1]: partial(reshape)"] == "f32[3] -> f32[3,1]"
    assert rows["tail[2].fn: sin"] == "f32[3,1] -> f32[3,1]"
    assert rows["head['out']: &lt;lambda&gt;"] == "f32[3,1] -> f32[3]"


class Choosing(eqx.Module):
    """Knows its function by its identity, as JAX knows `lax.max`."""

    act: Callable[[Array], Array]

    def __call__(self, x: Array) -> Array:
        return self.act(x) if self.act is jax.nn.glu else jnp.concatenate([x, x])


class Copied(eqx.Module):
    act: Callable[[Array], Array] = eqx.field(static=True)

    def __call__(self, x: Array) -> Array:
        copy.deepcopy(self)
        return self.act(jax.lax.scan(lambda me, _: (me, x), self, None, length=3)[1])


@pytest.mark.parametrize(
    ("module", "given", "paths"),
    [
        (Choosing(jax.nn.glu), (4,), [""]),
        (eqx.nn.AvgPool2d(2, 2), (1, 8, 8), [""]),
        (eqx.nn.MaxPool2d(2, 2), (1, 8, 8), [""]),
        (Copied(jax.nn.relu), (4,), ["", "act"]),
    ],
)
def test_functions_are_watched_only_where_a_module_does_nothing_but_call_them(
    module: eqx.Module, given: tuple[int, ...], paths: list[str]
) -> None:
    x = jax.ShapeDtypeStruct(given, "float32")
    expected = eqx.filter_eval_shape(module, x).shape  # type: ignore[arg-type]
    template = shapecheck.template(module, x)
    assert [stage.path for stage in template] == paths
    assert template[""].output.shape == tuple(map(str, expected))  # type: ignore[union-attr]
    shapecheck.template(jax.grad(lambda x: module(x).sum()), x)  # type: ignore[operator]


@pytest.mark.parametrize("name", ["named_scope"])
def test_jax_is_as_before_afterwards(name: str) -> None:
    before = getattr(jax, name)
    shapecheck.template(attention, jnp.zeros((2, 8)), jnp.zeros((3, 8)), jnp.zeros((3, 8)))
    assert getattr(jax, name) is before
