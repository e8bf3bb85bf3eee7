"""Checks and prints of values: what is inserted, and what it does when the program runs."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from shapecheck.rewrite import RewriteOptions, instrument

MODEL = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def forward(x: Float[Array, "b d"], tree=None):
    total = x.sum(axis=1)  # (b,)
    logs = jnp.log(total)  # (b,)
    tree = {"logs": logs, "name": "a"}  # shape: (b,)
    count = len(x)  # shape: (b,)
    return logs * count


def wrong(x: Float[Array, "b d"]):
    B, D = x.shape
    y = jax.vmap(lambda row: row * 2)(x)
    y = y.T  # (b, d)
    return y


def scanned(x: Float[Array, "b d"]):
    def step(carry: Float[Array, ""], row: Float[Array, "d"]):
        carry = carry + row.sum()  # ()
        return carry, row

    total, rows = jax.lax.scan(step, jnp.asarray(0.0), x)  # (), (b, d)
    return total
"""
GOOD, ZERO = jnp.ones((2, 3)), jnp.zeros((2, 3))


def run(**wanted: Any) -> dict[str, Any]:
    """The names of the model, instrumented."""
    code = instrument("pkg/model.py", MODEL.encode(), RewriteOptions(**wanted)).data
    space: dict[str, Any] = {"__name__": "model"}
    exec(compile(code, "model.py", "exec"), space)  # noqa: S102
    return space


WAYS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "plain": lambda f: f,
    "jit": jax.jit,
    "vmap": lambda f: lambda x: jax.vmap(f)(x[None]),
    "grad": jax.value_and_grad,
    "jit of grad of vmap": lambda f: jax.jit(jax.value_and_grad(lambda x: jax.vmap(f)(x[None]).sum())),
    "scan": lambda f: lambda x: jax.lax.scan(lambda c, a: (c, f(a)), 0.0, x[None]),
    "shapes only": lambda f: lambda x: jax.eval_shape(f, x),
}


@pytest.mark.parametrize("way", WAYS)
def test_true_claims_hold_and_false_ones_fail_in_every_transformation(way: str) -> None:
    space = run(shapes=True)
    WAYS[way](lambda x: space["forward"](x).sum())(GOOD)
    WAYS[way](lambda x: space["scanned"](x).sum())(GOOD)
    with pytest.raises(AssertionError):
        WAYS[way](lambda x: space["wrong"](x).sum())(GOOD)
    WAYS[way](lambda x: space["wrong"](x).sum())(jnp.ones((3, 3)))


@pytest.mark.parametrize("way", [way for way in WAYS if way != "shapes only"])
def test_a_value_that_is_not_finite_stops_the_program(way: str) -> None:
    forward = run(numerics=True)["forward"]
    checked = WAYS[way](lambda x: forward(x).sum())
    jax.block_until_ready(checked(GOOD))
    with pytest.raises(Exception, match=r"model\.py:11 forward: logs is not finite"):
        jax.block_until_ready(checked(ZERO))


MASKED = """
import jax.numpy as jnp
from jaxtyping import Array, Float


def f(x: Float[Array, "t"], there):
    x = jnp.where(there, x, {})  # (t,)
    return x
"""


@pytest.mark.parametrize(
    ("otherwise", "passing", "failing"),
    [
        ("-jnp.inf", "inf", "nan"),
        ("float('-Infinity')", "inf", "nan"),
        ("self.NEG_INF", "inf", "nan"),
        ("jnp.nan", "nan", "inf"),
        ("jnp.nan_to_num(x)", "", "nan"),
        ("self.nan_mask * x", "", "nan"),
        ("x == jnp.inf", "", "inf"),
    ],
)
def test_what_a_statement_names_itself_passes(otherwise: str, passing: str, failing: str) -> None:
    space: dict[str, Any] = {"__name__": "model", "self": types.SimpleNamespace(NEG_INF=-jnp.inf, nan_mask=0.0)}
    code = instrument("pkg/model.py", MASKED.format(otherwise).encode(), RewriteOptions(numerics=True)).data
    exec(compile(code, "model.py", "exec"), space)  # noqa: S102
    there = jnp.array([True, False])
    if passing:
        space["f"](jnp.array([float(passing), 1.0]), there)
    with pytest.raises(Exception, match="x is not finite"):
        space["f"](jnp.array([float(failing), 1.0]), there)


def test_infinity_passes_where_nan_alone_is_looked_for() -> None:
    space = run(numerics=True, nan_only=True)
    assert jnp.isinf(space["forward"](ZERO)).all()
    with pytest.raises(Exception, match="logs is not finite"):
        space["forward"](-GOOD)


@pytest.mark.parametrize("way", ["plain", "jit", "vmap", "scan"])
def test_the_debugger_opens_only_at_values_that_are_not_finite(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stops: list[int] = []
    monkeypatch.setattr(jax.debug, "breakpoint", lambda: jax.debug.callback(lambda: stops.append(1)))
    forward = run(breakpoint=True)["forward"]
    checked = WAYS[way](lambda x: forward(x).sum())
    jax.block_until_ready(checked(GOOD))
    jax.effects_barrier()
    assert stops == []
    jax.block_until_ready(checked(ZERO))
    jax.effects_barrier()
    assert stops


def test_variables_are_printed_by_format_strings(
    inserted: Callable[..., list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    assert inserted(MODEL, prints=("forward.t*", "carry", "scanned.rows")) == [
        'jax.debug.print("model.py:8 forward.total = {total}", total=total)',
        'jax.debug.print("model.py:11 forward.tree = {tree}", tree=tree)',
        'jax.debug.print("model.py:26 scanned.step.carry = {carry}", carry=carry)',
        'jax.debug.print("model.py:30 scanned.rows = {rows}", rows=rows)',
    ]
    jax.block_until_ready(jax.jit(run(prints=("forward.t*",))["forward"])(GOOD))
    jax.effects_barrier()
    printed = capfd.readouterr().out
    assert "model.py:8 forward.total = [3. 3.]" in printed
    assert "forward.tree = {'logs': " in printed


def test_names_that_the_printing_function_has_itself_do_not_clash(inserted: Callable[..., list[str]]) -> None:
    assert inserted("fmt = 1\nx: int\n", prints=("*",)) == ['jax.debug.print("model.py:2 fmt = {value}", value=fmt)']
